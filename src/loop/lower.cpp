#include "loop/lower.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "graph/interpret.hpp"
#include "loop/element.hpp"

namespace ingot::loop {
namespace {

constexpr int kMany = 1 << 20;

std::size_t at(int id) { return static_cast<std::size_t>(id); }

std::vector<Expr> exprs(const Shape& s) {
  std::vector<Expr> v;
  for (Int i : s) v.push_back(i.expr());
  return v;
}

// Whether the elements fill memory without gaps or overlap, as far as that is known without a guard.
bool is_dense(const Geometry& g) {
  std::vector<bool> seen(g.sizes.size());
  Int stride = 1;
  for (std::size_t k = 0; k < seen.size(); k++) {
    std::size_t d = 0;
    while (d < seen.size() && (seen[d] || !(g.sizes[d].same(1) || g.strides[d].same(stride)))) d++;
    if (d == seen.size()) return false;
    seen[d] = true;
    stride = stride * g.sizes[d];
  }
  return true;
}

// How a stored value lies in memory: as its meta says where that leaves no gaps, else row-major.
Geometry dense_geometry(const Geometry& g) {
  Geometry r = Geometry::contiguous(g.sizes, g.dtype);
  if (is_dense(g)) r.strides = g.strides;
  return r;
}

TensorList metas_of(const Node& n) {
  if (n.meta.is_tensor()) return {n.meta.tensor()};
  return n.meta.is_tensors() ? n.meta.tensors() : TensorList{};
}

// How often an element of each node is read, seen through views and item nodes; 0 for dead nodes, kMany for those that
// must be stored. A node comes before its users, so one walk from the end finds it.
std::vector<int> count_reads(const Graph& graph) {
  std::vector<int> reads(graph.nodes().size(), 0);
  for_each_node(graph.outputs, [&](const Node* n) { reads[at(n->id)] = kMany; });
  for (std::size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& user = *graph.nodes()[i];
    if (reads[i] == 0) continue;
    const bool is_call = user.kind == NodeKind::call;
    const bool passes_through = !is_call || user.op->is_view();
    for_each_node(user.args, [&](const Node* n) {
      int more = kMany;  // kernels read memory, and a rule may read an element any number of times
      if (passes_through) more = reads[i];
      else if (user.op->form() == Form::reduction) more = 1;
      else if (user.op->form() == Form::pointwise)
        more = n->meta.is_tensor() && user.meta.is_tensor() && n->meta.tensor().sizes().same(user.meta.tensor().sizes()) ? 1 : kMany;
      reads[at(n->id)] = std::min(kMany, reads[at(n->id)] + more);
    });
  }
  return reads;
}

class Lowerer {
 public:
  Lowerer(const Graph& graph, Program& program) : graph_(graph), program_(program), reads_(count_reads(graph)), values_(reads_.size()) {}

  void run() {
    for (const Node* n : graph_.inputs()) add_input(*n);
    for (const auto& n : graph_.nodes())
      if (reads_[at(n->id)] > 0 && n->kind != NodeKind::placeholder) lower_node(*n);
    for (std::size_t k = 0; k < graph_.outputs.size(); k++) add_output(graph_.outputs[k], k);
  }

 private:
  friend class RuleLowering;

  const Graph& graph_;
  Program& program_;
  std::vector<int> reads_;
  std::vector<std::vector<Elements>> values_;  // by node id: its results

  int add_buffer(std::string name, const Geometry& g, Place place) {
    INGOT_REQUIRE(!is_complex(g.dtype), "complex numbers have no compiled form yet");
    program_.buffers.push_back({std::move(name), g.dtype, exprs(g.sizes), exprs(g.strides), place, {}});
    return static_cast<int>(program_.buffers.size()) - 1;
  }
  Elements elements_of(int buffer, const Shape& sizes) const {
    const Buffer& b = program_.buffers[at(buffer)];
    auto load = [buffer, dtype = b.dtype, name = b.name](Index index) {
      return Expr::load(buffer, dtype, {index.begin(), index.end()}, name);
    };
    return {sizes, b.dtype, load, buffer};
  }
  Elements store(std::string name, const Elements& e, const Geometry& g, Place place) {
    const int buffer = add_buffer(std::move(name), g, place);
    std::vector<Expr> vars;
    for (std::size_t d = 0; d < g.sizes.size(); d++) vars.push_back(Expr::index(static_cast<int64_t>(d), g.sizes[d].expr()));
    const Expr value = e.at(vars);
    program_.steps.emplace_back(Computation{buffer, std::move(vars), {}, value});
    return elements_of(buffer, g.sizes);
  }

