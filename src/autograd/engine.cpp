#include "autograd/engine.hpp"

#include <algorithm>
#include <optional>
#include <queue>
#include <unordered_map>
#include <utility>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "op/current_op.hpp"
#include "tensor/stand_in.hpp"

namespace ingot {
namespace {
thread_local bool linear = false;

class UnusedResult final : public GradNode {
 public:
  std::string name() const override { return "UnusedResult"; }
  TensorList apply(const TensorList&, const std::vector<bool>&) override { return {}; }
};
}  // namespace

LinearScope::LinearScope() : old_(std::exchange(linear, true)) {}
LinearScope::~LinearScope() { linear = old_; }

Tensor unused_gradient(const Geometry& of) {
  const Tensor zeros = aten<"zeros">(of.sizes, of.dtype);
  if (!linear || !is_differentiable(of.dtype)) return zeros;
  auto node = make_ref<UnusedResult>();
  node->results = {zeros->geom};
  set_history(zeros, node, 0);
  return zeros;
}

void check_linear(const TensorList& given, const Tensor& returned, const std::string& who) {
  if (!linear || !returned.defined() || requires_grad(returned)) return;
  for (const Tensor& g : given)
    INGOT_REQUIRE(
        !g.defined() || !requires_grad(g), "jvp: ", who,
        " returned a gradient that does not depend on the gradients it was given, so that its derivative is lost. Compute it of "
        "them with ops that are recorded, or return an undefined tensor where it is zero.");
}

namespace {
// The dims of `from` whose sum has the sizes `to`, if any do. Sizes are compared as by the op that
// sums so: those that data decides are not broadcast, and must be equal when the program runs.
std::optional<Shape> dims_to_sum(const Shape& from, const Shape& to) {
  const RunningOp summing(&op_ref<"sum_to_size">());
  const int lead = from.dim() - to.dim();
  if (lead < 0) return std::nullopt;
  Shape dims;
  for (int i = 0; i < from.dim(); i++) {
    if (i >= lead && from[i] == to[i - lead]) continue;
    if (i >= lead && !(to[i - lead] == 1)) return std::nullopt;
    dims.push_back(i);
  }
  return dims;
}
}  // namespace

Tensor fit_gradient(const Tensor& grad, const Geometry& want, const std::string& who, int index) {
  Tensor g = grad;
  if (!g.sizes().same(want.sizes)) {
    const std::optional<Shape> dims = dims_to_sum(g.sizes(), want.sizes);
    INGOT_REQUIRE(dims, "Function ", who, " returned an invalid gradient at index ", index, " - got ", g.sizes(),
                  " but expected shape compatible with ", want.sizes);
    if (!dims->empty()) g = aten<"sum.dim_IntList">(g, *dims, true);
    if (g.dim() > want.dim()) g = aten<"view">(g, want.sizes);
  }
  if (g.dtype() != want.dtype) {
    if (g.is_complex() && !is_complex(want.dtype)) g = aten<"real">(g);
    if (g.dtype() != want.dtype) g = aten<"_to_copy">(g, want.dtype);
  }
  return g;
}

namespace {
// What a program's own backward or hook returns may be a conj of something: a gradient is a value
// of its own.
Tensor own_value(const Tensor& grad) { return grad.defined() && is_stand_in(*grad->storage) ? aten<"clone">(grad) : grad; }
}  // namespace

Tensor hooked(const GradHook& hook, const Tensor& grad) {
  Tensor r = hook(grad);
  if (!r.defined()) return grad;
  check_linear({grad}, r, "a hook");
  INGOT_REQUIRE(r.sizes() == grad.sizes(), "a hook has changed the size of value: expected ", grad.sizes(), ", found ",
                r.sizes());
  return own_value(r);
}

void GradNode::run_hooks(TensorList& grads) {
  for (std::size_t i = 0; i < hooks.size(); i++) {  // by index: a hook may register another one
    const auto [nr, hook] = hooks[i];
    Tensor& g = grads[static_cast<std::size_t>(nr)];
    if (g.defined()) g = hooked(hook, g);
  }
  for (const auto& [nr, meta] : retained) {
    const Tensor& g = grads[static_cast<std::size_t>(nr)];
    if (g.defined())
      meta->grad = meta->grad.defined() ? aten<"add.Tensor">(meta->grad, g) : aten<"clone">(g, MemoryFormat::contiguous);
  }
}

namespace {

struct Run {
  const std::vector<Edge>& captures;
  BackwardOptions options;
  TensorList captured;
  std::unordered_map<GradNode*, int> dependencies;  // edges into the node that have not delivered yet
  std::unordered_map<GradNode*, bool> leads_to_capture;
  std::unordered_map<GradNode*, TensorList> buffers;
  struct Later {
    bool operator()(const Ref<GradNode>& a, const Ref<GradNode>& b) const { return a->sequence < b->sequence; }
  };
  std::priority_queue<Ref<GradNode>, std::vector<Ref<GradNode>>, Later> ready;

