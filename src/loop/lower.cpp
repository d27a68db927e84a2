#include "loop/lower.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "graph/interpret.hpp"
#include "loop/element.hpp"
#include "op/call_text.hpp"

namespace ingot::loop {
namespace {

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

bool any_complex_result(const Node& n) {
  const TensorList metas = metas_of(n);
  return std::any_of(metas.begin(), metas.end(), [](const Tensor& t) { return t.defined() && is_complex(t.dtype()); });
}

// What is known of a node's users, seen through views and item nodes.
struct Use {
  int users = 0;          // consumers that compute; 0: dead
  bool repeated = false;  // some user reads an element more than once: a broadcast
  bool factor = false;    // the same, and rather from memory: a product, a kernel
  bool stored = false;    // must be in memory: an output, or an argument of a kernel
};

// A node comes before its users, so one walk from the end finds it.
std::vector<Use> uses_of(const Graph& graph) {
  std::vector<Use> all(graph.nodes().size());
  for_each_node(graph.outputs, [&](const Node* n) { all[at(n->id)] = {1, false, false, true}; });
  for (std::size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& user = *graph.nodes()[i];
    const bool writes = user.kind == NodeKind::call && user.op->mutates();
    if (writes) all[i].users = std::max(all[i].users, 1);
    if (all[i].users == 0) continue;
    const bool passes_through = user.kind != NodeKind::call || user.op->is_view();
    for_each_node(user.args, [&](const Node* n) {
      Use& u = all[at(n->id)];
      if (passes_through) {
        u.users += all[i].users;
        u.repeated = u.repeated || all[i].repeated || all[i].stored;
        u.factor = u.factor || all[i].factor;
        return;
      }
      u.users++;
      if (user.op->form() == Form::pointwise)
        u.repeated = u.repeated || !(n->meta.is_tensor() && user.meta.is_tensor() && n->meta.tensor().sizes().same(user.meta.tensor().sizes()));
      else if (user.op->form() != Form::reduction)
        u.factor = true;
    });
  }
  return all;
}

// A pointwise value is computed where it is read, unless that would repeat work worth more than a store and a load.
constexpr int kCheapForMany = 8, kCheapForRepeated = 4, kJustALoad = 2;
constexpr uint32_t kDeepest = 200;  // of an expression that is still put into another

class Lowerer {
 public:
  Lowerer(const Graph& graph, Lowered& lowered, const std::vector<bool>& is_constant)
      : graph_(graph), lowered_(lowered), program_(lowered.program), uses_(uses_of(graph)), values_(uses_.size()) {
    for (std::size_t k = 0; k < graph.inputs().size(); k++) add_input(*graph.inputs()[k], k < is_constant.size() && is_constant[k]);
  }

