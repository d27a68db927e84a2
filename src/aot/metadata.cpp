#include "aot/metadata.hpp"

#include <algorithm>

#include "aot/dense.hpp"
#include "aot/inputs.hpp"
#include "autograd/custom_function.hpp"
#include "base/error.hpp"
#include "graph/shape_env.hpp"
#include "graph/tracer.hpp"
#include "op/tensors.hpp"
#include "tensor/geometry.hpp"
#include "tensor/stand_in.hpp"
#include "transform/functional.hpp"

namespace ingot::aot {
namespace {

bool same_step(const ViewStep& a, const ViewStep& b) {
  return a.op == b.op && a.out == b.out && a.args.size() == b.args.size() &&
         std::equal(a.args.begin() + 1, a.args.end(), b.args.begin() + 1,
                    [](const Value& x, const Value& y) { return to_text(x) == to_text(y); });
}

Values geometry_arguments(const Geometry& g) { return {Value(), g.sizes, g.strides, g.offset}; }
bool is_symbolic(const Value& v) { return v.is_ints() ? v.ints().is_symbolic() : v.is_int() && v.to_int().is_symbolic(); }
bool has_symbols(const ViewStep& s) { return std::any_of(s.args.begin(), s.args.end(), is_symbolic); }

// What the first `steps` of the output's views look at.
Geometry geometry_after(const Tensor& output, std::size_t steps) {
  const FunctionalState& f = *functional_state(output);
  const Scoped<Layer> layer(thread_state().layer, Layer::kernel);
  Tensor t(make_ref<TensorImpl>(Storage::fake(output->storage->nbytes(), output.device()), f.storage->layout));
  for (std::size_t k = 0; k < steps; k++) t = f.chain[k].apply(t);
  return t->geom;
}

bool refers_to_storage(const ViewStep& s) { return s.op->def->view.from_storage; }

// The steps from `first` on look at elements alone that what they are taken of has: taken by
// geometry, they have the same gradients.
void require_own_elements(const Tensor& output, std::size_t first) {
  const std::vector<ViewStep>& chain = functional_state(output)->chain;
  for (std::size_t k = first; k < chain.size(); k++)
    INGOT_REQUIRE(
        !refers_to_storage(chain[k]) || looks_within(geometry_after(output, k + 1), geometry_after(output, k)),
        "an output that shares memory with an input or another output is an as_strided() that may look at elements which the tensor it "
        "is taken of does not have, and its gradients cannot be followed. Take the view with select, slice or another op that says "
        "which part of the tensor it means, or return a clone() of it");
}

// The way from one view of a storage to another view, `output`, where that leads on and not back.
// Steps by sizes of the example say nothing about those of another call (R157). Where there is no
// way, the output is taken by its geometry, and so are its gradients: as they are of a view that is
// older than the last write. A newer one that refers to the storage has those alone that its own
// base has elements for, so that base is what its geometry says, and the newer steps are taken of
// it.
void set_way(OutputInfo& o, const std::vector<ViewStep>& from, const Tensor& output) {
  const FunctionalState& to = *functional_state(output);
  std::size_t common = 0;
  while (common < std::min(from.size(), to.chain.size()) && same_step(from[common], to.chain[common])) common++;
  const std::size_t older = to.older_steps();
  const bool leads_on = common == from.size();
  const auto begin = to.chain.begin();
  const auto first = begin + static_cast<std::ptrdiff_t>(leads_on ? common : older);
  const bool of_storage =
      o.requires_grad && std::any_of(begin + static_cast<std::ptrdiff_t>(older), to.chain.end(), refers_to_storage);
  o.can_replay = (leads_on || of_storage) && std::none_of(first, to.chain.end(), has_symbols);
  if (!leads_on && o.can_replay) {
    const Geometry g = geometry_after(output, older);
    o.can_replay = g.dtype == to.storage->layout.dtype && !g.sizes.is_symbolic() && !g.strides.is_symbolic();
    o.steps.push_back({&op_ref<"as_strided">(), geometry_arguments(g), 0});
  }
  if (!o.can_replay) {
    o.steps.clear();
    if (of_storage) require_own_elements(output, older);
    return;
  }
  o.steps.insert(o.steps.end(), first, to.chain.end());
  o.older_steps = leads_on ? std::max(older, common) - common : 1;
}

struct Wrapped {
  Tensor fake, tensor;
  Ref<FunctionalStorage> storage;  // at first
  int last = 0;  // the last input that is it
};

class Collector {
 public:
  Collector(const Values& inputs, bool keep_mutations, bool is_train) : inputs_(inputs) {
    meta_.keep_mutations = keep_mutations;
    meta_.is_train = is_train;
    for (std::size_t k = 0; k < inputs.size(); k++) {
      if (!inputs[k].is_tensor()) continue;
      Wrapped* known = find(inputs[k].tensor());
      if (!known) {
        wrapped_.push_back({inputs[k].tensor(), functional_input(plain_input(inputs[k].tensor()), inputs[k].tensor()), {}, 0});
        known = &wrapped_.back();
        known->storage = functional_state(known->tensor)->storage;
        const auto beside = std::find_if(wrapped_.begin(), wrapped_.end() - 1,
                                         [&](const Wrapped& w) { return w.fake->storage == known->fake->storage; });
        if (beside != wrapped_.end() - 1) get_stale_together(known->tensor, beside->tensor);
      }
      known->last = static_cast<int>(k);
    }
  }

