// Kernels that keep small floating types small, as PyTorch's do.
#pragma once
#include "kernels/rounded.hpp"
#include "ops/common/dense.hpp"

namespace ingot {

// A number as a half type holds it; others have it as it is.
inline double rounded_number(double v, DType t) {
  if (t == DType::bf16) return to_float(to_bfloat16(static_cast<float>(v)));
  return t == DType::f16 ? to_float(to_half(static_cast<float>(v))) : v;
}

// Calls f with a value of memory's type and one of the type that is computed in: half types stay
// half all the way.
template <class F>
void on_kept_small(DType t, std::string_view op, const F& f) {
  if (t == DType::bf16) return f(float{}, kernels::Rounded<BFloat16>{});
  if (t == DType::f16) return f(float{}, kernels::Rounded<Half>{});
  on_floating(t, op, [&]<class T>(T v) { f(v, v); });
}

}  // namespace ingot
