#include "graph/trace.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "base/error.hpp"
#include "op/call.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

class Tracer {
 public:
  explicit Tracer(Graph& graph) : graph_(graph) {}

  void bind_input(const Tensor& fake, std::string_view name) {
    Node* n = graph_.placeholder(name);
    bind(fake, n);
    n->meta = meta_of(fake);
    // The first input dim that is a bare symbol is where the graph reads it from.
    for (int d = 0; d < fake.dim(); d++)
      if (const Expr e = fake.size(d).expr(); e.op() == ExprOp::Sym) symbols_.try_emplace(e, Source{n, d});
  }

  Value record(const Op& op, Args args) {
    INGOT_REQUIRE(!op.mutates(), "trace: ", op.qualified(), " writes its argument '",
                  op.schema.args[static_cast<std::size_t>(op.written[0])].name,
                  "', and a graph of values has no place for writes until they are functionalized; use ",
                  op.functional ? op.functional->name : std::string("an op that returns a new tensor"), " instead");
    std::vector<Argument> arguments;
    for (const Value& v : args) arguments.push_back(argument(v));
    Node* n = graph_.call(op, std::move(arguments));
    Value r = call_below(Layer::trace, op, args);
    bind_result(r, n);
    return r;
  }

  // The graph's value for a tensor or number of the traced function.
  Argument argument(const Value& v) {
    if (v.is_tensor()) return node_of(v.tensor());
    if (v.is_int() && v.to_int().is_symbolic()) return node_of(v.to_int().expr());
    if (v.is_tensors())
      return list(v.tensors(), [&](const Tensor& t) { return t.defined() ? Argument(node_of(t)) : Argument(); });
    if (v.is_ints() && v.ints().is_symbolic()) return list(v.ints(), [&](Int i) { return argument(i); });
    if (v.is_values()) return list(v.values(), [&](const Value& e) { return argument(e); });
    return v;
  }

 private:
  struct Source {
    Node* placeholder;
    int dim;
  };
  struct Bound {
    Tensor tensor;  // keeps the address that is the key taken
    Node* node;
  };

  Graph& graph_;
  std::unordered_map<const TensorImpl*, Bound> tensors_;
  std::unordered_map<Expr, Node*, ExprHash, ExprSame> numbers_;
  std::unordered_map<Expr, Source, ExprHash, ExprSame> symbols_;

  template <class List, class F>
  static Argument list(const List& elements, const F& f) {
    std::vector<Argument> arguments;
    for (const auto& e : elements) arguments.push_back(f(e));
    return Argument::list(std::move(arguments));
  }

  void bind(const Tensor& t, Node* n) { tensors_.insert_or_assign(t.impl(), Bound{t, n}); }

  // A fake without the state other layers keep on the tensor; it shares the storage, which tells what aliases what.
  static Tensor meta_of(const Tensor& t) { return t->is_fake() ? make_alias(t, t->geom) : make_tensor(t->geom, t->device(), true); }

  void bind_result(const Value& r, Node* n) {
    if (r.is_tensor()) {
      bind(r.tensor(), n);
      n->meta = meta_of(r.tensor());
    } else if (r.is_tensors()) {
      TensorList metas;
      for (const Tensor& t : r.tensors()) metas.push_back(t.defined() ? meta_of(t) : t);
      n->meta = metas;
      for (std::size_t k = 0; k < metas.size(); k++) {
        if (!metas[k].defined()) continue;
        Node* item = graph_.item(n, static_cast<int>(k));
        item->meta = metas[k];
        bind(r.tensors()[k], item);
      }
    } else {
      n->meta = r;
      if (r.is_int() && r.to_int().is_symbolic()) numbers_.try_emplace(r.to_int().expr(), n);
    }
  }

  Node* node_of(const Tensor& t) {
    if (const auto found = tensors_.find(t.impl()); found != tensors_.end()) return found->second.node;
    const std::string key = text("_tensor_constant", graph_.attributes.size());
    graph_.attributes.emplace_back(key, t);
    Node* n = graph_.attribute(key);
    n->meta = meta_of(t);
    bind(t, n);
    return n;
  }

  // The node that computes a symbolic number from the sizes of the inputs.
  Node* node_of(const Expr& e) {
    if (const auto found = numbers_.find(e); found != numbers_.end()) return found->second;
    Node* n = make_number(e);
    n->meta = Int(e);
    numbers_.emplace(e, n);
    return n;
  }
  Argument operand(const Expr& e) { return e.is_const() ? Argument(Value(e->i)) : Argument(node_of(e)); }