  Metadata collect(const FlatFunction& f) {
    // Also after the run: what looks at a result lays it out as it was written.
    const Scoped<bool> fakes(thread_state().fake_factories, true);
    run(f);
    for (const Value& v : inputs_) meta_.inputs.push_back(v.is_tensor() ? info_of(*find(v.tensor())) : InputInfo{});
    meta_.has_wrappers = std::any_of(inputs_.begin(), inputs_.end(), is_wrapper) ||
                         std::any_of(results_.begin(), results_.end(),
                                     [](const Value& v) { return v.is_tensor() && is_wrapper(from_functional(v.tensor())); });
    for (const Value& v : results_) count_storage(v);
    for (std::size_t k = 0; k < results_.size(); k++) meta_.outputs.push_back(info_of(k));
    meta_.intermediate_bases = static_cast<int>(bases_.size());
    INGOT_REQUIRE(
        bases_.empty() || !meta_.has_wrappers,
        "torch.compile is currently being used with tensor subclass inputs: ", inputs_text(),
        ". We are attempting to a compile a graph with two graph outputs that alias one another, which is currently unsupported in the subclass use case. "
        "Return a clone() of one of them");  // R018
    add_tangents();
    return std::move(meta_);
  }

 private:
  const Values& inputs_;
  std::vector<Wrapped> wrapped_;
  Values results_;
  TensorList bases_;
  struct Shared {
    const FunctionalStorage* storage;
    int outputs = 0, multi_output = 0;
  };
  std::vector<Shared> shared_;
  Metadata meta_;

  Wrapped* find(const Tensor& fake) {
    const auto it = std::find_if(wrapped_.begin(), wrapped_.end(), [&](const Wrapped& w) { return w.fake.is_same(fake); });
    return it == wrapped_.end() ? nullptr : &*it;
  }

  void run(const FlatFunction& f) {
    ThreadState& state = thread_state();
    const bool autocast = state.active & layer_bit(Layer::autocast), grad_mode = state.grad_mode;
    const DType autocast_dtype = state.autocast_dtype;
    const Scoped<bool> replay(state.view_replay, true);
    const FunctionalizeScope scope;
    // A trace that nobody reads: calls whose functions run depending on data stay whole, as they do
    // when the graph is recorded.
    Graph unread;
    const TraceOptions options;
    Tracer tracer(unread, options);
    Values given;
    for (const Value& v : inputs_) {
      given.push_back(v.is_tensor() ? Value(find(v.tensor())->tensor) : v);
      tracer.bind_input(v.is_tensor() ? Value(functional_state(given.back().tensor())->value) : v, "input");
    }
    const TracerScope tracing(tracer);
    results_ = f(given);
    meta_.tokens = tracer.met_effect() ? 1 : 0;
    INGOT_REQUIRE(
        autocast == static_cast<bool>(state.active & layer_bit(Layer::autocast)) && autocast_dtype == state.autocast_dtype,
        "AOTAutograd does not support tracing graphs that mutate the autocast state. Dynamo will only insert autocast context managers "
        "(e.g. with torch.autocast(..)) into the graph, which will unwind all of their mutations to autocast state before the graph exits. "
        "If you encounter this error while using torch.compile, please file a bug.");
    if (state.grad_mode != grad_mode) {
      meta_.grad_mode = state.grad_mode;
      state.grad_mode = grad_mode;
    }
    for (const Wrapped& w : wrapped_) sync(w.tensor);
  }

