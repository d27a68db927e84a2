// Gradients: backward passes, modes, hooks, functions with a hand-written backward.
#pragma once
#include <any>
#include <functional>
#include <string>

#include "ingot/tensor.hpp"

namespace ingot {

// Accumulates d(sum of roots·gradients)/d(leaf) into the leaves' grad(). A missing gradient is 1
// for a one-element root.
void backward(const TensorList& roots, const TensorList& gradients = {}, bool retain_graph = false, bool create_graph = false);

struct GradOptions {
  bool retain_graph = false;
  bool create_graph = false;   // the result can be differentiated again; implies retain_graph
  bool allow_unused = false;   // an input that was not used gives an undefined tensor instead of an error
};
TensorList grad(const TensorList& outputs, const TensorList& inputs, const TensorList& grad_outputs = {},
                GradOptions options = {});

bool is_grad_enabled();

// Scope guards: the mode holds until the end of the block.
class GradModeGuard {
 public:
  explicit GradModeGuard(bool on);
  ~GradModeGuard();
  GradModeGuard(const GradModeGuard&) = delete;
  GradModeGuard& operator=(const GradModeGuard&) = delete;

 private:
  bool old_;
};
struct NoGrad : GradModeGuard {
  NoGrad() : GradModeGuard(false) {}
};
struct EnableGrad : GradModeGuard {
  EnableGrad() : GradModeGuard(true) {}
};

class InferenceMode {
 public:
  InferenceMode();
  ~InferenceMode();
  InferenceMode(const InferenceMode&) = delete;
  InferenceMode& operator=(const InferenceMode&) = delete;

 private:
  bool old_inference_, old_grad_;
};

// Matmuls and convolutions run in `dtype` (bfloat16 or float16), reductions and losses in float32.
class AutocastGuard {
 public:
  explicit AutocastGuard(DType dtype = bfloat16, bool enabled = true);
  ~AutocastGuard();
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  uint8_t old_active_;
  DType old_dtype_;
};

// Called with the gradient of t each time one is computed; returns a replacement or an undefined
// tensor.
void register_hook(const Tensor& t, std::function<Tensor(const Tensor&)> hook);
// Called after the gradient of a leaf was accumulated.
void register_post_accumulate_grad_hook(const Tensor& leaf, std::function<void(Tensor&)> hook);
// Keeps grad() of a tensor that is not a leaf.
void retain_grad(const Tensor& t);

// A function with its own backward:
//   TensorList y = custom_function("Cube", {x},
//     [](FunctionContext& c, const TensorList& in) { c.save({in[0]}); return TensorList{in[0]*in[0]*in[0]}; },
//     [](FunctionContext& c, const TensorList& g) { Tensor x = c.saved()[0]; return TensorList{g[0]*3*x*x}; });
class FunctionContext {
 public:
  void save(const TensorList& tensors) { to_save = tensors; }
  TensorList saved() const;                               // checked against later in-place writes
  void mark_dirty(const TensorList& t) { dirty = t; }     // inputs that forward wrote in place and returns
  void mark_non_differentiable(const TensorList& t) { non_differentiable = t; }
  bool needs_input_grad(int i) const { return needs[static_cast<std::size_t>(i)]; }
  std::any data;                                          // anything else the backward wants

  // Filled by Ingot.
  TensorList to_save, dirty, non_differentiable;
  std::vector<bool> needs;
  const void* node = nullptr;
  std::function<TensorList(const TensorList&)> seen;  // what the function sees of saved tensors; empty: themselves
};
using ForwardFunction = std::function<TensorList(FunctionContext&, const TensorList&)>;
using BackwardFunction = std::function<TensorList(FunctionContext&, const TensorList&)>;
TensorList custom_function(std::string name, const TensorList& inputs, const ForwardFunction& forward, BackwardFunction backward);

}  // namespace ingot
