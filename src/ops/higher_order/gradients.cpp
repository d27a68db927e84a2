#include "ops/higher_order/gradients.hpp"

#include <algorithm>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "op/function.hpp"
#include "op/tensors.hpp"
#include "op/upper_layers.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

TensorList joined(std::initializer_list<TensorList> lists) {
  TensorList all;
  for (const TensorList& l : lists) all.insert(all.end(), l.begin(), l.end());
  return all;
}
std::vector<bool> joined(std::vector<bool> a, const std::vector<bool>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
TensorList list_arg(const Vjp& v, int i) { return v.list_size(i) == 0 ? TensorList{} : v.saved_list(i); }
TensorList result_gradients(const Vjp& v, std::size_t from, std::size_t to) {
  TensorList l;
  for (std::size_t k = from; k < to; k++) l.push_back(v.grad_or_zeros(static_cast<int>(k)));
  return l;
}
TensorList tensors_if_any(const Value& r) { return r.is_tensors() ? r.tensors() : TensorList{}; }

// A range of arguments.
Args part(Args args, std::size_t from, std::size_t count) { return args.subspan(from, count); }
void append(Values& to, Args from) { to.insert(to.end(), from.begin(), from.end()); }

// A call that the tape makes. What is on the tape are values: a vmap that is running has no part in
// them, as it would have in a call of a program, whose functions may bring its tensors along. It
// has where a gradient is vmapped over.
TensorList call_of_tape(const Op& op, const Values& args) {
  ThreadState& state = thread_state();
  bool batched = false;
  for_each_tensor(Args(args), [&](const Tensor& t) { batched |= (t->layers & layer_bit(Layer::transform)) != 0; });
  const Scoped<Layer> below(state.layer, batched ? state.layer : std::max(state.layer, Layer::autocast));
  return tensors_if_any(call(op, args));
}

Tensor reversed(const Tensor& t) { return aten<"flip">(t, Shape{0}); }

}  // namespace

// The branch that ran has the gradient: the condition is the same.
void cond_vjp(Vjp& v) {
  const std::vector<bool> wanted = v.list_needs[3];
  const TensorList operands = joined({list_arg(v, 3), result_gradients(v, 0, v.grads.size())});
  const Value predicate = v.is_tensor(0) ? Value(v.saved(0)) : v.arg(0);
  const TensorList g =
      call_of_tape(op_ref<"higher_order::cond">(), {predicate, upper_layers().gradient_function(v.arg(1), wanted),
                                                    upper_layers().gradient_function(v.arg(2), wanted), operands});
  std::size_t next = 0;
  for (std::size_t k = 0; k < wanted.size(); k++)
    if (wanted[k]) v.set(3, static_cast<int>(k), g.at(next++));
}

// A row's gradient depends on the row alone; what all rows share gets the sum.
void map_vjp(Vjp& v) {
  const TensorList mapped = list_arg(v, 1), others = list_arg(v, 2);
  const Value gradient = upper_layers().gradient_function(v.arg(0), joined(v.list_needs[1], v.list_needs[2]));
  const std::size_t rows = mapped.size(), grads = v.grads.size(), shared = others.size();
  const Value body = make_function([=](Args a) {  // (rows, gradients, shared)
    Values in;
    append(in, part(a, 0, rows));
    append(in, part(a, rows + grads, shared));
    append(in, part(a, rows, grads));
    return gradient.function()(in);
  });
  const TensorList g =
      tensors_if_any(call(op_ref<"higher_order::map_impl">(), {body, joined({mapped, result_gradients(v, 0, grads)}), others}));
  std::size_t next = 0;
  for (std::size_t k = 0; k < rows; k++)
    if (v.need(1, static_cast<int>(k))) v.set(1, static_cast<int>(k), g.at(next++));
  for (std::size_t k = 0; k < shared; k++)
    if (v.need(2, static_cast<int>(k))) v.set(2, static_cast<int>(k), aten<"sum.dim_IntList">(g.at(next++), Shape{0}));
}

