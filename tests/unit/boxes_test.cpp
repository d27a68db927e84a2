// What golden cases cannot say of torchvision's operators: boxes and offsets that are no numbers,
// sizes that only data decides. The numbers are PyTorch's.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "graph/shape_env.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

constexpr double kNan = NAN;
using Doubles = std::vector<double>;

void expect_numbers(const Tensor& t, const Doubles& want) {
  const Doubles got = t.to_vector<double>();
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); i++)
    EXPECT_TRUE(got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]))) << i << ": " << got[i] << ", not " << want[i];
}

TEST(Boxes, WhichStay) {
  const Tensor boxes =
      tensor(Doubles{0, 0, 2, 2, 0, 0, 2, 2, 0, 0, 2, 1, 3, 3, 4, 4, 1, 1, 0, 0, 0, 0, kNan, 1}, {6, 4}, float32);
  const Tensor scores = tensor(Doubles{.5, .5, .7, kNan, .1, .2}, float32);
  const auto kept = [&](double threshold) { return aten<"torchvision::nms">(boxes, scores, threshold); };
  expect_numbers(kept(0), {3, 2, 5, 4});
  expect_numbers(kept(0.4), {3, 2, 5, 4});
  expect_numbers(kept(0.5), {3, 2, 0, 5, 4});
  expect_numbers(kept(1), {3, 2, 0, 1, 5, 4});
  EXPECT_EQ(kept(1).dtype(), int64);
}

TEST(Boxes, HowManyStayOnlyDataDecides) {
  const auto fake = [](const Shape& sizes) { return make_tensor(Geometry::contiguous(sizes, float32), {}, true); };
  EXPECT_THROW(aten<"torchvision::nms">(fake({6, 4}), fake({6}), 0.5), UserError);
  ShapeEnv env;
  GuardScope scope(env);
  const Tensor kept = aten<"torchvision::nms">(fake({6, 4}), fake({6}), 0.5);
  EXPECT_FALSE(kept.size(0).is_number());
  EXPECT_EQ(kept.dtype(), int64);
}

TEST(Boxes, CornersThatAreNoNumbers) {
  const Tensor x = tensor(Doubles{1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 1, 3, 3}, float32);
  const Tensor rois = tensor(Doubles{0, kNan, 0, 2, 2, 0, 0, 0, kNan, 2}, {2, 5}, float32);
  expect_numbers(aten<"torchvision::roi_align">(x, rois, 1.0, 1, 1, 2, false), {kNan, kNan});
  expect_numbers(aten<"torchvision::roi_align">(x, rois, 1.0, 1, 1, -1, false), {0, 0});
  expect_numbers(aten<"torchvision::roi_align">(x, rois, 1.0, 1, 1, 2, true), {kNan, kNan});
  expect_numbers(atens<"torchvision::ps_roi_align">(x, rois, 1.0, 1, 1, 2)[0], {kNan, kNan});
  expect_numbers(atens<"torchvision::roi_pool">(x, rois, 1.0, 1, 1)[0], {9, 7});
  expect_numbers(atens<"torchvision::ps_roi_pool">(x, rois, 1.0, 1, 1)[0], {3, 2.5});
}

TEST(Boxes, ABoxWithoutAnEndIsRefused) {
  const Tensor x = ones({1, 1, 3, 3}), rois = tensor(Doubles{0, 0, 0, INFINITY, 2}, {1, 5}, float32);
  EXPECT_THROW(aten<"torchvision::roi_align">(x, rois, 1.0, 1, 1, -1, false), UserError);
  expect_numbers(aten<"torchvision::roi_align">(x, rois, 1.0, 1, 1, 2, false), {kNan});
}

TEST(Boxes, OffsetsThatAreNoNumbers) {
  const Tensor x = tensor(Doubles{1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 1, 3, 3}, float32).requires_grad_();
  const Tensor offset =
      tensor(Doubles{kNan, 0, INFINITY, 0, 0, 0, 0, 0, kNan, 0, 0, 0, 0, kNan, 0, 0, 0, 9}, {1, 2, 3, 3}, float32);
  const Tensor mask = ones({1, 1, 3, 3}).requires_grad_();
  const Tensor y =
      aten<"torchvision::deform_conv2d">(x, ones({1, 1, 1, 1}), offset, mask, zeros({1}), 1, 1, 0, 0, 1, 1, 1, 1, true);
  expect_numbers(y, {kNan, 2, 0, 4, kNan, 6, 7, 8, 0});
  const TensorList g = grad({y.sum()}, {x, mask});
  expect_numbers(g[0], {0, 1, 0, 1, 0, 1, 1, 1, 0});
  expect_numbers(g[1], {kNan, 2, 0, 4, kNan, 6, 7, 8, 0});
}

}  // namespace
}  // namespace ingot
