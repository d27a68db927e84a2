#include "base/once.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "support/in_threads.hpp"

namespace ingot {
namespace {

TEST(RunOnce, AgainAfterAnException) {
  Once once;
  int runs = 0;
  EXPECT_THROW(once.run([&] { runs++, throw std::runtime_error("first"); }), std::runtime_error);
  once.run([&] { runs++; });
  once.run([&] { runs++; });
  EXPECT_EQ(runs, 2);
}

TEST(RunOnce, ByOneOfManyThreads) {
  Once once;
  int runs = 0;  // not atomic: the others must see what the one did
  testing::in_threads(8, [&](int) {
    once.run([&] { runs++; });
    EXPECT_EQ(runs, 1);
  });
}

}  // namespace
}  // namespace ingot
