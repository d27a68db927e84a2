#include "base/index.hpp"
#include "loop/lowerer.hpp"

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "expr/if_known.hpp"
#include "op/applied.hpp"
#include "op/call_text.hpp"
#include "op/current_op.hpp"
#include "op/setup.hpp"
#include "tensor/geometry.hpp"

namespace ingot::loop {

std::vector<Expr> exprs(const Shape& s) {
  std::vector<Expr> v;
  for (Int i : s) v.push_back(i.expr());
  return v;
}

std::optional<std::vector<std::size_t>> dense_order(const Geometry& g) {
  std::vector<bool> seen(g.sizes.size());
  std::vector<std::size_t> inner_first;
  Int stride = 1;
  for (std::size_t k = 0; k < seen.size(); k++) {
    std::size_t d = 0;
    while (d < seen.size() && (seen[d] || !(g.sizes[d].same(1) || g.strides[d].same(stride)))) d++;
    if (d == seen.size()) return std::nullopt;
    seen[d] = true;
    inner_first.push_back(d);
    stride = stride * g.sizes[d];
  }
  return inner_first;
}

namespace {

bool is_dense(const Geometry& g) { return dense_order(g).has_value(); }

bool any_complex_result(const Node& n) {
  const TensorList metas = metas_of(n);
  return std::any_of(metas.begin(), metas.end(), [](const Tensor& t) { return t.defined() && is_complex(t.dtype()); });
}

// A pointwise value is computed where it is read, unless that would repeat work worth more than a
// store and a load.
constexpr int kCheapForMany = 8, kCheapForRepeated = 4, kJustALoad = 2;
constexpr uint32_t kDeepest = 200;  // of an expression that is still put into another

}  // namespace

Geometry dense_geometry(const Geometry& g) {
  Geometry r = Geometry::contiguous(g.sizes, g.dtype);
  if (is_dense(g)) r.strides = g.strides;
  return r;
}

std::optional<TensorList> tensors_of(const Value& meta) {
  if (meta.is_tensor() || meta.is_none()) return TensorList{meta.tensor_or_none()};
  if (meta.is_tensors()) return meta.tensors();
  if (!meta.is_values()) return std::nullopt;
  TensorList all;
  for (const Value& v : meta.values()) {
    const std::optional<TensorList> of_element = tensors_of(v);
    if (!of_element) return std::nullopt;
    all.insert(all.end(), of_element->begin(), of_element->end());
  }
  return all;
}
Value meta_of(const Argument& a) {
  if (a.is_value()) return a.value();
  if (a.is_node()) return a.node()->meta;
  Values elements;
  for (const Argument& e : a.elements()) elements.push_back(meta_of(e));
  return list_value(std::move(elements));
}
TensorList metas_of(const Node& n) { return n.meta.is_none() ? TensorList{} : tensors_of(n.meta).value_or(TensorList{}); }

// A node comes before its users, so one walk from the end finds it.
std::vector<Use> uses_of(const Graph& graph) {
  std::vector<Use> all(graph.nodes().size());
  for_each_node(graph.outputs, [&](const Node* n) { all[at(n->id)] = {.users = 1, .stored = true, .whole = true}; });
  for (std::size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& user = *graph.nodes()[i];
    // A write, also in its functional form; an op that has no result and does something: an
    // assertion, or somebody's own; a draw, which takes the random stream further.
    const bool acts = user.kind == NodeKind::call &&
                      (user.op->mutates() || keywords_argument(*user.op) >= 0 || user.op->form() == Form::random ||
                       (user.op->schema.results.empty() && (user.op->def->lower || is_from_outside(*user.op))));
    if (acts) all[i].users = std::max(all[i].users, 1);
    if (all[i].users == 0) continue;
    const bool passes_through = user.kind != NodeKind::call || user.op->is_view();
    for_each_node(user.args, [&](const Node* n) {
      Use& u = all[at(n->id)];
      if (user.kind != NodeKind::item) {
        u.whole = true;
      } else {
        u.items.resize(std::max(u.items.size(), at(user.index) + 1));
        u.items[at(user.index)] = true;
      }
      if (passes_through) {
        u.users += all[i].users;
        u.repeated = u.repeated || all[i].repeated || all[i].stored;
        u.factor = u.factor || all[i].factor;
        return;
      }
      u.users++;
      if (user.op->form() == Form::pointwise)
        u.repeated = u.repeated ||
                     !(n->meta.is_tensor() && user.meta.is_tensor() && n->meta.tensor().sizes().same(user.meta.tensor().sizes()));
      else if (user.op->form() != Form::reduction) u.factor = true;
    });
  }
  return all;
}

// What an op's own rule talks to.
class RuleLowering final : public Lowering {
 public:
  RuleLowering(Lowerer& lowerer, const Node& n, const Call& call, const std::vector<Elements>& arguments)
      : Lowering(call), lowerer_(lowerer), node_(n), arguments_(arguments), metas_(metas_of(n)), results_(metas_.size()) {}