  InputInfo info_of(const Wrapped& w) const {
    const FunctionalState& f = *functional_state(w.tensor);
    const FunctionalStorage& now = *f.storage;
    InputInfo i;
    i.is_tensor = true;
    i.is_leaf = is_leaf(w.fake);
    i.mutates_storage_metadata = f.storage_changed && !(f.storage == w.storage);
    i.mutates_data = now.mutations > 0 && !i.mutates_storage_metadata;
    i.mutates_metadata = i.mutates_storage_metadata || (f.metadata_mutated && !statically_same(w.tensor->geom, w.fake->geom));
    i.resizes_storage = now.bytes.has_value();
    i.hidden_from_autograd = now.mutations <= now.mutations_hidden;
    i.under_no_grad = now.mutations > 0 && now.mutations <= now.mutations_no_grad + now.mutations_hidden;
    i.requires_grad = requires_grad(w.tensor);
    i.changes_requires_grad = is_leaf(w.tensor) && i.requires_grad != requires_grad(w.fake);
    i.keep_mutations = meta_.keep_mutations;
    i.refers_to_storage = now.referred_to || w.storage->referred_to || i.resizes_storage || i.mutates_storage_metadata;
    i.steps = f.chain;
    // Numbers that the sizes of a call decide: one view says how it looks in the end.
    if (std::any_of(i.steps.begin(), i.steps.end(), has_symbols))
      i.steps = {{&op_ref<"as_strided">(), geometry_arguments(w.tensor->geom), 0, &op_ref<"as_strided_">()}};
    // What comes back of an input is what it looks at in the end.
    INGOT_REQUIRE(
        !i.mutates_data || !f.left_elements,
        "Found an input that looks at fewer elements after out=, as_strided_() or resize_() than before, while others of it were "
        "written, or another view of it could write them: they would not come back. Write a clone() of the input, or take the "
        "part with a view that is a tensor of its own");
    INGOT_REQUIRE(i.mutates_storage_metadata || f.storage == w.storage,
                  "Found an input that out= or resize_() made larger than its storage, which stays the caller's: ",
                  w.fake.sizes(), " before, ", w.tensor.sizes(), " after",
                  w.fake->storage->nbytes().is_symbolic() ? " (at open sizes a storage has what the inputs have of it)" : "",
                  ". Give it the size that it will have, or write a tensor of the function");
    if (wrapper_state(w.fake)) require_simple(i, w.fake);
    if (i.mutation() == Mutation::out_of_graph) require_no_set(i);
    if (i.resizes_storage && !i.mutates_storage_metadata) require_empty_once(w, *now.bytes);
    return i;
  }
  // R094: every step of a resize is from or to 0 bytes, and so has the whole of it to be.
  static void require_empty_once(const Wrapped& w, const Int& bytes) {
    const Int before = w.fake->storage->nbytes();
    INGOT_REQUIRE(before == bytes || before == 0 || bytes == 0, "Encountered a storage resize during tracing on input ", w.last,
                  ". Old nbytes=", before, ", new nbytes=", bytes,
                  "\nWe only support storage resizing on graph inputs as long as the input either starts or ends with a storage "
                  "size of 0\n(the case for FSDP)");
  }
  // R028, R029: a wrapper's inner tensors would have to follow.
  static void require_simple(const InputInfo& i, const Tensor& wrapper) {
    INGOT_REQUIRE(!i.mutates_metadata, "Metadata mutations are currently not allowed on tensor subclasses");
    INGOT_REQUIRE(!i.resizes_storage,
                  "storage resizing is not supported on tensor subclass: ", wrapper_state(wrapper)->cls->name());
    INGOT_REQUIRE(!i.mutates_data || wrapper.is_contiguous(),
                  "Mutations on non-contiguous inputs are currently not allowed on tensor subclasses");
  }
  std::string inputs_text() const {
    std::string s;
    for (const Value& v : inputs_)
      s += (s.empty() ? "" : ", ") + (v.is_tensor() ? to_text(layout_of(v.tensor())) : std::string(v.kind_name()));
    return s;
  }
  static void require_no_set(const InputInfo& i) {
    const auto line = [](std::string_view name, bool value) { return text("\n  ", name, "=", value ? "True" : "False"); };
    INGOT_REQUIRE(
        !i.mutates_storage_metadata && !i.resizes_storage, "Encountered a ", i.mutates_storage_metadata ? "set_" : "resize_",
        " on a graph input, but the input has other mutations that we cannot\nkeep in the graph. This is not supported today. Current state:",
        line("keep_input_mutations", i.keep_mutations), line("mutates_data", i.mutates_data),
        line("mutates_metadata", i.mutates_metadata), line("mutations_hidden_from_autograd", i.hidden_from_autograd),
        line("mutations_under_no_grad_or_inference_mode", i.under_no_grad),
        line("mutation_inductor_storage_resize", i.resizes_storage), line("requires_grad", i.requires_grad));
  }

