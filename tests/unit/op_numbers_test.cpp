// Single operators against numbers of PyTorch, where the way there decides them: what is rounded when, and in which dtype.
#include <gtest/gtest.h>

#include "ingot/ingot.hpp"
#include "op/call.hpp"

namespace ingot {
namespace {

TEST(OpNumbers, BytesAreInterpolatedInTwoPassesOfBytes) {
  const Tensor image = tensor({0, 255, 0, 255, 255, 0, 10, 200, 30}, {1, 1, 3, 3}, uint8);
  EXPECT_EQ(aten<"upsample_bicubic2d">(image, Shape{4, 5}, false).to_vector<int64_t>(),
            (std::vector<int64_t>{0, 107, 255, 118, 0, 191, 223, 255, 104, 0, 191, 213, 235, 101, 5, 0, 85, 196, 111, 15}));
  EXPECT_EQ(aten<"_upsample_bicubic2d_aa">(image, Shape{2, 2}, false).to_vector<int64_t>(),
            (std::vector<int64_t>{160, 95, 149, 94}));
  EXPECT_EQ(aten<"upsample_bilinear2d">(image, Shape{4, 5}, true).to_vector<int64_t>(),
            (std::vector<int64_t>{0, 128, 255, 128, 0, 170, 213, 255, 128, 0, 173, 205, 237, 124, 10, 10, 105, 200, 115, 30}));
}

}  // namespace
}  // namespace ingot
