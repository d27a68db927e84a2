// Special functions against the standard library's, against identities, and at the edges of their
// domains.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/polynomials.hpp"
#include "kernels/special.hpp"

namespace ingot::kernels {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

void expect_close(double got, double want, const char* what) { EXPECT_NEAR(got, want, 1e-12 * std::abs(want)) << what; }

TEST(Special, GammaFunctions) {
  expect_close(digamma(1), -0.57721566490153286, "digamma(1) is minus Euler's constant");
  expect_close(digamma(-1.5), 0.70315664064524319, "digamma(-1.5)");
  // Near poles the distance to them is all that counts, on either side.
  for (double x : {-1e-8, -1e-17, -1e-30, 1e-30}) expect_close(digamma(x), -1 / x + digamma(1), "digamma near 0");
  for (double d : {0x1p-40, -0x1p-40}) expect_close(digamma(-3 + d), -1 / d + 11 / 6.0 + digamma(1), "digamma near -3");
  expect_close(polygamma(1, 1.0), M_PI * M_PI / 6, "trigamma(1)");
  for (double s : {1.5, 2.0, 3.7, 20.0}) expect_close(zeta(s, 1), std::riemann_zeta(s), "zeta(s, 1)");
  for (double x : {0.1, 0.5, 2.0, 9.0}) {
    expect_close(igamma(0.5, x), std::erf(std::sqrt(x)), "P(1/2, x) = erf(√x)");
    expect_close(igammac(0.5, x), std::erfc(std::sqrt(x)), "Q(1/2, x) = erfc(√x)");
    expect_close(igamma(1, x), -std::expm1(-x), "P(1, x) = 1 - exp(-x)");
  }
  EXPECT_TRUE(std::isinf(digamma(0)));
  EXPECT_TRUE(std::isnan(digamma(-3)));
  EXPECT_TRUE(std::isnan(igamma(-1, 1)));
  EXPECT_EQ(igamma(2, kInf), 1);
}

TEST(Special, ErrorFunctionsInvert) {
  for (double y : {1e-10, 0.1, 0.5, 0.51, 0.9, 0.999999}) {
    const double z = erfinv(y);
    expect_close(y < 0.5 ? std::erf(z) : 1 - std::erfc(z), y, "erf(erfinv(y))");
    EXPECT_EQ(erfinv(-y), -z);
  }
  for (double p : {1e-300, 1e-10, 0.1, 0.4, 0.9}) expect_close(0.5 * std::erfc(-ndtri(p) * M_SQRT1_2), p, "ndtr(ndtri(p))");
  for (double x : {-2.0, 0.5, 4.9}) expect_close(erfcx(x), std::exp(x * x) * std::erfc(x), "erfcx");
  expect_close(erfcx(5.0000000001), std::exp(25.000000001) * std::erfc(5.0000000001), "erfcx beyond the change of method");
  expect_close(log_ndtr(-5), std::log(0.5 * std::erfc(5 * M_SQRT1_2)), "log_ndtr");
  EXPECT_EQ(erfinv(1), kInf);
  EXPECT_TRUE(std::isnan(erfinv(1.1)));
  EXPECT_EQ(ndtri(0), -kInf);
}

TEST(Special, BesselAndAiryFunctions) {
  for (double x : {1e-6, 0.01, 0.5, 2.0, 8.0, 29.9, 30.1, 300.0}) {
    expect_close(bessel_i0(x), std::cyl_bessel_i(0, x), "i0");
    expect_close(bessel_i1(x), std::cyl_bessel_i(1, x), "i1");
    expect_close(bessel_k0(x), std::cyl_bessel_k(0, x), "k0");
    expect_close(bessel_k1(x), std::cyl_bessel_k(1, x), "k1");
    EXPECT_EQ(bessel_i1(-x), -bessel_i1(x));
  }
  expect_close(bessel_i0e(1000), 0.012617240455891257, "i0e where i0 overflows");
  EXPECT_EQ(bessel_k0(0), kInf);
  EXPECT_TRUE(std::isnan(bessel_k1(-1)));
  expect_close(airy_ai(2), 0.03492413042327438, "Ai(2)");
  expect_close(airy_ai(-2), 0.22740742820168557, "Ai(-2)");
  expect_close(airy_ai(-10), 0.04024123848644319, "Ai(-10)");
  EXPECT_NEAR(airy_ai(-8 + 1e-9), airy_ai(-8 - 1e-9), 5e-9);
}

TEST(Special, PolynomialsFollowTheStandardLibrary) {
  for (unsigned n = 0; n < 12; n++) {
    const double d = n;
    for (double x : {-0.7, 0.3, 0.95}) {
      EXPECT_NEAR(legendre_p(x, d), std::legendre(n, x), 1e-13);
      EXPECT_NEAR(laguerre_l(std::abs(x), d), std::laguerre(n, std::abs(x)), 1e-12);
      EXPECT_NEAR(hermite_h(x, d), std::hermite(n, x), 1e-6);
      EXPECT_NEAR(hermite_he(x, d), std::hermite(n, x * M_SQRT1_2) * std::pow(2.0, -d / 2), 1e-8);
      const double angle = std::acos(x);
      EXPECT_NEAR(chebyshev_t(x, d), std::cos(d * angle), 1e-13);
      EXPECT_NEAR(chebyshev_u(x, d), std::sin((d + 1) * angle) / std::sin(angle), 1e-12);
      EXPECT_NEAR(chebyshev_v(x, d), std::cos((d + 0.5) * angle) / std::cos(angle / 2), 1e-12);
      EXPECT_NEAR(chebyshev_w(x, d), std::sin((d + 0.5) * angle) / std::sin(angle / 2), 1e-12);
      EXPECT_NEAR(shifted_chebyshev_w((x + 1) / 2, d), chebyshev_w(x, d), 1e-11);
    }
    // Recurrence and closed form agree outside the interval too, where only the former exists.
    EXPECT_NEAR(chebyshev_t(1.5, d), std::cosh(d * std::acosh(1.5)), 1e-9 * std::cosh(d));
  }
  EXPECT_EQ(legendre_p(0.5, -1.0), 0);
  EXPECT_EQ(legendre_p(0.5, -0.5), 1) << "a degree is truncated";
  EXPECT_EQ(chebyshev_v(-1.0, 3.0), -7);
  EXPECT_EQ(hermite_h(0.5, kInf), 0);
  EXPECT_TRUE(std::isnan(hermite_he(0.5f, 129.0f))) << "PyTorch's bound for float";
}

}  // namespace
}  // namespace ingot::kernels
