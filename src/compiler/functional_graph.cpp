#include "compiler/functional_graph.hpp"

#include <algorithm>
#include <array>

#include "graph/copy.hpp"
#include "pass/decompose.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

bool is_fixed(const Tensor& t) {
  return !t.defined() || (!t.sizes().is_symbolic() && !t.strides().is_symbolic() && t->geom.offset.is_number());
}
bool is_fixed(const Value& meta) {
  if (meta.is_tensor()) return is_fixed(meta.tensor());
  if (meta.is_tensors()) return std::ranges::all_of(meta.tensors(), [](const Tensor& t) { return is_fixed(t); });
  return false;
}

bool lie_alike(const Geometry& a, const Geometry& b) {
  return a.sizes.same(b.sizes) && a.strides.same(b.strides) && a.offset.same(b.offset) && a.dtype == b.dtype;
}

bool is_functional(const Graph& graph, const Node& n) {
  switch (n.kind) {
    case NodeKind::placeholder: return true;
    case NodeKind::attribute: return std::holds_alternative<Tensor>(*graph.find_attribute(n.target));
    case NodeKind::item: return is_fixed(n.meta);
    case NodeKind::call:
      return is_fixed(n.meta) && !n.op->mutates() && !n.op->comes_apart() &&
             std::ranges::none_of(n.args, [](const Argument& a) { return a.is_value() && a.value().is_generator(); });
    default: return false;
  }
}

// The graph over the inputs that are taken, with numbers in the place of those that are known.
Pass taken_inputs_pass(std::span<const std::size_t> taken, const Values& examples) {
  const auto over_taken = [taken, &examples](const Graph& g) {
    Graph to;
    GraphCopier copier(g, to);
    for (std::size_t k = 0; k < g.inputs().size(); k++)
      if (examples[k].is_number()) copier.replace(*g.inputs()[k], Argument(examples[k]));
    for (const std::size_t k : taken) copier.copy(*g.inputs()[k]);
    for (const auto& n : g.nodes())
      if (n->kind != NodeKind::placeholder) copier.copy(*n);
    copier.copy_outputs();
    return to;
  };
  return {"taken_inputs", over_taken, true};
}

}  // namespace

std::optional<Graph> as_functional(const Graph& graph, std::span<const std::size_t> taken, const Values& examples,
                                   const Values& like) {
  if (!std::ranges::all_of(graph.nodes(), [&](const auto& n) { return is_functional(graph, *n); })) return {};
  for (std::size_t k = 0; k < taken.size(); k++) {
    const Value& meta = graph.inputs()[taken[k]]->meta;
    if (!is_fixed(meta) || !like[k].is_tensor() || !lie_alike(meta.tensor()->geom, like[k].tensor()->geom)) return {};
  }
  return run_passes(graph, std::array{taken_inputs_pass(taken, examples), decompose_pass()});
}

}  // namespace ingot
