#include "compiler/functional_graph.hpp"

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "compiler/functional_trace.hpp"
#include "graph/copy.hpp"
#include "op/call.hpp"
#include "op/source_note.hpp"
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

// A copy of a graph in which programs stand for some calls.
class Decomposing {
 public:
  Decomposing(const Graph& from, Graph& to) : to_(to), copier_(from, to) {}

  GraphCopier& copier() { return copier_; }

  void add(const Node& n) {
    if (n.kind == NodeKind::call && core_decompositions().contains(n.op)) return add_program(n);
    const auto parts = n.kind == NodeKind::item ? lists_.find(n.args[0].node()) : lists_.end();
    if (parts != lists_.end()) return copier_.replace(n, parts->second[static_cast<std::size_t>(n.index)]);
    copier_.copy(n);
  }

 private:
  Graph& to_;
  GraphCopier copier_;
  std::map<const Node*, std::vector<Argument>> lists_;  // what calls of several results made, which came apart

  void add_program(const Node& n) {
    std::vector<Node*> operands;
    for_each_node(n.args, [&](Node* a) {
      if (std::ranges::find(operands, a) == operands.end()) operands.push_back(a);
    });
    Examples examples;
    for (const Node* a : operands) examples.add(a->meta, {});
    const Traced program = trace_functional([&](const Values& given) { return called(n, operands, given); }, std::move(examples));
    inline_program(n, operands, program.graph);
  }

  static Value resolved(const Argument& a, const std::vector<Node*>& operands, const Values& given) {
    if (a.is_value()) return a.value();
    if (a.is_node()) return given[static_cast<std::size_t>(std::ranges::find(operands, a.node()) - operands.begin())];
    Values elements;
    for (const Argument& e : a.elements()) elements.push_back(resolved(e, operands, given));
    return list_value(std::move(elements));
  }

  static Values called(const Node& n, const std::vector<Node*>& operands, const Values& given) {
    const SourceScope source(n.stack_trace.empty() ? Ref<SourceNote>() : make_ref<SourceNote>(n.stack_trace, n.module_path));
    Values args;
    for (const Argument& a : n.args) args.push_back(resolved(a, operands, given));
    const Value result = call(*n.op, args);
    if (result.is_tensor()) return {result};
    const TensorList& all = result.tensors();
    return {all.begin(), all.end()};
  }

  void inline_program(const Node& n, const std::vector<Node*>& operands, const Graph& program) {
    // Attributes of a program have the names of every program.
    std::map<std::string, std::string> keys;
    for (const auto& [key, attribute] : program.attributes) {
      keys[key] = text(n.name, ".", key);
      to_.attributes.emplace_back(keys[key], attribute);
    }
    GraphCopier inner(program, to_, GraphCopier::Attributes::leave);
    for (std::size_t k = 0; k < operands.size(); k++) inner.replace(*program.inputs()[k], copier_(operands[k]));
    for (const auto& m : program.nodes()) {
      if (m->kind == NodeKind::placeholder) continue;
      Node* copied = inner.copy(*m);
      if (m->kind == NodeKind::attribute) copied->target = keys.at(m->target);
    }
    std::vector<Argument> results;
    for (const Argument& a : program.outputs) results.push_back(inner(a));
    if (n.meta.is_tensor()) copier_.replace(n, results[0]);
    else lists_[&n] = std::move(results);
  }
};

}  // namespace

std::optional<Graph> as_functional(const Graph& graph, std::span<const std::size_t> taken, const Values& examples,
                                   const Values& like) {
  if (!std::ranges::all_of(graph.nodes(), [&](const auto& n) { return is_functional(graph, *n); })) return {};
  for (std::size_t k = 0; k < taken.size(); k++) {
    const Value& meta = graph.inputs()[taken[k]]->meta;
    if (!is_fixed(meta) || !like[k].is_tensor() || !lie_alike(meta.tensor()->geom, like[k].tensor()->geom)) return {};
  }
  Graph made;
  Decomposing copy(graph, made);
  for (std::size_t k = 0; k < graph.inputs().size(); k++)
    if (examples[k].is_number()) copy.copier().replace(*graph.inputs()[k], Argument(examples[k]));
  for (const std::size_t k : taken) copy.copier().copy(*graph.inputs()[k]);
  for (const auto& n : graph.nodes())
    if (n->kind != NodeKind::placeholder) copy.add(*n);
  copy.copier().copy_outputs();
  return made;
}

}  // namespace ingot
