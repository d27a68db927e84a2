#include "pass/decompose.hpp"

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "graph/copy.hpp"
#include "graph/node_table.hpp"
#include "op/applied.hpp"
#include "op/call.hpp"
#include "op/data_dependent.hpp"
#include "op/function.hpp"
#include "op/source_note.hpp"
#include "ops/shape/metadata_assertion.hpp"
#include "ops/higher_order/random_state.hpp"
#include "pass/compiler_passes.hpp"
#include "pass/functional_trace.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

bool returns_tensors(const Op& op) {
  const auto& results = op.schema.results;
  return !results.empty() &&
         std::all_of(results.begin(), results.end(), [](const auto& r) { return r.type.kind == Kind::tensor; });
}

// A higher-order op of which it is known what runs: the functional form of a call, functions of
// elements, a call beside the random stream; and what is said about a tensor's looks.
bool runs_in_any_case(const Op& op) {
  const CallingConvention* convention = op.form() == Form::higher_order ? calling_convention(op) : nullptr;
  return keywords_argument(op) >= 0 || calls_beside_stream(op) || asserts_metadata(op) ||
         (convention && convention->control == Control::element);
}

Decompositions make() {
  Decompositions all;
  for (const Op* op : all_ops())
    if (runs_in_any_case(*op)) all.emplace(op, [](const Call& c) { return c.op.def->body(c); });
    else if (op->def->body && !op->def->lower && !op->comes_apart() && !op->mutates() && returns_tensors(*op) &&
             !depends_on_data(*op))
      all.emplace(op, [](const Call& c) { return c.op.def->body(c); });
  return all;
}

// A copy of a graph in which programs stand for some calls.
class Decomposing {
 public:
  Decomposing(const Graph& g, ShapeEnv& sizes) : from_(g), sizes_(sizes), copier_(g, to_) {}

  Graph run() {
    for (const auto& n : from_.nodes()) add(*n);
    copier_.copy_outputs();
    return std::move(to_);
  }

 private:
  const Graph& from_;
  ShapeEnv& sizes_;
  Graph to_;
  GraphCopier copier_;
  std::map<const Node*, std::vector<Argument>> lists_;  // what calls of several results made, which came apart

  void add(const Node& n) {
    if (n.kind == NodeKind::call && core_decompositions().contains(n.op) && !is_of_kernel(n)) return add_program(n);
    const auto parts = n.kind == NodeKind::item ? lists_.find(n.args[0].node()) : lists_.end();
    if (parts != lists_.end()) return copier_.replace(n, parts->second[static_cast<std::size_t>(n.index)]);
    copier_.copy(n);
  }

  static bool is_of_kernel(const Node& n) {
    if (!applies_another(*n.op)) return false;
    Values args;
    for (const Argument& a : n.args) args.push_back(a.is_value() ? a.value() : Value());
    return is_call_of_kernel(*n.op, args);
  }

  void add_program(const Node& n) {
    std::vector<Node*> operands;
    for_each_node(n.args, [&](Node* a) {
      if (std::ranges::find(operands, a) == operands.end()) operands.push_back(a);
    });
    Values given;
    for (const Node* a : operands) given.push_back(apart(a->meta));
    // Programs compute with sizes: they are given the symbols that these are made of.
    const std::vector<Expr> symbols = symbols_of(given);
    for (const Expr& s : symbols) given.push_back(s.dtype() == DType::i64 ? Value(Int(s)) : Value(Float(s)));
    const auto run = [&](const Values& values) { return called(n, operands, values); };
    inline_program(n, operands, symbols, record_functional(run, given, sizes_));
  }

  // A value that lies as `meta` does, also where elements share their places, in a storage of its
  // own.
  static Value apart(const Value& meta) {
    if (!meta.is_tensor()) return meta;
    Geometry g = meta.tensor()->geom;
    g.offset = 0;
    return make_tensor(g, {}, true);
  }

  static std::vector<Expr> symbols_of(const Values& values) {
    std::vector<Expr> symbols;
    const auto add = [&](const Expr& e) {
      visit(e, [&](const Expr& x) {
        const auto is_same = [&](const Expr& s) { return same(s, x); };
        if (x.op() == ExprOp::Sym && std::ranges::none_of(symbols, is_same)) symbols.push_back(x);
      });
    };
    for (const Value& v : values) {
      if (v.is_int() && v.to_int().is_symbolic()) add(v.to_int().expr());
      if (v.is_float() && v.to_float().is_symbolic()) add(v.to_float().expr());
      if (!v.is_tensor()) continue;
      for (const Shape* s : {&v.tensor().sizes(), &v.tensor().strides()})
        for (const Int& i : *s)
          if (i.is_symbolic()) add(i.expr());
    }
    return symbols;
  }

  // A node that has the symbol's value: one that is a number, or is read from the size of a tensor.
  Node* node_of(const Expr& symbol) {
    for (const auto& n : to_.nodes())
      if (n->meta.is_int() && n->meta.to_int().is_symbolic() && same(n->meta.to_int().expr(), symbol)) return n.get();
      else if (n->meta.is_float() && n->meta.to_float().is_symbolic() && same(n->meta.to_float().expr(), symbol)) return n.get();
    for (const auto& n : to_.nodes())
      for (int d = 0; n->meta.is_tensor() && d < n->meta.tensor().dim(); d++)
        if (const Int size = n->meta.tensor().size(d); size.is_symbolic() && same(size.expr(), symbol)) {
          Node* read = to_.call(op_ref<"sym_size.int">(), {n.get(), Value(d)}, "sym_size_int");
          read->meta = Int(symbol);
          return read;
        }
    throw_internal_error(__FILE__, __LINE__, text("no value of the graph has the size ", symbol));
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

  // The program's inputs are the operands, then the symbols.
  void inline_program(const Node& n, const std::vector<Node*>& operands, const std::vector<Expr>& symbols, const Graph& program) {
    // Attributes of a program have the names of every program.
    std::map<std::string, std::string> keys;
    for (const auto& [key, attribute] : program.attributes) {
      keys[key] = text(n.name, ".", key);
      to_.attributes.emplace_back(keys[key], attribute);
    }
    GraphCopier inner(program, to_, GraphCopier::Attributes::leave);
    for (std::size_t k = 0; k < operands.size(); k++) inner.replace(*program.inputs()[k], copier_(operands[k]));
    std::vector<bool> used(program.nodes().size());
    for (const auto& m : program.nodes()) for_each_node(m->args, [&](const Node* a) { used[at(a)] = true; });
    for (std::size_t k = 0; k < symbols.size(); k++)
      if (const Node* s = program.inputs()[operands.size() + k]; used[at(s)]) inner.replace(*s, node_of(symbols[k]));
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

const Decompositions& core_decompositions() {
  static const Decompositions all = make();
  return all;
}

Pass decompose_pass(ShapeEnv& sizes) {
  return {kDecompose.name, [&sizes](const Graph& g) { return Decomposing(g, sizes).run(); }, kDecompose.required};
}

}  // namespace ingot
