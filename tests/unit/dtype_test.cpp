// Element types: facts and names of all, and the small floats bit by bit.
#include "base/dtype.hpp"
#include "base/float_to_int.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/error.hpp"
#include "base/half.hpp"

namespace ingot {
namespace {

std::vector<DType> all_dtypes() {
  std::vector<DType> v;
  for (int i = 0; i < kDTypes; i++) v.push_back(static_cast<DType>(i));
  return v;
}

TEST(DTypeFacts, EveryOneIsOfOneCategory) {
  int floats = 0, complexes = 0, integers = 0, bools = 0;
  for (DType t : all_dtypes()) {
    EXPECT_EQ(is_floating(t) + is_complex(t) + is_integral(t) + (t == boolean), 1) << to_text(t);
    floats += is_floating(t);
    complexes += is_complex(t);
    integers += is_integral(t);
    bools += t == boolean;
    EXPECT_EQ(is_differentiable(t), is_floating(t) || is_complex(t));
    EXPECT_TRUE(!is_signed_integral(t) || is_integral(t));
    EXPECT_TRUE(!is_float8(t) || is_reduced_floating(t));
    EXPECT_TRUE(!is_reduced_floating(t) || (is_floating(t) && size_of(t) < 4));
    EXPECT_EQ(real_of(t) == t, !is_complex(t));
  }
  EXPECT_EQ(floats, 6);
  EXPECT_EQ(complexes, 2);
  EXPECT_EQ(integers, 8);
  EXPECT_EQ(bools, 1);
}

TEST(DTypeFacts, Sizes) {
  const std::pair<DType, int> sizes[] = {{uint8, 1},   {int8, 1},     {int16, 2},         {int32, 4},       {int64, 8},
                                         {float16, 2}, {float32, 4},  {float64, 8},       {complex64, 8},   {complex128, 16},
                                         {boolean, 1}, {bfloat16, 2}, {float8_e4m3fn, 1}, {float8_e5m2, 1}, {uint16, 2},
                                         {uint32, 4},  {uint64, 8}};
  static_assert(std::size(sizes) == kDTypes);
  for (auto [t, n] : sizes) EXPECT_EQ(size_of(t), n) << to_text(t);
}

TEST(DTypeFacts, RealAndComplex) {
  EXPECT_EQ(real_of(complex64), float32);
  EXPECT_EQ(real_of(complex128), float64);
  EXPECT_EQ(complex_of(float32), complex64);
  EXPECT_EQ(complex_of(float16), complex64);
  EXPECT_EQ(complex_of(bfloat16), complex64);
  EXPECT_EQ(complex_of(float64), complex128);
  EXPECT_EQ(complex_of(complex128), complex128);
  EXPECT_EQ(complex_of(complex64), complex64);
}

TEST(DTypeFacts, ComputeTypes) {
  for (DType t : all_dtypes()) {
    const Compute c = compute_type(t);
    if (t == boolean) EXPECT_EQ(c, Compute::b8);
    else if (is_complex(t)) EXPECT_EQ(c, Compute::c128);
    else if (t == float64) EXPECT_EQ(c, Compute::f64);
    else EXPECT_EQ(c, is_floating(t) ? Compute::f32 : Compute::i64) << to_text(t);
  }
}

TEST(FloatToInt, OutOfRange) {
  EXPECT_EQ(float_to_int<int8_t>(-1.9f), -1);
  EXPECT_EQ(float_to_int<int8_t>(300.7f), 44);
  EXPECT_EQ(float_to_int<uint8_t>(-1.0), 255);
  EXPECT_EQ(float_to_int<int16_t>(65537.0), 1);
  EXPECT_EQ(float_to_int<int8_t>(3e9f), -1);  // the largest int32
  EXPECT_EQ(float_to_int<int32_t>(3e9f), 2147483647);
  EXPECT_EQ(float_to_int<int32_t>(-INFINITY), -2147483647 - 1);
  EXPECT_EQ(float_to_int<int32_t>(-2147483648.5), -2147483647 - 1);
  EXPECT_EQ(float_to_int<int32_t>(2147483647.5), 2147483647);
  EXPECT_EQ(float_to_int<uint32_t>(-1.5), 4294967295u);
  EXPECT_EQ(float_to_int<uint32_t>(4294967297.0), 1u);
  EXPECT_EQ(float_to_int<int64_t>(INFINITY), INT64_MAX);
  EXPECT_EQ(float_to_int<int64_t>(-1e30f), INT64_MIN);
  EXPECT_EQ(float_to_int<uint64_t>(-1.0), UINT64_MAX);
  EXPECT_EQ(float_to_int<uint64_t>(0x1p63), uint64_t{1} << 63);
  EXPECT_EQ(float_to_int<uint64_t>(0x1p64f), UINT64_MAX);
  EXPECT_EQ(float_to_int<int32_t>(NAN), 0);
  EXPECT_EQ(float_to_int<uint64_t>(NAN), 0u);
}

TEST(DTypeNames, EverySpellingReadsBack) {
  std::set<std::string_view> seen;
  for (DType t : all_dtypes()) {
    for (std::string_view name : {name_of(t), scalar_type_name(t), short_name_of(t)}) {
      EXPECT_EQ(dtype_from_name(name), t) << name;
      EXPECT_TRUE(seen.insert(name).second) << name << " names two dtypes";
    }
    EXPECT_EQ(dtype_from_name(to_text(t)), t);
    EXPECT_EQ(to_text(t), "torch." + std::string(name_of(t)));
  }
  EXPECT_THROW(dtype_from_name("float31"), UserError);
  EXPECT_THROW(dtype_from_name(""), UserError);
  EXPECT_THROW(dtype_from_name("torch."), UserError);
}

TEST(DTypeNames, Devices) {
  EXPECT_EQ(to_text(Device{}), "cpu");
  EXPECT_EQ(to_text(Device{DeviceType::cuda, 1}), "cuda:1");
  EXPECT_EQ(device_from_text("cpu"), Device{});
  EXPECT_EQ(device_from_text("cuda"), (Device{DeviceType::cuda, -1}));
  EXPECT_EQ(device_from_text("cuda:12"), (Device{DeviceType::cuda, 12}));
  for (const char* bad : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda:128", "cuda:99999999999", ":0"})
    EXPECT_THROW(device_from_text(bad), UserError) << bad;
}

// ---- small floats. Each format is described by its numbers; what the conversions must do follows.
struct HalfFormat {
  using T = Half;
  static constexpr int exponent = 5, mantissa = 10;
  static constexpr bool has_infinity = true;
  static T from_float(float f) { return to_half(f); }
};
struct BFloat16Format {
  using T = BFloat16;
  static constexpr int exponent = 8, mantissa = 7;
  static constexpr bool has_infinity = true;
  static T from_float(float f) { return to_bfloat16(f); }
};
struct E4M3Format {
  using T = Float8E4M3FN;
  static constexpr int exponent = 4, mantissa = 3;
  static constexpr bool has_infinity = false;
  static T from_float(float f) { return to_float8_e4m3fn(f); }
};
struct E5M2Format {
  using T = Float8E5M2;
  static constexpr int exponent = 5, mantissa = 2;
  static constexpr bool has_infinity = true;
  static T from_float(float f) { return to_float8_e5m2(f); }
};

template <class F>
class SmallFloat : public ::testing::Test {
 protected:
  using T = typename F::T;
  using Bits = decltype(T::bits);
  static constexpr uint32_t kPatterns = 1u << (8 * sizeof(Bits)), kSign = kPatterns / 2;
  static constexpr int kExponents = 1 << F::exponent, kBias = kExponents / 2 - 1;
  static constexpr uint32_t kMantissas = 1u << F::mantissa;
  // The largest finite pattern without sign.
  static constexpr uint32_t kMax = F::has_infinity ? (kExponents - 1) * kMantissas - 1 : kSign - 2;

  static T at(uint32_t bits) { return T{static_cast<Bits>(bits)}; }
  static uint32_t bits_of(float f) { return F::from_float(f).bits; }

  // The value of a pattern without sign by the definition of a binary float. Also of the first
  // pattern past the largest finite one, as if exponents went on: where rounding to the largest
  // ends.
  static double value(uint32_t bits) {
    const auto e = static_cast<int>(bits / kMantissas);
    const uint32_t m = bits % kMantissas;
    if (e == 0) return std::ldexp(m, 1 - kBias - F::mantissa);
    return std::ldexp(kMantissas + m, e - kBias - F::mantissa);
  }
};
using Formats = ::testing::Types<HalfFormat, BFloat16Format, E4M3Format, E5M2Format>;
TYPED_TEST_SUITE(SmallFloat, Formats);

TYPED_TEST(SmallFloat, EveryPatternHasItsValue) {
  for (uint32_t bits = 0; bits < this->kSign; bits++) {
    const float plus = to_float(this->at(bits)), minus = to_float(this->at(bits | this->kSign));
    if (bits <= this->kMax) {
      ASSERT_EQ(plus, this->value(bits)) << bits;
      ASSERT_EQ(minus, -this->value(bits)) << bits;
      ASSERT_EQ(std::signbit(minus), true) << bits;
    } else if (TypeParam::has_infinity && bits == this->kMax + 1) {
      ASSERT_EQ(plus, INFINITY);
      ASSERT_EQ(minus, -INFINITY);
    } else {
      ASSERT_TRUE(std::isnan(plus) && std::isnan(minus)) << bits;
    }
  }
}

TYPED_TEST(SmallFloat, EveryPatternSurvivesFloat) {
  for (uint32_t bits = 0; bits < this->kPatterns; bits++) {
    const float f = to_float(this->at(bits));
    const uint32_t back = this->bits_of(f);
    if (std::isnan(f)) {
      ASSERT_TRUE(std::isnan(to_float(this->at(back)))) << bits;
      ASSERT_EQ(back & this->kSign, bits & this->kSign) << bits;
    } else {
      ASSERT_EQ(back, bits);
    }
  }
}

TYPED_TEST(SmallFloat, RoundsToNearestEven) {
  for (uint32_t bits = 0; bits <= this->kMax; bits++) {
    // Past the largest finite number lies infinity, or NaN where there is none.
    const uint32_t above = bits + 1;
    const auto middle = static_cast<float>((this->value(bits) + this->value(bits + 1)) / 2);
    if (std::isinf(middle)) continue;  // bfloat16's last middle is no float
    const uint32_t even = bits % 2 == 0 ? bits : above;
    ASSERT_EQ(this->bits_of(middle), even) << bits;
    ASSERT_EQ(this->bits_of(-middle), even | this->kSign) << bits;
    ASSERT_EQ(this->bits_of(std::nextafter(middle, 0.0f)), bits);
    ASSERT_EQ(this->bits_of(std::nextafter(middle, INFINITY)), above) << bits;
  }
}

TYPED_TEST(SmallFloat, TooBigTooSmallAndNotNumbers) {
  const uint32_t over = this->kMax + 1;  // infinity, or NaN where there is none
  EXPECT_EQ(this->bits_of(INFINITY), over);
  EXPECT_EQ(this->bits_of(-INFINITY), over | this->kSign);
  EXPECT_EQ(this->bits_of(std::numeric_limits<float>::max()), over);
  EXPECT_TRUE(std::isnan(to_float(TypeParam::from_float(NAN))));
  EXPECT_TRUE(std::isnan(to_float(TypeParam::from_float(std::bit_cast<float>(0x7f800001u)))))
      << "a NaN whose payload is cut off must stay one";
  EXPECT_EQ(this->bits_of(0.0f), 0u);
  EXPECT_EQ(this->bits_of(-0.0f), this->kSign);
  if (TypeParam::exponent < 8) {
    EXPECT_EQ(this->bits_of(std::numeric_limits<float>::denorm_min()), 0u);
    EXPECT_EQ(this->bits_of(-std::numeric_limits<float>::min()), this->kSign);
  }
}

TEST(SmallFloatFacts, KnownPatterns) {
  EXPECT_EQ(to_half(1.0f).bits, 0x3c00);
  EXPECT_EQ(to_half(65504.0f).bits, 0x7bff);
  EXPECT_EQ(to_half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(to_half(0x1p-24f).bits, 0x0001);
  EXPECT_EQ(to_bfloat16(1.0f).bits, 0x3f80);
  EXPECT_EQ(to_bfloat16(3.14159265f).bits, 0x4049);
  EXPECT_EQ(to_float8_e4m3fn(448.0f).bits, 0x7e);
  EXPECT_EQ(to_float8_e4m3fn(464.0f).bits, 0x7e);  // the tie goes to the even 448
  EXPECT_EQ(to_float8_e4m3fn(465.0f).bits, 0x7f);
  EXPECT_EQ(to_float8_e4m3fn(0x1p-9f).bits, 0x01);
  EXPECT_EQ(to_float8_e5m2(57344.0f).bits, 0x7b);
  EXPECT_EQ(to_float8_e5m2(61440.0f).bits, 0x7c);
  EXPECT_EQ(to_float8_e5m2(0x1p-16f).bits, 0x01);
}

TEST(SmallFloatFacts, HalfInSoftwareIsHalfInHardware) {
  for (uint32_t bits = 0; bits < 65536; bits++) {
    const float f = small_to_float<5, 10, false>(bits);
    const float g = to_float(Half{static_cast<uint16_t>(bits)});
    if (std::isnan(f)) ASSERT_TRUE(std::isnan(g)) << bits;
    else ASSERT_EQ(std::bit_cast<uint32_t>(f), std::bit_cast<uint32_t>(g)) << bits;
  }
  // All exponents, with mantissas around each rounding.
  for (uint32_t high = 0; high < 65536; high++)
    for (uint32_t low : {0u, 1u, 0x0fffu, 0x1000u, 0x1001u, 0x2000u, 0x7fffu, 0x8000u, 0xffffu}) {
      const float f = std::bit_cast<float>(high << 16 | low);
      if (std::isnan(f)) continue;
      ASSERT_EQ((float_to_small<5, 10, false>(f)), to_half(f).bits) << f;
    }
}

}  // namespace
}  // namespace ingot
