#include "aot/runtime.hpp"

#include <map>

#include "base/error.hpp"
#include "ingot/autograd.hpp"
#include "op/tensors.hpp"

namespace ingot::aot {
namespace {

bool same_geometry(const Tensor& a, const Tensor& b) { return a->geom.same(b->geom); }

// R157, R158: `example` is the value the graph returned for it.
Tensor made_again(const Tensor& base, const Tensor& example, const OutputInfo& info) {
  Tensor t;
  {
    const Scoped<bool> grad_mode(thread_state().grad_mode, thread_state().grad_mode && info.requires_grad);
    if (info.can_replay) {
      t = take_again(base, info.steps);
      INGOT_ENSURE(t.sizes() == example.sizes(), "incorrect out shape after application of ViewMeta sequence: ", t.sizes(), " (actual) vs ", example.sizes(),
                   " (expected)");
    } else {
      t = aten<"as_strided">(base, example.sizes(), example.strides(), example.storage_offset());
    }
    if (t.is_same(base)) t = aten<"alias">(base);
  }
  if (requires_grad(base) && !info.requires_grad && requires_grad(t)) return detached(t);
  if (!requires_grad(base) && info.requires_grad) t.requires_grad_();
  return t;
}

// How the input looks after the call: by the in-place views it went through, since a value of the graph has strides of its own.
void change_looks(const InputInfo& info, const Tensor& input, const Tensor& value) {
  if (info.steps.empty()) {
    if (!same_geometry(input, value)) aten_value<"as_strided_">(input, value.sizes(), value.strides(), value.storage_offset());
    return;
  }
  for (const ViewStep& s : info.steps) {
    Values args = s.args;
    args[0] = input;
    call(*s.in_place, args);
  }
}

class Finish {
 public:
  Finish(const Metadata& meta, const Values& arguments, const Values& results) : meta_(meta), arguments_(arguments), results_(results) {}

  Values run() {
    for (std::size_t i = 0; i < meta_.inputs.size(); i++)
      if (meta_.inputs[i].mutation() == Mutation::out_of_graph) write_back(i, results_[first_++].tensor());
    Values outputs;
    outputs.reserve(meta_.outputs.size());
    for (std::size_t o = 0; o < meta_.outputs.size(); o++) outputs.push_back(output(o));
    if (meta_.grad_mode) thread_state().grad_mode = *meta_.grad_mode;
    return outputs;
  }

 private:
  const Metadata& meta_;
  const Values& arguments_;
  const Values& results_;
  std::map<std::size_t, Tensor> before_;  // inputs that look otherwise now, as they looked
  std::size_t first_ = 0;                 // of the outputs among the results

  void write_back(std::size_t i, const Tensor& value) {
    const InputInfo& info = meta_.inputs[i];
    const Tensor& input = arguments_[i].tensor();
    const bool seen = thread_state().grad_mode && !info.under_no_grad && (meta_.is_train || !requires_grad(input));
    if (info.mutates_data) {
      // A value of the graph is as large as the input is now; its elements go to where the input had them.
      const Scoped<bool> grad_mode(thread_state().grad_mode, seen);
      const Tensor target = requires_grad(input) && is_leaf(input) ? detached(input) : input;
      if (info.mutates_metadata) write_through_steps(info, target, value);
      else aten_value<"copy_">(target, value);
    }
    if (info.mutates_metadata) {
      {
        const Scoped<bool> grad_mode(thread_state().grad_mode, true);
        before_[i] = aten<"alias">(input);
      }
      change_looks(info, input, value);
    }
  }
  static void write_through_steps(const InputInfo& info, const Tensor& target, const Tensor& value) {
    aten_value<"copy_">(info.steps.empty() ? aten<"as_strided">(target, value.sizes(), value.strides(), value.storage_offset())
                                           : take_again(target, info.steps), value);
  }

  Value output(std::size_t o) const {
    const OutputInfo& info = meta_.outputs[o];
    const Value& value = results_[first_ + o];
    const auto base = static_cast<std::size_t>(info.base);
    switch (info.kind) {
      case OutputKind::non_alias:
      case OutputKind::unsafe_view_alias:
      case OutputKind::custom_function_view: return value;
      case OutputKind::is_input: return arguments_[base];
      case OutputKind::alias_of_input:
        return made_again(before_.contains(base) ? before_.at(base) : arguments_[base].tensor(), value.tensor(), info);
      case OutputKind::alias_of_intermediate:
      case OutputKind::alias_of_intermediate_save_as_output:
        return made_again(results_[first_ + meta_.outputs.size() + base].tensor(), value.tensor(), info);
      case OutputKind::alias_of_intermediate_base_is_user_output: return made_again(results_[first_ + base].tensor(), value.tensor(), info);
    }
    return value;
  }
};

}  // namespace

Values finish_call(const Metadata& meta, const Values& arguments, const Values& results) { return Finish(meta, arguments, results).run(); }

}  // namespace ingot::aot
