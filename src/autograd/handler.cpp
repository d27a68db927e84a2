#include "autograd/handler.hpp"

#include "autograd/captured.hpp"
#include "autograd/op_node.hpp"
#include "autograd/unseen_writes.hpp"
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/op/vjp.hpp"
#include "op/applied.hpp"
#include "op/function.hpp"
#include "op/makes_stand_in.hpp"
#include "op/side_effects.hpp"
#include "op/tensors.hpp"
#include "tensor/stand_in.hpp"

namespace ingot {
namespace {

// The node of an op that has no gradient rule, or none for the form that was called: refuses when
// the gradient arrives.
class NotImplementedNode final : public GradNode {
 public:
  NotImplementedNode(const Op& op, Args args) : op_(op) {
    for_each_tensor(args, [&](const Tensor& t) { edges.push_back(edge_of(t)); });
  }
  std::string name() const override { return "NotImplemented"; }
  TensorList apply(const TensorList&, const std::vector<bool>&) override {
    if (op_.variant == Variant::inplace && op_.def->vjp)
      derivative_not_implemented("inplace version of " + op_.functional->schema.name);
    refuse_gradient(op_);
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
  for_each_tensor(args, [&](const Tensor& t) { any |= is_differentiable(t.dtype()) && requires_grad(t); });
  return any;
}

// Some arguments may not require grad at all: their gradient would be lost without a word.
void check_refused(const Op& op, Args args) {
  for (std::size_t i = 0; i < args.size(); i++)
    if (op.def->grad.refuses >> i & 1)
      for_each_tensor(args[i], [&](const Tensor& t) {
        INGOT_REQUIRE(!requires_grad(t), "The function '", op.schema.name, "' is not differentiable with respect to argument '",
                      op.schema.args[i].name, "'. This input cannot have requires_grad True.");
      });
}

void attach_history(const Op& op, const Ref<GradNode>& node, const TensorList& outs) {
  for (std::size_t k = 0; k < outs.size(); k++)
    if (outs[k].defined() && is_differentiable(outs[k].dtype()) && has_gradient(op, k))
      set_history(outs[k], node, static_cast<int>(k));
}

// Calls f for every tensor the op writes.
template <class F>
void each_written(const Op& op, Args args, const F& f) {
  for (int w : op.written) for_each_tensor(args[static_cast<std::size_t>(w)], f);
}
void check_written(const Op& op, Args args) {
  each_written(op, args, [&](const Tensor& t) {
    INGOT_REQUIRE(
        !t->inference || thread_state().inference_mode, op.schema.name,
        ": Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a normal "
        "tensor before doing inplace update.");
  });
}
void bump_versions(const Op& op, Args args) {
  if (has_stand_ins() && !op.is_view() && op.def->effects.rewires == Rewires::nothing)
    each_written(op, args, [](const Tensor& t) { outdate_stand_ins(*t->storage); });
  if (unseen_writes()) return;
  each_written(op, args, [](const Tensor& t) {
    if (!t->inference) t->storage->bump_version();
  });
}

void note_stand_in(const Op& op, Args args, const Value& r) {
  const Storage &of = *args[0].tensor()->storage, &made = *r.tensor()->storage;
  if (&made != &of) make_stand_in(made, of, op.schema.name);
}
void check_stand_ins(const Op& op, Args args) {
  if (!op.is_inplace_view()) each_written(op, args, [&](const Tensor& t) { require_writable(*t->storage, op.schema.name); });
  for_each_tensor(args, [&](const Tensor& t) { require_current(*t->storage, op.schema.name); });
}

// A fresh tensor made in inference mode is an inference tensor; a view is what its base is.
void mark_inference(const Op& op, Args args, const Value& r) {
  if (op.is_view() ? !args[0].tensor()->inference : !thread_state().inference_mode) return;
  for_each_tensor(r, [&](const Tensor& t) {
    for (const Value& v : args)
      if (v.is_tensor() && v.tensor().is_same(t)) return;  // handed through: it is what it was
    t->inference = true;
  });
}

// Gives the results of a functional op their history: of `node`, or of a node that refuses where
// the op has no rule.
void record_results(const Op& op, Args args, const Ref<OpNode>& node, const TensorList& outs) {
  if (node) {
    attach_history(op, node, outs);
    node->set_results(outs);
    return;
  }
  auto refuse = make_ref<NotImplementedNode>(op, args);
  for (const Tensor& t : outs) refuse->results.push_back(t.defined() ? t->geom : Geometry{});
  attach_history(op, refuse, outs);
}

Value record_functional(const Op& op, Args args, bool any) {
  Ref<OpNode> node;
  if (any && has_vjp(op, false)) node = make_ref<OpNode>(op, args, false);
  Value r = call_below(Layer::autograd, op, args);
  const TensorList outs = results_of(r);
  if (op.is_view() && !args[0].tensor()->inference)
    for (std::size_t k = 0; k < outs.size(); k++)
      if (outs[k]->storage == args[0].tensor()->storage)  // a tensor without storage has no views: what it gives is new
        record_view(args[0].tensor(), outs[k], {&op, Values(args.begin(), args.end()), static_cast<int>(k)}, op.returns_list());
  if (any) record_results(op, args, node, outs);
  return r;
}

// An op that calls functions. What they bring along is known once they ran, so the node is made
// afterwards.
Value record_higher_order(const Op& op, Args args, bool any) {
  const auto captured = std::make_shared<Captured>();
  Value r = call_below(Layer::autograd, op, watched_functions(args, captured));
  if (!thread_state().grad_mode || !(any || !captured->tensors.empty())) return r;
  const Values all = with_captured_operands(op, args, *captured);
  record_results(op, all, has_vjp(op, false) ? make_ref<OpNode>(op, all, false) : Ref<OpNode>(), results_of(r));
  return r;
}

Value record_inplace_view(const Op& op, Args args, bool any) {
  const Tensor self = args[0].tensor();
  const Op& f = *op.functional;
  // Without gradients, too: the history that the tensor keeps is of a tensor that looked otherwise.
  Ref<OpNode> node;
  if (any || (requires_grad(self) && !is_leaf(self))) node = make_ref<OpNode>(f, args, false);
  const Geometry before = self->geom;
  const AutogradMeta* m = autograd_meta(self);
  const bool current = m && m->view && m->view->attr_version == self->storage->version();
  Value r = call_below(Layer::autograd, op, args);
  bump_versions(op, args);
  ViewInfo* view = m ? m->view.get() : nullptr;
  if (view && current) view->attr_version = self->storage->version();  // no data changed: its history stays right
  ViewStep step{&f, Values(args.begin(), args.end()), 0};
  step.args[0] = Value();
  if (f.def->view.from_storage) step.args.back() = self.storage_offset();
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
    INGOT_REQUIRE(!any, op.schema.name,
                  "(): functions with out=... arguments don't support automatic differentiation, but one of the "
                  "arguments requires grad.");
    std::vector<Geometry> before;
    each_written(op, args, [&](const Tensor& t) { before.push_back(t->geom); });
    Value r = call_below(Layer::autograd, op, args);
    bump_versions(op, args);
    std::size_t k = 0;
    each_written(op, args, [&](const Tensor& t) {
      if (AutogradMeta* m = autograd_meta(t); !before[k++].same(t->geom) && m) m->resized = true;
    });
    return r;
  }
  const Tensor self = args[0].tensor();
  if (any) check_inplace(op.schema.name, self, op.is_inplace_view());
  if (op.is_inplace_view()) return record_inplace_view(op, args, any);
  Ref<GradNode> node;
  Ref<OpNode> op_node;
  if (any && is_differentiable(self.dtype()) && !f.def->grad.none) {
    if (has_vjp(f, true)) node = op_node = make_ref<OpNode>(f, args, true);
    else node = make_ref<NotImplementedNode>(op, args);
  }
  Value r = call_below(Layer::autograd, op, args);
  bump_versions(op, args);
  if (!node) return r;
  if (!op_node) node->results = {self->geom};
  rebase_history(self, node);
  if (op_node) op_node->set_results({self});
  return r;
}

Value record(const Op& op, Args args) {
  ThreadState& ts = thread_state();
  if (has_stand_ins()) check_stand_ins(op, args);
  if (op.def->grad.detaches) {
    if (op.mutates()) {  // history is this layer's alone: nothing happens below
      AutogradMeta& m = ensure_autograd_meta(args[0].tensor());
      INGOT_REQUIRE(!m.view, "Can't detach views in-place. Use detach() instead.");
      m.set_node(nullptr, 0);
      m.requires_grad = false;
      if (ProgramListener* l = program_listener()) l->called(op, args);
      return args[0];
    }
    Value r = call_below(Layer::autograd, op, args);
    mark_inference(op, args, r);
    return r;
  }
  const bool derived = op.functional != nullptr;
  const Op& f = derived ? *op.functional : op;
  if (ts.grad_mode && f.def->grad.refuses && op.variant != Variant::out) check_refused(op, args);
  const bool any = ts.grad_mode && !f.def->grad.none && any_requires_grad(args);
  if (op.mutates()) check_written(op, args);
  if (derived) return record_mutation(op, args, any);
  const bool watch = op.form() == Form::higher_order && calling_convention(op) && (ts.grad_mode || FunctionRegion::current());
  Value r = watch                 ? record_higher_order(op, args, any)
            : any || op.is_view() ? record_functional(op, args, any)
                                  : call_below(Layer::autograd, op, args);
  if (makes_stand_in(op)) note_stand_in(op, args, r);
  if (op.mutates()) bump_versions(op, args);  // batch norm's running statistics
  mark_inference(op, args, r);
  return r;
}

}  // namespace

Value autograd_handler(const Op& op, Args args) {
  FunctionRegion* region = FunctionRegion::current();
  if (!region) return record(op, args);
  Value r = record(op, region->use(args));
  region->made(r);
  return r;
}

}  // namespace ingot
