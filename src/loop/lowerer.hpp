// The state of one lowering, which lower.cpp and lower_functions.cpp share. This folder's own.
#pragma once
#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "base/index.hpp"
#include "graph/interpret.hpp"
#include "loop/element.hpp"
#include "loop/lower.hpp"

namespace ingot::loop {

std::vector<Expr> exprs(const Shape& s);
// The dims, innermost first, of elements that fill memory without gaps or overlap; none where they
// do not, as far as that is known without a guard.
std::optional<std::vector<std::size_t>> dense_order(const Geometry& g);
// How a stored value lies in memory: as its meta says where that leaves no gaps, else row-major.
Geometry dense_geometry(const Geometry& g);
// The tensors that a result is made of, those in lists among results one after the other; an
// undefined one stands for None. Nothing where it is made of anything else.
std::optional<TensorList> tensors_of(const Value& meta);
// An argument as rules see it: tensors are fake, numbers may be symbolic.
Value meta_of(const Argument& a);
TensorList metas_of(const Node& n);  // none, where there is anything else

// What is known of a node's users, seen through views and item nodes.
struct Use {
  int users = 0;          // consumers that compute; 0: dead
  bool repeated = false;  // some user reads an element more than once: a broadcast
  bool factor = false;    // the same, and rather from memory: a product, a kernel
  bool stored = false;    // must be in memory: an output, or an argument of a kernel
  bool whole = false;     // of a list: somebody reads it itself
  std::vector<bool> items = {};  // and which of its items are read

  bool reads(std::size_t item) const { return whole || (item < items.size() && items[item]); }
};

std::vector<Use> uses_of(const Graph& graph);

class Lowerer {
 public:
  Lowerer(const Graph& graph, Lowered& lowered, const std::vector<bool>& is_constant)
      : graph_(graph), lowered_(lowered), program_(lowered.program), steps_(&program_.steps), uses_(uses_of(graph)),
        values_(uses_.size()) {
    for (std::size_t k = 0; k < graph.inputs().size(); k++)
      add_input(*graph.inputs()[k], k < is_constant.size() && is_constant[k]);
  }

  void run() {
    for (const auto& n : graph_.nodes())
      if (uses_[at(n->id)].users > 0 && n->kind != NodeKind::placeholder) lower_node(*n);
    std::vector<Elements> sources;  // everything is computed before the first write
    for (const Write& w : writes_)
      sources.push_back(
          w.value.buffer >= 0 && program_.buffers[at(w.value.buffer)].place == Place::arena
              ? w.value
              : store(w.node->name + ".new", w.value, Geometry::contiguous(w.value.sizes, w.value.dtype), Place::arena));
    for (std::size_t k = 0; k < graph_.outputs.size(); k++) add_output(graph_.outputs[k], k);
    for (std::size_t k = 0; k < writes_.size(); k++) write(writes_[k], sources[k]);
  }

 private:
  friend class RuleLowering;
  struct Write {
    const Node* node;  // a placeholder
    Elements value;
  };

  const Graph& graph_;
  Lowered& lowered_;
  Program& program_;
  Steps* steps_;  // where the steps go
  std::string prefix_;  // of the names of what is stored, in a function of another graph
  std::vector<Use> uses_;
  std::vector<std::vector<Elements>> values_;  // by node id: its results
  std::vector<Write> writes_;                  // in order; of two of one placeholder the later counts
  std::unordered_map<const TensorImpl*, Elements> by_meta_;
  std::set<int> made_by_op_;  // buffers whose memory an eager op brings, since only it knows how much

