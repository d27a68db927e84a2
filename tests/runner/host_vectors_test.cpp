// Mathematics over vectors under SLEEF's names, as the code of AOTInductor calls it: found by name,
// called with vectors in registers.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

// The types have the names that they have in the host: sanitizers hold the type of a function
// against that of its pointer.
#define INGOT_VECTOR(NAME, T, N)                                \
  typedef T NAME __attribute__((vector_size((N) * sizeof(T)))); \
  struct NAME##_pair {                                          \
    NAME x, y;                                                  \
  };
#if defined(__x86_64__)
INGOT_VECTOR(f8, float, 8)
INGOT_VECTOR(d4, double, 4)
INGOT_VECTOR(f16, float, 16)
INGOT_VECTOR(d8, double, 8)
#else
INGOT_VECTOR(f4, float, 4)
INGOT_VECTOR(d2, double, 2)
#endif

namespace {

struct One {
  const char *name, *bound;
  double (*exact)(double);
  double from, to;  // where the function is looked at
};
constexpr One kOnes[] = {
    {"acos", "_u10", std::acos, -1, 1},     {"acosh", "_u10", std::acosh, 1, 50},    {"asin", "_u10", std::asin, -1, 1},
    {"asinh", "_u10", std::asinh, -50, 50}, {"atan", "_u10", std::atan, -9, 9},      {"atanh", "_u10", std::atanh, -0.99, 0.99},
    {"cos", "_u10", std::cos, -9, 9},       {"cos", "_u35", std::cos, -9, 9},        {"cosh", "_u10", std::cosh, -9, 9},
    {"erf", "_u10", std::erf, -3, 3},       {"erfc", "_u15", std::erfc, -3, 3},      {"exp", "_u10", std::exp, -20, 20},
    {"exp2", "_u10", std::exp2, -20, 20},   {"expm1", "_u10", std::expm1, -2, 2},    {"lgamma", "_u10", std::lgamma, 3, 9},
    {"log", "_u10", std::log, 0.01, 50},    {"log10", "_u10", std::log10, 0.01, 50}, {"log1p", "_u10", std::log1p, -0.9, 9},
    {"log2", "_u10", std::log2, 0.01, 50},  {"sin", "_u10", std::sin, -9, 9},        {"sin", "_u35", std::sin, -9, 9},
    {"sinh", "_u10", std::sinh, -9, 9},     {"tan", "_u10", std::tan, -1.5, 1.5},    {"tanh", "_u10", std::tanh, -4, 4}};
struct Two {
  const char *name, *bound;
  double (*exact)(double, double);
};
constexpr Two kTwos[] = {{"atan2", "_u10", std::atan2},
                         {"copysign", "", std::copysign},
                         {"fmod", "", std::fmod},
                         {"hypot", "_u05", std::hypot},
                         {"pow", "_u10", std::pow}};

template <class F>
F* function(const std::string& name) {
  F* const f = reinterpret_cast<F*>(dlsym(RTLD_DEFAULT, name.c_str()));
  EXPECT_NE(f, nullptr) << name;
  return f;
}
// Off by how many units in the last place of T.
template <class T>
double ulps(T got, double exact) {
  const T near = static_cast<T>(exact);
  return std::abs(static_cast<double>(got) - exact) /
         (std::nextafter(std::abs(near), std::numeric_limits<T>::infinity()) - std::abs(near));
}

// What is called has vectors of a target's own, so the body stands in a function of that target: a
// macro, not a template.
#define INGOT_CHECK_VECTORS(NAME, V, T, TARGET)                                                                  \
  TARGET void check_##NAME() {                                                                                   \
    constexpr int n = sizeof(V) / sizeof(T);                                                                     \
    V x, y;                                                                                                      \
    for (const One& one : kOnes) {                                                                               \
      const std::string name = std::string("Sleef_") + one.name + #NAME + one.bound;                             \
      auto* const f = function<V(V)>(name);                                                                      \
      if (!f) return;                                                                                            \
      for (int i = 0; i < n; i++) x[i] = static_cast<T>(one.from + (one.to - one.from) * (i + 0.37) / n);        \
      const V got = f(x);                                                                                        \
      for (int i = 0; i < n; i++) EXPECT_LT(ulps(got[i], one.exact(x[i])), 3.5) << name << " of " << x[i];       \
    }                                                                                                            \
    for (const Two& two : kTwos) {                                                                               \
      const std::string name = std::string("Sleef_") + two.name + #NAME + two.bound;                             \
      auto* const f = function<V(V, V)>(name);                                                                   \
      if (!f) return;                                                                                            \
      for (int i = 0; i < n; i++) x[i] = static_cast<T>(0.5 + i), y[i] = static_cast<T>(2.25 - i);               \
      const V got = f(x, y);                                                                                     \
      for (int i = 0; i < n; i++) EXPECT_LT(ulps(got[i], two.exact(x[i], y[i])), 3.5) << name << " of " << x[i]; \
    }                                                                                                            \
    auto* const next = function<V(V, V)>("Sleef_nextafter" #NAME);                                               \
    if (!next) return;                                                                                           \
    const V after = next(x, y);                                                                                  \
    for (int i = 0; i < n; i++) EXPECT_EQ(after[i], std::nextafter(x[i], y[i]));                                 \
    auto* const sincos = function<NAME##_pair(V)>("Sleef_sincos" #NAME "_u10");                                  \
    if (!sincos) return;                                                                                         \
    const NAME##_pair both = sincos(x);                                                                          \
    for (int i = 0; i < n; i++) {                                                                                \
      EXPECT_EQ(both.x[i], std::sin(x[i]));                                                                      \
      EXPECT_EQ(both.y[i], std::cos(x[i]));                                                                      \
    }                                                                                                            \
  }

#if defined(__x86_64__)
INGOT_CHECK_VECTORS(f8, f8, float, __attribute__((target("avx"))))
INGOT_CHECK_VECTORS(d4, d4, double, __attribute__((target("avx"))))
INGOT_CHECK_VECTORS(f16, f16, float, __attribute__((target("avx512f"))))
INGOT_CHECK_VECTORS(d8, d8, double, __attribute__((target("avx512f"))))

TEST(HostVectors, OfAvx) {
  if (!__builtin_cpu_supports("avx")) GTEST_SKIP() << "this processor has no AVX";
  check_f8();
  check_d4();
}
TEST(HostVectors, OfAvx512) {
  if (!__builtin_cpu_supports("avx512f")) GTEST_SKIP() << "this processor has no AVX-512";
  check_f16();
  check_d8();
}
#else
INGOT_CHECK_VECTORS(f4, f4, float, )
INGOT_CHECK_VECTORS(d2, d2, double, )

TEST(HostVectors, OfNeon) {
  check_f4();
  check_d2();
}
#endif

}  // namespace
