// ATen's type promotion, against its table.
#include "op/promotion.hpp"

#include <array>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"

namespace ingot {
namespace {

using Promotion = NoLeaks;

constexpr DType u1 = uint8, i1 = int8, i2 = int16, i4 = int32, i8 = int64, f2 = float16, f4 = float32, f8 = float64,
                c4 = complex64, c8 = complex128, b1 = boolean, bf = bfloat16;
constexpr std::array kAxis = {u1, i1, i2, i4, i8, f2, f4, f8, c4, c8, b1, bf};
constexpr std::array<std::array<DType, 12>, 12> kTable = {{
    /*      u1  i1  i2  i4  i8  f2  f4  f8  c4  c8  b1  bf */
    /*u1*/ {u1, i2, i2, i4, i8, f2, f4, f8, c4, c8, u1, bf},
    /*i1*/ {i2, i1, i2, i4, i8, f2, f4, f8, c4, c8, i1, bf},
    /*i2*/ {i2, i2, i2, i4, i8, f2, f4, f8, c4, c8, i2, bf},
    /*i4*/ {i4, i4, i4, i4, i8, f2, f4, f8, c4, c8, i4, bf},
    /*i8*/ {i8, i8, i8, i8, i8, f2, f4, f8, c4, c8, i8, bf},
    /*f2*/ {f2, f2, f2, f2, f2, f2, f4, f8, c4, c8, f2, f4},
    /*f4*/ {f4, f4, f4, f4, f4, f4, f4, f8, c4, c8, f4, f4},
    /*f8*/ {f8, f8, f8, f8, f8, f8, f8, f8, c8, c8, f8, f8},
    /*c4*/ {c4, c4, c4, c4, c4, c4, c4, c8, c4, c8, c4, c4},
    /*c8*/ {c8, c8, c8, c8, c8, c8, c8, c8, c8, c8, c8, c8},
    /*b1*/ {u1, i1, i2, i4, i8, f2, f4, f8, c4, c8, b1, bf},
    /*bf*/ {bf, bf, bf, bf, bf, f4, f4, f8, c4, c8, bf, bf},
}};

TEST_F(Promotion, PairsFollowTheTable) {
  for (std::size_t a = 0; a < kAxis.size(); a++)
    for (std::size_t b = 0; b < kAxis.size(); b++)
      EXPECT_EQ(promote(kAxis[a], kAxis[b]), kTable[a][b]) << to_text(kAxis[a]) << " with " << to_text(kAxis[b]);
}

TEST_F(Promotion, AddFollowsTheTable) {
  for (std::size_t a = 0; a < kAxis.size(); a++)
    for (std::size_t b = 0; b < kAxis.size(); b++) {
      const Tensor r = ones({2}, {.dtype = kAxis[a]}) + ones({2}, {.dtype = kAxis[b]});
      EXPECT_EQ(r.dtype(), kTable[a][b]) << to_text(kAxis[a]) << " with " << to_text(kAxis[b]);
    }
}

TEST_F(Promotion, Float8MeetsOnlyItself) {
  for (DType t : {float8_e4m3fn, float8_e5m2}) {
    EXPECT_EQ(promote(t, t), t);
    for (int i = 0; i < kDTypes; i++)
      if (const auto o = static_cast<DType>(i); o != t) {
        EXPECT_THROW(promote(t, o), UserError) << to_text(o);
        EXPECT_THROW(promote(o, t), UserError) << to_text(o);
      }
  }
  EXPECT_EQ(error_of([] { promote(float8_e4m3fn, float32); }),
            "Promotion for Float8 Types is not supported, attempted to promote Float8_e4m3fn and Float");
}

TEST_F(Promotion, WideUnsignedMeetFloatsOnly) {
  for (DType t : {uint16, uint32, uint64}) {
    EXPECT_EQ(promote(t, t), t);
    for (DType o : {float16, bfloat16, float32, float64}) {
      EXPECT_EQ(promote(t, o), o);
      EXPECT_EQ(promote(o, t), o);
    }
    for (DType o : {uint8, int8, int16, int32, int64, boolean, complex64, complex128}) {
      EXPECT_THROW(promote(t, o), UserError) << to_text(t) << " " << to_text(o);
      EXPECT_THROW(promote(o, t), UserError) << to_text(t) << " " << to_text(o);
    }
  }
  EXPECT_EQ(error_of([] { promote(uint16, int16); }),
            "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote UInt16 and Short");
}

// What an operand of lower rank (0-dim tensor, number) does to one of higher rank.
DType meet(const Value& a, const Value& b) {
  const Value v[] = {a, b};
  const Value w[] = {b, a};
  EXPECT_EQ(result_type(v), result_type(w));
  return result_type(v);
}

TEST_F(Promotion, NumbersBringTheirCategoryOnly) {
  for (DType t : {uint8, int8, int16, int32, int64, uint16, uint64, float16, bfloat16, float32, float64, float8_e4m3fn, complex64,
                  complex128}) {
    const Tensor x = ones({2}, {.dtype = t});
    EXPECT_EQ(meet(x, 3), t);
    EXPECT_EQ(meet(x, true), t);
    EXPECT_EQ(meet(x, 2.5), is_integral(t) ? float32 : t) << to_text(t);
  }
  const Tensor b = ones({2}, {.dtype = boolean});
  EXPECT_EQ(meet(b, true), boolean);
  EXPECT_EQ(meet(b, 3), int64);
  EXPECT_EQ(meet(b, 2.5), float32);
  const std::complex<double> i(0, 1);
  EXPECT_EQ(meet(b, i), complex64);
  EXPECT_EQ(meet(ones({2}, {.dtype = int32}), i), complex64);
  EXPECT_EQ(meet(ones({2}, {.dtype = float32}), i), complex64);
  EXPECT_EQ(meet(ones({2}, {.dtype = bfloat16}), i), complex64);
  EXPECT_EQ(meet(ones({2}, {.dtype = float64}), i), complex128);
  EXPECT_EQ(meet(ones({2}, {.dtype = complex64}), i), complex64);
}

TEST_F(Promotion, ZeroDimTensorsBringTheirCategoryOnly) {
  auto dim = [](DType t) { return Value(ones({2}, {.dtype = t})); };
  auto zero = [](DType t) { return Value(scalar_tensor(1, {.dtype = t})); };
  EXPECT_EQ(meet(dim(float32), zero(float64)), float32);
  EXPECT_EQ(meet(dim(float16), zero(float64)), float16);
  EXPECT_EQ(meet(dim(int8), zero(int64)), int8);
  EXPECT_EQ(meet(dim(uint8), zero(int8)), uint8);
  EXPECT_EQ(meet(dim(int32), zero(float64)), float64);  // a real dtype, not a number's default
  EXPECT_EQ(meet(dim(int32), zero(bfloat16)), bfloat16);
  EXPECT_EQ(meet(dim(float32), zero(complex128)), complex64);  // the value type of the float stays
  EXPECT_EQ(meet(dim(float64), zero(complex64)), complex128);
  EXPECT_EQ(meet(dim(int64), zero(complex64)), complex64);
  EXPECT_EQ(meet(dim(boolean), zero(uint8)), uint8);
  EXPECT_EQ(meet(dim(boolean), zero(boolean)), boolean);
  EXPECT_EQ(meet(dim(complex64), zero(complex128)), complex64);
  EXPECT_EQ(meet(zero(float32), zero(float64)), float64);  // equals among themselves
  EXPECT_EQ(meet(zero(int32), 2.5), float32);
  EXPECT_EQ(meet(zero(float16), 2.5), float16);
  const Value three[] = {dim(uint8), zero(float16), Value(std::complex<double>(1, 1))};
  EXPECT_EQ(result_type(three), complex64);
}

TEST_F(Promotion, NumbersAlone) {
  EXPECT_EQ(meet(1, 2), int64);
  EXPECT_EQ(meet(1, true), int64);
  EXPECT_EQ(meet(true, false), boolean);
  EXPECT_EQ(meet(1, 2.5), float32);
  EXPECT_EQ(meet(2.5, std::complex<double>(1)), complex64);
  Scoped<DType> wide(thread_state().default_dtype, float64);
  EXPECT_EQ(meet(1, 2.5), float64);
  EXPECT_EQ(meet(1, std::complex<double>(1)), complex128);
}

TEST_F(Promotion, WhatMayBeWrittenWhere) {
  for (int i = 0; i < kDTypes; i++)
    for (int j = 0; j < kDTypes; j++) {
      const auto from = static_cast<DType>(i), to = static_cast<DType>(j);
      bool may = true;
      if (is_complex(from)) may = is_complex(to);
      else if (is_floating(from)) may = is_floating(to) || is_complex(to);
      else if (from != boolean) may = to != boolean;
      EXPECT_EQ(can_cast(from, to), may) << to_text(from) << " to " << to_text(to);
    }
  Tensor x = ones({2}, {.dtype = int64});
  EXPECT_NE(error_of([&] { x.add_(2.5); }).find("result type Float can't be cast to the desired output type Long"),
            std::string::npos);
  EXPECT_EQ(x.to_vector<int64_t>(), (std::vector<int64_t>{1, 1}));
  Tensor h = ones({2}, {.dtype = float16});
  h.add_(ones({2}, {.dtype = float64}));
  EXPECT_EQ(h.dtype(), float16);
}

}  // namespace
}  // namespace ingot
