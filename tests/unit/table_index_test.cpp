#include "base/index.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace ingot {
namespace {

static_assert(at(3) == 3u && at(int64_t{1} << 40) == std::size_t{1} << 40 && at(uint8_t{255}) == 255u);

TEST(TableIndex, OfANumberBelowZeroThereIsNone) {
  EXPECT_THROW(at(-1), InternalError);
  EXPECT_THROW(at(INT64_MIN), InternalError);
  EXPECT_EQ(at(0), 0u);
}

}  // namespace
}  // namespace ingot
