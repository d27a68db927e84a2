// Open sizes that are one for the example.
#include "e2e/compiled_model.hpp"

namespace ingot {
namespace {

// The last piece has n - 6 elements, which is one at n = 7: it is broadcast, and the program is for that size alone.
TEST(CompiledBroadcast, AnOpenSizeThatIsOne) {
  const TensorFunction f = [](const TensorList& in) {
    const TensorList pieces = atens<"split.Tensor">(in[0], 2, 0);
    return TensorList{pieces[2] * pieces[3]};
  };
  const TensorList in{arange(1, 8).to(float32)};
  expect_close(f(in), aot_run("cpu", f, in, {}, kOpen));
}

}  // namespace
}  // namespace ingot
