// Special functions of real numbers, in double. Series, continued fractions and asymptotic
// expansions instead of fitted tables: short enough to check by eye, within a few 1e-14 of the
// exact value, which is all a float result needs and more. Poles and points outside the domain give
// what PyTorch gives: infinity or NaN. None throws, allocates or keeps state.
#pragma once
#include <cstdint>

namespace ingot::kernels {

double log_gamma(double x);                // log |Γ(x)|; unlike std::lgamma writes no global
double digamma(double x);                  // Γ'/Γ
double polygamma(int64_t n, double x);     // n-th derivative of digamma, n >= 0
float polygamma(int64_t n, float x);  // with the roundings PyTorch's float kernel makes: near a pole they are what one sees
double zeta(double s, double q);  // Hurwitz: Σ (q + k)^-s
double igamma(double a, double x);  // regularised lower incomplete gamma
double igammac(double a, double x);  // 1 - igamma

double erfcx(double x);  // exp(x²) erfc(x)
double erfinv(double y);
double ndtri(double p);  // inverse of the normal distribution function
double log_ndtr(double x);  // logarithm of the normal distribution function

double bessel_i0(double x);
double bessel_i1(double x);
double bessel_i0e(double x);  // exp(-|x|) i0(x)
double bessel_i1e(double x);
double bessel_k0(double x);
double bessel_k1(double x);
double bessel_k0e(double x);  // exp(x) k0(x)
double bessel_k1e(double x);
double spherical_bessel_j0(double x);  // sin(x)/x
double airy_ai(double x);

}  // namespace ingot::kernels

// For compiled models.
extern "C" {
double ingot_k_digamma(double x);
float ingot_k_digammaf(float x);
double ingot_k_lgamma(double x);
float ingot_k_lgammaf(float x);
int64_t ingot_k_pow_i64(int64_t base,
                        int64_t exponent);  // wraps on overflow; of a negative exponent what is left of the fraction
}
