#include "kernels/special.hpp"

#include <math.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace ingot::kernels {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kEps = std::numeric_limits<double>::epsilon() / 2;
constexpr double kPi = std::numbers::pi, kSqrt2 = std::numbers::sqrt2, kInvSqrtPi = std::numbers::inv_sqrtpi;

// P(a, x) if lower, else Q(a, x): the series below the peak of the integrand, the continued
// fraction above it.
double incomplete_gamma(double a, double x, bool lower) {
  if (!(a >= 0) || !(x >= 0) || (a == 0 && x == 0) || (std::isinf(a) && std::isinf(x))) return kNan;
  if (a == 0 || std::isinf(x)) return lower ? 1 : 0;
  if (x == 0 || std::isinf(a)) return lower ? 0 : 1;
  const double prefix = std::exp(a * std::log(x) - x - log_gamma(a));
  constexpr int kMaxTerms = 100000;
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (int k = 1; k < kMaxTerms && term > sum * kEps; k++) {
      term *= x / (a + k);
      sum += term;
    }
    const double p = prefix * sum;
    return lower ? p : 1 - p;
  }
  constexpr double kTiny = 1e-300;  // Lentz: keeps a zero denominator away
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / b, h = d;
  for (int k = 1; k < kMaxTerms; k++) {
    const double an = -k * (k - a);
    b += 2;
    d = an * d + b;
    if (std::abs(d) < kTiny) d = kTiny;
    c = b + an / c;
    if (std::abs(c) < kTiny) c = kTiny;
    d = 1 / d;
    h *= d * c;
    if (std::abs(d * c - 1) < kEps) break;
  }
  const double q = prefix * h;
  return lower ? 1 - q : q;
}

// z >= 0 with erfc(z) = q, 0 < q <= 1: a rational guess (Abramowitz & Stegun 26.2.23), then
// Halley's steps.
double erfc_inverse(double q) {
  if (q == 1) return 0;
  const double t = std::sqrt(-2 * std::log(q / 2));
  double z = (t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)))) / kSqrt2;
  for (int i = 0; i < 3; i++) {
    // (erfc(z) - q) / |erfc'(z)|, written with erfcx so that tiny q keep their digits
    const double step = (erfcx(z) - q * std::exp(z * z)) / (2 * kInvSqrtPi);
    z += step / (1 + z * step);
  }
  return z;
}

// exp(-|x|) I_v(|x|) for v = 0, 1: the power series has positive terms only; beyond 30 the
// asymptotic one is exact enough.
double bessel_i_scaled(int v, double x) {
  const double a = std::abs(x);
  double term = 1, sum = 1;
  if (a <= 30) {
    for (int k = 1; term > sum * kEps; k++) {
      term *= a * a / 4 / (double(k) * (k + v));
      sum += term;
    }
    return (v ? a / 2 : 1) * sum * std::exp(-a);
  }
  for (int k = 1; k < 40 && std::abs(term) > kEps; k++) {
    term *= -(4.0 * v - (2 * k - 1) * (2 * k - 1)) / (8 * k * a);
    sum += term;
  }
  return sum / std::sqrt(2 * kPi * a);
}
double bessel_i(int v, double x) {
  if (std::isinf(x)) return kInf;
  const double half = std::exp(std::abs(x) / 2);  // exp(|x|) may overflow where the product does not
  return bessel_i_scaled(v, x) * half * half;
}

// exp(x) K_v(x) = ∫ exp(-x (cosh t - 1)) cosh(v t) dt over t > 0. The trapezoidal rule converges
// geometrically on it.
double bessel_k_scaled(double v, double x) {
  if (std::isnan(x) || x < 0) return kNan;
  if (x == 0) return kInf;
  const double h = std::fmin(0.2, 0.65 / std::sqrt(x));
  double sum = 0.5;
  for (int k = 1; k < 5000; k++) {
    const double t = k * h, s = std::sinh(t / 2), f = std::exp(-2 * x * s * s) * std::cosh(v * t);
    sum += f;
    if (!(f > sum * kEps)) break;
  }
  return sum * h;
}

}  // namespace