  // ---- outputs

  Shared& shared(const FunctionalState& f) {
    const auto it = std::find_if(shared_.begin(), shared_.end(), [&](const Shared& s) { return s.storage == f.storage.get(); });
    if (it != shared_.end()) return *it;
    shared_.push_back({f.storage.get()});
    return shared_.back();
  }
  void count_storage(const Value& v) {
    const FunctionalState* f = v.is_tensor() ? functional_state(v.tensor()) : nullptr;
    if (!f) return;
    Shared& s = shared(*f);
    s.outputs++;
    s.multi_output += f->multi_output;
  }
  const Wrapped* input_on(const FunctionalState& f) const {
    const auto it = std::find_if(wrapped_.begin(), wrapped_.end(), [&](const Wrapped& w) { return w.storage == f.storage; });
    return it == wrapped_.end() ? nullptr : &*it;
  }
  const Wrapped* input_that_is(const Tensor& t) const {
    const auto it = std::find_if(wrapped_.begin(), wrapped_.end(), [&](const Wrapped& w) { return w.tensor.is_same(t); });
    return it == wrapped_.end() ? nullptr : &*it;
  }
  int output_that(const auto& is) const {
    for (std::size_t k = 0; k < results_.size(); k++)
      if (results_[k].is_tensor() && is(results_[k].tensor())) return static_cast<int>(k);
    return -1;
  }

  OutputInfo info_of(std::size_t k) {
    OutputInfo o;
    if (!results_[k].is_tensor()) return o;
    const Tensor& t = results_[k].tensor();
    o.is_tensor = true;
    o.requires_grad = requires_grad(t);
    for (int d = 0; d < t.dim(); d++)
      if (t.size(d).is_symbolic()) o.dynamic_dims.push_back(d);
    if (const FunctionalState* f = functional_state(t)) {
      o.multi_output = f->multi_output;
      decide(o, t, *f);
      if (is_stand_in(*t->storage)) decide_stand_in(o, *t->storage);
    }
    return o;
  }
  void decide_stand_in(OutputInfo& o, const Storage& s) const {
    require_current(s, "an output of the function");
    o.stand_in_by = stand_in_made_by(s);
    for (const Wrapped& w : wrapped_)
      if (stands_in_for(s, *w.tensor->storage)) o.stands_in_for_input = w.last;
    if (o.stands_in_for_input < 0)
      o.stands_in_for_output = output_that([&](const Tensor& x) { return stands_in_for(s, *x->storage); });
  }

