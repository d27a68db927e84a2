#include "aot/graphs.hpp"

#include <algorithm>
#include <array>

#include "aot/backward_writes.hpp"
#include "aot/inputs.hpp"
#include "autograd/engine.hpp"
#include "autograd/unseen_writes.hpp"
#include "base/error.hpp"
#include "graph/tracer.hpp"
#include "ingot/autograd.hpp"
#include "op/source_note.hpp"
#include "op/tensors.hpp"
#include "pass/dead_code.hpp"
#include "transform/functional.hpp"
#include "transform/functional_graph.hpp"

namespace ingot::aot {
namespace {

// A function on functional tensors over the inputs of a graph that is being recorded.
class Recording {
 public:
  Recording(const Metadata& meta, const Values& plain, const Values& fakes) : meta_(meta), plain_(plain) {
    for (std::size_t k = 0; k < meta.inputs.size(); k++) {
      if (!plain[k].is_tensor()) {
        inputs_.push_back(plain[k]);
        continue;
      }
      inputs_.push_back(functional_input(plain[k].tensor(), fakes[k].tensor()));
      // Arguments that lie apart from each other are values of their own (R083). What refers to the
      // storage could see more.
      const auto& storage = fakes[k].tensor()->storage;
      for (std::size_t other = 0; other < fakes.size(); other++) {
        if (other == k || !fakes[other].is_tensor() || fakes[other].tensor()->storage != storage) continue;
        if (meta.inputs[other].mutates_data) functional_state(inputs_[k].tensor())->storage->alone = true;
        if (other < k) get_stale_together(inputs_[k].tensor(), inputs_[other].tensor());
      }
    }
  }

  const Values& inputs() const { return inputs_; }

  // Outputs that are views of one intermediate stay so, and what a view is taken of again after the
  // call lies as the view needs it.
  // `given`: what the function got; its results on that are taken of the caller's tensors.
  void keep_aliases_of(const Values& outputs, const Values& given) const {
    TensorList results;
    for (const Value& v : outputs)
      if (v.is_tensor()) results.push_back(v.tensor());
    keep_aliases(results, [&](const FunctionalState& f) {
      const auto is_on = [&](const Value& v) { return v.is_tensor() && functional_state(v.tensor())->storage == f.storage; };
      return std::any_of(inputs_.begin(), inputs_.end(), is_on) || std::any_of(given.begin(), given.end(), is_on);
    });
  }
  // Everything that was written is in the inputs' values.
  void sync_inputs() const {
    for (const Value& v : inputs_)
      if (v.is_tensor()) sync(v.tensor());
  }
  static Value value_of(const Value& v) { return v.is_tensor() ? Value(from_functional(v.tensor())) : v; }

  // The input becomes what was made of it.
  void write(std::size_t i) const {
    const Tensor& input = plain_[i].tensor();
    const Tensor value = from_functional(inputs_[i].tensor());
    if (value.is_same(input)) return;
    const Scoped<bool> grad_mode(thread_state().grad_mode, false);
    const Scoped<bool> unseen(unseen_writes(), meta_.inputs[i].hidden_from_autograd && meta_.inputs[i].mutates_data);
    const SourceScope source(source_of(unwrapped({value})[0].tensor()));
    const bool is_set = meta_.inputs[i].mutates_storage_metadata;
    const bool has_bytes = give_bytes(*functional_state(inputs_[i].tensor())->storage, is_set ? value : input);
    if (is_set) aten_value<"set_.source_Tensor">(input, value);
    else if (has_bytes) aten_value<"copy_">(input, value);
  }

  // R094: what the graph itself does to its inputs.
  void write_inputs(Values& outputs, std::size_t first_output) const {
    for (const int k : meta_.mutated_in_graph()) write(static_cast<std::size_t>(k));
    for (std::size_t o = 0; o < meta_.outputs.size(); o++) {  // R095
      const OutputInfo& info = meta_.outputs[o];
      if (info.kind != OutputKind::is_input || meta_.inputs[static_cast<std::size_t>(info.base)].mutation() != Mutation::in_graph)
        continue;
      outputs[first_output + o] = plain_[static_cast<std::size_t>(info.base)];
    }
  }

