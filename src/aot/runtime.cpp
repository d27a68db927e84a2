#include "aot/runtime.hpp"

#include <map>

#include "aot/dense.hpp"
#include "autograd/custom_function.hpp"
#include "autograd/unseen_writes.hpp"
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "expr/evaluate.hpp"
#include "ingot/autograd.hpp"
#include "op/tensors.hpp"
#include "tensor/stand_in.hpp"
#include "transform/functional.hpp"

namespace ingot::aot {
namespace {

bool same_geometry(const Tensor& a, const Tensor& b) { return a->geom.same(b->geom); }

// The view of the storage of `base` that `example` is one of. Sizes and strides count elements of
// the example's type.
Tensor view_by_geometry(const Tensor& base, const Tensor& example) {
  const DType from = base.dtype(), to = example.dtype();
  const Int count = floor_div(base->storage->nbytes(), size_of(from));  // of elements of the base's type in the storage
  Tensor t = base;
  if (is_complex(from) && to == real_of(from)) t = aten<"view_as_real">(t);
  else if (is_complex(to) && from == real_of(to))
    t = aten<"view_as_complex">(aten<"as_strided">(t, Shape{floor_div(count, 2), 2}, Shape{2, 1}, 0));
  else if (size_of(from) != size_of(to)) t = aten<"view.dtype">(aten<"as_strided">(t, Shape{count}, Shape{1}, 0), to);
  t = aten<"as_strided">(t, example.sizes(), example.strides(), example.storage_offset());
  return t.dtype() == to ? t : aten<"view.dtype">(t, to);
}

// The view of `base` that `example`, the value the graph returned for it, is one of (R157).
Tensor view_again(const Tensor& base, const Tensor& example, const OutputInfo& info) {
  if (!info.can_replay) return view_by_geometry(base, example);
  const Tensor t = take_views(base, info.steps, info.older_steps);
  INGOT_REQUIRE(t.sizes() == example.sizes(), "incorrect out shape after application of ViewMeta sequence: ", t.sizes(),
                " (actual) vs ", example.sizes(), " (expected)");
  return t;
}

// R158.
Tensor made_again(const Tensor& base, const Tensor& example, const OutputInfo& info) {
  Tensor t;
  {
    const Scoped<bool> grad_mode(thread_state().grad_mode, thread_state().grad_mode && info.requires_grad);
    t = view_again(base, example, info);
    if (t.is_same(base)) t = aten<"alias">(base);
  }
  if (requires_grad(base) && !info.requires_grad && requires_grad(t)) return detached(t);
  if (!requires_grad(base) && info.requires_grad) t.requires_grad_();
  return t;
}

// A value of the graph with a history of its own that the function has on an input's memory has its
// elements there here, too.
Tensor on_memory_of(const Tensor& input, const Tensor& value, const OutputInfo& info) {
  const Scoped<bool> no_grad(thread_state().grad_mode, false);
  const Tensor there = view_again(detached(input), value, info);
  value->storage = there->storage;
  value->geom = there->geom;
  if (const AutogradMeta* m = autograd_meta(value); m && m->view) m->view->attr_version = there->storage->version();
  return value;
}

// The in-place views that the input went through, at the sizes of this call, which `value`, the
// input's in the end, has. Where they depend on them there is one view (Metadata), by geometry.
std::vector<ViewStep> steps_of(const InputInfo& info, const Tensor& value) {
  std::vector<ViewStep> steps = info.steps;
  if (steps.size() != 1 || !steps[0].op->def->view.from_storage) return steps;
  Values& args = steps[0].args;
  const Shape sizes = args[1].ints(), strides = args[2].ints();
  const Int offset = args[3].to_int();
  if (!sizes.is_symbolic() && !strides.is_symbolic() && !offset.is_symbolic()) return steps;
  SymbolValues symbols;
  for (std::size_t d = 0; d < sizes.size(); d++)
    if (const Expr e = sizes[d].expr(); e.op() == ExprOp::Sym) symbols.emplace(e->name, value.sizes()[d].value());
  const auto number = [&](Int n) { return n.is_number() ? n : Int(evaluate(n.expr(), symbols)); };
  Shape now;
  for (const Int n : strides) now.push_back(number(n));
  args[1] = value.sizes();
  args[2] = now;
  args[3] = number(offset);
  return steps;
}

// How the input looks after the call: by the in-place views it went through, since a value of the
// graph has strides of its own.
void change_looks(const InputInfo& info, const Tensor& input, const Tensor& value) {
  if (info.steps.empty()) {
    if (!same_geometry(input, value)) aten_value<"as_strided_">(input, value.sizes(), value.strides(), value.storage_offset());
    return;
  }
  for (const ViewStep& s : steps_of(info, value)) {
    Values args = s.args;
    args[0] = input;
    call(*s.in_place, args);
  }
}

// Writes that the graph makes to the inner tensors of a wrapper are writes to the wrapper.
bool writes_wrapper(const InputInfo& info, const Value& argument) {
  return info.mutation() == Mutation::in_graph && info.mutates_data && !info.hidden_from_autograd && is_wrapper(argument);
}

class Finish {
 public:
  Finish(const Metadata& meta, const Values& arguments, const Values& results, const Ref<GradNode>& node)
      : meta_(meta), arguments_(arguments), results_(results), node_(node) {}

