#include "compiler/program_trace.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/error.hpp"
#include "compiler/shared_state.hpp"
#include "expr/evaluate.hpp"
#include "graph/interpret.hpp"
#include "op/call.hpp"
#include "pass/functional_trace.hpp"
#include "program/tree_spec.hpp"
#include "program/write_back.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

using InputKind = InputSpec::Kind;

// An example for every open size: what it was when the program was made where that is known, since
// there its own conditions hold, else some number of its range. Sizes that are neither equal nor
// small keep rules from taking them for each other, or for a broadcast.
SymbolValues choose_hints(const EntryPoint& entry, const std::map<std::string, Expr>& symbols) {
  SymbolValues hints = entry.symbol_hints;
  std::erase_if(hints, [&](const auto& h) {
    const auto it = symbols.find(h.first);
    return it == symbols.end() || h.second < std::max<int64_t>(it->second->lo, 2) || h.second > it->second->hi;
  });
  int64_t next = 8;
  for (const auto& [name, symbol] : symbols) {
    if (hints.contains(name)) continue;
    hints[name] = std::min(std::max(symbol->lo, next), symbol->hi);
    next += 4;
  }
  return hints;
}

Geometry geometry_of(const StateEntry& entry) {
  Geometry g = Geometry::contiguous(entry.sizes, entry.dtype);
  if (entry.tensor.defined()) g.strides = entry.tensor.strides();
  else if (!entry.strides.empty()) g.strides = entry.strides;
  return g;
}

Examples make_examples(const Program& p, const EntryPoint& entry, const SharedState& shared) {
  std::map<std::string, Expr> symbols;
  for (const InputSpec& s : entry.inputs)
    if (s.node != nullptr) add_symbols(s.node->meta, symbols);
  const SymbolValues hints = choose_hints(entry, symbols);
  Examples examples;
  for (const InputSpec& s : entry.inputs) {
    if (s.node == nullptr) continue;
    if (s.kind != InputKind::user && s.kind != InputKind::token) {
      const StateEntry& e = p.state.at(s.name);
      const int64_t covered = shared.covered[examples.values.size()];
      examples.values.push_back(make_tensor(covered > 0 ? Geometry::contiguous({covered}, e.dtype) : geometry_of(e), {}, true));
    } else if (s.kind == InputKind::token) {
      examples.values.push_back(make_tensor(Geometry::contiguous({0}, DType::f32), {}, true));
    } else {
      examples.add(s.node->meta, hints);
    }
  }
  return examples;
}

// Names that share a storage as what they are of it.
void take_shared(const Program& p, const EntryPoint& entry, const SharedState& shared, Values& inputs) {
  const Values given = inputs;
  std::size_t next = 0;
  for (const InputSpec& s : entry.inputs) {
    if (s.node == nullptr) continue;
    const std::size_t k = next++;
    const auto [owner, offset] = shared.names[k];
    if (shared.covered[owner] == 0) {
      inputs[k] = given[owner];
      continue;
    }
    const Geometry g = geometry_of(p.state.at(s.name));
    inputs[k] = aten<"as_strided">(given[owner].tensor(), g.sizes, g.strides, Int(offset));
  }
}

Values run_graph(const Program& p, const EntryPoint& entry, const SharedState& shared, Values inputs) {
  take_shared(p, entry, shared, inputs);
  return write_back(entry, p.name, inputs, Interpreter(entry.graph).run(inputs));
}

// The placeholders that the graph of a traced program writes.
std::set<std::size_t> written_by(const Graph& g) {
  std::set<const Node*> targets;
  for (const auto& n : g.nodes())
    if (n->kind == NodeKind::call && n->op->mutates() && n->args[0].is_node()) targets.insert(n->args[0].node());
  std::set<std::size_t> written;
  std::size_t placeholder = 0;
  for (const Node* n : g.inputs()) {
    if (targets.contains(n)) written.insert(placeholder);
    placeholder++;
  }
  return written;
}