 private:
  const Metadata& meta_;
  const Values& plain_;
  Values inputs_;

  // R096: where the value was made is where the input was written.
  static Ref<SourceNote> source_of(const Tensor& value) {
    const Argument made = current_tracer()->argument(value);
    return make_ref<SourceNote>(made.node()->stack_trace, made.node()->module_path);
  }
};

// R107: a graph could never run with a tensor that has no data.
void refuse_fake_constants(const Graph& g) {
  for (const auto& [name, held] : g.attributes)
    if (const Tensor* t = std::get_if<Tensor>(&held))
      INGOT_REQUIRE(!(*t)->is_fake(), "Unexpected fake tensor ", name, " of size ", t->sizes(),
                    ": the function brings it along; pass it as an argument, or give it data");
}

// All must be values (R063). Returns how many writes there are.
int require_values(const Graph& recorded) {
  refuse_fake_constants(recorded);
  return require_functional(recorded);
}
// And dead code goes (R098).
Graph finished(const Graph& recorded) {
  const int writes = require_values(recorded);
  Graph g = run_passes(recorded, std::array{dead_code_pass()});
  INGOT_ENSURE(require_functional(g) == writes, "dead-code removal took a write away");
  return g;
}

// The fakes as values of the graph: without history, and each a tensor of its own.
Values plain_inputs(const Values& fakes) {
  Values plain;
  for (const Value& v : fakes) plain.push_back(v.is_tensor() ? Value(plain_input(v.tensor())) : v);
  return plain;
}

std::vector<std::string> numbered(std::string_view before, std::size_t first, std::size_t count, std::string_view after) {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < count; k++) names.push_back(text(before, first + k, after));
  return names;
}

// What the forward returns, and where its gradients come from.
struct Forward {
  Values outputs;  // updated inputs, outputs, bases: functional
  std::vector<Edge> roots;
  std::vector<std::size_t> tangents;  // of each root
  TensorList differentiated;  // the roots themselves
  Values given;  // what took the place of the inputs
};

// What a backward without tangents starts with (R101).
Tensor own_gradient(const Forward& f) {
  INGOT_REQUIRE(f.differentiated.size() == 1 && f.differentiated[0].numel() == 1,
                "a joint graph without tangents needs one result with gradients, of one "
                "element, found ",
                f.differentiated.size(),
                f.differentiated.empty() ? "" : text(", the first of size ", f.differentiated[0].sizes()));
  const Scoped<bool> no_grad(thread_state().grad_mode, false);
  return aten<"ones_like">(f.differentiated[0], Value(), Value(), Value(), false, MemoryFormat::preserve);
}

// Without tangents, those that require grad have one.
Values gradients_of_tracked(const Values& fakes, const Values& gradients) {
  Values tracked;
  for (std::size_t k = 0; k < gradients.size(); k++) {
    if (!fakes[k].is_tensor() || !requires_grad(fakes[k].tensor())) continue;
    INGOT_REQUIRE(gradients[k].is_tensor(), "Found a parameter that did not receive a gradient. Input ", k, " of size ",
                  fakes[k].tensor().sizes(),
                  " requires grad, and the loss does not depend on it: leave it out, or do not let it require grad");
    tracked.push_back(gradients[k]);
  }
  return tracked;
}

// The input as the function may write it: what happens to it must not happen to the variable that
// gradients are for (R099).
Value replaced(const InputInfo& info, const Value& v) {
  if (info.mutation() != Mutation::out_of_graph) return v;
  const Tensor& t = v.tensor();
  if (info.mutates_data && info.requires_grad) {
    const Tensor copy = aten<"clone">(t);
    if (!is_wrapper(from_functional(t))) take_place(copy, t);
    return copy;
  }
  return info.mutates_metadata ? Value(aten<"view">(t, t.sizes())) : v;
}

Forward run_forward(const FlatFunction& f, const Metadata& meta, const Values& inputs) {
  Forward r;
  Values& given = r.given;
  for (std::size_t k = 0; k < inputs.size(); k++) given.push_back(replaced(meta.inputs[k], inputs[k]));
  const Values outputs = f(given);
  for (const Value& v : given)
    if (v.is_tensor()) sync(v.tensor());  // the backward starts with what the forward wrote
  for (const int k : meta.mutated_out_of_graph()) r.outputs.push_back(given[static_cast<std::size_t>(k)]);
  r.outputs.insert(r.outputs.end(), outputs.begin(), outputs.end());
  int bases = 0;
  for (std::size_t k = 0; k < std::min(outputs.size(), meta.outputs.size()); k++) {
    if (meta.outputs[k].kind != OutputKind::alias_of_intermediate_save_as_output || !outputs[k].is_tensor()) continue;
    const AutogradMeta* m = autograd_meta(outputs[k].tensor());
    if (!m || !m->view || !requires_grad(m->view->base)) continue;
    r.outputs.push_back(m->view->base);
    bases++;
  }
  INGOT_REQUIRE(bases == meta.intermediate_bases, "the function has ", bases, " intermediate bases while it is traced, and had ",
                meta.intermediate_bases, " before. Does it depend on anything but its arguments?");  // R100
  INGOT_ENSURE(static_cast<int>(r.outputs.size()) == meta.returned(), "the function has ", r.outputs.size(),
               " results while tracing, ", meta.returned(), " before");
  const std::vector<std::size_t> tracked = meta.with_tangents();
  for (std::size_t t = 0; t < tracked.size(); t++) {
    const Tensor& root = r.outputs[tracked[t]].tensor();
    if (!requires_grad(root)) continue;
    r.roots.push_back(edge_of(root));
    r.tangents.push_back(t);
    r.differentiated.push_back(root);
  }
  return r;
}

}  // namespace