  int add_buffer(const std::string& name, const Geometry& g, Place place) {
    program_.buffers.push_back({prefix_ + name, g.dtype, exprs(g.sizes), exprs(g.strides), place, {}});
    return static_cast<int>(program_.buffers.size()) - 1;
  }
  Elements elements_of(int buffer, const Shape& sizes) const {
    const Buffer& b = program_.buffers[at(buffer)];
    auto load = [buffer, dtype = b.dtype, name = b.name](Index index) {
      return Expr::load(buffer, dtype, {index.begin(), index.end()}, name);
    };
    return {sizes, b.dtype, load, buffer};
  }
  static std::vector<Expr> variables(const Shape& sizes) {
    std::vector<Expr> vars;
    for (std::size_t d = 0; d < sizes.size(); d++) vars.push_back(Expr::index(static_cast<int64_t>(d), sizes[d].expr()));
    return vars;
  }
  void compute(int buffer, const Elements& e) {
    std::vector<Expr> vars = variables(e.sizes);
    const Expr value = e.at(vars);
    steps_->emplace_back(Computation{buffer, std::move(vars), {}, value});
  }
  Elements store(const std::string& name, const Elements& e, const Geometry& g, Place place) {
    const int buffer = add_buffer(name, g, place);
    compute(buffer, e);
    return elements_of(buffer, g.sizes);
  }
  // The elements in a buffer, whatever its strides.
  Elements stored(const std::string& name, const Elements& e) {
    return e.buffer >= 0 ? e : store(name, e, Geometry::contiguous(e.sizes, e.dtype), Place::arena);
  }

  // ---- inputs and outputs

  bool knows(const Expr& symbol) const {
    return std::any_of(program_.symbols.begin(), program_.symbols.end(), [&](const Expr& s) { return same(s, symbol); });
  }
  void add_symbols(const Expr& e) {
    visit(e, [&](const Expr& x) {
      if (x.op() == ExprOp::Sym && !knows(x)) program_.symbols.push_back(x);
    });
  }
  // A symbol that the step added last decides.
  void add_decided(const Expr& symbol) {
    program_.symbols.push_back(symbol);
    program_.decided++;
    check_deferred(steps_->size());
  }
  // What can be checked by now of what was taken for granted, before the step at `place`.
  void check_deferred(std::size_t place) {
    std::erase_if(lowered_.unchecked, [&](const ShapeEnv::Deferred& d) {
      bool is_known = true;
      visit(d.condition, [&](const Expr& e) { is_known = is_known && (e.op() != ExprOp::Sym || knows(e)); });
      if (is_known) steps_->insert(steps_->begin() + static_cast<std::ptrdiff_t>(place), Check{d.condition, d.message});
      return is_known;
    });
  }

  void add_input(const Node& n, bool is_constant) {
    const Value& meta = n.meta;
    Geometry g;
    Expr number;
    if (meta.is_tensor()) {
      g = meta.tensor()->geom;
    } else {  // a number comes as a tensor of one element
      INGOT_REQUIRE(meta.is_number(), "input ", n.name, " is a ", meta.kind_name(),
                    "; a compiled program takes tensors and numbers");
      g = Geometry::contiguous({}, meta.is_int() ? DType::i64 : meta.is_bool() ? DType::b8 : DType::f64);
      if (meta.is_int() && !meta.to_int().is_number()) number = meta.to_int().expr();
    }
    g.offset = 0;
    for (const Shape* s : {&g.sizes, &g.strides})
      for (Int i : *s) add_symbols(i.expr());
    if (number.valid()) add_symbols(number);
    const int buffer = add_buffer(n.name, g, is_constant ? Place::constant : Place::input);
    (is_constant ? program_.constants : program_.inputs).push_back(buffer);
    (is_constant ? lowered_.constants : lowered_.inputs).push_back(&n);
    if (!is_constant) program_.numbers.push_back(number);
    const Elements e = elements_of(buffer, g.sizes);
    set_values(n, {e});
    if (!meta.is_float() || meta.to_float().is_number()) return;
    const Expr real = meta.to_float().expr();
    INGOT_REQUIRE(real.op() == ExprOp::Sym, "input ", n.name, " is the number ", real, ", which has no compiled form");
    steps_->emplace_back(Decide{real, e.at({})});
    add_decided(real);
  }