  Values run() {
    count_wrapper_writes();
    for (std::size_t i = 0; i < meta_.inputs.size(); i++)
      if (meta_.inputs[i].mutation() == Mutation::out_of_graph) write_back(i, results_[first_++].tensor());
    Values outputs;
    outputs.reserve(meta_.outputs.size());
    for (std::size_t o = 0; o < meta_.outputs.size(); o++) {
      outputs.push_back(output(o));
      for (const int d : meta_.outputs[o].dynamic_dims)
        ensure_autograd_meta(outputs.back().tensor()).open_dims |= uint64_t{1} << d;  // R137
    }
    for (std::size_t o = 0; o < meta_.outputs.size(); o++) note_stand_in(meta_.outputs[o], outputs[o], outputs);
    if (meta_.grad_mode) thread_state().grad_mode = *meta_.grad_mode;
    return outputs;
  }

 private:
  const Metadata& meta_;
  const Values& arguments_;
  const Values& results_;
  const Ref<GradNode>& node_;
  std::map<std::size_t, Tensor> before_;  // inputs that look otherwise now, as they looked
  std::size_t first_ = 0;                 // of the outputs among the results

  // Before views of them are made again, which are views of what was written.
  void count_wrapper_writes() const {
    for (std::size_t i = 0; i < meta_.inputs.size(); i++)
      if (writes_wrapper(meta_.inputs[i], arguments_[i]) && !arguments_[i].tensor()->inference)
        arguments_[i].tensor()->storage->bump_version();
  }

  void write_back(std::size_t i, const Tensor& value) {
    const InputInfo& info = meta_.inputs[i];
    const Tensor& input = arguments_[i].tensor();
    const bool seen = thread_state().grad_mode && !info.under_no_grad && (meta_.is_train || !requires_grad(input));
    if (info.mutates_data) {
      // A value of the graph is as large as the input is now; its elements go to where the input
      // had them.
      const Scoped<bool> grad_mode(thread_state().grad_mode, seen), unseen(unseen_writes(), info.hidden_from_autograd);
      const Tensor target = requires_grad(input) && is_leaf(input) ? detached(input) : input;
      const uint32_t version = input->storage->version();
      if (info.mutates_metadata) write_through_steps(info, target, value);
      else aten_value<"copy_">(target, value);
      // What is saved of the storage is of arguments that lie apart from this one (R083): written
      // inputs are not saved.
      if (node_) accept_version(*node_, *input->storage, version);
    }
    if (info.mutates_metadata) {
      {
        const Scoped<bool> grad_mode(thread_state().grad_mode, true);
        before_[i] = aten<"alias">(input);
      }
      const uint32_t version = input->storage->version();
      change_looks(info, input, value);
      if (node_) accept_version(*node_, *input->storage, version);
    }
  }
  static void write_through_steps(const InputInfo& info, const Tensor& target, const Tensor& value) {
    aten_value<"copy_">(info.steps.empty() ? aten<"as_strided">(target, value.sizes(), value.strides(), value.storage_offset())
                                           : take_again(target, steps_of(info, value)),
                        value);
  }

