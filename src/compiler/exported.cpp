#include "compiler/exported.hpp"

#include <filesystem>
#include <map>
#include <set>

#include "base/error.hpp"
#include "compiler/functional_trace.hpp"
#include "compiler/shared_state.hpp"
#include "expr/evaluate.hpp"
#include "graph/interpret.hpp"
#include "op/call.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

using InputKind = InputSpec::Kind;
using OutputKind = OutputSpec::Kind;

// What the file says about the sizes of a value: the number that each was at export (P091).
void add_hints(const Node& n, const SpelledValue& spelled, SymbolValues& hints) {
  const std::size_t count = n.meta.is_tensor() ? n.meta.tensor().sizes().size() : n.meta.is_int() ? 1 : 0;
  for (std::size_t k = 0; k < std::min(count, spelled.numbers.size()); k++) {
    const Expr number = n.meta.is_tensor() ? n.meta.tensor().sizes()[k].expr() : n.meta.to_int().expr();
    const Value& hint = spelled.numbers[k].hint;
    if (!hint.is_int() || !hint.to_int().is_number()) continue;
    std::vector<Expr> unknown;
    visit(number, [&](const Expr& x) {
      if (x.op() == ExprOp::Sym && !hints.contains(x->name)) unknown.push_back(x);
    });
    // 4*s0 was 20 where s0 was 5.
    const auto factor = unknown.size() == 1 ? stride(number, unknown[0]) : std::nullopt;
    if (!factor || !factor->is_const() || (*factor)->i == 0) continue;
    const int64_t rest = evaluate(number, [&](const Expr& s) { return s->name == unknown[0]->name ? 0 : hints.at(s->name); });
    const int64_t found = (hint.to_int64() - rest) / (*factor)->i;
    if (found * (*factor)->i + rest == hint.to_int64()) hints[unknown[0]->name] = found;
  }
}

// An example for every open size: what it was at export where the file says so, since there the program's own conditions hold,
// else some number of its range. Sizes that are neither equal nor small keep rules from taking them for each other, or for a
// broadcast.
SymbolValues choose_hints(const ExportedProgram& p, const std::map<std::string, Expr>& symbols) {
  SymbolValues hints;
  for (const auto& n : p.graph.nodes())
    if (const auto spelled = p.spelled.values.find(n.get()); spelled != p.spelled.values.end())
      add_hints(*n, spelled->second, hints);
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

Examples make_examples(const ExportedProgram& p, const SharedState& shared) {
  std::map<std::string, Expr> symbols;
  for (const InputSpec& s : p.inputs)
    if (s.node != nullptr) add_symbols(s.node->meta, symbols);
  const SymbolValues hints = choose_hints(p, symbols);
  Examples examples;
  for (const InputSpec& s : p.inputs) {
    if (s.node == nullptr) continue;
    if (s.kind != InputKind::user && s.kind != InputKind::token) {
      const StateEntry& entry = p.state.at(s.name);
      const int64_t covered = shared.covered[examples.values.size()];
      examples.values.push_back(
          make_tensor(covered > 0 ? Geometry::contiguous({covered}, entry.dtype) : geometry_of(entry), {}, true));
    } else if (s.kind == InputKind::token) {
      examples.values.push_back(make_tensor(Geometry::contiguous({0}, DType::f32), {}, true));
    } else {
      examples.add(s.node->meta, hints);
    }
  }
  return examples;
}

// Names that share a storage as what they are of it.
void take_shared(const ExportedProgram& p, const SharedState& shared, Values& inputs) {
  const Values given = inputs;
  std::size_t next = 0;
  for (const InputSpec& s : p.inputs) {
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

// What the graph returns for its state is written to it, as ExportedProgram::run does.
Values run_graph(const ExportedProgram& p, const SharedState& shared, Values inputs) {
  take_shared(p, shared, inputs);
  const Values all = Interpreter(p.graph).run(inputs);
  std::map<std::string, Value> by_name;
  std::size_t next = 0;
  for (const InputSpec& s : p.inputs)
    if (s.node != nullptr) by_name[s.name] = inputs[next++];
  Values results;
  std::vector<std::pair<Tensor, Tensor>> writes;
  for (std::size_t i = 0; i < p.outputs.size(); i++) {
    const OutputSpec& s = p.outputs[i];
    const bool is_write = s.kind == OutputKind::buffer_mutation || s.kind == OutputKind::parameter_mutation ||
                          s.kind == OutputKind::user_input_mutation;
    if (is_write) writes.emplace_back(by_name.at(s.target).tensor(), all[i].tensor());
    else if (s.kind != OutputKind::token) results.push_back(all[i]);
  }
  for (const auto& [target, source] : writes) aten<"copy_">(target, source);
  return results;
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

ProgramNames names_of(const ExportedProgram& p, const SharedState& shared) {
  ProgramNames names;
  names.name = std::filesystem::path(p.name).stem().string();
  std::vector<Leaf> given = p.input_leaves();
  for (std::size_t k = 0; k < given.size(); k++)
    if (given[k].is_constant) names.fixed.emplace_back(k, to_text(given[k].meta));
  std::erase_if(given, [](const Leaf& l) { return l.is_constant; });
  std::size_t next = 0, placeholder = 0;
  std::vector<std::size_t> constant_of(shared.names.size());  // by placeholder
  for (const ModuleCall& c : p.facts.module_calls) {
    if (!c.fqn.empty() || !c.in_spec || !c.out_spec) continue;
    names.in_spec = tree_spec_text(*c.in_spec);
    names.out_spec = tree_spec_text(*c.out_spec);
  }
  for (const InputSpec& s : p.inputs) {
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
  for (const Leaf& leaf : p.result_leaves())
    if (!leaf.is_constant) names.outputs.push_back(leaf.name);
  std::size_t position = 0;
  for (std::size_t i = 0; i < p.outputs.size(); i++) {
    const OutputKind kind = p.outputs[i].kind;
    if (kind != OutputKind::user && kind != OutputKind::loss) continue;
    if (const Argument& a = p.graph.outputs[i]; a.is_value()) names.constant_results.emplace(position, a.value());
    position++;
  }
  return names;
}

}  // namespace

TracedProgram trace_exported(ExportedProgram& p) {
  const std::vector<const Node*> missing = p.unsupported_nodes();
  INGOT_REQUIRE(missing.empty(), p.name, ": unsupported operator ", missing.empty() ? "" : missing[0]->target, "\n",
                kListMissing);
  SharedState shared = shared_state(p);
  const auto trace = [&] {
    return trace_functional([&](const Values& inputs) { return run_graph(p, shared, inputs); }, make_examples(p, shared));
  };
  Traced traced = trace();
  // Only now it is known what is written: of state that is not, parts of one storage are constants of their own.
  if (SharedState again = shared_state(p, written_by(traced.graph)); again.covered != shared.covered) {
    shared = std::move(again);
    traced = trace();
  }
  return {std::move(traced), names_of(p, shared)};
}

}  // namespace ingot
