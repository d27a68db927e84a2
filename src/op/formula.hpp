// A pointwise formula, written once as a generic lambda (ops/pointwise/pointwise.hpp builds these).
// Called with numbers it is the eager kernel, called with expressions it is the compiled one.
//
// Operands are the call's Tensor, Scalar, float and int arguments in schema order, None left out:
// the first `arity` of them. They are converted to one compute type: float for f32 and everything
// smaller, double, int64 for all integers, bool, complex<double> for both complex types.
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "base/dtype.hpp"
#include "op/op.hpp"

namespace ingot {

// How the operands' common dtype becomes the type that is computed in.
enum class Promotion : uint8_t {
  common,        // as it is
  int_to_float,  // integers and bool become the default float type
};

struct Formula {
  // out[i] = f(in[0][i], in[1][i], …) for i < n, all arrays dense in the compute type. Null:
  // outside the domain.
  using Row = void (*)(void* out, const void* const* in, int64_t n);
  std::array<Row, kComputes> rows{};
  std::array<Compute, kComputes> result{};  // compute type of the result: b8 for predicates, f64 for abs of complex
  INGOT_RULE(Expr, lower, std::span<const Expr> operands) = nullptr;
  uint8_t arity = 1;
  uint8_t bool_operands = 0;                // bit k: operand k is a condition: bool, not part of the promotion
  uint8_t promoting = 0xff;                 // bit k: operand k takes part in the promotion (add's alpha does not)
  Promotion promotion = Promotion::common;
};

}  // namespace ingot