  // After the writes: they were before it was made, or the function would have been refused.
  void note_stand_in(const OutputInfo& info, const Value& output, const Values& outputs) const {
    const bool of_input = info.stands_in_for_input >= 0;
    if (!of_input && info.stands_in_for_output < 0) return;
    const Value& of = of_input ? arguments_[static_cast<std::size_t>(info.stands_in_for_input)]
                               : outputs[static_cast<std::size_t>(info.stands_in_for_output)];
    make_stand_in(*output.tensor()->storage, *of.tensor()->storage, op(info.stand_in_by).schema.name);
  }

  const Tensor& as_it_was(std::size_t input) const {
    return before_.contains(input) ? before_.at(input) : arguments_[input].tensor();
  }

  Value output(std::size_t o) const {
    const OutputInfo& info = meta_.outputs[o];
    const Value& value = results_[first_ + o];
    const auto base = static_cast<std::size_t>(info.base);
    switch (info.kind) {
      case OutputKind::non_alias: return info.base < 0 ? value : Value(on_memory_of(as_it_was(base), value.tensor(), info));
      case OutputKind::unsafe_view_alias:
      case OutputKind::custom_function_view: return value;
      case OutputKind::is_input: return arguments_[base];
      case OutputKind::alias_of_input: return made_again(as_it_was(base), value.tensor(), info);
      case OutputKind::alias_of_intermediate:
      case OutputKind::alias_of_intermediate_save_as_output:
        return made_again(results_[first_ + meta_.outputs.size() + base].tensor(), value.tensor(), info);
      case OutputKind::alias_of_intermediate_base_is_user_output:
        return made_again(results_[first_ + base].tensor(), value.tensor(), info);
    }
    return value;
  }
};

// What the ops of the function would refuse, called one by one. Which of them come before a write
// to what an argument stands in for is not known any more.
void check_stand_ins(const Metadata& meta, const Values& arguments) {
  constexpr std::string_view who = "a compiled function";
  const auto written = [&](std::size_t k) { return meta.inputs[k].mutates_data && arguments[k].is_tensor(); };
  for (std::size_t k = 0; k < arguments.size(); k++) {
    if (!arguments[k].is_tensor()) continue;
    const Storage& s = *arguments[k].tensor()->storage;
    require_current(s, who);
    if (written(k)) require_writable(s, who);
    for (std::size_t w = 0; w < arguments.size(); w++)
      INGOT_REQUIRE(!written(w) || !stands_in_for(s, *arguments[w].tensor()->storage), who, ": argument ", k,
                    " is the result of ", stand_in_made_by(s), "(), which is computed at once here, of argument ", w,
                    ", which the function writes: in PyTorch it is a view and sees the write. Give a clone() of it");
  }
}

}  // namespace

Values needed_afterwards(const Metadata& meta, const Values& arguments) {
  if (has_stand_ins()) check_stand_ins(meta, arguments);
  Values needed(arguments.size());
  const auto keep = [&](int k) { needed[static_cast<std::size_t>(k)] = arguments[static_cast<std::size_t>(k)]; };
  for (const int k : meta.mutated_out_of_graph()) keep(k);
  for (std::size_t k = 0; k < meta.inputs.size(); k++)
    if (writes_wrapper(meta.inputs[k], arguments[k])) needed[k] = arguments[k];
  for (const OutputInfo& o : meta.outputs) {
    if (o.base_is_input()) keep(o.base);
    if (o.stands_in_for_input >= 0) keep(o.stands_in_for_input);
  }
  return needed;
}

Values finish_call(const Metadata& meta, const Values& arguments, const Values& results, const Ref<GradNode>& node) {
  INGOT_REQUIRE(static_cast<int>(results.size()) == meta.returned(), "a compiled graph should return ", meta.returned(),
                " values, found ", results.size(), "; what a compiler makes has one value for each output of the graph");  // R134
  return Finish(meta, arguments, results, node).run();
}

}  // namespace ingot::aot
