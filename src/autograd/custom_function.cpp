#include "autograd/engine.hpp"
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/autograd.hpp"

namespace ingot {
namespace {

class FunctionNode final : public GradNode {
 public:
  FunctionNode(std::string name, BackwardFunction backward) : name_(std::move(name)), backward_(std::move(backward)) {}

  FunctionContext context;
  std::vector<SavedTensor> saved;

  std::string name() const override { return name_ + "Backward"; }

  TensorList apply(const TensorList& grads, const std::vector<bool>& need) override {
    INGOT_REQUIRE(!released_, "Trying to backward through the graph a second time (or directly access saved tensors after they have "
                  "already been freed). Specify retain_graph=True if you need to backward through the graph a second time.");
    context.needs = need;
    TensorList g;  // a result that was not used gets zeros, as PyTorch materialises them
    for (std::size_t k = 0; k < results.size(); k++)
      g.push_back(k < grads.size() && grads[k].defined() ? grads[k] : aten<"zeros">(results[k].sizes, results[k].dtype));
    TensorList r = backward_(context, g);
    INGOT_REQUIRE(r.size() == edges.size(), "function ", name(), " returned an incorrect number of gradients (expected ", edges.size(),
                  ", got ", r.size(), ")");
    return r;
  }
  void release_saved() override {
    for (SavedTensor& s : saved) s.release();
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

}  // namespace

TensorList FunctionContext::saved() const {
  auto* n = const_cast<FunctionNode*>(static_cast<const FunctionNode*>(node));
  INGOT_REQUIRE(n, "saved tensors can be read in the backward only");
  TensorList l;
  for (const SavedTensor& s : n->saved) l.push_back(s.empty() ? Tensor() : s.unpack(Ref<GradNode>(n)));
  return l;
}

TensorList custom_function(std::string name, const TensorList& inputs, const ForwardFunction& forward, BackwardFunction backward) {
  bool any = false;
  for (const Tensor& t : inputs) any |= thread_state().grad_mode && t.defined() && requires_grad(t);
  auto node = make_ref<FunctionNode>(std::move(name), std::move(backward));
  if (any)
    for (const Tensor& t : inputs) node->edges.push_back(t.defined() ? edge_of(t) : Edge{});
  FunctionContext& c = node->context;
  for (const Tensor& t : inputs) c.needs.push_back(any && t.defined() && requires_grad(t));
  c.node = node.get();
  TensorList outs;
  {
    Scoped<bool> no_grad(thread_state().grad_mode, false);
    outs = forward(c, inputs);
  }
  for (Tensor& o : outs)
    if (o.defined() && contains(inputs, o) && !contains(c.dirty, o)) o = detached(o);  // returned as it came
  if (!any) return outs;
  int differentiable = 0;
  for (const Tensor& o : outs) differentiable += o.defined() && !contains(c.non_differentiable, o);
  for (const Tensor& o : outs) node->results.push_back(o.defined() ? o->geom : Geometry{});
  for (std::size_t k = 0; k < outs.size(); k++) {
    const Tensor& o = outs[k];
    if (!o.defined() || contains(c.non_differentiable, o) || !is_differentiable(o.dtype())) continue;
    if (contains(c.dirty, o)) {
      INGOT_REQUIRE(!(requires_grad(o) && is_leaf(o)), "a leaf Variable that requires grad is being used in an in-place operation.");
      rebase_history(o, node);
      continue;
    }
    AutogradMeta& m = ensure_autograd_meta(o);
    if (m.view) m.view->creation = differentiable > 1 ? Creation::multi_output : Creation::custom_function;
    set_history(o, node, static_cast<int>(k));
  }
  for (const Tensor& t : c.to_save) {
    bool result = false;
    for (const Tensor& o : outs) result |= t.defined() && o.is_same(t);
    node->saved.push_back(t.defined() ? SavedTensor(t, result) : SavedTensor());
  }
  c.to_save.clear();
  return outs;
}

}  // namespace ingot