  // Counts incoming edges and marks what leads to a capture. Iterative: graphs are as deep as
  // programs are long.
  void explore(const std::vector<Edge>& roots) {
    std::vector<std::pair<GradNode*, std::size_t>> stack;
    auto enter = [&](GradNode* n) {
      if (leads_to_capture.contains(n)) return;
      bool hit = captures.empty();
      for (const Edge& c : captures) hit |= c.node.get() == n;
      leads_to_capture[n] = hit;
      stack.emplace_back(n, 0);
    };
    for (const Edge& r : roots) {
      if (!r.node) continue;
      enter(r.node.get());
      while (!stack.empty()) {
        auto& [n, next] = stack.back();
        if (next < n->edges.size()) {
          GradNode* child = n->edges[next++].node.get();
          if (!child) continue;
          dependencies[child]++;
          enter(child);
        } else {
          GradNode* done = n;
          stack.pop_back();
          for (const Edge& e : done->edges)
            if (e.node && leads_to_capture[e.node.get()]) leads_to_capture[done] = true;
        }
      }
    }
  }

  void deliver(const Edge& e, const Tensor& grad, const std::string& who, int index) {
    TensorList& b = buffers[e.node.get()];
    b.resize(e.node->results.size());
    if (!grad.defined()) return;
    Tensor g = fit_gradient(grad, e.node->results[e.input], who, index);
    Tensor& slot = b[e.input];
    slot = slot.defined() ? sum(slot, g) : g;
  }
  // The tensor was used several times, of which the latest whose gradient came is where the sum
  // stands.
  static Tensor sum(const Tensor& a, const Tensor& b) {
    const Ref<SourceNote>& around = current_source();
    const SourceScope source(around ? make_ref<SourceNote>(around->stack_trace + std::string(kAddition), around->module_path)
                                    : Ref<SourceNote>());
    return aten<"add.Tensor">(a, b);
  }
  static constexpr std::string_view kAddition = "Gradient addition node due to multiple use of tensor around:";

  void step(const Ref<GradNode>& n) {
    const SourceScope source(n->source);
    TensorList grads = std::move(buffers[n.get()]);
    buffers.erase(n.get());
    grads.resize(n->results.size());
    n->run_hooks(grads);
    for (std::size_t c = 0; c < captures.size(); c++)
      if (captures[c].node == n) captured[c] = grads[captures[c].input];

    std::vector<bool> need(n->edges.size());
    bool below = false, have = false;
    for (std::size_t i = 0; i < need.size(); i++) below |= need[i] = n->edges[i].node && leads_to_capture[n->edges[i].node.get()];
    for (const Tensor& g : grads) have |= g.defined();
    const bool is_end = n->edges.empty() && captures.empty();
    TensorList out;
    if ((below || is_end) && have) {
      const Scoped<bool> ends(graph_ends(), !options.retain_graph);
      out = n->apply(grads, need);
      if (!options.retain_graph) n->release_saved();
    }
    out.resize(n->edges.size());
    grads.clear();
    for (std::size_t i = 0; i < n->edges.size(); i++) {
      const Edge& e = n->edges[i];
      if (!e.node) continue;
      if (need[i]) deliver(e, own_value(out[i]), n->name(), static_cast<int>(i));
      out[i] = Tensor();
      if (--dependencies[e.node.get()] == 0) ready.push(e.node);
    }
  }
};

}  // namespace

bool& graph_ends() {
  thread_local bool ends = false;
  return ends;
}

TensorList run_backward(const std::vector<Edge>& roots, const TensorList& seeds, const std::vector<Edge>& captures,
                        BackwardOptions options) {
  Run run{captures, options, TensorList(captures.size()), {}, {}, {}, {}};
  Scoped<bool> grad(thread_state().grad_mode, options.create_graph);
  run.explore(roots);
  std::vector<GradNode*> queued;
  for (std::size_t i = 0; i < roots.size(); i++)
    if (roots[i].node) run.deliver(roots[i], seeds[i], "backward", static_cast<int>(i));
  for (const Edge& r : roots) {
    if (!r.node || run.dependencies[r.node.get()] != 0) continue;
    if (std::find(queued.begin(), queued.end(), r.node.get()) != queued.end()) continue;
    queued.push_back(r.node.get());
    run.ready.push(r.node);
  }
  while (!run.ready.empty()) {
    Ref<GradNode> n = run.ready.top();
    run.ready.pop();
    run.step(n);
  }
  return run.captured;
}

}  // namespace ingot
