#include "autograd/custom_function.hpp"

#include <algorithm>
#include <utility>

#include "autograd/above.hpp"
#include "autograd/captured.hpp"
#include "autograd/engine.hpp"
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/autograd.hpp"
#include "op/call.hpp"
#include "op/side_effects.hpp"

namespace ingot {
namespace {

class FunctionNode final : public GradNode {
 public:
  FunctionNode(std::string name, BackwardFunction backward) : name_(std::move(name)), backward_(std::move(backward)) {}

  struct Saved {
    SavedTensor checked;
    Tensor itself;  // of an argument without history: a backward may change how it looks, too
  };
  FunctionContext context;
  std::vector<Saved> saved;

  std::string name() const override { return name_ + "Backward"; }
  const BackwardFunction& backward() const { return backward_; }

  TensorList apply(const TensorList& grads, const std::vector<bool>& need) override {
    if (released_) throw_graph_freed();
    context.needs = need;
    TensorList g;  // a result that was not used gets zeros, as PyTorch materialises them
    for (std::size_t k = 0; k < results.size(); k++)
      g.push_back(k < grads.size() && grads[k].defined() ? grads[k] : unused_gradient(results[k]));
    TensorList r = backward_(context, g);
    while (r.size() > edges.size() && !r.back().defined()) r.pop_back();
    INGOT_REQUIRE(r.size() == edges.size(), "function ", name(), " returned an incorrect number of gradients (expected ",
                  edges.size(), ", got ", r.size(), ")");
    for (std::size_t i = 0; i < r.size(); i++)
      if (need[i]) check_linear(g, r[i], "the backward of " + name_);
    return r;
  }
  void release_saved() override {
    for (Saved& s : saved) {
      s.checked.release();
      s.itself = {};
    }
    released_ = !saved.empty();
  }

