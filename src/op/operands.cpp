#include "op/operands.hpp"

#include "base/error.hpp"
#include "op/call.hpp"
#include "op/promotion.hpp"

namespace ingot {

std::vector<const Value*> formula_operands(const Call& c, const Formula& f) {
  const auto is_operand = [](Kind k) { return k == Kind::tensor || k == Kind::scalar || k == Kind::real || k == Kind::integer; };
  std::vector<const Value*> v;
  for (std::size_t i = 0; i < c.args.size() && v.size() < f.arity; i++)
    if (is_operand(c.op.schema.args[i].type.kind) && !c.args[i].is_none()) v.push_back(&c.args[i]);
  INGOT_ENSURE(v.size() == f.arity, c.op.name, ": the formula takes ", int{f.arity}, " operands, the call has ", v.size());
  return v;
}

DType common_dtype(const Formula& f, const std::vector<const Value*>& operands) {
  TypePromotion p;
  for (std::size_t k = 0; k < operands.size(); k++)
    if (((f.promoting & ~f.bool_operands) >> k) & 1) p.add(*operands[k]);
  const DType t = p.result();
  const bool to_float = f.promotion == Promotion::int_to_float && !is_floating(t) && !is_complex(t);
  return to_float ? thread_state().default_dtype : t;
}

DType result_dtype(const Formula& f, DType common) {
  const Compute in = compute_type(common), out = f.result[static_cast<std::size_t>(in)];
  if (out == in) return common;
  if (out == Compute::b8) return DType::b8;
  if (out == Compute::i64) return DType::i64;
  if (out == Compute::c128) return complex_of(common);
  return in == Compute::c128 ? real_of(common) : out == Compute::f64 ? DType::f64 : DType::f32;
}

}  // namespace ingot