ProgramNames names_of(const Program& p, const EntryPoint& entry, const SharedState& shared) {
  ProgramNames names;
  names.name = std::filesystem::path(p.name).stem().string();
  std::vector<Leaf> given = entry.input_leaves();
  for (std::size_t k = 0; k < given.size(); k++)
    if (given[k].is_constant) names.fixed.emplace_back(k, to_text(given[k].meta));
  std::erase_if(given, [](const Leaf& l) { return l.is_constant; });
  std::size_t next = 0, placeholder = 0;
  std::vector<std::size_t> constant_of(shared.names.size());  // by placeholder
  if (entry.call_spec) {
    names.in_spec = tree_spec_text(entry.call_spec->in_spec);
    names.out_spec = tree_spec_text(entry.call_spec->out_spec);
  }
  for (const InputSpec& s : entry.inputs) {
    if (s.node == nullptr) continue;
    const std::size_t k = placeholder++;
    const bool is_state = s.kind != InputKind::user && s.kind != InputKind::token;
    names.is_constant.push_back(is_state);
    if (!is_state) {
      names.inputs.push_back(s.kind == InputKind::user && next < given.size() ? given[next].name : s.name);
      next += s.kind == InputKind::user;
      continue;
    }
    const int kind = s.kind == InputKind::parameter ? 1 : s.kind == InputKind::buffer ? 2 : 3;
    constant_of[k] = names.constants.size();
    names.constants.push_back({s.name, kind, p.state.at(s.name).tensor});
    if (shared.covered[k] > 0) names.constants.back().geometry = geometry_of(p.state.at(s.name));
    if (shared.names[k].owner == k) continue;
    names.constants.back().shares = shared.names[k].owner;
    names.constants.back().shared_from = shared.names[k].offset;
  }
  for (ProgramNames::Constant& c : names.constants)
    if (c.shares) c.shares = constant_of[*c.shares];
  for (const Leaf& leaf : entry.result_leaves())
    if (!leaf.is_constant) names.outputs.push_back(leaf.name);
  for (std::size_t i = 0; i < entry.outputs.size(); i++)
    if (const OutputSpec& o = entry.outputs[i]; o.is_gradient() && !entry.graph.outputs[i].is_value())
      names.outputs.push_back("gradient of " + o.target);
  std::size_t position = 0;
  for (std::size_t i = 0; i < entry.outputs.size(); i++) {
    if (!entry.outputs[i].is_result()) continue;
    if (const Argument& a = entry.graph.outputs[i]; a.is_value()) names.constant_results.emplace(position, a.value());
    position++;
  }
  return names;
}

}  // namespace

std::optional<ProgramNames> names_as_it_is(const Program& p, const EntryPoint& entry) {
  if (!entry.sizes) return {};
  const SharedState shared = shared_state(p, entry, written_by(entry.graph));
  if (std::ranges::any_of(shared.covered, [](int64_t elements) { return elements > 0; })) return {};
  return names_of(p, entry, shared);
}

TracedProgram trace_program(Program& p, const EntryPoint& entry) {
  const std::vector<const Node*> missing = entry.unsupported_nodes();
  INGOT_REQUIRE(missing.empty(), entry.from.empty() ? p.name : entry.from, ": unsupported operator ",
                missing.empty() ? "" : missing[0]->target, "\n", kListMissing);
  SharedState shared = shared_state(p, entry, declared_writes(entry));
  const auto trace = [&] {
    return trace_functional([&](const Values& inputs) { return run_graph(p, entry, shared, inputs); },
                            make_examples(p, entry, shared));
  };
  Traced traced = trace();
  // Only now it is certain what is written: of state that is not, parts of one storage are
  // constants of their own.
  if (SharedState again = shared_state(p, entry, written_by(traced.graph)); again.covered != shared.covered) {
    shared = std::move(again);
    traced = trace();
  }
  return {std::move(traced), names_of(p, entry, shared)};
}

}  // namespace ingot
