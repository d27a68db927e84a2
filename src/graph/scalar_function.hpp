// Arithmetic on numbers between tensor ops: what exported programs write as _operator.add,
// math.trunc, torch.sym_max.
#pragma once
#include <optional>
#include <string_view>

#include "ingot/value.hpp"

namespace ingot {

enum class ScalarFunction : uint8_t {
  // clang-format off
  add, sub, mul, neg, pos, floordiv, mod, truediv, pow, lshift, rshift, and_, or_, eq, ne, lt, le, gt, ge,
  trunc, sym_int, sym_float, sym_not, sym_max, sym_min, sym_ite, sym_sqrt,
  // clang-format on
};

// "_operator.add", "math.trunc", "torch.sym_max"
std::string_view target_of(ScalarFunction f);
// The last part, which names the node: "add", "trunc", "sym_max"
std::string_view name_of(ScalarFunction f);
// How FX writes it: an operator's sign ("+", "//", unary "-"), or the function it calls
// ("math_trunc", "torch.sym_max").
std::string_view spelling_of(ScalarFunction f);
bool is_sign(std::string_view spelling);
// By sign and number of arguments.
std::optional<ScalarFunction> find_sign(std::string_view sign, int arity);
// By target, or as FX writes the call, which has two names for one function: torch._sym_sqrt.
std::optional<ScalarFunction> find_scalar_function(std::string_view target);
int arity_of(ScalarFunction f);

// Python's result. Symbolic numbers stay symbolic: integers integers where Python's do, and a
// comparison that sizes or data decide is a symbolic number, 0 or 1. Division by zero, a negative
// shift and an argument that is no number are user errors.
Value evaluate(ScalarFunction f, Args args);

}  // namespace ingot
