// Tensors of the layer above the tape: vmap's batched ones. They have no history of their own: it
// is that of the tensor behind them, which is all that the tape knows. Whatever a program says to
// the tape beside calling ops (a custom function, a hook, a question for gradients) is said of the
// tensor behind, in the way that the layer says here.
#pragma once
#include "autograd/node.hpp"
#include "ingot/autograd.hpp"
#include "op/call.hpp"

namespace ingot {

class LayerAbove {
 public:
  virtual Tensor behind(const Tensor& t) const = 0;
  // A gradient of `of` as one of the tensor behind it, and the other way.
  virtual Tensor gradient_behind(const Tensor& gradient, const Tensor& of) const = 0;
  virtual Tensor gradient_seen(const Tensor& gradient, const Tensor& of) const = 0;
  // A hook on the gradient of `on` as one on that of the tensor behind it.
  virtual GradHook hook_behind(const Tensor& on, GradHook hook) const = 0;
  // User error if the tape cannot know the gradients of `outputs` with respect to `inputs`.
  virtual void check_gradients(const TensorList& outputs, const TensorList& inputs) const = 0;
  virtual TensorList custom_function(std::string name, const TensorList& inputs, const ForwardFunction& forward,
                                     BackwardFunction backward) const = 0;

 protected:
  ~LayerAbove() = default;
};

// Any thread, as often as it likes, with the same layer, before the first of its tensors is made.
void install_above(const LayerAbove& layer);
const LayerAbove& layer_above();

inline bool is_above(const Tensor& t) { return t.defined() && (t->layers & layer_bit(Layer::transform)); }
// The tensor that the tape knows for t; t itself if it is none of the layer above.
inline Tensor behind(const Tensor& t) { return is_above(t) ? layer_above().behind(t) : t; }

// A function runs in the scope for a transform (grad, vjp, jvp, vmap), which has its own ways to
// gradients.
class TransformScope {
 public:
  TransformScope();
  ~TransformScope();
  TransformScope(const TransformScope&) = delete;
  TransformScope& operator=(const TransformScope&) = delete;
};
bool inside_transform();
// User error, in PyTorch's words, for what changes a tensor's place in the tape from inside a
// transform.
[[noreturn]] void refuse_inside_transform(std::string_view what);

}  // namespace ingot