 private:
  std::string name_;
  BackwardFunction backward_;
  bool released_ = false;
};

bool contains(const TensorList& l, const Tensor& t) {
  for (const Tensor& x : l)
    if (x.is_same(t)) return true;
  return false;
}

// Makes the node the history of the results that have a gradient.
void attach(const Ref<FunctionNode>& node, const TensorList& inputs, const TensorList& outs,
            const std::vector<bool>& differentiable, const TensorList& dirty) {
  node->results.reserve(outs.size());
  for (const Tensor& o : outs) node->results.push_back(o.defined() ? o->geom : Geometry{});
  const auto several = std::count(differentiable.begin(), differentiable.end(), true) > 1;
  for (std::size_t k = 0; k < outs.size(); k++) {
    const Tensor& o = outs[k];
    if (!differentiable[k]) continue;
    if (contains(dirty, o)) {
      check_inplace(node->name(), o);
      const auto input = std::find_if(inputs.begin(), inputs.end(), [&](const Tensor& t) { return t.is_same(o); });
      INGOT_REQUIRE(input != inputs.end(), node->name(), ": a tensor marked as dirty is not an input of the function");
      rebase_history(o, node, static_cast<int>(k), static_cast<int>(input - inputs.begin()));
      continue;
    }
    AutogradMeta& m = ensure_autograd_meta(o);
    if (m.view) m.view->creation = several ? Creation::multi_output : Creation::custom_function;
    set_history(o, node, static_cast<int>(k));
  }
}

}  // namespace

bool is_custom_function(const GradNode& n) { return dynamic_cast<const FunctionNode*>(&n) != nullptr; }

void accept_version(GradNode& n, const Storage& storage, uint32_t before) {
  for (FunctionNode::Saved& s : dynamic_cast<FunctionNode&>(n).saved) s.checked.accept_version(storage, before);
}

void release_saved_early(FunctionContext& c) {
  if (graph_ends()) const_cast<FunctionNode*>(static_cast<const FunctionNode*>(c.node))->release_saved();
}

TensorList FunctionContext::saved() const {
  auto* n = const_cast<FunctionNode*>(static_cast<const FunctionNode*>(node));
  INGOT_REQUIRE(n, "saved tensors can be read in the backward only");
  TensorList l;
  for (const FunctionNode::Saved& s : n->saved) {
    const Tensor t = s.checked.empty() ? Tensor() : s.checked.unpack(Ref<GradNode>(n));
    l.push_back(s.itself.defined() ? s.itself : t);
  }
  return seen ? seen(l) : l;
}

namespace {

Values values_of(const TensorList& tensors) {
  Values l;
  for (const Tensor& t : tensors) l.push_back(t.defined() ? Value(t) : Value());
  return l;
}
TensorList tensors_of(Args values) {
  TensorList l;
  for (const Value& v : values) l.push_back(v.is_tensor() ? v.tensor() : Tensor());
  return l;
}
// The places of these among the results.
Shape places(const TensorList& outs, const TensorList& of) {
  Shape l;
  for (std::size_t k = 0; k < outs.size(); k++)
    if (outs[k].defined() && contains(of, outs[k])) l.push_back(static_cast<int64_t>(k));
  return l;
}
TensorList at(const TensorList& outs, const Shape& places) {
  TensorList l;
  for (const Int k : places) l.push_back(outs.at(static_cast<std::size_t>(k.value())));
  return l;
}

// The calls of the backward, as a function of what was saved and of gradients like the results.
std::string recorded_backward(ProgramListener& listener, const Ref<FunctionNode>& node, const TensorList& outs) {
  FunctionContext& c = node->context;
  Values inputs = values_of(c.saved());
  TensorList grads;
  for (const Tensor& o : outs) grads.push_back(o.defined() ? make_tensor(o->geom, o.device(), true) : Tensor());
  for (const Value& v : values_of(grads)) inputs.push_back(v);
  const Scoped<bool> no_grad(thread_state().grad_mode, false);
  return listener.record_function("bwd_body", inputs, [&] { return values_of(node->backward()(c, grads)); });
}

// A recorded custom function, called again: (forward, backward, name, number of results, those
// without gradient, those that were arguments and written, arguments). The forward returns what it
// saves after its results; the backward takes that before gradients.
Value apply(const Call& call) {
  const Value forward = call[0], backward = call[1];
  const auto results = static_cast<std::size_t>(call[3].to_int64());
  const Shape plain = call[4].ints(), dirty = call[5].ints();
  const auto run_forward = [&](FunctionContext& c, const TensorList& in) {
    TensorList all = tensors_of(forward.function()(values_of(in)));
    c.save(TensorList(all.begin() + static_cast<std::ptrdiff_t>(results), all.end()));
    all.resize(results);
    c.mark_non_differentiable(at(all, plain));
    c.mark_dirty(at(all, dirty));
    return all;
  };
  const auto run_backward = [backward](FunctionContext& c, const TensorList& grads) {
    Values in = values_of(c.saved());
    for (const Value& v : values_of(grads)) in.push_back(v);
    return tensors_of(backward.function()(in));
  };
  return custom_function(call[2].string(), tensors_of(list_elements(call[6])), run_forward, run_backward);
}

constexpr OpDef kOps[] = {
    {.schema = "higher_order::autograd_function_apply(Function fwd_body, Function bwd_body, str name, int results, "
               "int[] non_differentiable, int[] dirty, Any operands) -> Any[]",
     .form = Form::higher_order,
     .body = apply},
};

}  // namespace

std::span<const OpDef> custom_function_ops() { return kOps; }

TensorList custom_function(std::string name, const TensorList& inputs, const ForwardFunction& forward,
                           BackwardFunction backward) {
  const bool above = (thread_state().active & layer_bit(Layer::transform)) || std::any_of(inputs.begin(), inputs.end(), is_above);
  return above ? layer_above().custom_function(std::move(name), inputs, forward, std::move(backward))
               : record_custom_function(std::move(name), inputs, forward, std::move(backward));
}

TensorList record_custom_function(std::string name, const TensorList& given, const ForwardFunction& forward,
                                  BackwardFunction backward) {
  FunctionRegion* region = FunctionRegion::current();
  TensorList used;
  if (region)
    for (const Tensor& t : given) used.push_back(t.defined() ? region->use(t) : t);
  const TensorList& inputs = region ? used : given;
  ProgramListener* const listener = program_listener();
  const std::string act = listener ? text("a custom function (", name, ")") : "", called = listener ? name : "";
  auto node = make_ref<FunctionNode>(std::move(name), std::move(backward));
  FunctionContext& c = node->context;
  c.needs.resize(inputs.size());
  bool any = false;
  for (std::size_t k = 0; k < inputs.size() && thread_state().grad_mode; k++)
    any |= c.needs[k] = inputs[k].defined() && requires_grad(inputs[k]);
  const bool is_recorded = any && listener && listener->records_functions();
  if (any) {
    if (!is_recorded) tell_side_effect(act);  // without gradients it is the ops of its forward
    node->edges.reserve(inputs.size());
    for (std::size_t k = 0; k < inputs.size(); k++) node->edges.push_back(c.needs[k] ? edge_of(inputs[k]) : Edge{});
  }
  c.node = node.get();
  TensorList outs;
  std::vector<std::string> functions;
  if (is_recorded) {
    const Scoped<bool> no_grad(thread_state().grad_mode, false);
    functions.push_back(listener->record_function("fwd_body", values_of(inputs), [&] {
      outs = forward(c, inputs);
      Values all = values_of(outs);
      for (const Value& v : values_of(c.to_save)) all.push_back(v);
      return all;
    }));
  } else {
    const GradModeGuard no_grad(false);
    outs = forward(c, inputs);
  }
  // Out of the context, which the node owns: they may own the node from now on.
  const TensorList dirty = std::exchange(c.dirty, {}), plain = std::exchange(c.non_differentiable, {}),
                   to_save = std::exchange(c.to_save, {});
  for (const Tensor& t : dirty)
    INGOT_REQUIRE(contains(outs, t),
                  "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
                  "modified inplace must all be outputs of the Function.");
  const Shape plain_places = places(outs, plain), dirty_places = places(outs, dirty);
  std::vector<bool> differentiable;
  for (Tensor& o : outs) {
    differentiable.push_back(o.defined() && !contains(plain, o) && is_differentiable(o.dtype()));
    if (o.defined() && contains(inputs, o) && !contains(dirty, o)) {  // returned as it came
      if (!is_recorded) tell_side_effect(act);
      o = is_recorded ? make_alias(o, o->geom) : detached(o);  // as a value of its own
    }
  }
  for (const Tensor& o : outs)
    if (region && o.defined()) region->made(o);
  if (!any) return outs;
  attach(node, inputs, outs, differentiable, dirty);
  node->saved.reserve(to_save.size());
  for (const Tensor& t : to_save) {
    bool result = false;
    for (std::size_t k = 0; k < outs.size(); k++) result |= t.defined() && differentiable[k] && outs[k].is_same(t);
    if (!t.defined()) node->saved.emplace_back();
    else node->saved.push_back({SavedTensor(t, result), !result && contains(inputs, t) && !requires_grad(t) ? t : Tensor()});
  }
  if (is_recorded) {
    functions.push_back(recorded_backward(*listener, node, outs));
    const Values args{Value(called), static_cast<int64_t>(outs.size()), plain_places, dirty_places,
                      list_value(values_of(inputs))};
    listener->called(op_ref<"higher_order::autograd_function_apply">(), functions, args, outs);
  }
  return outs;
}

}  // namespace ingot