  // R035, the first that applies.
  void decide(OutputInfo& o, const Tensor& t, const FunctionalState& f) {
    const Shared& on = shared(f);
    const Ref<GradNode> history = grad_fn(t);
    if (const Wrapped* input = input_on(f); input && history && is_custom_function(*history)) {
      o.kind = OutputKind::custom_function_view;
      o.base = input->last;
    } else if (input && !f.storage_changed) {
      const Wrapped* itself = input_that_is(t);
      o.base = input->last;
      if (history && (on.outputs == on.multi_output || (!itself && has_own_history(t)))) o.kind = OutputKind::non_alias;
      else o.kind = itself ? OutputKind::is_input : OutputKind::alias_of_input;
      if (o.kind == OutputKind::is_input) o.base = itself->last;
      else set_way(o, {}, t);
    } else if (const Wrapped* itself = f.storage_changed ? input_that_is(t) : nullptr) {
      o.kind = OutputKind::is_input;
      o.base = itself->last;
    } else if (const Tensor base = tracked_base(t); base.defined()) {
      decide_by_base(o, t, on, base);
    } else if (const int twin = on.outputs > 1 && !o.requires_grad ? tracked_twin(t, f) : -1; twin >= 0) {
      o.kind = OutputKind::alias_of_intermediate_base_is_user_output;
      o.base = twin;
      set_way(o, functional_state(results_[static_cast<std::size_t>(twin)].tensor())->chain, t);
    }
  }
  // Whether gradients come to an output on an input's storage by another way than through the
  // input: it was detached, and written afterwards. A view of the input that is taken again would
  // not have them.
  bool has_own_history(const Tensor& t) const {
    const AutogradMeta* m = autograd_meta(t);
    return requires_grad(t) && !(m && m->view && input_that_is(m->view->base));
  }
  // What the tape takes the output for a view of, where both require grad.
  static Tensor tracked_base(const Tensor& t) {
    const AutogradMeta* m = autograd_meta(t);
    return m && m->view && requires_grad(t) && requires_grad(m->view->base) ? m->view->base : Tensor();
  }
  void decide_by_base(OutputInfo& o, const Tensor& t, const Shared& on, const Tensor& base) {
    if (on.outputs == 1 || on.outputs - on.multi_output <= 1) {
      o.kind = OutputKind::unsafe_view_alias;
      return;
    }
    if (const int k = output_that([&](const Tensor& x) { return x.is_same(base); }); k >= 0) {
      o.kind = OutputKind::alias_of_intermediate_base_is_user_output;
      o.base = k;
    } else {
      const auto known = std::find_if(bases_.begin(), bases_.end(), [&](const Tensor& x) { return x.is_same(base); });
      o.kind = known == bases_.end() ? OutputKind::alias_of_intermediate_save_as_output : OutputKind::alias_of_intermediate;
      o.base = static_cast<int>(known - bases_.begin());
      if (known == bases_.end()) bases_.push_back(base);
    }
    set_way(o, functional_state(base)->chain, t);
  }
  // Another output that looks at the same elements and requires grad.
  int tracked_twin(const Tensor& t, const FunctionalState& f) const {
    return output_that([&](const Tensor& x) {
      const FunctionalState* other = functional_state(x);
      return other && !x.is_same(t) && other->storage == f.storage && requires_grad(x) && statically_same(x->geom, t->geom);
    });
  }

  // ---- tangents

  // R041: contiguous, and so are the inner tensors of a wrapper.
  static Tensor tangent_of(const Tensor& result) {
    const WrapperState* w = wrapper_state(result);
    const Tensor t = w ? w->cls->as_gradient(result) : result;
    Values leaves = unwrapped({t});
    for (Value& v : leaves)
      v = make_tensor(Geometry::contiguous(v.tensor().sizes(), v.tensor().dtype()), v.tensor().device(), true);
    return DenseLayout({t}).wrapped(std::move(leaves))[0].tensor();
  }

