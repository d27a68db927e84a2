#include "ingot/control_flow.hpp"

#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "op/function.hpp"

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
  return tensors_of(call(op_ref<"higher_order::map_impl">(), {function(f), rows, others}));
}

Scanned scan(const TensorFunction& combine, const TensorList& init, const TensorList& rows, const TensorList& others,
             bool reverse) {
  const TensorList all =
      tensors_of(call(op_ref<"higher_order::scan">(), {function(combine), init, flipped(rows, reverse), others}));
  const auto carried = all.begin() + static_cast<std::ptrdiff_t>(init.size());
  return {TensorList(all.begin(), carried), flipped(TensorList(carried, all.end()), reverse)};
}

}  // namespace ingot