  void run() {
    for (const auto& n : graph_.nodes())
      if (uses_[at(n->id)].users > 0 && n->kind != NodeKind::placeholder) lower_node(*n);
    std::vector<Elements> sources;  // everything is computed before the first write
    for (const Write& w : writes_) sources.push_back(w.value.buffer >= 0 && program_.buffers[at(w.value.buffer)].place == Place::arena
                                                         ? w.value : store(w.node->name + ".new", w.value, Geometry::contiguous(w.value.sizes, w.value.dtype), Place::arena));
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
  std::vector<Use> uses_;
  std::vector<std::vector<Elements>> values_;  // by node id: its results
  std::vector<Write> writes_;                  // in order; of two of one placeholder the later counts
  std::unordered_map<const TensorImpl*, Elements> by_meta_;
  std::set<int> made_by_op_;  // buffers whose memory an eager op brings, since only it knows how much

  int add_buffer(std::string name, const Geometry& g, Place place) {
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
  static std::vector<Expr> variables(const Shape& sizes) {
    std::vector<Expr> vars;
    for (std::size_t d = 0; d < sizes.size(); d++) vars.push_back(Expr::index(static_cast<int64_t>(d), sizes[d].expr()));
    return vars;
  }
  void compute(int buffer, const Elements& e) {
    std::vector<Expr> vars = variables(e.sizes);
    const Expr value = e.at(vars);
    program_.steps.emplace_back(Computation{buffer, std::move(vars), {}, value});
  }
  Elements store(std::string name, const Elements& e, const Geometry& g, Place place) {
    const int buffer = add_buffer(std::move(name), g, place);
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
  }

  void add_input(const Node& n, bool is_constant) {
    const Value& meta = n.meta;
    Geometry g;
    Expr number;
    if (meta.is_tensor()) {
      g = meta.tensor()->geom;
    } else {  // a number comes as a tensor of one element
      INGOT_REQUIRE(meta.is_number(), "input ", n.name, " is a ", meta.kind_name(), "; a compiled program takes tensors and numbers");
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
    set_values(n, {elements_of(buffer, g.sizes)});
  }

  void set_values(const Node& n, std::vector<Elements> v) {
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
      if (std::find(lowered_.written.begin(), lowered_.written.end(), w.node) == lowered_.written.end()) lowered_.written.push_back(w.node);
      return;
    }
  }

  // ---- nodes

  // An argument as rules see it: tensors are fake, numbers may be symbolic.
  static Value resolve(const Argument& a) {
    if (a.is_value()) return a.value();
    if (a.is_node()) return a.node()->meta;
    Values elements;
    for (const Argument& e : a.elements()) elements.push_back(resolve(e));
    return list_value(std::move(elements));
  }

  void lower_node(const Node& n) {
    if (n.kind == NodeKind::item) {
      const auto& list = values_[at(n.args[0].node()->id)];
      if (at(n.index) < list.size()) set_values(n, {list[at(n.index)]});
      return;
    }
    if (n.kind == NodeKind::scalar || n.kind == NodeKind::grad_mode) return;  // an expression: it stands in the metas of its users
    if (n.kind == NodeKind::attribute) return add_attribute(n);
    INGOT_REQUIRE(n.kind == NodeKind::call, "node ", n.name, " has no compiled form", provenance(n));
    Values args;
    std::vector<Elements> elements;
    for (const Argument& a : n.args) {
      args.push_back(resolve(a));
      const bool is_tensor = a.is_node() && a.node()->meta.is_tensor();
      elements.push_back(is_tensor ? values_[at(a.node()->id)][0] : Elements{});
    }
    try {
      if (n.meta.is_number()) lower_number(n, elements);
      else lower_call(n, {*n.op, args}, elements);
    } catch (const UserError& e) {
      throw_user_error(text(e.what(), provenance(n)));
    }
  }

  void add_attribute(const Node& n) {
    const Attribute* a = graph_.find_attribute(n.target);
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
    INGOT_REQUIRE(s.is_int() && !s.to_int().is_number() && s.to_int().expr().op() == ExprOp::Sym, n.op->qualified(),
                  ": a number that the program reads from its data should be an integer; others have no compiled form");
    const Expr symbol = s.to_int().expr();
    if (knows(symbol)) return;
    const Elements e = stored(n.name + ".data", arguments[0]);
    program_.steps.emplace_back(Decide{symbol, cast(DType::i64, e.at(std::vector<Expr>(e.sizes.size(), Expr(0))))});
    add_decided(symbol);
  }

  void lower_call(const Node& n, const Call& call, const std::vector<Elements>& arguments);
  void lower_write(const Node& n, const Call& call, const std::vector<Elements>& arguments);
  std::vector<Elements> lower_eager(const Node& n, const Call& call);
  std::vector<Elements> lower_results(const Node& n, const Call& call, const std::vector<Elements>& arguments);
  bool is_worth_storing(const Node& n, const Elements& e) const;
};

// What an op's own rule talks to.
class RuleLowering final : public Lowering {
 public:
  RuleLowering(Lowerer& lowerer, const Node& n, const Call& call, const std::vector<Elements>& arguments)
      : Lowering(call), lowerer_(lowerer), node_(n), arguments_(arguments), metas_(metas_of(n)), results_(metas_.size()) {}

  // Whether the rule had a form for this call. One that has none defines nothing.
  bool is_defined() const {
    return std::any_of(results_.begin(), results_.end(), [](const Elements& e) { return static_cast<bool>(e.at); });
  }
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
  Expr load_item(int argument, int item, Index index) override {
    const Argument& a = node_.args[at(argument)];
    const Node* n = a.is_list() ? a.elements()[at(item)].node() : nullptr;
    if (n) return lowerer_.values_[at(n->id)][0].at(index);
    return lowerer_.values_[at(a.node()->id)][at(item)].at(index);  // a list that one node makes
  }
  Expr fold(Accumulate how, std::vector<Expr> over, const Expr& body) override {
    const Expr tmp = Expr::tmp(static_cast<int64_t>(folds_.size()), body.dtype());
    folds_.push_back({tmp, how, std::move(over), body});
    return tmp;
  }
  void define(int k, std::vector<Expr> vars, const Expr& value) override {
    const Geometry g = dense_geometry(result(k));
    INGOT_ENSURE(vars.size() == g.sizes.size(), call.op.name, ": ", vars.size(), " variables for a result of rank ", g.sizes.size());
    if (folds_.empty()) {
      auto elements = [vars, value = cast(g.dtype, value)](Index index) { return substitute(value, vars, index); };
      Elements e{g.sizes, g.dtype, std::move(elements)};
      results_[at(k)] = lowerer_.is_worth_storing(node_, e) ? lowerer_.store(name_of_result(k), e, g, Place::arena) : e;
      return;
    }
    const int buffer = add_result(k, g);
    lowerer_.program_.steps.emplace_back(Computation{buffer, std::move(vars), std::move(folds_), cast(g.dtype, value)});
    folds_.clear();
  }
  int temporary(std::vector<Expr> vars, const Expr& value) override {
    Geometry g;
    g.dtype = value.dtype();
    for (const Expr& v : vars) g.sizes.push_back(Int(v.arg(0)));
    g = Geometry::contiguous(g.sizes, g.dtype);
    const int buffer = lowerer_.add_buffer(text(node_.name, ".t", temporaries_++), g, Place::arena);
    lowerer_.program_.steps.emplace_back(Computation{buffer, std::move(vars), std::move(folds_), value});
    folds_.clear();
    return buffer;
  }
  Expr load_temporary(int temporary, Index index) override {
    const Buffer& b = lowerer_.program_.buffers[at(temporary)];
    return Expr::load(temporary, b.dtype, {index.begin(), index.end()}, b.name);
  }
  void check(const Expr& condition, std::string message) override { lowerer_.program_.steps.emplace_back(Check{condition, std::move(message)}); }
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
  int temporaries_ = 0;

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

bool Lowerer::is_worth_storing(const Node& n, const Elements& e) const {
  const Use& use = uses_[at(n.id)];
  if (use.stored) return true;
  const Expr value = e.at(variables(e.sizes));
  const int slots = cost(value);
  return (use.users > 1 && slots > kCheapForMany) || (use.repeated && slots > kCheapForRepeated) || (use.factor && slots > kJustALoad) || value->depth > kDeepest;
}

// An in-place op on an input: the program's last word about its elements. Until the end nothing is written.
void Lowerer::lower_write(const Node& n, const Call& call, const std::vector<Elements>& arguments) {
  INGOT_REQUIRE(n.op->variant == Variant::inplace && n.op->functional && n.args[0].is_node() && n.args[0].node()->kind == NodeKind::placeholder,
                n.op->qualified(), " writes a tensor that is no input of the program, which has no compiled form");
  const Node* target = n.args[0].node();
  Values args(call.args.begin(), call.args.end());
  const Call functional{*n.op->functional, args};
  std::vector<Elements> results = lower_results(n, functional, arguments);
  if (results.empty()) results = lower_eager(n, functional);
  const Elements value = results[0];
  std::erase_if(writes_, [&](const Write& w) { return w.node == target; });
  writes_.push_back({target, value});
  values_[at(target->id)] = {value};
  set_values(n, {value});
}

// A call of the eager library: tensors in memory go in and come out.
std::vector<Elements> Lowerer::lower_eager(const Node& n, const Call& call) {
  const CallText text_of_call = text_of(call);
  EagerCall step;
  step.op = text_of_call.op->name;
  step.text = text_of_call.text;
  for (std::size_t k = 0; k < text_of_call.tensors.size(); k++) {
    const auto found = by_meta_.find(text_of_call.tensors[k].impl());
    INGOT_ENSURE(found != by_meta_.end(), n.name, ": a tensor of the call is no value of the graph");
    step.tensors.push_back(stored(text(n.name, ".arg", k), found->second).buffer);
  }
  for (const Int& i : text_of_call.integers) step.integers.push_back(i.expr());
  const TensorList metas = metas_of(n);
  std::vector<Elements> results;
  std::vector<Expr> decided;
  for (std::size_t k = 0; k < metas.size(); k++) {
    const Geometry g = dense_geometry(metas[k]->geom);
    for (std::size_t d = 0; d < g.sizes.size(); d++) {
      const Expr size = g.sizes[d].expr();
      if (size.op() != ExprOp::Sym || knows(size)) continue;
      step.decides.push_back({static_cast<int>(k), static_cast<int>(d), size});
      if (std::none_of(decided.begin(), decided.end(), [&](const Expr& s) { return same(s, size); })) decided.push_back(size);
    }
    step.results.push_back(add_buffer(metas.size() == 1 ? n.name : text(n.name, ".", k), g, Place::arena));
    results.push_back(elements_of(step.results.back(), g.sizes));
  }
  for (const EagerCall::Size& d : step.decides) made_by_op_.insert(step.results[at(d.result)]);
  program_.steps.emplace_back(std::move(step));
  for (const Expr& s : decided) add_decided(s);
  return results;
}

std::vector<Elements> Lowerer::lower_results(const Node& n, const Call& call, const std::vector<Elements>& arguments) {
  const Op& op = call.op;
  if (op.is_view() && can_map_view(call, arguments[0])) return view_elements(call, arguments[0]);
  if (op.form() == Form::pointwise && can_map_formula(call) && !any_complex_result(n)) {
    const Geometry& g = n.meta.tensor()->geom;
    const Elements e = formula_elements(call, g, arguments);
    return {is_worth_storing(n, e) ? store(n.name, e, dense_geometry(g), Place::arena) : e};
  }
  if (!op.is_view() && op.def->lower && !any_complex(call) && !any_complex_result(n)) {
    RuleLowering rule(*this, n, call, arguments);
    op.def->lower(rule);
    if (rule.is_defined()) return rule.take_results();
  }
  return {};
}

void Lowerer::lower_call(const Node& n, const Call& call, const std::vector<Elements>& arguments) {
  if (n.op->mutates()) return lower_write(n, call, arguments);
  std::vector<Elements> results = lower_results(n, call, arguments);
  set_values(n, results.empty() ? lower_eager(n, call) : std::move(results));
}

}  // namespace

Lowered lower(const Graph& graph, ShapeEnv& sizes, const std::vector<bool>& is_constant) {
  const GuardScope scope(sizes);
  Lowered lowered;
  Lowerer(graph, lowered, is_constant).run();
  lowered.program.guards = sizes.guards();
  return lowered;
}

}  // namespace ingot::loop