  void add_input(const Node& n) {
    INGOT_REQUIRE(n.meta.is_tensor(), "input ", n.name, " is a ", n.meta.kind_name(), "; only tensors have a compiled form yet");
    Geometry g = n.meta.tensor()->geom;
    for (const Expr& size : exprs(g.sizes)) visit(size, [&](const Expr& e) { add_symbol(e); });
    const int buffer = add_buffer(n.name, g, Place::input);
    program_.inputs.push_back(buffer);
    values_[at(n.id)] = {elements_of(buffer, g.sizes)};
  }
  void add_symbol(const Expr& e) {
    auto& all = program_.symbols;
    if (e.op() == ExprOp::Sym && std::none_of(all.begin(), all.end(), [&](const Expr& s) { return same(s, e); })) all.push_back(e);
  }

  void add_output(const Argument& a, std::size_t k) {
    INGOT_REQUIRE(a.is_node() && a.node()->meta.is_tensor(), "output ", k, " is no tensor; others have no compiled form yet");
    const Node& n = *a.node();
    const Elements& e = values_[at(n.id)][0];
    const Geometry g = dense_geometry(n.meta.tensor()->geom);
    if (e.buffer >= 0) {
      Buffer& b = program_.buffers[at(e.buffer)];
      if (b.place == Place::arena && same(b.strides, exprs(g.strides))) {
        b.place = Place::output;
        program_.outputs.push_back(e.buffer);
        return;
      }
    }
    program_.outputs.push_back(store(text("output.", k), e, g, Place::output).buffer);
  }

  // An argument as rules see it: tensors are fake, numbers may be symbolic.
  static Value resolve(const Argument& a) {
    if (a.is_value()) return a.value();
    if (a.is_node()) return a.node()->meta;
    Values elements;
    for (const Argument& e : a.elements()) elements.push_back(resolve(e));
    return list_value(std::move(elements));
  }

  void lower_node(const Node& n) {
    if (n.meta.is_number()) {  // an expression of the sizes: it stands in the metas of whatever uses it
      INGOT_REQUIRE(n.kind != NodeKind::call || n.op->comes_apart(), n.op->qualified(), ": a number read from a tensor has no compiled form yet",
                    provenance(n));
      return;
    }
    if (n.kind == NodeKind::item) {
      values_[at(n.id)] = {values_[at(n.args[0].node()->id)][at(n.index)]};
      return;
    }
    INGOT_REQUIRE(n.kind != NodeKind::attribute, "constant ", n.target, " has no compiled form yet", provenance(n));
    INGOT_REQUIRE(n.kind == NodeKind::call, "node ", n.name, " has no compiled form yet", provenance(n));
    Values args;
    std::vector<Elements> elements;
    for (const Argument& a : n.args) {
      args.push_back(resolve(a));
      const bool is_tensor = a.is_node() && a.node()->meta.is_tensor();
      elements.push_back(is_tensor ? values_[at(a.node()->id)][0] : Elements{});
    }
    try {
      lower_call(n, {*n.op, args}, elements);
    } catch (const UserError& e) {
      throw_user_error(text(e.what(), provenance(n)));
    }
  }

  void lower_call(const Node& n, const Call& call, const std::vector<Elements>& arguments);
};

// What an op's own rule talks to.
class RuleLowering final : public Lowering {
 public:
  RuleLowering(Lowerer& lowerer, const Node& n, const Call& call, const std::vector<Elements>& arguments)
      : Lowering(call), lowerer_(lowerer), node_(n), arguments_(arguments), metas_(metas_of(n)), results_(metas_.size()) {}

  std::vector<Elements> take_results() {
    for (const Elements& e : results_) INGOT_ENSURE(e.at, call.op.name, ": the rule left a result undefined");
    return std::move(results_);
  }

