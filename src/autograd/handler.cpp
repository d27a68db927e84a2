#include "autograd/handler.hpp"

#include "autograd/op_node.hpp"
#include "base/dtype.hpp"
#include "base/error.hpp"

namespace ingot {
namespace {

template <class F>
void each_tensor(const Value& v, const F& f) {
  if (v.is_tensor()) f(v.tensor());
  else if (v.is_tensors())
    for (const Tensor& t : v.tensors())
      if (t.defined()) f(t);
}

// The node of an op that has no gradient rule: refuses when the gradient arrives.
class NotImplementedNode final : public GradNode {
 public:
  explicit NotImplementedNode(const Op& op) : op_(op) {}
  std::string name() const override { return "NotImplemented"; }
  TensorList apply(const TensorList&, const std::vector<bool>&) override {
    throw_user_error(text("derivative for ", op_.schema.ns, "::", op_.schema.name, " is not implemented"));
  }

 private:
  const Op& op_;
};

// By position: a result that was not asked for (a backward op's mask) is undefined.
TensorList results_of(const Value& r) {
  if (r.is_tensors()) return r.tensors();
  return r.is_tensor() ? TensorList{r.tensor()} : TensorList{};
}

bool any_requires_grad(Args args) {
  bool any = false;
  for (const Value& v : args) each_tensor(v, [&](const Tensor& t) { any |= is_differentiable(t.dtype()) && requires_grad(t); });
  return any;
}

void attach_history(const Op& op, const Ref<GradNode>& node, const TensorList& outs) {
  for (std::size_t k = 0; k < outs.size(); k++)
    if (outs[k].defined() && is_differentiable(outs[k].dtype()) && has_gradient(op, k)) set_history(outs[k], node, static_cast<int>(k));
}

// What an in-place or out= op writes under autograd.
void bump_version(const Op& op, const Tensor& t) {
  INGOT_REQUIRE(!t->inference || thread_state().inference_mode, op.schema.name,
                ": Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a normal "
                "tensor before doing inplace update.");
  if (!t->inference) t->storage->bump_version();
}

Value record_functional(const Op& op, Args args, bool any) {
  Ref<OpNode> node;
  if (any && has_vjp(op)) node = make_ref<OpNode>(op, args, false);
  Value r = call_below(Layer::autograd, op, args);
  const TensorList outs = results_of(r);
  if (op.is_view())
    for (std::size_t k = 0; k < outs.size(); k++)
      record_view(args[0].tensor(), outs[k], {&op, Values(args.begin(), args.end()), static_cast<int>(k)}, op.returns_list());
  if (node) {
    attach_history(op, node, outs);
    node->set_results(outs);
  } else if (any) {
    auto refuse = make_ref<NotImplementedNode>(op);
    for (const Value& v : args) each_tensor(v, [&](const Tensor& t) { refuse->edges.push_back(edge_of(t)); });
    for (const Tensor& t : outs) refuse->results.push_back(t.defined() ? t->geom : Geometry{});
    attach_history(op, refuse, outs);
  }
  // A written argument (batch norm's running statistics) counts as changed.
  for (int w : op.written)
    if (args[w].is_tensor()) bump_version(op, args[w].tensor());
  return r;
}

Value record_inplace_view(const Op& op, Args args, bool any) {
  const Tensor self = args[0].tensor();
  const Op& f = *op.functional;
  Ref<OpNode> node;
  if (any) node = make_ref<OpNode>(f, args, false);
  const Geometry before = self->geom;
  const AutogradMeta* m = autograd_meta(self);
  const bool current = m && m->view && m->view->attr_version == self->storage->version();
  Value r = call_below(Layer::autograd, op, args);
  self->storage->bump_version();
  ViewInfo* view = m ? m->view.get() : nullptr;
  if (view && current) view->attr_version = self->storage->version();  // no data changed: its history stays right
  ViewStep step{&f, Values(args.begin(), args.end()), 0};
  step.args[0] = Value();
  if (view && view->replay) view->chain.push_back(std::move(step));
  else if (!view) ensure_autograd_meta(self).root_steps.push_back({std::move(step), before});
  if (node) {
    node->set_results({self});
    set_history(self, node, 0);
  }
  return r;
}

Value record_mutation(const Op& op, Args args, bool any) {
  const Op& f = *op.functional;
  if (op.variant == Variant::out) {
    INGOT_REQUIRE(!any, op.schema.name, "(): functions with out=... arguments don't support automatic differentiation, but one of the "
                  "arguments requires grad.");
    Value r = call_below(Layer::autograd, op, args);
    each_tensor(r, [&](const Tensor& t) { bump_version(op, t); });
    return r;
  }
  const Tensor self = args[0].tensor();
  if (any) check_inplace(op, self);
  if (op.is_inplace_view()) return record_inplace_view(op, args, any);
  Ref<GradNode> node;
  Ref<OpNode> op_node;
  if (any && is_differentiable(self.dtype()) && !f.def->no_grad_result) {
    if (has_vjp(f)) node = op_node = make_ref<OpNode>(f, args, true);
    else node = make_ref<NotImplementedNode>(f);
  }
  Value r = call_below(Layer::autograd, op, args);
  bump_version(op, self);
  if (!node) return r;
  if (!op_node) node->results = {self->geom};
  rebase_history(self, node);
  if (op_node) op_node->set_results({self});
  return r;
}

}  // namespace

Value autograd_handler(const Op& op, Args args) {
  ThreadState& ts = thread_state();
  if (op.def->detaches) {
    Value r = call_below(Layer::autograd, op, args);
    if (op.mutates()) {
      AutogradMeta& m = ensure_autograd_meta(args[0].tensor());
      INGOT_REQUIRE(!m.view, "Can't detach views in-place. Use detach() instead.");
      m.node = nullptr;
      m.requires_grad = false;
    }
    return r;
  }
  const bool derived = op.functional != nullptr;
  const Op& f = derived ? *op.functional : op;
  const bool any = ts.grad_mode && !f.def->no_grad_result && any_requires_grad(args);
  if (derived) return record_mutation(op, args, any);
  if (any || op.is_view() || op.mutates()) {
    Value r = record_functional(op, args, any);
    if (ts.inference_mode) each_tensor(r, [](const Tensor& t) { t->inference = true; });
    return r;
  }
  Value r = call_below(Layer::autograd, op, args);
  if (ts.inference_mode) each_tensor(r, [](const Tensor& t) { t->inference = true; });
  return r;
}

}  // namespace ingot