  void set_values(const Node& n, std::vector<Elements> v) {
    // What the trace found a size to be, whoever broadcasts it must see.
    if (GuardEnv* known = current_guard_env())
      for (Elements& e : v)
        for (Int& size : e.sizes)
          if (!size.is_number()) size = Int(known->simplify(size.expr()));
    const TensorList metas = metas_of(n);
    for (std::size_t k = 0; k < v.size() && k < metas.size(); k++)
      if (metas[k].defined()) by_meta_[metas[k].impl()] = v[k];
    values_[at(n.id)] = std::move(v);
  }

  void add_output(const Argument& a, std::size_t k) {
    const std::string name = text("output.", k);
    if (a.is_value()) return;  // a constant: the caller's structure has it, no tensor stands for it
    if (!a.is_node() || !a.node()->meta.is_tensor()) {  // a number goes as a tensor of one element
      const Value& v = a.is_node() ? a.node()->meta : a.value();
      INGOT_REQUIRE(a.is_node() || a.is_value(), "output ", k, " is a list, which has no compiled form");
      INGOT_REQUIRE(v.is_number(), "output ", k, " is a ", v.kind_name(), "; a compiled program returns tensors and numbers");
      const DType t = v.to_scalar().is_int() ? DType::i64 : v.to_scalar().is_bool() ? DType::b8 : DType::f64;
      const Elements e{{}, t, [x = loop::number(t, v)](Index) { return x; }};
      program_.outputs.push_back(store(name, e, Geometry::contiguous({}, t), Place::output).buffer);
      return;
    }
    const Node& n = *a.node();
    const Elements& e = values_[at(n.id)][0];
    const Geometry g = dense_geometry(n.meta.tensor()->geom);
    if (e.buffer >= 0) {
      Buffer& b = program_.buffers[at(e.buffer)];
      if (b.place == Place::arena && same(b.strides, exprs(g.strides)) && !made_by_op_.contains(e.buffer)) {
        b.place = Place::output;
        program_.outputs.push_back(e.buffer);
        return;
      }
    }
    program_.outputs.push_back(store(name, e, g, Place::output).buffer);
  }

  void write(const Write& w, const Elements& value) {
    for (std::size_t k = 0; k < program_.buffers.size(); k++) {
      Buffer& b = program_.buffers[k];
      if (b.name != w.node->name || (b.place != Place::input && b.place != Place::constant)) continue;
      compute(static_cast<int>(k), value);
      if (std::find(lowered_.written.begin(), lowered_.written.end(), w.node) == lowered_.written.end())
        lowered_.written.push_back(w.node);
      return;
    }
  }

  // ---- nodes

  void lower_node(const Node& n) {
    if (n.kind == NodeKind::item) return lower_item(n);
    if (n.kind == NodeKind::scalar || n.kind == NodeKind::grad_mode)
      return;  // an expression: it stands in the metas of its users
    if (n.kind == NodeKind::attribute) return add_attribute(n);
    INGOT_REQUIRE(n.kind == NodeKind::call, "node ", n.name, " has no compiled form", provenance(n));
    Values args;
    std::vector<Elements> elements;
    for (const Argument& a : n.args) {
      args.push_back(meta_of(a));
      const bool is_tensor = a.is_node() && a.node()->meta.is_tensor();
      elements.push_back(is_tensor ? values_[at(a.node()->id)][0] : Elements{});
    }
    const auto& deferred = dynamic_cast<const ShapeEnv&>(*current_guard_env()).deferred();
    const std::size_t asked = deferred.size(), place = steps_->size();
    try {
      if (n.op->form() == Form::higher_order) lower_functions(n);
      else if (n.meta.is_number()) lower_number(n, elements);
      else lower_call(n, {*n.op, args}, elements);
    } catch (const UserError& e) {
      throw_user_error(text(e.what(), provenance(n)));
    }
    if (deferred.size() == asked) return;
    lowered_.unchecked.insert(lowered_.unchecked.end(), deferred.begin() + static_cast<std::ptrdiff_t>(asked), deferred.end());
    check_deferred(place);
  }

