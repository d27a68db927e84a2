#include "autograd/meta.hpp"

#include <algorithm>
#include <atomic>

#include "autograd/accumulate.hpp"
#include "autograd/op_node.hpp"
#include "base/dtype.hpp"
#include "base/error.hpp"

namespace ingot {

namespace {
std::atomic<uint64_t> next_sequence{1};
}
GradNode::GradNode() : sequence(next_sequence.fetch_add(1, std::memory_order_relaxed)), source(current_source()) {}

// A node owns the nodes before it, through edges, saved tensors and whatever a custom function
// keeps: a graph is as deep as its program is long, the stack is not. Nodes that die while one is
// being destroyed wait for it to end.
void GradNode::dispose() const {
  thread_local std::vector<const GradNode*>* waiting = nullptr;
  if (waiting) return waiting->push_back(this);
  std::vector<const GradNode*> list;
  list.reserve(32);
  list.push_back(this);
  waiting = &list;
  while (!list.empty()) {
    const GradNode* n = list.back();
    list.pop_back();
    delete n;
  }
  waiting = nullptr;
}

AutogradMeta::~AutogradMeta() { set_node(nullptr, 0); }

void AutogradMeta::set_node(const Ref<GradNode>& n, int nr) {
  if (retains_grad) {
    if (node) std::erase_if(node->retained, [this](const auto& r) { return r.second == this; });
    if (n) n->retained.emplace_back(nr, this);
  }
  node = n;
  result_nr = nr;
}

void throw_graph_freed() {
  throw_user_error(
      "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved "
      "intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
      "backward through the graph a second time or if you need to access saved tensors after calling backward.");
}

AutogradMeta& ensure_autograd_meta(const Tensor& t) {
  if (!t->autograd) t->autograd = std::make_unique<AutogradMeta>();
  return *autograd_meta(t);
}

Tensor ViewStep::apply(const Tensor& base) const {
  Values a = args;
  a[0] = base;
  const Value r = call(*op, a);
  return r.is_tensor() ? r.tensor() : r.tensors().at(static_cast<std::size_t>(out));
}

Tensor take_again(const Tensor& base, const std::vector<ViewStep>& chain, Int shift) {
  std::size_t first = chain.size();
  while (first > 0 && !chain[first - 1].op->def->view.from_storage) first--;
  Tensor x = base;
  if (first > 0) {
    ViewStep of_storage = chain[first - 1];
    if (of_storage.retyped) {
      x = take_again(base, {chain.begin(), chain.begin() + static_cast<std::ptrdiff_t>(first) - 1}, shift);
      shift = floor_div(shift * size_of(base.dtype()), size_of(x.dtype()));
    } else {
      for (std::size_t k = 0; k + 1 < first; k++)
        if (chain[k].op->def->grad.detaches) x = chain[k].apply(x);
    }
    of_storage.args.back() = of_storage.args.back().to_int() - shift;
    x = of_storage.apply(x);
  }
  for (std::size_t k = first; k < chain.size(); k++) x = chain[k].apply(x);
  return x;
}

bool requires_grad(const Tensor& t) {
  const AutogradMeta* m = autograd_meta(t);
  if (!m) return false;
  return m->requires_grad || m->node || (m->view && grad_fn(t));
}

bool is_leaf(const Tensor& t) { return !autograd_meta(t) || !grad_fn(t); }

void set_history(const Tensor& t, const Ref<GradNode>& node, int result_nr) {
  AutogradMeta& m = ensure_autograd_meta(t);
  m.set_node(node, result_nr);
  if (m.view) m.view->attr_version = t->storage->version();
}

void set_data(const Tensor& t, const Tensor& value) {
  t->storage = value->storage;
  t->geom = value->geom;
  t->inference = value->inference;
  t->layers = value->layers;
  t->special = value->special ? value->special->clone() : nullptr;
  t->share_identity(*value.impl());
  AutogradMeta* m = autograd_meta(t);
  if (!m) return;
  m->view.reset();
  const std::lock_guard lock(m->mutex);
  m->accumulate = nullptr;  // it knows the old dtype; graphs made before go on with it
}

Edge edge_of(const Tensor& t) {
  if (!requires_grad(t)) return {};
  if (Ref<GradNode> n = grad_fn(t)) return {n, autograd_meta(t)->result_nr};
  return {accumulate_node(t), 0};
}

namespace {

void refuse_inplace_view(const ViewInfo& v, const Tensor& t, bool indirect) {
  if (v.creation == Creation::normal) return;
  const AutogradMeta& m = *autograd_meta(t);
  const std::string_view happened = indirect ? "its base or another view of its base has been" : "is being";
  constexpr std::string_view
      ambiguous =
          " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by "
          "moving both the view and the inplace either both inside the ",
      outside = " (if you don't want the inplace to be tracked) or both outside (if you want the inplace to be tracked).";
  if (v.creation == Creation::no_grad)
    throw_user_error(text("A view was created in no_grad mode and ", happened, " modified inplace with grad mode enabled.",
                          ambiguous, "no_grad block", outside));
  if (v.creation == Creation::inference)
    throw_user_error(text("A view was created in inference mode and ", happened, " modified inplace in normal mode.", ambiguous,
                          "inference_mode block", outside));
  const std::string who = text("Output ", m.result_nr, " of ", m.node ? m.node->name() : "a view function", " is a view and ",
                               happened, " modified inplace. ");
  if (v.creation == Creation::custom_function)
    throw_user_error(who +
                     "This view was created inside a custom Function (or because an input was returned as-is) and the autograd "
                     "logic to handle view+inplace would override the custom backward associated with the custom Function, "
                     "leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of "
                     "the custom Function.");
  throw_user_error(who +
                   "This view is the output of a function that returns multiple views. Such functions do not allow the output "
                   "views to be modified inplace. You should replace the inplace operation by an out-of-place one.");
}

// A chain is relative to the base as it was when the view was taken: in-place view ops the base got
// since are undone.
Tensor undo_root_steps(Tensor x, const std::vector<RootStep>& steps, std::size_t from) {
  for (std::size_t k = steps.size(); k-- > from;) {
    const RootStep& s = steps[k];
    const Op& f = s.step.op->functional ? *s.step.op->functional : *s.step.op;
    x = f.def->view.inverse({f, s.step.args}, make_tensor(s.before, x.device(), true), x, 0);
  }
  return x;
}

bool refers_to_storage(const std::vector<ViewStep>& chain) {
  return std::any_of(chain.begin(), chain.end(), [](const ViewStep& s) { return s.op->def->view.from_storage && !s.retyped; });
}
// The same of a base that got root steps since the chain's beginning.
Tensor take_again(const Tensor& base, const std::vector<RootStep>& root_steps, std::size_t from,
                  const std::vector<ViewStep>& chain, Int shift) {
  return take_again(refers_to_storage(chain) ? base : undo_root_steps(base, root_steps, from), chain, shift);
}

// History of a base one of whose views was written: the view's part of the gradient goes through
// the writer, the rest past it.
class CopySlices final : public GradNode {
 public:
  Geometry base, view;
  std::vector<ViewStep> chain;
  bool replay = false;
  std::vector<RootStep> root_steps;
  std::size_t from = 0;
  Ref<GradNode> writer;
  int writer_result = 0, self_input = 0;