bool JointLayouts::has_wrappers() const {
  return inputs.has_wrappers() || returned.has_wrappers() || tangents.has_wrappers() || gradients.has_wrappers();
}

BaseGraph base_graph(const FlatFunction& f, const Values& fakes, const Metadata& meta, ShapeEnv& sizes,
                     const Decompositions* decompositions, bool pre_dispatch) {
  BaseGraph base;
  base.inputs = DenseLayout(fakes);
  sizes.run_again();
  const auto function = [&](const Values& plain) {
    const Scoped<bool> replay(thread_state().view_replay, true);
    const Values given = base.inputs.wrapped(plain);
    Recording r(meta, given, fakes);
    Values outputs, results;
    {
      const FunctionalizeScope scope;
      outputs = f(r.inputs());
      r.keep_aliases_of(outputs, r.inputs());
      r.sync_inputs();
    }
    for (const int k : meta.mutated_out_of_graph())
      results.push_back(Recording::value_of(r.inputs()[static_cast<std::size_t>(k)]));
    const std::size_t first = results.size();
    for (const Value& v : outputs) results.push_back(Recording::value_of(v));
    r.write_inputs(results, first);
    base.returned = DenseLayout(results);
    return unwrapped(results);
  };
  const Values plain = plain_inputs(unwrapped(fakes));
  base.graph = finished(record(function, plain, numbered("arg", 0, plain.size() + static_cast<std::size_t>(meta.tokens), "_1"),
                               sizes, {.decompositions = decompositions, .pre_dispatch = pre_dispatch, .tokens = meta.tokens}));
  return base;
}