namespace {

// A call of scan of which the gradients are wanted: of what is carried at first always.
struct ScanCall {
  Value combine;
  TensorList init, xs, others;
  std::vector<bool> of_xs, of_others;  // wanted
};
struct ScanGradients {
  TensorList init, xs, others;  // some of those that are not wanted are zeros
};

// Forward once more, keeping what was carried into each step; then the steps backwards, carrying
// the gradient of what is carried and the sum of the gradients of what all steps share. The
// gradients of what is carried at last may be undefined: zeros.
ScanGradients gradients_of(const ScanCall& s, const TensorList& of_last, const TensorList& of_ys) {
  const TensorList &init = s.init, &xs = s.xs, &others = s.others;
  const std::size_t n_init = init.size(), n_xs = xs.size(), n_others = others.size(), n_ys = of_ys.size();
  const Value combine = s.combine;
  const Value keep = make_function([=](Args a) {
    Values next = combine.function()(a);
    next.resize(n_init);
    for (std::size_t k = 0; k < n_init; k++) next.push_back(aten<"clone">(a[k].tensor()));
    return next;
  });
  const TensorList carried_all = tensors_if_any(call(op_ref<"higher_order::scan">(), {keep, init, xs, others}));
  const TensorList carried(carried_all.begin() + static_cast<std::ptrdiff_t>(n_init), carried_all.end());

  std::vector<bool> wanted;  // of what is carried whatever can have a gradient: a step needs those of the steps after it
  for (const Tensor& t : init) wanted.push_back(is_differentiable(t.dtype()));
  wanted = joined(joined(std::move(wanted), s.of_xs), s.of_others);
  const Value gradient = upper_layers().gradient_function(combine, wanted);
  const auto zeros_like = [](const TensorList& l) {
    TensorList r;
    for (const Tensor& t : l) r.push_back(aten<"zeros_like">(t));
    return r;
  };
  // (gradients of the carried, gradients of the shared | carried, x, gradients of y | shared)
  const Value step = make_function([=](Args a) {
    const Args g_carried = part(a, 0, n_init), g_others = part(a, n_init, n_others);
    const Args rows = a.subspan(n_init + n_others);
    Values in;
    append(in, part(rows, 0, n_init + n_xs));
    append(in, part(rows, n_init + n_xs + n_ys, n_others));
    append(in, g_carried);
    append(in, part(rows, n_init + n_xs, n_ys));
    const Values g = gradient.function()(in);
    std::size_t next = 0;
    Values out, ys;
    for (std::size_t k = 0; k < n_init; k++) out.push_back(wanted[k] ? g[next++] : Value(aten<"clone">(g_carried[k].tensor())));
    for (std::size_t k = 0; k < n_xs; k++)
      ys.push_back(wanted[n_init + k] ? g[next++] : Value(aten<"zeros_like">(rows[n_init + k].tensor())));
    for (std::size_t k = 0; k < n_others; k++) {
      const Tensor& sum = g_others[k].tensor();
      out.push_back(wanted[n_init + n_xs + k] ? aten<"add.Tensor">(sum, g[next++].tensor()) : aten<"clone">(sum));
    }
    append(out, ys);
    return out;
  });
  TensorList backwards;
  for (const Tensor& t : joined({carried, xs, of_ys})) backwards.push_back(reversed(t));
  TensorList start;  // where there is no gradient, zeros of the class of what is carried
  for (std::size_t k = 0; k < n_init; k++) start.push_back(of_last[k].defined() ? of_last[k] : aten<"zeros_like">(init[k]));
  start = joined({start, zeros_like(others)});
  const TensorList g = tensors_if_any(call(op_ref<"higher_order::scan">(), {step, start, backwards, others}));
  const auto from = [&](std::size_t first, std::size_t count) {
    const auto begin = g.begin() + static_cast<std::ptrdiff_t>(first);
    return TensorList(begin, begin + static_cast<std::ptrdiff_t>(count));
  };
  ScanGradients r{from(0, n_init), {}, from(n_init, n_others)};
  for (const Tensor& t : from(n_init + n_others, n_xs)) r.xs.push_back(reversed(t));
  return r;
}

// Sets those gradients of list argument i that are wanted.
void set_wanted(Vjp& v, int i, const TensorList& gradients) {
  for (std::size_t k = 0; k < gradients.size(); k++)
    if (v.need(i, static_cast<int>(k))) v.set(i, static_cast<int>(k), gradients[k]);
}
TensorList first_gradients(const Vjp& v, std::size_t count) {
  return TensorList(v.grads.begin(), v.grads.begin() + static_cast<std::ptrdiff_t>(count));
}

// How often a loop runs, by running it: a number that data decides, where it is traced.
Int runs_of(const Value& condition, const Value& body, const TensorList& carried, const TensorList& others) {
  const Scoped<bool> no_grad(thread_state().grad_mode, false);
  const Tensor start = aten<"zeros">(Shape{}, DType::i64, Value(), carried[0].device());
  const Value test = make_function([=](Args a) { return condition.function()(a.subspan(1)); });
  const Value step = make_function([=](Args a) {
    Values next{aten<"add.Scalar">(a[0].tensor(), 1)};
    append(next, body.function()(a.subspan(1)));
    return next;
  });
  const TensorList last = call_of_tape(op_ref<"higher_order::while_loop">(), {test, step, joined({{start}, carried}), others});
  const Int count = aten_value<"item">(last[0]).to_int();
  if (!count.is_number()) aten_value<"sym_constrain_range_for_size">(count);
  return count;
}

}  // namespace

void scan_vjp(Vjp& v) {
  const ScanCall s{v.arg(0), list_arg(v, 1), list_arg(v, 2), list_arg(v, 3), v.list_needs[2], v.list_needs[3]};
  const std::size_t n_init = s.init.size();
  const ScanGradients g = gradients_of(s, first_gradients(v, n_init), result_gradients(v, n_init, v.grads.size()));
  set_wanted(v, 1, g.init);
  set_wanted(v, 2, g.xs);
  set_wanted(v, 3, g.others);
}

// A loop that ran n times is a scan of n rows that the body does not look at.
void while_loop_vjp(Vjp& v) {
  const TensorList carried = list_arg(v, 2), others = list_arg(v, 3);
  const std::size_t n = v.grads.size();
  INGOT_REQUIRE(carried.size() == n,
                "while_loop: gradients are those of tensors, and something that is carried is none. Carry a ",
                "tensor without dims in its place");
  const Value& body = v.arg(1);
  const Value combine = make_function([=](Args a) {  // (carried, row, others)
    Values in;
    append(in, part(a, 0, n));
    append(in, a.subspan(n + 1));
    return body.function()(in);
  });
  const Tensor rows = aten<"arange">(runs_of(v.arg(0), body, carried, others), DType::i64, Value(), carried.at(0).device());
  const ScanGradients g = gradients_of({combine, carried, {rows}, others, {false}, v.list_needs[3]}, first_gradients(v, n), {});
  set_wanted(v, 2, g.init);
  set_wanted(v, 3, g.others);
}

}  // namespace ingot