  std::string name() const override { return "CopySlices"; }
  void release_saved() override { writer->release_saved(); }

  TensorList apply(const TensorList& g, const std::vector<bool>& need) override {
    TensorList r(edges.size());
    if (!g[0].defined()) return r;
    Tensor result = aten<"new_empty_strided">(g[0], base.sizes, base.strides);
    aten_value<"copy_">(result, g[0]);
    Tensor slice = result;
    if (replay) {
      slice = take_again(result, root_steps, from, chain, base.offset);
    } else {
      slice = aten<"as_strided">(result, view.sizes, view.strides, view.offset - base.offset);
    }
    TensorList written(writer->results.size());
    written[static_cast<std::size_t>(writer_result)] = aten<"clone">(slice);
    TensorList inner = writer->apply(written, need);
    for (int i = 0; i < static_cast<int>(std::min(inner.size(), r.size())); i++) {
      if (!need[i]) continue;
      if (i != self_input) {
        r[i] = inner[i];
      } else {
        if (inner[i].defined()) aten_value<"copy_">(slice, fit_gradient(inner[i], slice->geom, writer->name(), i));
        else aten_value<"zero_">(slice);
        r[i] = result;
      }
    }
    return r;
  }
};

}  // namespace

Tensor without_root_steps(const Tensor& t) {
  const AutogradMeta* m = autograd_meta(t);
  return m ? undo_root_steps(t, m->root_steps, 0) : t;
}

// Whether the view is taken of the base again by its steps. Those of a base that out= gave another
// size are not of what it is now: such a view is a part of its storage.
static bool replays(const ViewInfo& v) {
  const AutogradMeta* base = autograd_meta(v.base);
  return v.replay && !(base && base->resized);
}

Ref<GradNode> grad_fn(const Tensor& t) {
  AutogradMeta* m = autograd_meta(t);
  if (!m) return nullptr;
  if (!m->view) return m->node;
  ViewInfo& v = *m->view;
  if (!m->node && !requires_grad(v.base)) return nullptr;
  const uint32_t version = t->storage->version();
  if (v.attr_version == version) return m->node;
  if ((v.creation == Creation::no_grad || v.creation == Creation::inference) && !m->node) {
    v.attr_version = version;
    return nullptr;
  }
  refuse_inplace_view(v, t, true);
  Scoped<bool> grad(thread_state().grad_mode, true);
  Scoped<Layer> layer(thread_state().layer, Layer::transform);
  if (replays(v)) {
    const Tensor x = take_again(v.base, ensure_autograd_meta(v.base).root_steps, v.root_steps, v.chain, 0);
    m->set_node(autograd_meta(x)->node, autograd_meta(x)->result_nr);
  } else {
    const Value args[] = {v.base, t.sizes(), t.strides(), t.storage_offset()};
    auto n = make_ref<OpNode>(op_ref<"as_strided">(), Args(args), false);
    n->set_results({t});
    m->set_node(n, 0);
  }
  v.attr_version = version;
  return m->node;
}

void rebase_history(const Tensor& self, const Ref<GradNode>& node, int result_nr, int input) {
  AutogradMeta& m = ensure_autograd_meta(self);
  if (!m.view) return set_history(self, node, result_nr);
  ViewInfo& v = *m.view;
  auto c = make_ref<CopySlices>();
  c->base = v.base->geom;
  c->view = self->geom;
  c->chain = v.chain;
  c->replay = replays(v);
  c->root_steps = ensure_autograd_meta(v.base).root_steps;
  c->from = v.root_steps;
  c->writer = node;
  c->writer_result = result_nr;
  c->self_input = input;
  c->results = {v.base->geom};
  c->edges = node->edges;
  c->edges.at(static_cast<std::size_t>(input)) = edge_of(v.base);
  set_history(v.base, c, 0);
  v.attr_version = self->storage->version() - 1;  // stale: rebuilt from the base's new history
  grad_fn(self);
}

void record_view(const Tensor& self, const Tensor& out, ViewStep step, bool multi_output) {
  const ThreadState& ts = thread_state();
  auto v = std::make_unique<ViewInfo>();
  AutogradMeta* sm = autograd_meta(self);
  const ViewInfo* parent = sm && sm->view ? sm->view.get() : nullptr;
  v->base = parent ? parent->base : self;
  v->root_steps = parent ? parent->root_steps : sm ? sm->root_steps.size() : 0;
  // Elements of another type are no strided part of the base: such a view remembers how it was
  // made. What it was made of, where that remembers its geometry alone, is taken by it.
  const bool retyped = out.dtype() != v->base.dtype();
  v->replay = retyped || ((ts.view_replay || self->special) && (!parent || parent->replay));
  if (v->replay) {
    if (parent && parent->replay) v->chain = parent->chain;
    else if (parent)
      v->chain.push_back({&op_ref<"as_strided">(), {Value(), self.sizes(), self.strides(), self.storage_offset()}, 0});
    step.args[0] = Value();
    if (step.op->def->view.from_storage) {
      step.args.back() = out.storage_offset();  // none stands for the viewed tensor's own
      step.retyped = retyped;
    }
    v->chain.push_back(std::move(step));
  }
  v->creation = ts.inference_mode ? Creation::inference
                : !ts.grad_mode   ? Creation::no_grad
                : multi_output    ? Creation::multi_output
                                  : Creation::normal;
  if (parent && parent->creation != Creation::normal && v->creation == Creation::normal) v->creation = parent->creation;
  v->attr_version = out->storage->version();
  ensure_autograd_meta(out).view = std::move(v);
}

void check_inplace(std::string_view who, const Tensor& self, bool metadata_only) {
  AutogradMeta* m = autograd_meta(self);
  if (m && m->view) {
    refuse_inplace_view(*m->view, self, false);
    const Tensor& base = m->view->base;
    INGOT_REQUIRE(metadata_only || !(requires_grad(base) && is_leaf(base)), who,
                  ": a view of a leaf Variable that requires grad is being used in an in-place operation.");
  }
  INGOT_REQUIRE(!(requires_grad(self) && is_leaf(self)), who,
                ": a leaf Variable that requires grad is being used in an in-place operation.");
}

// ---- saved tensors
SavedTensor::SavedTensor(const Tensor& t, bool is_result, bool may_change)
    : version_(t->storage->version()), is_result_(is_result), may_change_(may_change) {
  INGOT_REQUIRE(!t->inference,
                "Inference tensors cannot be saved for backward. To work around you can make a clone to get a normal "
                "tensor and use it in autograd.");
  requires_grad_ = !is_result && requires_grad(t);
  is_leaf_ = requires_grad_ && is_leaf(t);
  if (AutogradMeta* m = autograd_meta(t)) result_nr_ = m->result_nr;
  if (is_leaf_) {
    tensor_ = t;
  } else {
    tensor_ = detached(t);
    if (requires_grad_) edge_ = edge_of(t);
  }
}

void SavedTensor::accept_version(const Storage& storage, uint32_t before) {
  if (tensor_.defined() && tensor_->storage.get() == &storage && version_ == before) version_ = storage.version();
}

Tensor SavedTensor::unpack(const Ref<GradNode>& owner) const {
  INGOT_ENSURE(tensor_.defined());
  const uint32_t now = tensor_->storage->version();
  if (now != version_ && !may_change_) {
    std::string of;
    if (is_result_) of = text(", which is output ", result_nr_, " of ", owner->name(), ",");
    else if (edge_.node) of = text(", which is output ", edge_.input, " of ", edge_.node->name(), ",");
    throw_user_error(
        text("one of the variables needed for gradient computation has been modified by an inplace operation: [torch.",
             scalar_type_name(tensor_.dtype()), "Tensor ", tensor_.sizes(), "]", of, " is at version ", now,
             "; expected version ", version_,
             " instead. Hint: clone() the tensor before the inplace operation, or use "
             "its out-of-place form."));
  }
  if (is_leaf_) return tensor_;
  Tensor r = detached(tensor_);
  if (is_result_) set_history(r, owner, result_nr_);
  else if (edge_.node) set_history(r, edge_.node, edge_.input);
  return r;
}

void SavedTensor::release() {
  released_ = tensor_.defined() || released_;
  tensor_ = Tensor();
  edge_ = Edge();
}

}  // namespace ingot
