// The tape. A node turns gradients of its results into gradients of its inputs; edges lead to the
// nodes of the inputs. Edges were made before the node, so `sequence` falls along edges: the engine
// runs the largest first.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "ingot/ref.hpp"
#include "op/op.hpp"
#include "op/source_note.hpp"

namespace ingot {

struct AutogradMeta;
class GradNode;

struct Edge {
  Ref<GradNode> node;
  int input = 0;  // which result of that node the gradient is for
};

using GradHook = std::function<Tensor(const Tensor&)>;  // returns the replacement, or undefined to keep the gradient

class GradNode : public Counted {
 public:
  GradNode();
  virtual std::string name() const = 0;
  // Gradients of the results (undefined where none arrived) to gradients of the inputs, one per
  // edge. `need[i]`: whether edge i wants its gradient; others may stay undefined.
  virtual TensorList apply(const TensorList& grads, const std::vector<bool>& need) = 0;
  // Before apply, also where a run ends: calls the hooks on the gradients, which may replace them.
  virtual void run_hooks(TensorList& grads);
  // Frees saved tensors after a backward that does not retain the graph.
  virtual void release_saved() {}

  uint64_t sequence;
  Ref<SourceNote> source;  // where the forward call was written: its backward belongs there too
  std::vector<Edge> edges;
  std::vector<Geometry> results;  // what the gradients must look like
  std::vector<std::pair<int, GradHook>> hooks;           // on the gradient of a result, before apply
  std::vector<std::pair<int, AutogradMeta*>> retained;   // tensors that keep their gradient (retain_grad); weak

 protected:
  explicit GradNode(uint64_t s) : sequence(s) {}  // at a place of its own in the order
  void dispose() const override;
};

// A tensor kept for the backward without keeping its history alive in a cycle.
class SavedTensor {
 public:
  SavedTensor() = default;
  // `may_change`: the op writes the tensor itself (batch norm's running statistics): whatever it
  // holds later will do.
  SavedTensor(const Tensor& t, bool is_result, bool may_change = false);
  // The tensor with its history. `owner` is the node it was saved by. User error if the bytes
  // changed since, or if the graph was freed.
  Tensor unpack(const Ref<GradNode>& owner) const;
  void release();
  // The version of `storage` is another one than `before`, but no byte was written: a tensor on it
  // changed how it looks.
  void accept_version(const Storage& storage, uint32_t before);
  bool empty() const { return !tensor_.defined() && !released_; }

 private:
  Tensor tensor_;       // the leaf itself, or a handle without history
  Edge edge_;           // of a non-leaf
  uint32_t version_ = 0;
  int result_nr_ = 0;
  bool is_result_ = false, may_change_ = false, is_leaf_ = false, requires_grad_ = false, released_ = false;
};

// PyTorch's text for a backward that finds its saved tensors freed.
[[noreturn]] void throw_graph_freed();

// The gradient after a hook saw it. User error if the hook changed its size.
Tensor hooked(const GradHook& hook, const Tensor& grad);

// Sums a broadcast gradient back to `want` and gives it the dtype. User error naming `who` if the
// shapes do not fit.
Tensor fit_gradient(const Tensor& g, const Geometry& want, const std::string& who, int index);

}  // namespace ingot
