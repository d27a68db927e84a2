// Host functions: mathematics over vectors. libtorch brings those of SLEEF with it, and the code of
// AOTInductor calls them by SLEEF's names: the function, the type and number of elements, and its
// bound in tenths of an ulp (Sleef_expf16_u10). Here each element goes to the C library, which
// keeps these bounds. Not there: those of SVE, whose vectors have no length that is known here.
#include <cmath>

#include "host/torch/handle.hpp"

// Vectors are handed over in registers that a plain x86_64 does not have: the functions are for
// those that have them.
#if defined(__x86_64__)
#define INGOT_FOR_EACH_VECTOR(F)                        \
  F(f8, float, 8, __attribute__((target("avx"))))       \
  F(d4, double, 4, __attribute__((target("avx"))))      \
  F(f16, float, 16, __attribute__((target("avx512f")))) \
  F(d8, double, 8, __attribute__((target("avx512f"))))
#else
#define INGOT_FOR_EACH_VECTOR(F) \
  F(f4, float, 4, )              \
  F(d2, double, 2, )
#endif

#define INGOT_OF_ONE(NAME, FUNCTION, S, N, TARGET)          \
  TARGET S##_vector Sleef_##NAME(S##_vector x) {            \
    for (int i = 0; i < N; i++) x[i] = std::FUNCTION(x[i]); \
    return x;                                               \
  }
#define INGOT_OF_TWO(NAME, FUNCTION, S, N, TARGET)                \
  TARGET S##_vector Sleef_##NAME(S##_vector x, S##_vector y) {    \
    for (int i = 0; i < N; i++) x[i] = std::FUNCTION(x[i], y[i]); \
    return x;                                                     \
  }

#define INGOT_VECTOR_FUNCTIONS(S, T, N, TARGET)                                         \
  INGOT_OF_ONE(acos##S##_u10, acos, S, N, TARGET)                                       \
  INGOT_OF_ONE(acosh##S##_u10, acosh, S, N, TARGET)                                     \
  INGOT_OF_ONE(asin##S##_u10, asin, S, N, TARGET)                                       \
  INGOT_OF_ONE(asinh##S##_u10, asinh, S, N, TARGET)                                     \
  INGOT_OF_ONE(atan##S##_u10, atan, S, N, TARGET)                                       \
  INGOT_OF_ONE(atanh##S##_u10, atanh, S, N, TARGET)                                     \
  INGOT_OF_ONE(cos##S##_u10, cos, S, N, TARGET)                                         \
  INGOT_OF_ONE(cos##S##_u35, cos, S, N, TARGET)                                         \
  INGOT_OF_ONE(cosh##S##_u10, cosh, S, N, TARGET)                                       \
  INGOT_OF_ONE(erf##S##_u10, erf, S, N, TARGET)                                         \
  INGOT_OF_ONE(erfc##S##_u15, erfc, S, N, TARGET)                                       \
  INGOT_OF_ONE(exp##S##_u10, exp, S, N, TARGET)                                         \
  INGOT_OF_ONE(exp2##S##_u10, exp2, S, N, TARGET)                                       \
  INGOT_OF_ONE(expm1##S##_u10, expm1, S, N, TARGET)                                     \
  INGOT_OF_ONE(lgamma##S##_u10, lgamma, S, N, TARGET)                                   \
  INGOT_OF_ONE(log##S##_u10, log, S, N, TARGET)                                         \
  INGOT_OF_ONE(log10##S##_u10, log10, S, N, TARGET)                                     \
  INGOT_OF_ONE(log1p##S##_u10, log1p, S, N, TARGET)                                     \
  INGOT_OF_ONE(log2##S##_u10, log2, S, N, TARGET)                                       \
  INGOT_OF_ONE(sin##S##_u10, sin, S, N, TARGET)                                         \
  INGOT_OF_ONE(sin##S##_u35, sin, S, N, TARGET)                                         \
  INGOT_OF_ONE(sinh##S##_u10, sinh, S, N, TARGET)                                       \
  INGOT_OF_ONE(tan##S##_u10, tan, S, N, TARGET)                                         \
  INGOT_OF_ONE(tanh##S##_u10, tanh, S, N, TARGET)                                       \
  INGOT_OF_TWO(atan2##S##_u10, atan2, S, N, TARGET)                                     \
  INGOT_OF_TWO(copysign##S, copysign, S, N, TARGET)                                     \
  INGOT_OF_TWO(fmod##S, fmod, S, N, TARGET)                                             \
  INGOT_OF_TWO(hypot##S##_u05, hypot, S, N, TARGET)                                     \
  INGOT_OF_TWO(nextafter##S, nextafter, S, N, TARGET)                                   \
  INGOT_OF_TWO(pow##S##_u10, pow, S, N, TARGET)                                         \
  TARGET S##_pair Sleef_sincos##S##_u10(S##_vector x) {                                 \
    S##_pair both;                                                                      \
    for (int i = 0; i < N; i++) both.x[i] = std::sin(x[i]), both.y[i] = std::cos(x[i]); \
    return both;                                                                        \
  }

// Types, then functions over them.
#define INGOT_VECTOR_TYPES(S, T, N, TARGET)                         \
  typedef T S##_vector __attribute__((vector_size(N * sizeof(T)))); \
  struct S##_pair {                                                 \
    S##_vector x, y;                                                \
  };

extern "C" {
INGOT_FOR_EACH_VECTOR(INGOT_VECTOR_TYPES)
INGOT_FOR_EACH_VECTOR(INGOT_VECTOR_FUNCTIONS)
}

void ingot::require_vector_functions() {}