  // A result, or a list among them, of those that the node has one after the other.
  void lower_item(const Node& n) {
    const Node& list = *n.args[0].node();
    const auto& all = values_[at(list.id)];
    std::size_t first = at(n.index), count = 1;
    if (list.meta.is_values()) {
      const auto size = [&](std::size_t k) { return tensors_of(list.meta.values().at(k)).value_or(TensorList{}).size(); };
      first = 0;
      for (std::size_t k = 0; k < at(n.index); k++) first += size(k);
      count = size(at(n.index));
    }
    if (first + count > all.size()) return;
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
    set_values(n, {begin, begin + static_cast<std::ptrdiff_t>(count)});
  }

  void add_attribute(const Node& n) {
    const Attribute* a = graph_.find_attribute(n.target);
    if (a && std::holds_alternative<std::shared_ptr<const Graph>>(*a)) return;  // a function: who calls it lowers it
    INGOT_REQUIRE(a && std::holds_alternative<Tensor>(*a), "attribute ", n.target, " has no compiled form", provenance(n));
    const Tensor& t = std::get<Tensor>(*a);
    Geometry g = t->geom;
    g.offset = 0;
    const int buffer = add_buffer(n.name, g, Place::constant);
    program_.constants.push_back(buffer);
    lowered_.constants.push_back(&n);
    set_values(n, {elements_of(buffer, g.sizes)});
  }

  // A number that an op reads from its tensor.
  void lower_number(const Node& n, const std::vector<Elements>& arguments) {
    if (n.op->comes_apart() || arguments.empty() || !arguments[0].at) return;  // an expression of the sizes
    const Scalar s = n.meta.to_scalar();
    INGOT_REQUIRE(!s.is_complex(), n.op->qualified(),
                  ": a complex number that the program reads from its data has no compiled form");
    const Expr symbol = s.is_float() ? s.to_float().expr() : s.to_int().expr();
    INGOT_ENSURE(symbol.op() == ExprOp::Sym, n.name, ": a number of the data is ", symbol);
    if (knows(symbol)) return;
    const Elements e = stored(n.name + ".data", arguments[0]);
    steps_->emplace_back(Decide{symbol, cast(symbol.dtype(), e.at(std::vector<Expr>(e.sizes.size(), Expr(0))))});
    add_decided(symbol);
  }

  // A function that a node calls: its steps go to `steps`, its arguments are these. Returns what it
  // returns.
  Lowerer(const Graph& function, Lowerer& caller, Steps& steps, const std::vector<Elements>& arguments, std::string prefix);
  std::vector<Elements> lower_function(const Argument& function, Steps& steps, const std::vector<Elements>& arguments,
                                       const Node& caller);
  void lower_functions(const Node& n);
  void apply(const Node& n);
  void choose(const Node& n);
  void repeat(const Node& n);
  void each_row(const Node& n, std::size_t carried_at, std::size_t rows_at, std::size_t others_at);
  std::vector<Elements> operands(const Node& n, std::size_t argument);
  std::vector<Elements> operand_values(const Node& n, std::size_t argument);
  // Buffers for the node's results, which its functions fill.
  std::vector<int> add_results(const Node& n);
  // buffer[leading…] = elements, as a step.
  void assign(Steps& steps, int buffer, const std::vector<Expr>& leading, const Elements& e);

  void lower_call(const Node& n, const Call& call, const std::vector<Elements>& arguments);
  void lower_write(const Node& n, const Call& call, const std::vector<Elements>& arguments);
  static void require_own_elements(const Node& n, const Geometry& actual);
  // Whether they are in memory, one beside the other as the strides say.
  bool lies_so(const Elements& e, const Geometry& g) const;
  Elements stored_in_order(const Node& n, const std::string& name, const Elements& e, const Geometry& actual);
  std::vector<Elements> lower_eager(const Node& n, const Call& call);
  std::vector<Elements> lower_results(const Node& n, const Call& call, const std::vector<Elements>& arguments);
  bool is_worth_storing(const Node& n, const Elements& e) const;
};

}  // namespace ingot::loop
