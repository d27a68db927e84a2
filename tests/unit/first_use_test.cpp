// Several threads use transforms for the first time in the process. ctest runs a suite in a process
// of its own, so nothing before this test has installed a handler; the thread sanitizer says
// whether installing and calling may meet.
#include <gtest/gtest.h>

#include <atomic>

#include "ingot/ingot.hpp"
#include "ingot/transforms.hpp"
#include "support/in_threads.hpp"
#include "support/no_leaks.hpp"
#include "support/wrappers.hpp"

namespace ingot::testing {
namespace {

class FirstUse : public NoLeaks {};

TEST_F(FirstUse, OfEveryTransformAtOnce) {
  const TensorFunction twice = [](const TensorList& in) { return TensorList{in[0] + in[0]}; };
  const Tensor x = ones({2});
  const Numbers two_twos{2, 2};
  std::atomic<int> wrong = 0;
  in_threads(12, [&](int i) {
    Numbers found;
    switch (i % 6) {
      case 0: found = values(vmap(twice)({x})[0]); break;
      case 1: found = values(functionalize(twice)({x})[0]); break;
      case 2: found = values(make_fx(twice, {x})({x})[0]); break;
      case 3: found = values(b(two({-1, -1}, {2}) * 2)); break;
      case 4: {
        TwoTensorMode mode;
        const ModeScope scope(mode);
        found = values(a(ones({2}) * 2));
        break;
      }
      default: found = values(twice({x})[0]); break;
    }
    wrong += found != two_twos;
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace ingot::testing