double log_gamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

double digamma(double x) {
  if (x == 0) return std::copysign(kInf, -x);
  if (x < 0) {
    if (x == std::floor(x)) return kNan;
    // From the nearest integer, which is exact: near a pole the distance to it is all that counts.
    return digamma(1 - x) - kPi / std::tan(kPi * (x - std::round(x)));
  }
  double r = 0;
  for (; x < 10; x += 1) r -= 1 / x;
  if (std::isinf(x)) return x;
  const double y = 1 / (x * x);
  const double tail =
      y * (1. / 12 - y * (1. / 120 - y * (1. / 252 - y * (1. / 240 - y * (1. / 132 - y * (691. / 32760 - y / 12))))));
  return r + std::log(x) - 0.5 / x - tail;
}

// Euler–Maclaurin after nine terms; the divisors are (2k)! / B_2k.
double zeta(double s, double q) {
  // clang-format off
  constexpr double kDivisors[] = {12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1.8924375803183791606e9, 7.47242496e10,
                                  -2.950130727918164224e12, 1.1646782814350067249e14, -4.5979787224074726105e15,
                                  1.8152105401943546773e17, -7.1661652561756670113e18};
  // clang-format on
  if (s == 1) return kInf;
  if (!(s > 1)) return kNan;
  if (q <= 0) {
    if (q == std::floor(q)) return kInf;
    if (s != std::floor(s)) return kNan;
  }
  double sum = std::pow(q, -s), a = q, b = 0;
  for (int i = 0; i < 9 || a <= 9; i++) {
    a += 1;
    b = std::pow(a, -s);
    sum += b;
    if (std::abs(b / sum) < kEps) return sum;
  }
  sum += b * a / (s - 1) - 0.5 * b;
  double f = 1, k = 0;
  for (double divisor : kDivisors) {
    f *= s + k;
    b /= a;
    const double t = f * b / divisor;
    sum += t;
    if (std::abs(t / sum) < kEps) break;
    f *= s + k + 1;
    b /= a;
    k += 2;
  }
  return sum;
}

double polygamma(int64_t n, double x) {
  if (n == 0) return digamma(x);
  const auto order = static_cast<double>(n);
  return (n % 2 ? 1.0 : -1.0) * std::exp(log_gamma(order + 1)) * zeta(order + 1, x);
}

namespace {

// The reflection at 1/2, six steps up, the asymptotic series.
float trigamma(float x) {
  float sum = 0, sign = 1;
  if (x < 0.5f) {
    constexpr float pi = std::numbers::pi_v<float>;
    const float s = std::sin(pi * x);
    sum = -(pi * pi) / (s * s);
    sign = -1;
    x = 1 - x;
  }
  for (int i = 0; i < 6; i++, x += 1) sum += 1 / (x * x);
  const float y = 1 / (x * x), tail = std::fma(-y, std::fma(-y, 1.f / 42, 1.f / 30), 1.f / 6);
  return sign * (sum + std::fma(y, tail, 1 + 1 / (2 * x)) / x);
}

}  // namespace

float polygamma(int64_t n, float x) {
  if (n == 0) return static_cast<float>(digamma(static_cast<double>(x)));
  if (n == 1) return trigamma(x);
  // The first term of the zeta function is a float power, the others are double.
  const float order = static_cast<float>(n) + 1;
  const double first = std::pow(static_cast<double>(x), -static_cast<double>(order)), zeta_sum = zeta(order, x);
  const float z = std::isfinite(zeta_sum) ? static_cast<float>(zeta_sum - first + static_cast<double>(std::pow(x, -order)))
                                          : static_cast<float>(zeta_sum);
  return (n % 2 ? 1.f : -1.f) * std::exp(static_cast<float>(log_gamma(order))) * z;
}

double igamma(double a, double x) { return incomplete_gamma(a, x, true); }
double igammac(double a, double x) { return incomplete_gamma(a, x, false); }

