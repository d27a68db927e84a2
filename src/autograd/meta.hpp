// Autograd's state on a tensor: leaf, history, view record.
#pragma once
#include <memory>
#include <mutex>

#include "autograd/node.hpp"
#include "op/call.hpp"

namespace ingot {

// One step of a view, so that it can be taken again. args[0] is the slot of the tensor viewed.
struct ViewStep {
  const Op* op = nullptr;
  Values args;
  int out = 0;
  const Op* in_place = nullptr;  // of a step that changed the tensor itself: the in-place form that was called
  bool retyped = false;  // a step that refers to the storage, counting elements of another type than the base's
  Tensor apply(const Tensor& base) const;
};
// The view that a chain leads to, taken of `base` again. A step that refers to the storage is one
// of the base whatever was before it (but a detach cuts the history, and what gave the elements
// another type stays), as it is for a view that remembers its geometry alone; `shift` is how much
// farther back `base` begins in its storage than the tensor that the chain was taken of did.
Tensor take_again(const Tensor& base, const std::vector<ViewStep>& chain, Int shift = 0);
// An in-place view op applied to a tensor that is not itself a view.
struct RootStep {
  ViewStep step;
  Geometry before;
};

// What happened when a view was made decides which later in-place writes are allowed.
enum class Creation : uint8_t { normal, multi_output, no_grad, custom_function, inference };

struct ViewInfo {
  Tensor base;  // never a view itself
  std::vector<ViewStep> chain;  // from base to here; kept only if `replay`
  bool replay = false;
  Creation creation = Creation::normal;
  uint32_t attr_version = 0;  // version of the storage when `node` was right
  std::size_t root_steps = 0;  // how many root steps the base had when the view was taken
};

struct AutogradMeta final : LayerState {
  bool requires_grad = false;  // of a leaf
  Tensor grad;
  Ref<GradNode> node;  // history; null for a leaf
  int result_nr = 0;
  GradNode* accumulate = nullptr;  // weak: the node owns the leaf
  std::unique_ptr<ViewInfo> view;
  std::vector<RootStep> root_steps;
  bool resized = false;  // by out=
  std::vector<GradHook> leaf_hooks;
  std::vector<std::function<void(Tensor&)>> post_accumulate_hooks;
  bool retains_grad = false;
  uint64_t open_dims =
      0;  // bit d: size d was open where the tensor was made, and may as well be in what is compiled for it (R137)
  std::mutex mutex;  // guards `accumulate` and `grad` against concurrent backwards
  ~AutogradMeta() override;
  // Gives the tensor another history. A tensor that retains its gradient keeps doing so at the new
  // node.
  void set_node(const Ref<GradNode>& n, int nr);
};

inline AutogradMeta* autograd_meta(const Tensor& t) { return static_cast<AutogradMeta*>(t->autograd.get()); }
AutogradMeta& ensure_autograd_meta(const Tensor& t);

bool requires_grad(const Tensor& t);
bool is_leaf(const Tensor& t);
// Tensor::requires_grad_. User error, in PyTorch's words, where the flag cannot be set.
void set_requires_grad(const Tensor& t, bool on);
// History of t; rebuilds a view's node when its base or a sibling was written since.
Ref<GradNode> grad_fn(const Tensor& t);
// Where the gradient of t goes; empty if it needs none.
Edge edge_of(const Tensor& t);
void set_history(const Tensor& t, const Ref<GradNode>& node, int result_nr);
// PyTorch's `t.data = value`: t stays the tensor it is, with its history, hooks and gradient, and
// has the storage, sizes and dtype of `value`. Views of t keep the old storage.
void set_data(const Tensor& t, const Tensor& value);
// After an in-place write of `self`, result `result_nr` of `node`: the base of a view gets a
// CopySlices node. `input`: which edge of the node led to self before the write.
void rebase_history(const Tensor& self, const Ref<GradNode>& node, int result_nr = 0, int input = 0);
// Records that `out` is result `step.out` of a view op on `self`.
void record_view(const Tensor& self, const Tensor& out, ViewStep step, bool multi_output);
// PyTorch's refusals of an in-place op, called `who`. `metadata_only`: it writes no element (t_ and
// the like); it may then change a view of a leaf, as the inputs of a traced function are.
void check_inplace(std::string_view who, const Tensor& self, bool metadata_only = false);
// An AsStrided-like node for a rebuilt view is an ordinary op node; see op_node.hpp.

// The tensor as it was before the in-place view ops (t_ and the like) that it went through. Itself
// if there were none.
Tensor without_root_steps(const Tensor& t);

}  // namespace ingot