  void add_tangents() {
    TensorList returned;
    for (const int k : meta_.mutated_out_of_graph())
      returned.push_back(find(inputs_[static_cast<std::size_t>(k)].tensor())->tensor);
    for (const Value& v : results_) returned.push_back(v.is_tensor() ? v.tensor() : Tensor());
    returned.insert(returned.end(), bases_.begin(), bases_.end());
    for (const std::size_t k : meta_.with_tangents()) meta_.tangents.push_back(tangent_of(from_functional(returned[k])));
  }
};

std::vector<int> inputs_with(const Metadata& m, Mutation kind) {
  std::vector<int> found;
  for (std::size_t k = 0; k < m.inputs.size(); k++)
    if (m.inputs[k].mutation() == kind) found.push_back(static_cast<int>(k));
  return found;
}

}  // namespace

Mutation InputInfo::mutation() const {
  if (!mutates_data && !mutates_metadata && !resizes_storage) return Mutation::none;
  // The graph copies values; what changes how the input looks is done to the input itself.
  const bool looks_the_same = !mutates_metadata || mutates_storage_metadata;
  const bool allowed = (!mutates_metadata && !requires_grad) || (looks_the_same && (hidden_from_autograd || under_no_grad));
  return keep_mutations && (mutates_data || mutates_storage_metadata || resizes_storage) && allowed ? Mutation::in_graph
                                                                                                    : Mutation::out_of_graph;
}

bool OutputInfo::base_is_input() const {
  return base >= 0 && kind != OutputKind::alias_of_intermediate && kind != OutputKind::alias_of_intermediate_save_as_output &&
         kind != OutputKind::alias_of_intermediate_base_is_user_output;
}

bool OutputInfo::is_made_again() const {
  return kind != OutputKind::non_alias && kind != OutputKind::unsafe_view_alias && kind != OutputKind::custom_function_view;
}

std::string_view to_text(OutputKind kind) {
  switch (kind) {
    case OutputKind::non_alias: return "non_alias";
    case OutputKind::alias_of_input: return "alias_of_input";
    case OutputKind::is_input: return "is_input";
    case OutputKind::alias_of_intermediate_save_as_output: return "alias_of_intermediate_save_as_output";
    case OutputKind::alias_of_intermediate: return "alias_of_intermediate";
    case OutputKind::alias_of_intermediate_base_is_user_output: return "alias_of_intermediate_base_is_user_output";
    case OutputKind::unsafe_view_alias: return "unsafe_view_alias";
    case OutputKind::custom_function_view: return "custom_function_view";
  }
  return "";
}

std::vector<int> Metadata::mutated_out_of_graph() const { return inputs_with(*this, Mutation::out_of_graph); }
std::vector<int> Metadata::mutated_in_graph() const { return inputs_with(*this, Mutation::in_graph); }

std::vector<int> Metadata::aliased_outputs() const {
  std::vector<int> found;
  for (std::size_t k = 0; k < outputs.size(); k++)
    if (outputs[k].is_made_again()) found.push_back(static_cast<int>(k));
  return found;
}

int Metadata::returned() const { return static_cast<int>(mutated_out_of_graph().size() + outputs.size()) + intermediate_bases; }

std::vector<std::size_t> Metadata::with_tangents() const {
  std::vector<std::size_t> found;
  std::size_t k = 0;
  for (const int i : mutated_out_of_graph()) {
    const InputInfo& info = inputs[static_cast<std::size_t>(i)];
    if (info.mutates_data && info.requires_grad) found.push_back(k);
    k++;
  }
  for (const OutputInfo& o : outputs) {
    if (o.has_tangent()) found.push_back(k);
    k++;
  }
  for (int b = 0; b < intermediate_bases; b++) found.push_back(k++);
  return found;
}

Metadata collect_metadata(const FlatFunction& f, const Values& inputs, bool keep_mutations, bool is_train) {
  if (auto* sizes = dynamic_cast<ShapeEnv*>(current_guard_env()))
    sizes->run_again();  // sizes that data decides are one whoever runs f (R020)
  return Collector(inputs, keep_mutations, is_train).collect(f);
}

}  // namespace ingot::aot