  // Whether the rule had a form for this call. One that has none defines nothing.
  bool is_defined() const {
    return results_.empty() ||
           std::any_of(results_.begin(), results_.end(), [](const Elements& e) { return static_cast<bool>(e.at); });
  }
  std::vector<Elements> take_results() {
    for (std::size_t k = 0; k < results_.size(); k++)
      INGOT_ENSURE(results_[k].at || !is_read(static_cast<int>(k)), call.op.name, ": the rule left a result undefined");
    return std::move(results_);
  }

  const Geometry& result(int k) const override { return metas_[at(k)]->geom; }
  bool is_read(int k) const override { return !node_.meta.is_tensors() || lowerer_.uses_[at(node_.id)].reads(at(k)); }
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
    INGOT_ENSURE(vars.size() == g.sizes.size(), call.op.name, ": ", vars.size(), " variables for a result of rank ",
                 g.sizes.size());
    if (folds_.empty()) {
      auto elements = [vars, value = cast(g.dtype, value)](Index index) { return substitute(value, vars, index); };
      Elements e{g.sizes, g.dtype, std::move(elements)};
      results_[at(k)] = lowerer_.is_worth_storing(node_, e) ? lowerer_.store(name_of_result(k), e, g, Place::arena) : e;
      return;
    }
    const int buffer = add_result(k, g);
    lowerer_.steps_->emplace_back(Computation{buffer, std::move(vars), std::move(folds_), cast(g.dtype, value)});
    folds_.clear();
  }
  int temporary(std::vector<Expr> vars, const Expr& value) override {
    Geometry g;
    g.dtype = value.dtype();
    for (const Expr& v : vars) g.sizes.push_back(Int(v.arg(0)));
    g = Geometry::contiguous(g.sizes, g.dtype);
    const int buffer = lowerer_.add_buffer(text(node_.name, ".t", temporaries_++), g, Place::arena);
    lowerer_.steps_->emplace_back(Computation{buffer, std::move(vars), std::move(folds_), value});
    folds_.clear();
    return buffer;
  }
  Expr load_temporary(int temporary, Index index) override {
    const Buffer& b = lowerer_.program_.buffers[at(temporary)];
    return Expr::load(temporary, b.dtype, {index.begin(), index.end()}, b.name);
  }
  void check(const Expr& condition, std::string message) override {
    lowerer_.steps_->emplace_back(Check{condition, std::move(message)});
  }
  void kernel(std::string_view symbol, std::vector<KernelArgument> args) override {
    KernelCall k{std::string(symbol), {}};
    for (KernelArgument& a : args) k.args.push_back(argument(std::move(a)));
    lowerer_.steps_->emplace_back(std::move(k));
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
  return (use.users > 1 && slots > kCheapForMany) || (use.repeated && slots > kCheapForRepeated) ||
         (use.factor && slots > kJustALoad) || value->depth > kDeepest;
}

// An in-place op on an input: the program's last word about its elements. Until the end nothing is
// written.
void Lowerer::lower_write(const Node& n, const Call& call, const std::vector<Elements>& arguments) {
  INGOT_REQUIRE(!n.op->is_inplace_view(),
                "Found an input that received a metadata mutation, through e.g. a call to `.resize_()` or `.transpose_()`: ",
                n.op->qualified(),
                " gives an input of the program another size or other strides, which a compiled program cannot do to ",
                "its caller's tensor; take the view with the op of the same name without the underscore");
  INGOT_REQUIRE(n.op->variant == Variant::inplace && n.op->functional && n.args[0].is_node() &&
                    n.args[0].node()->kind == NodeKind::placeholder,
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

namespace {

// Whether the call looks past the elements of a tensor that stand one after the other: at others of
// its storage.
bool looks_past(const Node& n, const Geometry& actual) {
  if (!n.op->is_view() || !n.meta.is_tensor()) return false;
  return less_if_known(required_bytes(actual), required_bytes(n.meta.tensor()->geom)).value_or(false);
}

}  // namespace

void refuse_other_elements(const Node& n) {
  throw_user_error(
      text(n.op->qualified(),
           " refers to the storage of a tensor with elements of others around or between its own, of which a compiled program "
           "has no copy; take the view with select, slice or another op that says which part of the tensor it means",
           provenance(n)));
}

// For ops that refer to places in the storage.
void Lowerer::require_own_elements(const Node& n, const Geometry& actual) {
  if (!actual.offset.same(0) || !is_dense(actual) || looks_past(n, actual)) refuse_other_elements(n);
}

// For ops that refer to places in the storage: the elements in the order in which eager has them.
Elements Lowerer::stored_in_order(const Node& n, const std::string& name, const Elements& e, const Geometry& actual) {
  require_own_elements(n, actual);
  return lies_so(e, actual) ? e : store(name, e, dense_geometry(actual), Place::arena);
}

bool Lowerer::lies_so(const Elements& e, const Geometry& g) const {
  if (e.buffer < 0) return false;
  const std::vector<Expr>& strides = program_.buffers[at(e.buffer)].strides;
  for (std::size_t d = 0; d < g.sizes.size(); d++)
    if (!g.sizes[d].same(1) && !same(strides[d], g.strides[d].expr())) return false;
  return true;
}

// A call of the eager library: tensors in memory go in and come out.
std::vector<Elements> Lowerer::lower_eager(const Node& n, const Call& call) {
  const CallText text_of_call = text_of(call);
  const int operator_at = operator_argument(call.op);
  const Op& runs = operator_at < 0 ? *text_of_call.op : op(call[operator_at].string());
  EagerCall step;
  step.op = runs.name;
  step.by_host = is_from_outside(runs);
  step.draws = call.op.form() == Form::random;
  step.text = text_of_call.text;
  for (std::size_t k = 0; k < text_of_call.tensors.size(); k++) {
    const auto found = by_meta_.find(text_of_call.tensors[k].impl());
    INGOT_ENSURE(found != by_meta_.end(), n.name, ": a tensor of the call is no value of the graph");
    const std::string name = text(n.name, ".arg", k);
    const Tensor& t = text_of_call.tensors[k];
    const bool in_order = call.op.def->view.from_storage && k == 0;
    step.tensors.push_back((in_order ? stored_in_order(n, name, found->second, t->geom) : stored(name, found->second)).buffer);
  }
  for (const Value& v : text_of_call.integers) step.integers.push_back(v.is_float() ? v.to_float().expr() : v.to_int().expr());
  const TensorList metas = metas_of(n);
  std::vector<Elements> results;
  std::vector<Expr> decided;
  for (std::size_t k = 0; k < metas.size(); k++) {
    // A result that is None leaves its buffer alone; there is one all the same, so that results
    // keep their numbers.
    Geometry g = metas[k].defined() ? dense_geometry(metas[k]->geom) : Geometry::contiguous({0}, DType::u8);
    for (std::size_t d = 0; d < g.sizes.size(); d++) {
      const Expr size = g.sizes[d].expr();
      if (size.op() != ExprOp::Sym || knows(size)) continue;
      g = Geometry::contiguous(g.sizes, g.dtype);  // as the op makes it
      step.decides.push_back({static_cast<int>(k), static_cast<int>(d), size});
      if (std::none_of(decided.begin(), decided.end(), [&](const Expr& s) { return same(s, size); })) decided.push_back(size);
    }
    step.results.push_back(add_buffer(metas.size() == 1 ? n.name : text(n.name, ".", k), g, Place::arena));
    results.push_back(elements_of(step.results.back(), g.sizes));
  }
  for (const EagerCall::Size& d : step.decides) made_by_op_.insert(step.results[at(d.result)]);
  steps_->emplace_back(std::move(step));
  for (const Expr& s : decided) add_decided(s);
  return results;
}

std::vector<Elements> Lowerer::lower_results(const Node& n, const Call& call, const std::vector<Elements>& arguments) {
  const Op& op = call.op;
  const RunningOp running(&op);  // of sizes that data decides, rules are told what they were told when they were traced
  if (op.def->view.from_storage && op.is_view() && is_dense(call.tensor(0)->geom) && call.tensor(0).storage_offset().same(0))
    require_own_elements(n, call.tensor(0)->geom);
  if (op.is_view() && can_map_view(call, arguments[0])) return view_elements(call, arguments[0]);
  if (op.form() == Form::pointwise && can_map_formula(call) && !any_complex_result(n)) {
    if (op.def->lower) {  // what has to hold of the operands
      RuleLowering rule(*this, n, call, arguments);
      op.def->lower(rule);
    }
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
  if (n.op->schema.results.empty()) {
    if (n.op->form() == Form::random || (is_from_outside(*n.op) && !n.op->def->lower)) lower_eager(n, call);
    return;
  }
  set_values(n, results.empty() ? lower_eager(n, call) : std::move(results));
}

Lowered lower(const Graph& graph, ShapeEnv& sizes, const std::vector<bool>& is_constant) {
  const GuardScope scope(sizes);
  Lowered lowered;
  lowered.unchecked = sizes.deferred();
  Lowerer(graph, lowered, is_constant).run();
  lowered.program.guards = sizes.guards();
  return lowered;
}

}  // namespace ingot::loop
