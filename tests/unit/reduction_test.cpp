// What samples and golden cases do not see: results do not depend on the number of threads or on
// the layout, sums keep their digits, batch norm's running statistics.
#include <gtest/gtest.h>

#include <cmath>

#include "base/parallel.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"

namespace ingot {
namespace {

Tensor noise(const Shape& size, DType dtype = float32) {
  std::vector<double> v;
  uint64_t z = 12345;
  for (int64_t i = 0; i < size.product().value(); i++) {
    z = z * 6364136223846793005ull + 1442695040888963407ull;
    v.push_back(static_cast<double>(z >> 11) * 0x1p-53 - 0.25);
  }
  return tensor(v, size, dtype);
}

TEST(Reduction, ThreadCountDoesNotMatter) {
  const int before = num_threads();
  // One output, few outputs, many outputs; rows and columns.
  for (const auto& [size, dims] : std::vector<std::pair<Shape, Shape>>{{{300000}, {0}},
                                                                       {{3, 100000}, {1}},
                                                                       {{100000, 3}, {0}},
                                                                       {{500, 700}, {0}},
                                                                       {{500, 700}, {1}},
                                                                       {{40, 50, 60}, {0, 2}},
                                                                       {{40, 50, 60}, {1}}}) {
    const Tensor t = noise(size);
    std::vector<std::vector<float>> first;
    for (int threads : {1, 2, 5}) {
      set_num_threads(threads);
      const TensorList r = {t.sum(dims),       t.mean(dims), amax(t, dims), var(t, dims), aten<"linalg_vector_norm">(t, 3, dims),
                            logsumexp(t, dims)};
      for (std::size_t k = 0; k < r.size(); k++) {
        if (threads == 1) first.push_back(r[k].to_vector<float>());
        else
          EXPECT_EQ(r[k].to_vector<float>(), first[k])
              << to_text(size) << " over " << to_text(dims) << " with " << threads << " threads, result " << k;
      }
    }
  }
  set_num_threads(before);
}

TEST(Reduction, LayoutDoesNotMatter) {
  const Tensor t = noise({6, 7, 8, 9}, float64);
  for (const Shape& order : {Shape{0, 1, 2, 3}, Shape{3, 2, 1, 0}, Shape{1, 3, 0, 2}, Shape{2, 0, 3, 1}}) {
    Shape back = Shape::filled(4, 0);
    for (int i = 0; i < 4; i++) back[order[i].value()] = i;
    const Tensor same = t.permute(order).contiguous().permute(back);  // equal elements, other strides
    for (const Shape& dims : {Shape{0}, Shape{3}, Shape{1, 2}, Shape{0, 3}, Shape{0, 1, 2, 3}}) {
      EXPECT_TRUE(allclose(same.sum(dims), t.sum(dims), 1e-12, 1e-12));
      EXPECT_TRUE(equal(amax(same, dims), amax(t, dims)));
      EXPECT_TRUE(allclose(var(same, dims), var(t, dims), 1e-12, 1e-12));
    }
    EXPECT_TRUE(equal(same.argmax(), t.argmax()));
    EXPECT_TRUE(equal(same.argmax(2), t.argmax(2)));
  }
}

TEST(Reduction, KeepsDigits) {
  EXPECT_EQ(full({1 << 25}, 1.0).sum().item_double(), 1 << 25);
  EXPECT_NEAR(full({100000}, 0.1).sum().item_double(), 10000, 1e-3);
  // A large mean costs the variance no digits.
  const Tensor t = noise({1000}, float64);
  EXPECT_NEAR(var(t + 1e6, {0}).item_double(), var(t, {0}).item_double(), 1e-9);
}

// Nothing wider carries doubles, and terms with the same last bits are rounded the same way again
// and again.
TEST(Reduction, KeepsDigitsOfDoublesInColumns) {
  const Tensor t = aten<"round">(noise({16000, 2}, float64) * 8) / 8 - 14.7;
  const std::vector<double> values = t.to_vector<double>();
  long double exact[2] = {};
  for (std::size_t i = 0; i < values.size(); i++) exact[i % 2] += values[i];
  const std::vector<double> found = t.sum({0}).to_vector<double>();
  for (std::size_t k = 0; k < 2; k++) EXPECT_LE(std::abs((found[k] - exact[k]) / exact[k]), 1e-14L);
}

TEST(Reduction, FirstExtremeAndNan) {
  EXPECT_EQ(tensor({1., 3, 2, 3}).argmax().item_int(), 1);
  const double nan = std::nan("");
  EXPECT_EQ(tensor({1, nan, 2, nan}).argmax().item_int(), 1);
  EXPECT_TRUE(std::isnan(amax(tensor({5, nan, 7})).item_double()));
  EXPECT_EQ(aten<"nansum">(tensor({1, nan, 2})).item_double(), 3);
}

TEST(BatchNorm, UpdatesRunningStatistics) {
  const Tensor x = tensor({1., 2, 3, 4}, {4, 1}).requires_grad_(), mean = zeros({1}), var = ones({1});
  auto run = [&] { return aten<"batch_norm">(x, Value(), Value(), mean, var, true, 0.1, 1e-5, false); };
  const Tensor y = run();
  EXPECT_NEAR(mean.item_double(), 0.25, 1e-6);
  EXPECT_NEAR(var.item_double(), 0.9 + 0.1 * (5.0 / 3), 1e-6);  // unbiased
  // A second call writes the statistics again; the first one's backward still works.
  const Tensor z = run();
  (y + z * 2).pow(2).sum().backward();
  EXPECT_TRUE(x.grad().defined());
  // Evaluation uses them and leaves them alone.
  const double kept = mean.item_double();
  aten<"batch_norm">(x, Value(), Value(), mean, var, false, 0.1, 1e-5, false);
  EXPECT_EQ(mean.item_double(), kept);
}

}  // namespace
}  // namespace ingot
