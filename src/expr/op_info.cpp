#include "expr/op_info.hpp"

#include <iterator>

namespace ingot {
namespace {

using enum ExprOp;

constexpr OpInfo unary(ExprOp op, std::string_view name, uint8_t cost, Operand operand = Operand::Floating) {
  return {op, name, Arity::Unary, operand, false, cost};
}
constexpr OpInfo binary(ExprOp op, std::string_view name, uint8_t cost, Operand operand = Operand::Number) {
  return {op, name, Arity::Binary, operand, false, cost};
}
constexpr OpInfo test(ExprOp op, std::string_view name, Arity arity, Operand operand) {
  return {op, name, arity, operand, true, 1};
}
constexpr OpInfo leaf(ExprOp op, std::string_view name, uint8_t cost) {
  return {op, name, Arity::Leaf, Operand::Any, false, cost};
}

// Indexed by ExprOp.
// clang-format off
constexpr OpInfo kOps[] = {
    leaf(Const, "const", 0), leaf(Sym, "sym", 0), leaf(Idx, "idx", 0), leaf(Tmp, "tmp", 0), leaf(Load, "load", 2),
    binary(Add, "add", 1), binary(Mul, "mul", 1), binary(FDiv, "div", 6, Operand::Floating),
    binary(FloorDiv, "floor_div", 8, Operand::Integer), binary(Mod, "mod", 9, Operand::Integer),
    binary(Min, "min", 1), binary(Max, "max", 1),
    test(Lt, "lt", Arity::Binary, Operand::Any), test(Le, "le", Arity::Binary, Operand::Any),
    test(Eq, "eq", Arity::Binary, Operand::Any), test(Ne, "ne", Arity::Binary, Operand::Any),
    test(And, "and", Arity::Binary, Operand::Bool), test(Or, "or", Arity::Binary, Operand::Bool),
    test(Not, "not", Arity::Unary, Operand::Bool),
    binary(BitAnd, "bit_and", 1, Operand::Bits), binary(BitOr, "bit_or", 1, Operand::Bits),
    binary(BitXor, "bit_xor", 1, Operand::Bits), binary(Shl, "shl", 1, Operand::Integer),
    binary(Shr, "shr", 1, Operand::Integer),
    {Select, "select", Arity::Select, Operand::Any, false, 1}, {Cast, "cast", Arity::Cast, Operand::Any, false, 1},
    unary(Neg, "neg", 1, Operand::Number), unary(Abs, "abs", 1, Operand::Number),
    unary(Sign, "sign", 2, Operand::Number), unary(Floor, "floor", 1, Operand::Number),
    unary(Ceil, "ceil", 1, Operand::Number),
    unary(Round, "round", 1, Operand::Number), unary(Trunc, "trunc", 1, Operand::Number),
    unary(Exp, "exp", 14), unary(Exp2, "exp2", 13), unary(Expm1, "expm1", 20), unary(Log, "log", 18),
    unary(Log2, "log2", 18), unary(Log10, "log10", 18), unary(Log1p, "log1p", 22), unary(Sqrt, "sqrt", 6),
    unary(Rsqrt, "rsqrt", 6),
    unary(Sin, "sin", 18), unary(Cos, "cos", 18), unary(Tan, "tan", 24), unary(Asin, "asin", 20),
    unary(Acos, "acos", 20), unary(Atan, "atan", 20), unary(Sinh, "sinh", 24), unary(Cosh, "cosh", 22),
    unary(Tanh, "tanh", 20), unary(Asinh, "asinh", 30), unary(Acosh, "acosh", 30), unary(Atanh, "atanh", 30),
    unary(Erf, "erf", 24), unary(Erfc, "erfc", 30), unary(Lgamma, "lgamma", 60), unary(Digamma, "digamma", 60),
    test(IsNan, "isnan", Arity::Unary, Operand::Number), test(IsInf, "isinf", Arity::Unary, Operand::Number),
    binary(Atan2, "atan2", 28, Operand::Floating), binary(Pow, "pow", 36), binary(Fmod, "fmod", 20),
    binary(Copysign, "copysign", 1, Operand::Floating),
};

constexpr bool table_is_indexed_by_op() {
  for (std::size_t k = 0; k < std::size(kOps); k++)
    if (static_cast<std::size_t>(kOps[k].op) != k) return false;
// clang-format on
  return std::size(kOps) == static_cast<std::size_t>(Copysign) + 1;
}
static_assert(table_is_indexed_by_op());

}  // namespace

const OpInfo& info_of(ExprOp op) { return kOps[static_cast<std::size_t>(op)]; }

bool is_infix(ExprOp op) {
  switch (op) {
    // clang-format off
    case Add: case Mul: case FDiv: case FloorDiv: case Mod: case Lt: case Le: case Eq: case Ne: case And: case Or:
    case Not: case BitAnd: case BitOr: case BitXor: case Shl: case Shr: case Neg: return true;
    // clang-format on
    default: return false;
  }
}

const OpInfo* function_named(std::string_view name) {
  for (const OpInfo& info : kOps)
    if (info.name == name && info.arity != Arity::Leaf && !is_infix(info.op)) return &info;
  return nullptr;
}

std::string_view name_of(ExprOp op) { return info_of(op).name; }

}  // namespace ingot
