// The node of an ordinary op: runs the op's vjp rule on what was saved. A view without a vjp of its
// own gets the derived one: the inverse over a zero base.
#pragma once
#include "autograd/meta.hpp"

namespace ingot {

class OpNode final : public GradNode {
 public:
  // Takes edges and saves of `args` (complete). For an in-place call the saved self is a clone of
  // its old value.
  OpNode(const Op& functional, Args args, bool inplace);
  // After the op ran: what the gradients of the results look like, and saved results.
  void set_results(const TensorList& results);

  std::string name() const override { return op_->node_name; }
  TensorList apply(const TensorList& grads, const std::vector<bool>& need) override;
  void release_saved() override;

 private:
  struct Slot {
    int arg, member;  // member: of a list argument, else -1
    SavedTensor saved;
  };
  const Op* op_;
  Values args_;                                 // tensors taken out
  std::vector<bool> tensor_arg_;
  std::vector<int> first_edge_;                 // per argument
  std::vector<std::vector<Geometry>> geoms_;    // per argument
  std::vector<Slot> saved_args_;
  std::vector<std::pair<int, SavedTensor>> saved_results_;
  bool released_ = false;

  void view_vjp(Vjp& v) const;
};

// Whether the functional form of an op (inplace: its in-place form) has a gradient rule, the op's
// own or a view's derived one.
inline bool has_vjp(const Op& functional, bool inplace) {
  const OpDef& d = *functional.def;
  return (d.vjp && d.grad.variants != (inplace ? GradVariants::functional : GradVariants::inplace)) ||
         (functional.is_view() && d.view.inverse);
}
// Whether gradients flow into result k, if its dtype has any.
inline bool has_gradient(const Op& op, std::size_t k) { return op.returns_list() || k >= 8 || ((op.def->grad.results >> k) & 1); }

}  // namespace ingot