  Node* make_number(const Expr& e) {
    if (e.op() == ExprOp::Sym) {
      const auto source = symbols_.find(e);
      INGOT_ENSURE(source != symbols_.end(), "symbol ", e, " is no size of an input");
      return graph_.call(op("sym_size.int"), {source->second.placeholder, Value(source->second.dim)}, "sym_size_int");
    }
    Argument result = operand(e.arg(0));
    for (std::size_t k = 1; k < e.args().size(); k++) result = graph_.scalar(function_of(e), {result, operand(e.arg(k))});
    INGOT_ENSURE(result.is_node(), "a size cannot be ", e);
    return result.node();
  }
  static ScalarFunction function_of(const Expr& e) {
    switch (e.op()) {
      case ExprOp::Add: return ScalarFunction::add;
      case ExprOp::Mul: return ScalarFunction::mul;
      case ExprOp::FloorDiv: return ScalarFunction::floordiv;
      case ExprOp::Mod: return ScalarFunction::mod;
      case ExprOp::Min: return ScalarFunction::sym_min;
      case ExprOp::Max: return ScalarFunction::sym_max;
      default: throw_internal_error(__FILE__, __LINE__, text("no scalar node for the size ", e));
    }
  }
};

thread_local Tracer* current = nullptr;

Value trace_handler(const Op& op, Args args) {
  INGOT_ENSURE(current, "the trace layer is active without a tracer");
  return current->record(op, args);
}

// Strides of the example with open sizes in place: a stride that spans the dim inside it goes on doing so.
Shape open_strides(const Tensor& example, const Shape& sizes) {
  const std::vector<int64_t> old_sizes = example.sizes().values(), old_strides = example.strides().values();
  std::vector<std::size_t> inner_first(sizes.size());
  std::iota(inner_first.rbegin(), inner_first.rend(), std::size_t{0});
  std::stable_sort(inner_first.begin(), inner_first.end(), [&](auto a, auto b) { return old_strides[a] < old_strides[b]; });
  Shape strides = example.strides();
  int64_t dense = 1;
  Int open = 1;
  for (const std::size_t d : inner_first) {
    if (old_strides[d] == 0) continue;
    if (old_strides[d] == dense) strides[d] = open;
    dense = old_strides[d] * std::max<int64_t>(old_sizes[d], 1);
    open = strides[d] * sizes[d];
  }
  return strides;
}

TensorList fake_inputs(const TensorList& examples, const std::vector<OpenSize>& open, HintEnv& env) {
  std::vector<Shape> sizes;
  for (const Tensor& t : examples) sizes.push_back(t.sizes());
  std::vector<std::pair<OpenSize, Int>> symbols;
  for (const OpenSize& o : open) {
    INGOT_REQUIRE(o.input >= 0 && o.input < static_cast<int>(examples.size()), "trace: open size '", o.name, "' names input ", o.input,
                  " of ", examples.size());
    const auto input = static_cast<std::size_t>(o.input);
    const auto dim = static_cast<std::size_t>(wrap_dim(o.dim, static_cast<int>(examples[input].dim())));
    const int64_t hint = examples[input].size(o.dim).value();
    const auto known = std::find_if(symbols.begin(), symbols.end(), [&](const auto& s) { return s.first.name == o.name; });
    if (known == symbols.end()) {
      sizes[input][dim] = symbols.emplace_back(o, env.symbol(o.name, hint, o.lo, o.hi)).second;
      continue;
    }
    const int64_t other = env.hint(known->second.expr());
    INGOT_REQUIRE(other == hint, "trace: size '", o.name, "' is ", other, " in one example and ", hint, " in input ", o.input);
    sizes[input][dim] = known->second;
  }
  TensorList fakes;
  for (std::size_t i = 0; i < examples.size(); i++) {
    Geometry g{sizes[i], open_strides(examples[i], sizes[i]), 0, examples[i].dtype()};
    fakes.push_back(make_tensor(std::move(g), examples[i].device(), true));
  }
  return fakes;
}

}  // namespace

Traced trace(const TensorFunction& f, const TensorList& examples, const std::vector<OpenSize>& open) {
  static const bool installed = (install_handler(Layer::trace, trace_handler), true);
  (void)installed;
  Traced traced;
  const TensorList inputs = fake_inputs(examples, open, traced.sizes);
  Tracer tracer(traced.graph);
  for (std::size_t i = 0; i < inputs.size(); i++) tracer.bind_input(inputs[i], text("arg", i, "_1"));

  ThreadState& state = thread_state();
  const GuardScope guards(traced.sizes);
  const Scoped<Tracer*> tracing(current, &tracer);
  const Scoped<uint8_t> active(state.active, static_cast<uint8_t>(state.active | layer_bit(Layer::trace)));
  const Scoped<bool> fakes(state.fake_factories, true);
  for (const Tensor& t : f(inputs)) traced.graph.outputs.push_back(tracer.argument(t));
  return traced;
}

}  // namespace ingot