JointGraph joint_graph(const FlatFunction& f, const Values& fakes, const Metadata& meta, ShapeEnv& sizes,
                       const Decompositions* decompositions, bool no_tangents) {
  JointGraph joint;
  JointLayouts& layouts = joint.layouts;
  const Values tangents(meta.tangents.begin(), meta.tangents.end());
  layouts.inputs = DenseLayout(fakes);
  layouts.tangents = DenseLayout(tangents);
  sizes.run_again();
  Values inputs = plain_inputs(unwrapped(fakes));
  const std::size_t tokens = static_cast<std::size_t>(meta.tokens), primals = inputs.size() + tokens;
  std::vector<std::string> names = no_tangents ? numbered("arg", 0, primals, "_1") : numbered("primals_", 1, primals, "");
  if (!no_tangents) {
    const Values dense = unwrapped(tangents);
    inputs.insert(inputs.end(), dense.begin(), dense.end());
    for (std::string& n : numbered(kTangents, 1, dense.size(), "")) names.push_back(std::move(n));
  }
  const auto function = [&](const Values& plain) {
    ThreadState& state = thread_state();
    const Scoped<bool> replay(state.view_replay, true);
    const auto border = plain.begin() + static_cast<std::ptrdiff_t>(layouts.inputs.dense_size());
    const Values given = layouts.inputs.wrapped(Values(plain.begin(), border));
    Recording r(meta, given, fakes);
    Values results, gradients(fakes.size());
    {
      const FunctionalizeScope scope;
      const Scoped<bool> grad_mode(state.grad_mode, true);
      std::vector<Edge> captures;  // before anything writes the inputs
      std::vector<std::size_t> primals;
      for (std::size_t k = 0; k < fakes.size(); k++) {
        if (!r.inputs()[k].is_tensor() || !fakes[k].is_tensor() || !requires_grad(fakes[k].tensor())) continue;
        captures.push_back(edge_of(r.inputs()[k].tensor()));
        primals.push_back(k);
      }
      const Forward forward = run_forward(f, meta, r.inputs());
      if (!forward.roots.empty() && !captures.empty()) {
        TensorList seeds;
        if (no_tangents) {
          seeds.push_back(own_gradient(forward));
        } else {
          const Values given_tangents = layouts.tangents.wrapped(Values(border, plain.end()));
          for (const std::size_t t : forward.tangents) seeds.push_back(to_functional(given_tangents[t].tensor()));
        }
        const BackwardWrites writes(r.inputs(), forward.given, seeds);
        const TensorList found = run_backward(forward.roots, seeds, captures, {.retain_graph = true});
        joint.written_by_backward = writes.found(meta);
        for (std::size_t k = 0; k < primals.size(); k++)
          if (found[k].defined()) gradients[primals[k]] = found[k];
      }
      r.keep_aliases_of(forward.outputs, forward.given);
      r.sync_inputs();
      for (const Value& v : forward.outputs) results.push_back(Recording::value_of(v));
      for (Value& v : gradients) v = Recording::value_of(v);
    }
    r.write_inputs(results, meta.mutated_out_of_graph().size());
    for (const int k : joint.written_by_backward) r.write(static_cast<std::size_t>(k));
    if (no_tangents) gradients = gradients_of_tracked(fakes, gradients);
    layouts.returned = DenseLayout(results);
    layouts.gradients = DenseLayout(gradients);
    Values all = unwrapped(results);
    if (!no_tangents) all.resize(all.size() + tokens);  // tokens have no gradients
    const Values dense = unwrapped(gradients);
    all.insert(all.end(), dense.begin(), dense.end());
    return all;
  };
  joint.graph = record(function, inputs, names, sizes, {.decompositions = decompositions, .tokens = meta.tokens});
  for (std::size_t k = primals; k < joint.graph.inputs().size(); k++) joint.graph.inputs()[k]->role = Role::tangent;
  if (no_tangents) require_values(joint.graph);  // an exported one has everything that was recorded (A154)
  else joint.graph = finished(joint.graph);
  return joint;
}

}  // namespace ingot::aot
