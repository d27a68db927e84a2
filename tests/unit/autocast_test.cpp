// Autocast: matmuls and convolutions in the lower precision, losses in float32, everything else as
// it comes.
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"

namespace ingot {
namespace {

using AutocastMode = NoLeaks;

Tensor f32(const Shape& size) { return full(size, 0.5); }

TEST_F(AutocastMode, MatmulsRunInTheLowerPrecision) {
  const Tensor a = f32({2, 3}), b = f32({3, 4}), x = f32({5, 2, 3}), y = f32({5, 3, 4}), bias = f32({4});
  EXPECT_EQ(a.mm(b).dtype(), float32);
  AutocastGuard on;
  EXPECT_EQ(a.mm(b).dtype(), bfloat16);
  EXPECT_EQ(a.matmul(b).dtype(), bfloat16);
  EXPECT_EQ(x.matmul(y).dtype(), bfloat16);
  EXPECT_EQ(x.matmul(b).dtype(), bfloat16);
  EXPECT_EQ(linear(a, b.t(), bias).dtype(), bfloat16);
  EXPECT_EQ(linear(x, b.t()).dtype(), bfloat16);
  EXPECT_EQ(aten<"bmm">(x, y).dtype(), bfloat16);
  EXPECT_EQ(aten<"addmm">(bias, a, b).dtype(), bfloat16);
  EXPECT_EQ(aten<"baddbmm">(f32({5, 2, 4}), x, y).dtype(), bfloat16);
  EXPECT_EQ(aten<"addbmm">(f32({2, 4}), x, y).dtype(), bfloat16);
  EXPECT_EQ(conv2d(f32({1, 2, 5, 5}), f32({3, 2, 3, 3}), f32({3})).dtype(), bfloat16);
  EXPECT_EQ(a.mm(b).to_vector<float>()[0], 0.75f);
  EXPECT_EQ(a.dtype(), float32) << "arguments stay as they are";
}

TEST_F(AutocastMode, Float16) {
  AutocastGuard on(float16);
  EXPECT_EQ(f32({2, 3}).mm(f32({3, 4})).dtype(), float16);
  EXPECT_EQ(f32({2, 3}).to(bfloat16).mm(f32({3, 4})).dtype(), float16) << "both become the autocast type";
}

TEST_F(AutocastMode, OnlySinglePrecisionAndSmallerAreCast) {
  AutocastGuard on;
  const Tensor d = full({2, 2}, 0.5, {.dtype = float64}), i = ones({2, 2}, {.dtype = int64}),
               c = ones({2, 2}, {.dtype = complex64});
  EXPECT_EQ(d.mm(d).dtype(), float64);
  EXPECT_EQ(i.mm(i).dtype(), int64);
  EXPECT_EQ(c.mm(c).dtype(), complex64);
}

TEST_F(AutocastMode, OtherOpsTakeWhatTheyGet) {
  const Tensor a = f32({2, 2});
  AutocastGuard on;
  EXPECT_EQ((a + a).dtype(), float32);
  EXPECT_EQ(a.exp().dtype(), float32);
  EXPECT_EQ(a.sum().dtype(), float32);
  EXPECT_EQ(a.mm(a).relu().dtype(), bfloat16);
  EXPECT_EQ((a.mm(a) + a).dtype(), float32) << "ordinary promotion";
  EXPECT_EQ(a.t().dtype(), float32);
  EXPECT_TRUE(a.view({4}).is_view());
}

TEST_F(AutocastMode, LossesRunInFloat32) {
  const Tensor a = f32({2, 2});
  AutocastGuard on;
  const Tensor low = a.mm(a), target = ones({2, 2}).to(bfloat16);
  EXPECT_EQ(mse_loss(low, target).dtype(), float32);
  EXPECT_EQ(aten<"l1_loss">(low, target).dtype(), float32);
  EXPECT_EQ(aten<"smooth_l1_loss">(low, target).dtype(), float32);
  EXPECT_EQ(aten<"binary_cross_entropy_with_logits">(low, target).dtype(), float32);
  EXPECT_EQ(cross_entropy(low, tensor({0, 1}, int64)).dtype(), float32);
  EXPECT_EQ(aten<"prod">(low).dtype(), float32);
  EXPECT_EQ(mse_loss(low.to(float64), target.to(float64)).dtype(), float64);
  Tensor sum = low.sum();
  EXPECT_EQ(sum.dtype(), bfloat16) << "sum has no policy on CPU";
}

TEST_F(AutocastMode, JoinsPromoteToTheWidest) {
  const Tensor a = f32({2, 2});
  AutocastGuard on;
  const Tensor low = a.mm(a);
  EXPECT_EQ(cat({low, a}).dtype(), float32);
  EXPECT_EQ(cat({low, low}).dtype(), bfloat16);
  EXPECT_EQ(stack({a, low}).dtype(), float32);
  EXPECT_EQ(stack({low, low}).dtype(), bfloat16);
}

TEST_F(AutocastMode, GuardsNest) {
  const Tensor a = f32({2, 2});
  {
    AutocastGuard on;
    {
      AutocastGuard off(bfloat16, false);
      EXPECT_EQ(a.mm(a).dtype(), float32);
      AutocastGuard half(float16);
      EXPECT_EQ(a.mm(a).dtype(), float16);
    }
    EXPECT_EQ(a.mm(a).dtype(), bfloat16);
  }
  EXPECT_EQ(a.mm(a).dtype(), float32);
  try {
    AutocastGuard on;
    throw 1;
  } catch (int) {}
  EXPECT_EQ(a.mm(a).dtype(), float32);
  EXPECT_NE(error_of([] { AutocastGuard bad(float32); }).find("autocast takes bfloat16 or float16"), std::string::npos);
}

TEST_F(AutocastMode, GradientsComeBackInTheParametersType) {
  Tensor w = f32({3, 4}).requires_grad_(), b = f32({4}).requires_grad_();
  const Tensor x = f32({2, 3});
  Tensor loss;
  {
    AutocastGuard on;
    const Tensor y = linear(x, w.t(), b);
    EXPECT_EQ(y.dtype(), bfloat16);
    loss = mse_loss(y, zeros({2, 4}));
  }
  EXPECT_EQ(loss.dtype(), float32);
  loss.backward();
  EXPECT_EQ(w.grad().dtype(), float32);
  EXPECT_EQ(b.grad().dtype(), float32);
  EXPECT_TRUE(w.grad().sizes() == w.sizes());
  EXPECT_NEAR(b.grad().to_vector<float>()[0], 2 * 1.25 * 2 / 8, 1e-2);
}

TEST_F(AutocastMode, InPlaceAndOutAreLeftAlone) {
  const Tensor a = f32({2, 2});
  AutocastGuard on;
  Tensor out = zeros({2, 2});
  call(op("mm.out"), {a, a, out});
  EXPECT_EQ(out.dtype(), float32);
  EXPECT_EQ(out.to_vector<float>()[0], 0.5f);
  Tensor acc = f32({2, 2});
  call(op("addmm_"), {acc, a, a});
  EXPECT_EQ(acc.dtype(), float32);
  EXPECT_EQ(acc.to_vector<float>()[0], 1.0f);
}

TEST_F(AutocastMode, WorksWithTheOtherModes) {
  Tensor w = f32({2, 2}).requires_grad_();
  AutocastGuard on;
  {
    NoGrad off;
    EXPECT_FALSE(w.mm(w).requires_grad());
    EXPECT_EQ(w.mm(w).dtype(), bfloat16);
  }
  {
    InferenceMode mode;
    EXPECT_EQ(w.mm(w).dtype(), bfloat16);
  }
  const Tensor fake = make_tensor(Geometry::contiguous({2, 2}, float32), {}, true);
  EXPECT_EQ(fake.mm(fake).dtype(), bfloat16);
}

TEST_F(AutocastMode, CastsAreDifferentiatedTwice) {
  Tensor w = f32({2, 2}).requires_grad_();
  AutocastGuard on;
  const Tensor y = w.mm(w);
  const Tensor g = grad({y.to(float32).sum()}, {w}, {}, {.create_graph = true})[0];
  EXPECT_EQ(g.dtype(), float32);
  EXPECT_EQ(grad({g.sum()}, {w})[0].dtype(), float32);
}

}  // namespace
}  // namespace ingot
