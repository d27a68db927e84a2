#include "op/promotion.hpp"

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "expr/if_known.hpp"
#include "op/call.hpp"

namespace ingot {
namespace {

void merge(std::optional<DType>& into, DType t) { into = into ? promote(*into, t) : t; }

// `low` joins `high` only if its category is higher, and then it brings the category alone: a
// float32 tensor with a complex128 number is complex64.
std::optional<DType> combine(std::optional<DType> high, std::optional<DType> low) {
  if (!high) return low;
  if (!low || is_complex(*high)) return high;
  if (is_floating(*high)) return is_complex(*low) ? complex_of(*high) : *high;
  if (*high == DType::b8 || is_floating(*low) || is_complex(*low)) return promote(*high, *low);
  return high;
}

DType number_dtype(const Value& v) {
  if (v.is_bool()) return DType::b8;
  if (v.is_int()) return is_truth(v.to_int()) ? DType::b8 : DType::i64;
  const DType f = thread_state().default_dtype;
  return v.is_complex() ? complex_of(f) : f;
}

}  // namespace

void TypePromotion::add(const Value& v) {
  if (v.is_tensor()) merge(v.tensor().dim() == 0 ? zero_dim_ : dim_, v.tensor().dtype());
  else if (v.is_number()) merge(number_, number_dtype(v));
}

DType TypePromotion::result() const {
  auto r = combine(combine(dim_, zero_dim_), number_);
  INGOT_ENSURE(r.has_value());
  return *r;
}

DType result_type(Args operands) {
  TypePromotion p;
  for (const Value& v : operands) p.add(v);
  return p.result();
}

bool can_cast(DType from, DType to) {
  if (is_complex(from) && !is_complex(to)) return false;
  if (is_floating(from) && !is_floating(to) && !is_complex(to)) return false;
  if (from != DType::b8 && to == DType::b8) return false;
  return true;
}

}  // namespace ingot
