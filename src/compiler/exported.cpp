#include "compiler/exported.hpp"

#include <filesystem>
#include <map>

#include "base/error.hpp"
#include "expr/evaluate.hpp"
#include "graph/interpret.hpp"
#include "ingot/autograd.hpp"
#include "op/call.hpp"
#include "pass/decompose.hpp"
#include "tensor/impl.hpp"
#include "ingot/transforms.hpp"

namespace ingot {
namespace {

using InputKind = InputSpec::Kind;
using OutputKind = OutputSpec::Kind;

void add_symbols(const Expr& e, std::map<std::string, Expr>& symbols) {
  visit(e, [&](const Expr& x) {
    if (x.op() == ExprOp::Sym) symbols.emplace(x->name, x);
  });
}

// An example for every open size: what it was at export where the file says so, else some number of its range. Sizes that
// are neither equal nor small keep rules from taking them for each other, or for a broadcast.
SymbolValues choose_hints(const ExportedProgram& p, const std::map<std::string, Expr>& symbols) {
  SymbolValues hints;
  for (const auto& [node, value] : p.spelled.values)
    for (const SpelledNumber& n : value.numbers)
      if (symbols.contains(n.expression) && n.hint.is_int() && n.hint.to_int().is_number()) hints[n.expression] = n.hint.to_int64();
  int64_t next = 8;
  for (const auto& [name, symbol] : symbols) {
    if (hints.contains(name)) continue;
    hints[name] = std::min(std::max(symbol->lo, next), symbol->hi);
    next += 4;
  }
  return hints;
}

struct Examples {
  Values values;
  std::vector<OpenSize> open;
};

Examples make_examples(const ExportedProgram& p) {
  std::map<std::string, Expr> symbols;
  for (const InputSpec& s : p.inputs) {
    if (s.node == nullptr) continue;
    const Value& meta = s.node->meta;
    if (meta.is_tensor())
      for (Int n : meta.tensor().sizes()) add_symbols(n.expr(), symbols);
    if (meta.is_int()) add_symbols(meta.to_int().expr(), symbols);
  }
  const SymbolValues hints = choose_hints(p, symbols);
  Examples examples;
  auto add_open = [&](int input, int dim, const Expr& size) {
    if (size.is_const()) return;
    int64_t lo = 2, hi = kUnbounded;
    if (size.op() == ExprOp::Sym) lo = std::max<int64_t>(size->lo, 2), hi = size->hi;
    examples.open.push_back({input, dim, to_text(size), std::min(lo, hi), hi});
  };
  for (const InputSpec& s : p.inputs) {
    if (s.node == nullptr) continue;
    const int input = static_cast<int>(examples.values.size());
    const Value& meta = s.node->meta;
    if (s.kind != InputKind::user && s.kind != InputKind::token) {
      // Each constant is a value of its own, also where two names share a storage.
      const StateEntry& entry = p.state.at(s.name);
      Geometry g = Geometry::contiguous(entry.sizes, entry.dtype);
      if (entry.tensor.defined()) g.strides = entry.tensor.strides();
      else if (!entry.strides.empty()) g.strides = entry.strides;
      examples.values.push_back(make_tensor(std::move(g), {}, true));
      continue;
    }
    if (s.kind == InputKind::token) {
      examples.values.push_back(make_tensor(Geometry::contiguous({0}, DType::f32), {}, true));
    } else if (meta.is_tensor()) {
      Geometry g = meta.tensor()->geom;
      for (std::size_t d = 0; d < g.sizes.size(); d++) {
        add_open(input, static_cast<int>(d), g.sizes[d].expr());
        g.sizes[d] = evaluate(g.sizes[d].expr(), hints);
        g.strides[d] = evaluate(g.strides[d].expr(), hints);
      }
      g.offset = 0;
      examples.values.push_back(make_tensor(std::move(g), {}, true));
    } else if (meta.is_int() && !meta.to_int().is_number()) {
      const Expr e = meta.to_int().expr();
      examples.open.push_back({input, 0, to_text(e), e->lo, e->hi});
      examples.values.push_back(Value(evaluate(e, hints)));
    } else {
      examples.values.push_back(meta);
    }
  }
  return examples;
}

// What the graph returns for its state is written to it, as ExportedProgram::run does.
Values run_graph(const ExportedProgram& p, const Values& inputs) {
  const GradModeGuard no_grad(false);
  const Values all = Interpreter(p.graph).run(inputs);
  std::map<std::string, Value> by_name;
  std::size_t next = 0;
  for (const InputSpec& s : p.inputs)
    if (s.node != nullptr) by_name[s.name] = inputs[next++];
  Values results;
  std::vector<std::pair<Tensor, Tensor>> writes;
  for (std::size_t i = 0; i < p.outputs.size(); i++) {
    const OutputSpec& s = p.outputs[i];
    const bool is_write = s.kind == OutputKind::buffer_mutation || s.kind == OutputKind::parameter_mutation || s.kind == OutputKind::user_input_mutation;
    if (is_write) writes.emplace_back(by_name.at(s.target).tensor(), all[i].tensor());
    else if (s.kind != OutputKind::token) results.push_back(all[i]);
  }
  for (const auto& [target, source] : writes) aten<"copy_">(target, source);
  return results;
}

}  // namespace

Traced trace_exported(ExportedProgram& p) {
  const std::vector<const Node*> missing = p.unsupported_nodes();
  INGOT_REQUIRE(missing.empty(), p.name, ": unsupported operator ", missing.empty() ? "" : missing[0]->target, "\n", kListMissing);
  Examples examples = make_examples(p);
  std::vector<Tree> leaves(examples.values.begin(), examples.values.end());
  const auto f = [&p](const Tree& in) {
    Values inputs, results;
    TensorList tensors;
    for (const Tree& leaf : in.children()) {
      inputs.push_back(leaf.leaf());
      if (leaf.leaf().is_tensor()) tensors.push_back(leaf.leaf().tensor());
    }
    // Functionalize is a transform of functions over tensors: numbers go around it.
    const TensorFunction over_tensors = [&](const TensorList& given) {
      std::size_t next = 0;
      for (Value& v : inputs)
        if (v.is_tensor()) v = given[next++];
      results = run_graph(p, inputs);
      TensorList out;
      for (const Value& v : results)
        if (v.is_tensor()) out.push_back(v.tensor());
      return out;
    };
    const TensorList out = functionalize(over_tensors)(tensors);
    std::size_t next = 0;
    std::vector<Tree> leaves;
    for (Value& v : results) leaves.emplace_back(v.is_tensor() ? Value(out[next++]) : v);
    return Tree::tuple(std::move(leaves));
  };
  return trace(TreeFunction(f), Tree::list(std::move(leaves)), {.open = std::move(examples.open), .decompositions = &core_decompositions()});
}

ProgramNames names_of(const ExportedProgram& p) {
  ProgramNames names;
  names.name = std::filesystem::path(p.name).stem().string();
  std::vector<Leaf> given = p.input_leaves();
  std::erase_if(given, [](const Leaf& l) { return l.is_constant; });
  std::size_t next = 0;
  for (const ModuleCall& c : p.facts.module_calls) {
    if (!c.fqn.empty() || !c.in_spec || !c.out_spec) continue;
    names.in_spec = tree_spec_text(*c.in_spec);
    names.out_spec = tree_spec_text(*c.out_spec);
  }
  for (const InputSpec& s : p.inputs) {
    if (s.node == nullptr) continue;
    const bool is_state = s.kind != InputKind::user && s.kind != InputKind::token;
    names.is_constant.push_back(is_state);
    if (!is_state) {
      names.inputs.push_back(s.kind == InputKind::user && next < given.size() ? given[next].name : s.name);
      next += s.kind == InputKind::user;
      continue;
    }
    const int kind = s.kind == InputKind::parameter ? 1 : s.kind == InputKind::buffer ? 2 : 3;
    names.constants.push_back({s.name, kind, p.state.at(s.name).tensor});
  }
  for (const Leaf& leaf : p.result_leaves())
    if (!leaf.is_constant) names.outputs.push_back(leaf.name);
  return names;
}

}  // namespace ingot
