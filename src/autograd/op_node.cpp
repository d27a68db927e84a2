#include "autograd/op_node.hpp"

#include <algorithm>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/op/vjp.hpp"
#include "op/current_op.hpp"
#include "op/tensors.hpp"

namespace ingot {

OpNode::OpNode(const Op& op, Args args, bool inplace)
    : op_(&op), args_(args.begin(), args.end()), tensor_arg_(args.size()), first_edge_(args.size()), geoms_(args.size()) {
  for (std::size_t i = 0; i < args.size(); i++) {
    first_edge_[i] = static_cast<int>(edges.size());
    auto add = [&](const Tensor& t) {
      const bool flows = t.defined() && is_differentiable(t.dtype());
      edges.push_back(flows ? edge_of(t) : Edge{});
      geoms_[i].push_back(t.defined() ? t->geom : Geometry{});
    };
    if (args[i].is_tensor()) {
      tensor_arg_[i] = true;
      add(args[i].tensor());
      args_[i] = Value();
    } else if (args[i].is_tensors()) {
      for (const Tensor& t : args[i].tensors()) add(t);
      args_[i] = Value();
    } else {
      for_each_tensor(args[i], [&](const Tensor& t) {
        INGOT_REQUIRE(
            !(is_differentiable(t.dtype()) && requires_grad(t)), op.schema.name, ": argument '", op.schema.args[i].name,
            "' mixes tensors that require grad with other values, and gradients do not flow through such a list. Make the other values "
            "tensors, or let the function that takes them bring them along");
      });
    }
  }
  auto wanted = [&](int arg) {
    if (arg == kAny) return true;
    for (std::size_t m = 0; m < geoms_[arg].size(); m++)
      if (edges[first_edge_[arg] + m].node) return true;
    return false;
  };
  for (const Save& s : op.def->saves) {
    if (s.what < 0 || !wanted(s.needed_for)) continue;
    const Value& v = args[s.what];
    if (v.is_tensor()) {
      Tensor t = v.tensor();
      if (inplace && s.what == 0) t = aten<"clone">(t);  // its bytes are about to change; the copy has its history
      const bool written = !inplace && std::find(op.written.begin(), op.written.end(), s.what) != op.written.end();
      saved_args_.push_back({s.what, -1, SavedTensor(t, false, written)});
    } else if (v.is_tensors()) {
      const TensorList& l = v.tensors();
      for (std::size_t m = 0; m < l.size(); m++)
        saved_args_.push_back({s.what, static_cast<int>(m), l[m].defined() ? SavedTensor(l[m], false) : SavedTensor()});
    }
  }
}

void OpNode::set_results(const TensorList& outs) {
  results.clear();
  for (const Tensor& t : outs) results.push_back(t.defined() ? t->geom : Geometry{});
  for (const Save& s : op_->def->saves) {
    if (s.what >= 0) continue;
    const int k = kResult - s.what;
    bool need = s.needed_for == kAny;
    if (!need)
      for (std::size_t m = 0; m < geoms_[s.needed_for].size(); m++) need |= bool(edges[first_edge_[s.needed_for] + m].node);
    const auto at = static_cast<std::size_t>(k);
    if (need) saved_results_.emplace_back(k, SavedTensor(outs.at(at), has_gradient(*op_, at)));
  }
}

TensorList OpNode::apply(const TensorList& grads, const std::vector<bool>& need) {
  if (released_ && !(saved_args_.empty() && saved_results_.empty())) throw_graph_freed();
  bool any = false;
  for (const Tensor& g : grads) any |= g.defined();
  TensorList out(edges.size());
  if (!any) return out;

  Vjp v;
  v.op = op_;
  v.grads = grads;
  v.grads.resize(results.size());
  v.args = args_;
  v.tensor_arg = tensor_arg_;
  v.arg_geoms = geoms_;
  v.result_geoms = results;
  v.needs.resize(args_.size());
  v.list_needs.resize(args_.size());
  v.out.resize(args_.size());
  for (std::size_t i = 0; i < args_.size(); i++) {
    v.out[i].resize(geoms_[i].size());
    for (std::size_t m = 0; m < geoms_[i].size(); m++) {
      const bool n = need[first_edge_[i] + m];
      v.list_needs[i].push_back(n);
      if (n) v.needs[i] = true;
    }
  }
  const Ref<GradNode> self(this);
  std::vector<TensorList> lists(args_.size());
  for (const Slot& s : saved_args_) {
    Tensor t = s.saved.empty() ? Tensor() : s.saved.unpack(self);
    if (s.member < 0) v.args[s.arg] = t;
    else lists[s.arg].push_back(std::move(t));
  }
  for (std::size_t i = 0; i < lists.size(); i++)
    if (!lists[i].empty()) v.args[i] = std::move(lists[i]);
  v.results.resize(results.size());
  for (auto& [k, saved] : saved_results_) v.results[k] = saved.unpack(self);

  const RunningOp running(op_);
  if (op_->def->vjp) op_->def->vjp(v);
  else view_vjp(v);
  for (std::size_t i = 0; i < args_.size(); i++)
    for (std::size_t m = 0; m < v.out[i].size(); m++) out[first_edge_[i] + m] = std::move(v.out[i][m]);
  return out;
}

// d(base) = the gradient put where the view looked, zeros elsewhere.
void OpNode::view_vjp(Vjp& v) const {
  if (!v.need(0)) return;
  const Geometry& base = v.geom(0);
  Tensor acc;
  for (std::size_t k = 0; k < v.grads.size(); k++) {
    const Tensor& g = v.grads[k];
    if (!g.defined()) continue;
    if (!acc.defined())
      acc = op_->def->view.inverse_reads_base ? aten<"zeros">(base.sizes, g.dtype(), Value(), g.device())
                                              : make_tensor(base, g.device(), true);
    acc = op_->def->view.inverse({*op_, v.args}, acc, g, static_cast<int>(k));
  }
  v.set(0, acc);
}

void OpNode::release_saved() {
  for (Slot& s : saved_args_) s.saved.release();
  for (auto& [k, s] : saved_results_) s.release();
  released_ = true;
}

}  // namespace ingot