  const Geometry& result(int k) const override { return metas_[at(k)]->geom; }
  Expr variable(const Expr& extent) override { return Expr::index(variables_++, extent); }
  Expr load(int argument, Index index) override {
    const Elements& e = arguments_[at(argument)];
    return e.at ? e.at(index) : number(call[argument].to_scalar().dtype(), call[argument]);
  }
  Expr fold(Accumulate how, std::vector<Expr> over, const Expr& body) override {
    const Expr tmp = Expr::tmp(static_cast<int64_t>(folds_.size()), body.dtype());
    folds_.push_back({tmp, how, std::move(over), body});
    return tmp;
  }
  void define(int k, std::vector<Expr> vars, const Expr& value) override {
    const Geometry g = dense_geometry(result(k));
    INGOT_ENSURE(vars.size() == g.sizes.size(), call.op.name, ": ", vars.size(), " variables for a result of rank ", g.sizes.size());
    const int buffer = add_result(k, g);
    lowerer_.program_.steps.emplace_back(Computation{buffer, std::move(vars), std::move(folds_), cast(g.dtype, value)});
    folds_.clear();
    variables_ = 0;
  }
  void kernel(std::string_view symbol, std::vector<KernelArgument> args) override {
    KernelCall k{std::string(symbol), {}};
    for (KernelArgument& a : args) k.args.push_back(argument(std::move(a)));
    lowerer_.program_.steps.emplace_back(std::move(k));
  }

 private:
  Lowerer& lowerer_;
  const Node& node_;
  const std::vector<Elements>& arguments_;
  TensorList metas_;
  std::vector<Elements> results_;
  std::vector<Fold> folds_;
  int64_t variables_ = 0;

  std::string name_of_result(int k) const { return metas_.size() == 1 ? node_.name : text(node_.name, ".", k); }
  int add_result(int k, const Geometry& g) {
    const int buffer = lowerer_.add_buffer(name_of_result(k), g, Place::arena);
    results_[at(k)] = lowerer_.elements_of(buffer, g.sizes);
    return buffer;
  }
  // A buffer with the argument's elements in row-major order.
  int row_major(int argument) {
    const Elements& e = arguments_[at(argument)];
    INGOT_ENSURE(e.at, call.op.name, ": argument ", argument, " is no tensor");
    const Geometry g = Geometry::contiguous(e.sizes, e.dtype);
    if (e.buffer >= 0 && same(lowerer_.program_.buffers[at(e.buffer)].strides, exprs(g.strides))) return e.buffer;
    return lowerer_.store(text(node_.name, ".arg", argument), e, g, Place::arena).buffer;
  }

  KernelCall::Argument argument(KernelArgument a) {
    using In = KernelArgument::Kind;
    using Out = KernelCall::Argument::Kind;
    switch (a.kind) {
      case In::input: return {Out::read, row_major(a.index), {}};
      case In::result: {
        const Geometry& g = result(a.index);
        return {Out::write, add_result(a.index, Geometry::contiguous(g.sizes, g.dtype)), {}};
      }
      case In::null: return {Out::null, 0, {}};
      case In::int32: return {Out::int32, 0, std::move(a.values)};
      case In::int64: return {Out::int64, 0, std::move(a.values)};
      case In::array: return {Out::array, 0, std::move(a.values)};
      case In::scratch: {
        const Geometry bytes = Geometry::contiguous({Int(a.values[0])}, DType::u8);
        return {Out::write, lowerer_.add_buffer(node_.name + ".scratch", bytes, Place::arena), {}};
      }
    }
    return {};
  }
};

void Lowerer::lower_call(const Node& n, const Call& call, const std::vector<Elements>& arguments) {
  std::vector<Elements>& results = values_[at(n.id)];
  INGOT_REQUIRE(!n.op->mutates(), n.op->qualified(), " writes an argument, which has no compiled form yet");
  if (n.op->is_view()) {
    results = view_elements(call, arguments[0]);
  } else if (n.op->form() == Form::pointwise && n.op->def->formula) {
    const Geometry& g = n.meta.tensor()->geom;
    const Elements e = formula_elements(call, g, arguments);
    results = {reads_[at(n.id)] == 1 ? e : store(n.name, e, dense_geometry(g), Place::arena)};
  } else {
    INGOT_REQUIRE(n.op->def->lower, n.op->qualified(), " has no compiled form yet");
    RuleLowering rule(*this, n, call, arguments);
    n.op->def->lower(rule);
    results = rule.take_results();
  }
}

}  // namespace

Program lower(const Graph& graph, ShapeEnv& sizes) {
  const GuardScope scope(sizes);
  Program program;
  Lowerer(graph, program).run();
  plan_memory(program);
  program.guards = sizes.guards();
  return program;
}

}  // namespace ingot::loop
