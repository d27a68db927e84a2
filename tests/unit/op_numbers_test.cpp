// Single operators against numbers of PyTorch, where the way there decides them: what is rounded
// when, and in which dtype.
#include <gtest/gtest.h>

#include <cmath>

#include "ingot/ingot.hpp"
#include "op/call.hpp"

namespace ingot {
namespace {

TEST(OpNumbers, HistcPutsEdgesWhereTheDtypeHasThem) {
  std::vector<double> tenths;
  for (int k = 0; k <= 30; k++) tenths.push_back(k / 10.0);
  std::vector<double> want(30, 1.0);
  want[20] = 2, want[21] = 0, want[29] = 2;
  EXPECT_EQ(aten<"histc">(tensor(tenths, {31}, float32), 30, 0, 3).to_vector<double>(), want);
  std::vector<double> tens;
  for (double t : aten<"histc">(tensor({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, float32), 100, 0, 10).to_vector<double>())
    tens.push_back(t);
  for (int k = 0; k < 100; k++) EXPECT_EQ(tens[static_cast<std::size_t>(k)], k % 10 == 0 || k == 99) << k;
}

TEST(OpNumbers, LdexpByWholeNumbersChangesTheExponentAlone) {
  const Tensor by = tensor({150, 200000, -1}, int64);
  EXPECT_EQ(aten<"ldexp.Tensor">(tensor({1e-30, 0, 3}, float32), by).to_vector<double>(),
            (std::vector<double>{1427247697231872, 0, 1.5}));
  EXPECT_EQ(aten<"ldexp.Tensor">(tensor({1e-300}, float64), tensor({1500}, int64)).item_double(), 3.507466211043404e+151);
  EXPECT_EQ(aten<"ldexp.Tensor">(tensor({1.0}, float32), tensor({4294967297}, int64)).item_double(), 2);
  EXPECT_EQ(aten<"ldexp.Tensor">(tensor({1e-30, 0, 3}, bfloat16), by).dtype(), bfloat16);
  EXPECT_EQ(aten<"ldexp.Tensor">(tensor({1, 2, 3}, int32), by).dtype(), float32);
  EXPECT_EQ(aten<"ldexp.Tensor">(tensor({1e-30}, float32), tensor({150.0}, float32)).item_double(), INFINITY);
}

TEST(OpNumbers, CumprodsGradientOfRowsWithZeros) {
  const Tensor x = tensor({2, 0, 3, 4, 1, 2, 3, 4, 2, 0, 5, 0, 0, 3, 2, 1}, {4, 4}, float32).requires_grad_();
  const Tensor y = aten<"cumprod">(x, 1);
  const Tensor g = grad({y}, {x}, {tensor({1, 2, 3, 4}, float32).expand({4, 4})})[0];
  EXPECT_EQ(g.to_vector<double>(), (std::vector<double>{1, 118, 0, 0, 119, 59, 38, 24, 1, 34, 0, 0, 49, 0, 0, 0}));
}

TEST(OpNumbers, GradientsOfAminmaxAndNextafter) {
  const Tensor x = tensor({1, 3, 3, 1, 2, 0}, {2, 3}, float32).requires_grad_();
  const TensorList all = atens<"aminmax">(x), rows = atens<"aminmax">(x, 1), columns = atens<"aminmax">(x, 0, true);
  const auto of = [&](const TensorList& r) { return grad({r[0].sum() + r[1].sum() * 10}, {x})[0].to_vector<double>(); };
  EXPECT_EQ(of(all), (std::vector<double>{0, 5, 5, 0, 0, 1}));
  EXPECT_EQ(of(rows), (std::vector<double>{1, 5, 5, 0, 10, 1}));
  EXPECT_EQ(of(columns), (std::vector<double>{5.5, 10, 10, 5.5, 1, 1}));
  EXPECT_EQ(grad({atens<"aminmax">(x)[1]}, {x})[0].to_vector<double>(), (std::vector<double>{0, 0.5, 0.5, 0, 0, 0}));
  const Tensor a = tensor({1, 2, NAN, 3, 0}, float32).requires_grad_(), b = tensor({1, 3, 1, 2, 0}, float32).requires_grad_();
  const TensorList g = grad({aten<"nextafter">(a, b)}, {a, b}, {tensor({1, 2, 3, 4, 5}, float32)});
  EXPECT_EQ(g[0].to_vector<double>(), (std::vector<double>{0, 2, 3, 4, 0}));
  EXPECT_EQ(g[1].to_vector<double>(), (std::vector<double>(5, 0.0)));
}

TEST(OpNumbers, BytesAreInterpolatedInTwoPassesOfBytes) {
  const Tensor image = tensor({0, 255, 0, 255, 255, 0, 10, 200, 30}, {1, 1, 3, 3}, uint8);
  EXPECT_EQ(aten<"upsample_bicubic2d">(image, Shape{4, 5}, false).to_vector<int64_t>(),
            (std::vector<int64_t>{0, 107, 255, 118, 0, 191, 223, 255, 104, 0, 191, 213, 235, 101, 5, 0, 85, 196, 111, 15}));
  EXPECT_EQ(aten<"_upsample_bicubic2d_aa">(image, Shape{2, 2}, false).to_vector<int64_t>(),
            (std::vector<int64_t>{160, 95, 149, 94}));
  EXPECT_EQ(aten<"upsample_bilinear2d">(image, Shape{4, 5}, true).to_vector<int64_t>(),
            (std::vector<int64_t>{0, 128, 255, 128, 0, 170, 213, 255, 128, 0, 173, 205, 237, 124, 10, 10, 105, 200, 115, 30}));
}

TEST(OpNumbers, SegmentsNeedNotReachTheEndWhereNobodyChecks) {
  const Tensor x = tensor({1, 2, 3, 4, 5}, float32), lengths = tensor({1, 2}, int64);
  EXPECT_THROW(aten<"segment_reduce">(x, "sum", lengths), UserError);
  EXPECT_EQ(aten<"segment_reduce">(x, "sum", lengths, Value(), Value(), 0, true).to_vector<double>(),
            (std::vector<double>{1, 5}));
}

// A row of equal doubles is a sum that errs the same way with every term.
TEST(OpNumbers, LongRowsOfDoublesKeepTheirDigits) {
  constexpr int64_t n = 100000;
  const Tensor x = aten<"full">(Shape{n}, -0.5, DType::f64);
  aten_value<"fill_.Scalar">(x.select(0, 0), 1.25);
  const double total = 1 + (n - 1) * std::exp(-1.75),
               bound = (256 + n / 256) * 0x1p-54;  // one after the other err by n * 0x1p-54
  EXPECT_NEAR(aten<"_log_softmax">(x, 0, false).select(0, 0).item_double(), -std::log(total), bound + 2e-15 * std::log(total));
  EXPECT_NEAR(aten<"_softmax">(x, 0, false).select(0, 0).item_double(), 1 / total, bound / total);
}

}  // namespace
}  // namespace ingot
