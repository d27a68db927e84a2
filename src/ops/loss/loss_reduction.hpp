// What losses share: `reduction` (0 none, 1 mean, 2 sum) at the end, and its gradient.
#pragma once
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ingot/op/vjp.hpp"
#include "op/call.hpp"

namespace ingot {

enum class LossReduction : int64_t { none, mean, sum };
inline LossReduction loss_reduction(const Value& v) {
  const int64_t k = v.to_int64();
  INGOT_REQUIRE(k >= 0 && k <= 2, "reduction must be 0 (none), 1 (mean) or 2 (sum), found ", k);
  return static_cast<LossReduction>(k);
}

inline Tensor reduce_loss(const Tensor& t, const Value& reduction) {
  switch (loss_reduction(reduction)) {
    case LossReduction::mean: return aten<"mean">(t);
    case LossReduction::sum: return aten<"sum">(t);
    default: return t;
  }
}
// The gradient of each element's loss from that of the reduced one: `t` divided by the number of
// elements for a mean.
inline Tensor per_element(const Tensor& t, Int count, const Value& reduction) {
  return loss_reduction(reduction) == LossReduction::mean ? aten<"div.Scalar">(t, count) : t;
}

constexpr OpDef composite_loss(std::string_view schema, Value (*body)(const Call&)) {
  return {.schema = schema, .form = Form::composite, .body = body, .autocast = Autocast::float32};
}

}  // namespace ingot
