// Numbers that are plain: conversions between their kinds, and Python's text for them. Models have
// these, too (cmake/eager_archives.cmake).
#include <bit>
#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "base/number_text.hpp"
#include "ingot/tensor.hpp"

namespace ingot {

namespace {

double real_part(std::complex<double> c, const char* target) {
  INGOT_REQUIRE(c.imag() == 0, "a complex number with an imaginary part (", to_text(Scalar(c)), ") cannot be converted to ",
                target);
  return c.real();
}

// Python's repr of a float: the shortest digits that read back, fixed for exponents in [-4, 16).
// `point_zero` tells a float from an integer ("1.0"); the parts of a complex number go without.
std::string float_repr(double v, bool point_zero) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  const std::string scientific = scientific_text(v);
  std::string_view all = scientific;
  std::string out;
  if (all.front() == '-') {
    out = "-";
    all.remove_prefix(1);
  }
  const std::size_t e = all.find('e');
  int exponent = 0;
  const std::size_t exponent_at = e + (all[e + 1] == '+' ? 2 : 1);  // from_chars takes no plus sign
  std::from_chars(all.data() + exponent_at, all.data() + all.size(), exponent);
  std::string digits(1, all[0]);
  if (e > 2) digits.append(all.substr(2, e - 2));

  if (exponent < -4 || exponent >= 16) {
    out += digits[0];
    if (digits.size() > 1) out.append(".").append(digits, 1);
    const std::string magnitude = std::to_string(std::abs(exponent));
    return out.append(exponent < 0 ? "e-" : "e+").append(magnitude.size() < 2 ? "0" : "").append(magnitude);
  }
  if (exponent < 0) return out.append("0.").append(static_cast<std::size_t>(-exponent - 1), '0').append(digits);
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) {
    out.append(digits).append(whole - digits.size(), '0');
    return point_zero ? out + ".0" : out;
  }
  return out.append(digits, 0, whole).append(".").append(digits, whole);
}

}  // namespace

// Folding equal constants never merges 0.0 with -0.0.
bool Float::same(Float o) const {
  if (is_symbolic() || o.is_symbolic()) return node_ == o.node_;
  if (std::isnan(number_) || std::isnan(o.number_)) return std::isnan(number_) && std::isnan(o.number_);
  return std::bit_cast<int64_t>(number_) == std::bit_cast<int64_t>(o.number_);
}

Int Float::truncated() const {
  if (is_symbolic()) return slow_truncated();
  // Both bounds are exact doubles; a NaN fails the comparison too.
  INGOT_REQUIRE(number_ >= -0x1p63 && number_ < 0x1p63, "value ", *this, " cannot be converted to type int64_t without overflow");
  return Int(static_cast<int64_t>(number_));
}

std::string to_text(Float v) { return v.is_number() ? float_repr(v.number_, true) : v.slow_text(); }

Int Scalar::to_int() const {
  if (is_int()) return std::get<Int>(v_);
  if (is_bool()) return Int(std::get<bool>(v_) ? 1 : 0);
  if (is_float()) return std::get<Float>(v_).truncated();
  return Float(real_part(std::get<std::complex<double>>(v_), "an integer")).truncated();
}

double Scalar::to_double() const {
  if (is_float()) return std::get<Float>(v_).value();
  if (is_int()) return static_cast<double>(std::get<Int>(v_).value());
  if (is_bool()) return std::get<bool>(v_) ? 1 : 0;
  return real_part(std::get<std::complex<double>>(v_), "a real number");
}

Float Scalar::to_float() const {
  if (is_float()) return std::get<Float>(v_);
  return is_int() ? Float(std::get<Int>(v_)) : Float(to_double());
}

bool Scalar::to_bool() const {
  if (is_bool()) return std::get<bool>(v_);
  if (is_int()) return !(std::get<Int>(v_) == Int(0));
  if (is_float()) return !std::get<Float>(v_).is_zero();
  return std::get<std::complex<double>>(v_) != std::complex<double>(0);
}

std::complex<double> Scalar::to_complex() const {
  return is_complex() ? std::get<std::complex<double>>(v_) : std::complex<double>(to_double());
}

DType Scalar::dtype() const {
  if (is_int()) return DType::i64;
  if (is_float()) return DType::f32;
  return is_bool() ? DType::b8 : DType::c64;
}

std::string to_text(const Scalar& s) {
  if (s.is_int()) return to_text(s.to_int());
  if (s.is_bool()) return to_text(s.to_bool());
  if (s.is_float()) return to_text(s.to_float());
  const std::complex<double> c = s.to_complex();
  const std::string imaginary = float_repr(c.imag(), false);
  if (c.real() == 0 && !std::signbit(c.real())) return imaginary + "j";
  const bool signed_already = imaginary[0] == '-';
  return "(" + float_repr(c.real(), false) + (signed_already ? "" : "+") + imaginary + "j)";
}

}  // namespace ingot
