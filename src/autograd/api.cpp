// The user-facing side of autograd: include/ingot/autograd.hpp and the autograd members of Tensor.
#include <algorithm>

#include "autograd/above.hpp"
#include "autograd/accumulate.hpp"
#include "autograd/engine.hpp"
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/autograd.hpp"
#include "ingot/state.hpp"
#include "op/side_effects.hpp"

namespace ingot {
namespace {

// Seeds for roots: what was given, checked, or ones for a one-element root.
TensorList make_seeds(const TensorList& roots, const TensorList& given) {
  INGOT_REQUIRE(given.empty() || given.size() == roots.size(), "got ", roots.size(), " tensors and ", given.size(), " gradients");
  TensorList seeds;
  for (std::size_t i = 0; i < roots.size(); i++) {
    const Tensor& r = roots[i];
    INGOT_REQUIRE(r.defined() && requires_grad(r), "element ", i,
                  " of tensors does not require grad and does not have a grad_fn");
    if (i < given.size() && given[i].defined()) {
      INGOT_REQUIRE(given[i].sizes() == r.sizes(), "Mismatch in shape: grad_output[", i, "] has a shape of ", given[i].sizes(),
                    " and output[", i, "] has a shape of ", r.sizes(), ".");
      INGOT_REQUIRE(given[i].is_complex() == r.is_complex(),
                    "For complex Tensors, both grad_output and output are required to have the "
                    "same dtype. Mismatch in dtype: grad_output[",
                    i, "] has a dtype of ", given[i].dtype(), " and output[", i, "] has a dtype of ", r.dtype(), ".");
      seeds.push_back(given[i]);
    } else {
      INGOT_REQUIRE(r.numel() == 1, "grad can be implicitly created only for scalar outputs");
      INGOT_REQUIRE(!r.is_complex(), "grad can be implicitly created only for real scalar outputs but got ", r.dtype());
      Scoped<bool> no_grad(thread_state().grad_mode, false);
      seeds.push_back(aten<"ones_like">(r));
    }
  }
  return seeds;
}

const Tensor& checked(const Tensor& t) {
  INGOT_REQUIRE(t.defined(), "the tensor is undefined: nothing was assigned to it");
  return t;
}

std::vector<Edge> edges_of(const TensorList& tensors) {
  std::vector<Edge> e;
  for (const Tensor& t : tensors) e.push_back(edge_of(behind(t)));
  return e;
}

}  // namespace

void backward(const TensorList& roots, const TensorList& gradients, bool retain_graph, bool create_graph) {
  tell_side_effect("a backward()");
  INGOT_REQUIRE(
      !inside_transform(),
      "backward() called inside a functorch transform. This is not supported, please use functorch.grad or functorch.vjp "
      "instead or call backward() outside of functorch transforms.");
  const TensorList seeds = make_seeds(roots, gradients);
  run_backward(edges_of(roots), seeds, {}, {retain_graph || create_graph, create_graph});
}

TensorList grad(const TensorList& outputs, const TensorList& inputs, const TensorList& grad_outputs, GradOptions o) {
  const GradModeGuard mode(o.create_graph);  // the engine's, told to whoever records: the ops of gradients are the program's own
  INGOT_REQUIRE(!inputs.empty(), "grad requires non-empty inputs.");
  TensorList seeds = make_seeds(outputs, grad_outputs);
  for (std::size_t i = 0; i < inputs.size(); i++)
    INGOT_REQUIRE(inputs[i].defined() && requires_grad(inputs[i]),
                  "One of the differentiated Tensors does not require grad (input ", i, ")");
  if (std::any_of(outputs.begin(), outputs.end(), is_above)) layer_above().check_gradients(outputs, inputs);
  for (std::size_t k = 0; k < outputs.size(); k++)
    if (is_above(outputs[k])) seeds[k] = layer_above().gradient_behind(seeds[k], outputs[k]);
  TensorList got = run_backward(edges_of(outputs), seeds, edges_of(inputs), {o.retain_graph || o.create_graph, o.create_graph});
  for (std::size_t i = 0; i < inputs.size(); i++)
    if (is_above(inputs[i]) && got[i].defined()) got[i] = layer_above().gradient_seen(got[i], inputs[i]);
  for (const Tensor& g : got)
    INGOT_REQUIRE(o.allow_unused || g.defined(),
                  "One of the differentiated Tensors appears to not have been used in the graph. Set "
                  "allow_unused=True if this is the desired behavior.");
  return got;
}

InferenceMode::InferenceMode() : old_inference_(thread_state().inference_mode), old_grad_(thread_state().grad_mode) {
  tell_side_effect("a block in inference mode");
  thread_state().inference_mode = true;
  switch_grad_mode(false);
}
InferenceMode::~InferenceMode() {
  thread_state().inference_mode = old_inference_;
  switch_grad_mode(old_grad_);
}

AutocastGuard::AutocastGuard(DType dtype, bool enabled)
    : old_active_(thread_state().active), old_dtype_(thread_state().autocast_dtype) {
  tell_side_effect("an autocast block");
  set_autocast_state({enabled, dtype});
}
AutocastGuard::~AutocastGuard() {
  thread_state().active = old_active_;
  thread_state().autocast_dtype = old_dtype_;
}

void register_hook(const Tensor& t, std::function<Tensor(const Tensor&)> hook) {
  tell_side_effect("a hook");
  INGOT_REQUIRE(requires_grad(checked(t)), "cannot register a hook on a tensor that doesn't require gradient");
  if (is_above(t)) hook = layer_above().hook_behind(t, std::move(hook));
  const Tensor known = behind(t);
  if (Ref<GradNode> n = grad_fn(known)) n->hooks.emplace_back(autograd_meta(known)->result_nr, std::move(hook));
  else ensure_autograd_meta(t).leaf_hooks.push_back(std::move(hook));
}

void register_post_accumulate_grad_hook(const Tensor& leaf, std::function<void(Tensor&)> hook) {
  INGOT_REQUIRE(requires_grad(checked(leaf)) && is_leaf(leaf),
                "post accumulate grad hooks cannot be registered on non-leaf tensors");
  ensure_autograd_meta(leaf).post_accumulate_hooks.push_back(std::move(hook));
}

void retain_grad(const Tensor& t) {
  INGOT_REQUIRE(requires_grad(checked(t)), "can't retain_grad on Tensor that has requires_grad=False");
  if (is_above(t)) refuse_inside_transform("retain_grad");
  Ref<GradNode> n = grad_fn(t);
  AutogradMeta& m = *autograd_meta(t);
  if (!n || m.retains_grad) return;  // a leaf keeps its gradient anyway
  m.retains_grad = true;
  n->retained.emplace_back(m.result_nr, &m);
}

void set_requires_grad(const Tensor& t, bool on) {
  checked(t);
  INGOT_REQUIRE(!on || is_differentiable(t.dtype()),
                "only Tensors of floating point and complex dtype can require gradients, found ", t.dtype());
  INGOT_REQUIRE(is_leaf(t) || on,
                "you can only change requires_grad flags of leaf variables. If you want to use a computed "
                "variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach().");
  INGOT_REQUIRE(!on || !t->inference || thread_state().inference_mode,
                "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
  if (!is_leaf(t)) return;
  if (on && is_above(t)) refuse_inside_transform("requires_grad_");
  ensure_autograd_meta(t).requires_grad = on;
  if (ProgramListener* l = program_listener()) l->called(op_ref<"requires_grad_">(), Values{t, on});
}

// ---- members of Tensor. Those that ops ask, too, are in op/upper_layers.cpp
bool Tensor::is_view() const { return autograd_meta(checked(*this)) && autograd_meta(*this)->view; }
Tensor Tensor::grad() const {
  const AutogradMeta* m = autograd_meta(checked(*this));
  return m ? m->grad : Tensor();
}
void Tensor::set_grad(const Tensor& g) const {
  checked(*this);
  if (g.defined()) {
    INGOT_REQUIRE(!g.is_same(*this), "can't assign Variable as its own grad");
    INGOT_REQUIRE(g.sizes() == sizes(), "assigned grad has data of a different size: expected ", sizes(), ", found ", g.sizes());
    INGOT_REQUIRE(g.dtype() == dtype(), "assigned grad has data of a different type: expected ", dtype(), ", found ", g.dtype());
  }
  ensure_autograd_meta(*this).grad = g;
}
std::string Tensor::grad_fn_name() const {
  Ref<GradNode> n = grad_fn(checked(*this));
  return n ? n->name() : "";
}
void Tensor::backward(const Tensor& gradient, bool retain_graph, bool create_graph) const {
  ingot::backward({*this}, gradient.defined() ? TensorList{gradient} : TensorList{}, retain_graph, create_graph);
}
Tensor& Tensor::detach_() {
  aten_value<"detach_">(*this);
  return *this;
}

}  // namespace ingot
