#include "ingot/control_flow.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "op/function.hpp"
#include "ops/higher_order/recorded_scan.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

Value function(const TensorFunction& f) {
  return make_function([f](Args args) {
    TensorList operands;
    for (const Value& v : args) operands.push_back(v.tensor());
    const TensorList results = f(operands);
    return Values(results.begin(), results.end());
  });
}
TensorList tensors_of(const Value& r) {
  TensorList l;
  for (const Value& v : list_elements(r)) l.push_back(v.tensor());
  return l;
}
TensorList flipped(const TensorList& l, bool flip) {
  if (!flip) return l;
  TensorList r;
  for (const Tensor& t : l) r.push_back(aten<"flip">(t, Shape{0}));
  return r;
}

}  // namespace

TensorList cond(const Tensor& predicate, const TensorFunction& if_true, const TensorFunction& if_false,
                const TensorList& operands) {
  return tensors_of(call(op_ref<"higher_order::cond">(), {predicate, function(if_true), function(if_false), operands}));
}

TensorList cond(bool predicate, const TensorFunction& if_true, const TensorFunction& if_false, const TensorList& operands) {
  return tensors_of(call(op_ref<"higher_order::cond">(), {predicate, function(if_true), function(if_false), operands}));
}

TensorList while_loop(const TensorFunction& condition, const TensorFunction& body, const TensorList& carried,
                      const TensorList& others) {
  return tensors_of(call(op_ref<"higher_order::while_loop">(), {function(condition), function(body), carried, others}));
}

TensorList map(const TensorFunction& f, const TensorList& rows, const TensorList& others) {
  for (const Tensor& t : rows)
    INGOT_REQUIRE(t.dim() == 0 || !(t.size(0) == 0), "map: Leading dimensions of mapped xs cannot be 0.");
  return tensors_of(call(op_ref<"higher_order::map_impl">(), {function(f), rows, others}));
}

Scanned scan(const TensorFunction& combine, const TensorList& init, const TensorList& rows, const TensorList& others,
             bool reverse) {
  const TensorList all =
      tensors_of(call(op_ref<"higher_order::scan">(), {function(combine), init, flipped(rows, reverse), others}));
  const auto carried = all.begin() + static_cast<std::ptrdiff_t>(init.size());
  return {TensorList(all.begin(), carried), flipped(TensorList(carried, all.end()), reverse)};
}

std::optional<Scanned> recorded_scan(const TensorFunction& combine, const TensorList& init, const TensorList& rows,
                                     const TensorList& others, bool reverse) {
  constexpr unsigned kAskMore = layer_bit(Layer::transform) | layer_bit(Layer::autocast);
  const auto asks_more = [](const TensorList& l) {
    return std::any_of(l.begin(), l.end(), [](const Tensor& t) {
      return (t->layers & kAskMore) != 0 || (thread_state().grad_mode && t.requires_grad());
    });
  };
  if (!loops_are_kept() || (thread_state().active & kAskMore) != 0 || asks_more(init) || asks_more(rows) || asks_more(others))
    return std::nullopt;
  return scan(combine, init, rows, others, reverse);
}

FlexResult flex_attention(const Tensor& query, const Tensor& key, const Tensor& value, const FlexOptions& options) {
  const Value score_mod = make_function([f = options.score_mod](Args a) {
    return Values{f ? f(a[0].tensor(), a[1].tensor(), a[2].tensor(), a[3].tensor(), a[4].tensor()) : a[0].tensor()};
  });
  const Value mask_mod = make_function([f = options.mask_mod](Args a) {
    const Tensor& b = a[0].tensor();
    return Values{f ? f(b, a[1].tensor(), a[2].tensor(), a[3].tensor()) : aten<"new_ones">(b, Shape{}, DType::b8)};
  });
  const double scale = options.scale ? *options.scale : 1 / std::sqrt(static_cast<double>(query.size(-1).value()));
  const Value none = TensorList();
  const TensorList r = tensors_of(call(op_ref<"higher_order::flex_attention">(),
                                       {query, key, value, score_mod, Values{mask_mod}, scale, Values(), none, none}));
  return {r[0], r[1] * std::numbers::ln2, r[2] * std::numbers::ln2};
}

}  // namespace ingot
