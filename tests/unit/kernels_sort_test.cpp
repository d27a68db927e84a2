// Sorting kernels against std::stable_sort with PyTorch's order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "base/half.hpp"
#include "kernels/sort.hpp"

namespace ingot::kernels {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

// PyTorch's order on doubles: NaN last.
bool less(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

std::vector<int64_t> reference(const std::vector<double>& row, bool descending) {
  std::vector<int64_t> index(row.size());
  std::iota(index.begin(), index.end(), 0);
  std::stable_sort(index.begin(), index.end(),
                   [&](int64_t a, int64_t b) { return descending ? less(row[b], row[a]) : less(row[a], row[b]); });
  return index;
}

template <class T>
struct Dt;
// clang-format off
template <> struct Dt<uint8_t> { static constexpr DType value = DType::u8; };
template <> struct Dt<int8_t> { static constexpr DType value = DType::i8; };
template <> struct Dt<int16_t> { static constexpr DType value = DType::i16; };
template <> struct Dt<int32_t> { static constexpr DType value = DType::i32; };
template <> struct Dt<int64_t> { static constexpr DType value = DType::i64; };
template <> struct Dt<uint16_t> { static constexpr DType value = DType::u16; };
template <> struct Dt<uint32_t> { static constexpr DType value = DType::u32; };
template <> struct Dt<uint64_t> { static constexpr DType value = DType::u64; };
template <> struct Dt<float> { static constexpr DType value = DType::f32; };
template <> struct Dt<double> { static constexpr DType value = DType::f64; };
// clang-format on

template <class T>
class KernelsSort : public ::testing::Test {
 protected:
  // Many ties; NaN, infinities and both zeros where the type has them.
  static std::vector<T> values(int64_t n, unsigned seed, int spread) {
    std::mt19937 rng(seed);
    std::vector<T> v(n);
    for (auto& x : v) {
      const int r = static_cast<int>(rng() % unsigned(spread));
      x = static_cast<T>(std::is_signed_v<T> ? r - spread / 2 : r);
      if constexpr (std::is_floating_point_v<T>) {
        const T special[] = {T(kNan), T(kInf), T(-kInf), T(-0.0), T(0)};
        if (rng() % 10 == 0) x = special[rng() % 5];
      } else if (rng() % 20 == 0) {
        x = rng() % 2 ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
      }
    }
    return v;
  }
  static std::vector<double> row_of(const std::vector<T>& v, const Rows& rows, int64_t n, int64_t r) {
    std::vector<double> row(n);
    for (int64_t i = 0; i < n; ++i) row[i] = static_cast<double>(v[rows.start(r) + i * rows.stride]);
    return row;
  }
};
using Types = ::testing::Types<uint8_t, int8_t, int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t, float, double>;
TYPED_TEST_SUITE(KernelsSort, Types);

TYPED_TEST(KernelsSort, SortTopkAndKthMatchStableSort) {
  using T = TypeParam;
  for (const int64_t n : {1, 2, 15, 16, 17, 33, 100, 1000})
    for (const int64_t inner : {1, 3})
      for (const bool flag : {false, true}) {
        const int64_t count = 2 * inner;
        const auto in = this->values(count * n, unsigned(n + inner), n % 2 ? 7 : 100);
        const Rows rows = Rows::along(n, inner);
        std::vector<T> values(in.size());
        std::vector<int64_t> indices(in.size());
        std::vector<char> scratch(select_scratch_bytes(n));
        for (int64_t r = 0; r < count; ++r)
          sort_rows(Dt<T>::value, in.data(), rows, n, flag, values.data(), rows, indices.data(), rows, r, r + 1, scratch.data());
        const int64_t k = std::max<int64_t>(1, n / 3);
        const Rows top = Rows::along(k, inner);
        std::vector<T> top_values(count * k), kth(count);
        std::vector<int64_t> top_indices(count * k), kth_index(count);
        topk_rows(Dt<T>::value, in.data(), rows, n, k, flag, top_values.data(), top, top_indices.data(), top, 0, count,
                  scratch.data());
        kthvalue_rows(Dt<T>::value, in.data(), rows, n, k, kth.data(), kth_index.data(), 0, count, scratch.data());
        for (int64_t r = 0; r < count; ++r) {
          const auto want = reference(this->row_of(in, rows, n, r), flag);
          auto source = [&](int64_t i) { return &in[rows.start(r) + i * rows.stride]; };
          for (int64_t j = 0; j < n; ++j) {
            ASSERT_EQ(indices[rows.start(r) + j * rows.stride], want[j]);
            ASSERT_EQ(std::memcmp(&values[rows.start(r) + j * rows.stride], source(want[j]), sizeof(T)), 0);
          }
          for (int64_t j = 0; j < k; ++j) {
            ASSERT_EQ(top_indices[top.start(r) + j * top.stride], want[j]) << "n " << n;
            ASSERT_EQ(std::memcmp(&top_values[top.start(r) + j * top.stride], source(want[j]), sizeof(T)), 0);
          }
          const auto up = reference(this->row_of(in, rows, n, r), false);
          ASSERT_EQ(kth_index[r], up[k - 1]);
          ASSERT_EQ(std::memcmp(&kth[r], source(up[k - 1]), sizeof(T)), 0);
        }
      }
}

TYPED_TEST(KernelsSort, SearchMatchesLinearScan) {
  using T = TypeParam;
  for (const bool right : {false, true}) {
    auto seq = this->values(50, 3, 20);
    std::stable_sort(seq.begin(), seq.end(), [](T a, T b) { return less(double(a), double(b)); });
    const auto values = this->values(60, 4, 25);
    std::vector<int64_t> out(60), sorted_out(60);
    searchsorted_rows(Dt<T>::value, seq.data(), Rows{1, 0, 0, 1}, 50, nullptr, values.data(), Rows::along(30, 1), 30, right,
                      out.data(), 0, 2);
    for (int64_t j = 0; j < 60; ++j) {
      int64_t want = 0;  // positions PyTorch's comparison moves past
      while (want < 50 && !(right ? seq[want] > values[j] : seq[want] >= values[j])) ++want;
      if (std::isnan(double(values[j]))) want = 50;
      ASSERT_EQ(out[j], want) << double(values[j]);
    }
    std::vector<T> reversed(seq.rbegin(), seq.rend());
    std::vector<int64_t> sorter(50);
    std::iota(sorter.rbegin(), sorter.rend(), 0);
    searchsorted_rows(Dt<T>::value, reversed.data(), Rows{1, 0, 0, 1}, 50, sorter.data(), values.data(), Rows::along(60, 1), 60,
                      right, sorted_out.data(), 0, 1);
    EXPECT_EQ(out, sorted_out);
  }
}

TEST(KernelsSortOrders, AdversarialRowsForSelection) {
  std::vector<std::vector<double>> rows;
  const int64_t n = 5000;
  std::vector<double> row(n);
  for (int64_t i = 0; i < n; ++i) row[i] = double(i);
  rows.push_back(row);
  rows.emplace_back(row.rbegin(), row.rend());
  rows.emplace_back(n, 1.0);
  for (int64_t i = 0; i < n; ++i) row[i] = double(i < n / 2 ? i : n - i);
  rows.push_back(row);
  for (int64_t i = 0; i < n; ++i) row[i] = double(i % 2 ? i : -i);
  rows.push_back(row);
  std::vector<char> scratch(select_scratch_bytes(n));
  for (auto& r : rows) {
    const auto want = reference(r, false);
    for (const int64_t k : {int64_t{1}, int64_t{2}, n / 2, n - 1, n}) {
      double v;
      int64_t at;
      kthvalue_rows(DType::f64, r.data(), Rows::along(n, 1), n, k, &v, &at, 0, 1, scratch.data());
      ASSERT_EQ(at, want[k - 1]);
    }
  }
}

TEST(KernelsSortOrders, MedianAndNan) {
  const double rows[] = {5, 1, 4, 2, 3, 3, kNan, 1, kNan, 9, kNan, kNan, kNan, kNan, kNan};
  double v[3];
  int64_t at[3];
  char scratch[1024];
  median_rows(DType::f64, rows, Rows::along(5, 1), 5, false, v, at, 0, 3, scratch);
  EXPECT_EQ(v[0], 3);
  EXPECT_EQ(at[0], 4);
  EXPECT_TRUE(std::isnan(v[1]) && std::isnan(v[2]));
  EXPECT_EQ(at[1], 1);
  median_rows(DType::f64, rows, Rows::along(5, 1), 5, true, v, at, 0, 3, scratch);
  EXPECT_EQ(v[1], 3);
  EXPECT_EQ(at[1], 0);
  EXPECT_TRUE(std::isnan(v[2]));
}

TEST(KernelsSortOrders, SmallFloats) {
  const std::vector<double> x{1.5, -2, kNan, 0, -0.0, kInf, -kInf, 0.25, -0.25, 96};
  std::vector<uint16_t> half, bfloat;
  for (const double d : x) half.push_back(to_half(float(d)).bits), bfloat.push_back(to_bfloat16(float(d)).bits);
  // The same numbers as f8 bits; e4m3fn has no infinity, so 448 stands for it.
  const std::vector<uint8_t> e5m2{0x3e, 0xc0, 0x7f, 0, 0x80, 0x7c, 0xfc, 0x34, 0xb4, 0x56};
  const std::vector<uint8_t> e4m3{0x3c, 0xc0, 0xff, 0, 0x80, 0x7e, 0xfe, 0x28, 0xa8, 0x6c};
  char scratch[1024];
  for (const bool descending : {false, true}) {
    const auto want = reference(x, descending);
    for (const auto& [dtype, data] : {std::pair<DType, const void*>{DType::f16, half.data()},
                                      {DType::bf16, bfloat.data()},
                                      {DType::f8e5m2, e5m2.data()},
                                      {DType::f8e4m3fn, e4m3.data()}}) {
      std::vector<int64_t> got(10);
      const Rows rows = Rows::along(10, 1);
      sort_rows(dtype, data, rows, 10, descending, nullptr, rows, got.data(), rows, 0, 1, scratch);
      EXPECT_EQ(got, want) << int(dtype);
    }
  }
}

}  // namespace
}  // namespace ingot::kernels