double erfcx(double x) {
  if (x < 5) return std::exp(x * x) * std::erfc(x);
  double t = x;
  for (int k = 60; k > 0; k--) t = x + 0.5 * k / t;
  return kInvSqrtPi / t;
}

double erfinv(double y) {
  const double a = std::abs(y);
  if (!(a <= 1)) return kNan;
  if (a == 1) return std::copysign(kInf, y);
  if (a > 0.5) return std::copysign(erfc_inverse(1 - a), y);
  double z = y / (2 * kInvSqrtPi);
  for (int i = 0; i < 5; i++) z -= (std::erf(z) - y) * std::exp(z * z) / (2 * kInvSqrtPi);
  return z;
}

double ndtri(double p) {
  if (!(p >= 0 && p <= 1)) return kNan;
  if (p == 0 || p == 1) return p == 0 ? -kInf : kInf;
  if (p > 0.25 && p < 0.75) return kSqrt2 * erfinv(2 * p - 1);
  return p < 0.5 ? -kSqrt2 * erfc_inverse(2 * p) : kSqrt2 * erfc_inverse(2 * (1 - p));
}

double log_ndtr(double x) {
  const double t = x / kSqrt2;
  return x < -1 ? std::log(erfcx(-t) / 2) - t * t : std::log1p(-std::erfc(t) / 2);
}

double bessel_i0(double x) { return bessel_i(0, x); }
double bessel_i1(double x) { return std::copysign(bessel_i(1, x), x); }
double bessel_i0e(double x) { return bessel_i_scaled(0, x); }
double bessel_i1e(double x) { return std::copysign(bessel_i_scaled(1, x), x); }
double bessel_k0(double x) { return bessel_k_scaled(0, x) * std::exp(-x); }
double bessel_k1(double x) { return bessel_k_scaled(1, x) * std::exp(-x); }
double bessel_k0e(double x) { return bessel_k_scaled(0, x); }
double bessel_k1e(double x) { return bessel_k_scaled(1, x); }

double spherical_bessel_j0(double x) {
  if (std::isinf(x)) return 0;
  return x == 0 ? 1 : std::sin(x) / x;
}

double airy_ai(double x) {
  if (std::isnan(x)) return x;
  const double z = std::abs(x), zeta = 2 * z * std::sqrt(z) / 3;
  if (x > 1) return std::isinf(x) ? 0 : std::sqrt(x / 3) / kPi * bessel_k_scaled(1.0 / 3, zeta) * std::exp(-zeta);
  if (x > -8) {  // Maclaurin: two interleaved series
    double f = 1, g = x, f_term = 1, g_term = x;
    for (int k = 0; k < 60; k++) {
      const double cube = x * x * x;
      f += f_term *= cube / ((3 * k + 2.0) * (3 * k + 3));
      g += g_term *= cube / ((3 * k + 3.0) * (3 * k + 4));
    }
    return 0.35502805388781723926 * f - 0.25881940379280679840 * g;
  }
  if (std::isinf(x)) return 0;
  double even = 0, odd = 0, u = 1;
  for (int k = 0; k < 20; k++) {
    (k % 2 ? odd : even) += k % 4 < 2 ? u : -u;
    u *= (6 * k + 1.0) * (6 * k + 3) * (6 * k + 5) / ((2 * k + 1.0) * 216 * (k + 1) * zeta);
  }
  const double phase = zeta - kPi / 4;
  return (std::cos(phase) * even + std::sin(phase) * odd) * kInvSqrtPi / std::sqrt(std::sqrt(z));
}

}  // namespace ingot::kernels

double ingot_k_digamma(double x) { return ingot::kernels::digamma(x); }
float ingot_k_digammaf(float x) { return static_cast<float>(ingot::kernels::digamma(static_cast<double>(x))); }
double ingot_k_lgamma(double x) { return ingot::kernels::log_gamma(x); }
float ingot_k_lgammaf(float x) {
  int sign;
  return lgammaf_r(x, &sign);
}
int64_t ingot_k_pow_i64(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (; exponent > 0; exponent >>= 1, square *= square)
    if (exponent & 1) result *= square;
  return static_cast<int64_t>(result);
}
