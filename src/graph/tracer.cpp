#include "graph/tracer.hpp"

#include <cstdio>

#include "base/error.hpp"
#include "expr/guards.hpp"
#include "graph/save_policy.hpp"
#include "op/applied.hpp"
#include "op/call.hpp"
#include "op/function.hpp"
#include "op/kernel.hpp"
#include "op/source_note.hpp"

namespace ingot {
namespace {

thread_local Tracer* current = nullptr;

Value trace_handler(const Op& op, Args args) {
  INGOT_ENSURE(current, "the trace layer is active without a tracer");
  return current->record(op, args);
}

// A fake without the state other layers keep on the tensor; it shares the storage, which tells what
// aliases what.
Tensor meta_of(const Tensor& t) { return t->is_fake() ? make_alias(t, t->geom) : make_tensor(t->geom, t->device(), true); }

// A truth value counts as a number.
Value number_of(const Expr& e) {
  if (e.dtype() == DType::f64) return Float(e);
  return Int(e.dtype() == DType::b8 ? cast(DType::i64, e) : e);
}
// The expression of a symbolic number; null for anything else.
Expr symbolic(const Value& v) {
  if (v.is_int() && v.to_int().is_symbolic()) return v.to_int().expr();
  return v.is_float() && v.to_float().is_symbolic() ? v.to_float().expr() : Expr();
}

template <class List, class F>
Argument list(const List& elements, const F& f) {
  std::vector<Argument> arguments;
  for (const auto& e : elements) arguments.push_back(f(e));
  return Argument::list(std::move(arguments));
}

ScalarFunction function_of(const Expr& e) {
  switch (e.op()) {
    case ExprOp::Add: return ScalarFunction::add;
    case ExprOp::Mul: return ScalarFunction::mul;
    case ExprOp::FloorDiv: return ScalarFunction::floordiv;
    case ExprOp::Mod: return ScalarFunction::mod;
    case ExprOp::Min: return ScalarFunction::sym_min;
    case ExprOp::Max: return ScalarFunction::sym_max;
    case ExprOp::Lt: return ScalarFunction::lt;
    case ExprOp::Le: return ScalarFunction::le;
    case ExprOp::Eq: return ScalarFunction::eq;
    case ExprOp::Ne: return ScalarFunction::ne;
    case ExprOp::And: return ScalarFunction::and_;
    case ExprOp::Or: return ScalarFunction::or_;
    case ExprOp::Not: return ScalarFunction::sym_not;
    case ExprOp::FDiv: return ScalarFunction::truediv;
    case ExprOp::Pow: return ScalarFunction::pow;
    case ExprOp::Sqrt: return ScalarFunction::sym_sqrt;
    case ExprOp::Neg: return ScalarFunction::neg;
    case ExprOp::Cast: return e.dtype() == DType::f64 ? ScalarFunction::sym_float : ScalarFunction::sym_int;
    case ExprOp::Select: return ScalarFunction::sym_ite;
    default: throw_internal_error(__FILE__, __LINE__, text("no scalar node for the size ", e));
  }
}

}  // namespace

Tracer* current_tracer() { return current; }

TracerScope::TracerScope(Tracer& tracer) : old_(current), old_listener_(program_listener()), old_active_(thread_state().active) {
  install_once(Layer::trace, trace_handler);
  program_listener() = &tracer;
  current = &tracer;
  thread_state().active |= layer_bit(Layer::trace);
}
TracerScope::~TracerScope() {
  current = old_;
  program_listener() = old_listener_;
  thread_state().active = old_active_;
}

namespace {
bool is_decided_by_data(const Expr& symbol) {
  const auto* env = dynamic_cast<const ShapeEnv*>(current_guard_env());
  const ShapeEnv::Symbol* s = env ? env->find(symbol->name) : nullptr;
  return s && !s->hint;
}
}  // namespace

void Tracer::bind_input(const Value& v, std::string_view name) {
  Node* n = graph_.placeholder(name);
  if (!v.is_tensor()) {
    n->meta = v;
    if (const Expr e = symbolic(v); e.valid()) numbers_.try_emplace(e, n);
    return;
  }
  bind(v.tensor(), n);
  n->meta = meta_of(v.tensor());
}

namespace {
// R058: that a composite of the user's neither aliases nor writes is known from its schema alone.
void warn_if_custom(const Op& op) {
  const std::string& ns = op.schema.ns;
  if (ns == "aten" || ns == "prims" || ns == "inductor" || ns == "higher_order") return;
  std::fprintf(
      stderr,
      "At pre-dispatch tracing, we assume that any custom op marked with CompositeImplicitAutograd and have functional schema "
      "are safe to not decompose. Found %s to be one such op.\n",
      op.qualified().c_str());
}
}  // namespace

Value Tracer::record(const Op& op, Args args, Layer at) {
  if (op.form() == Form::higher_order && calling_convention(op)) return record_functions(op, args);
  if (options_.decompositions && op.form() != Form::higher_order && !decomposing_.contains(&op))
    if (const auto program = options_.decompositions->find(&op); program != options_.decompositions->end()) {
      const Scoped<Layer> here(thread_state().layer, Layer::trace);
      struct Leave {
        std::unordered_set<const Op*>& set;
        const Op* op;
        ~Leave() { set.erase(op); }
      } leave{decomposing_, &op};
      decomposing_.insert(&op);
      return program->second({op, args});
    }
  if (op.def->result.is_wrapper && at == Layer::trace) return call_below(at, op, args);
  if (op.def->effects.ordered) return record_effect(op, args, at);
  if (options_.pre_dispatch && !options_.faithful && op.form() == Form::composite) warn_if_custom(op);
  std::vector<Argument> arguments;
  arguments.reserve(args.size());
  for (const Value& v : args) arguments.push_back(argument(v));
  if (op.is_inplace_view() || op.def->effects.rewires != Rewires::nothing) refuse_constant(op, arguments[0]);
  Node* n = graph_.call(op, std::move(arguments));
  note_source(*n);
  bool constant = true;
  for_each_node(n->args, [&](const Node* used) { constant &= constant_.contains(used); });
  if (constant) constant_.insert(n);
  Value r = call_below(at, op, args);
  if (options_.with == TraceWith::data && !constant) refuse_data(op, args, r, *n);
  bind_result(r, n);
  return r;
}

void Tracer::bind_token(std::string_view name) {
  token_ = graph_.placeholder(name);
  token_->meta = make_tensor(Geometry::contiguous({0}, float32), Device(), true);
}

// What is done for its effect alone is not done while it is recorded.
Value Tracer::record_effect(const Op& op, Args args, Layer at) {
  met_effect_ = true;
  std::vector<Argument> arguments;
  if (token_) arguments = {token_, Value(op.qualified())};
  for (const Value& v : args) arguments.push_back(argument(v));
  Node* n = graph_.call(token_ ? op_ref<"higher_order::with_effects">() : op, std::move(arguments));
  note_source(*n);
  const Value r = op.schema.results.empty() && options_.with != TraceWith::data ? Value() : call_below(at, op, args);
  if (token_) {
    const Value token = token_->meta;
    token_ = graph_.item(n, 0);
    token_->meta = token;
  }
  if (!r.is_none()) bind_result(r, token_ ? graph_.item(n, 1) : n);
  return r;
}

void Tracer::grad_mode_set(bool on) {
  if (options_.pre_dispatch) note_source(*graph_.grad_mode(on));
}

void Tracer::called(const Op& op, Args args) {
  if (!options_.faithful) return;
  std::vector<Argument> arguments;
  for (const Value& v : args) arguments.push_back(argument(v));
  Node* n = graph_.call(op, std::move(arguments));
  note_source(*n);
  bind_result(args[0], n);
}

void Tracer::side_effect(std::string_view what) {
  INGOT_REQUIRE(!options_.faithful, "a graph has no node for ", what, ", which the function has");
}

bool Tracer::takes_apart(const Op& op, Args args) const {
  return options_.decompositions && options_.decompositions->contains(&op) && !is_call_of_kernel(op, args);
}

void Tracer::note_source(Node& n) {
  if (const Ref<SourceNote>& source = current_source()) {
    n.stack_trace = source->stack_trace;
    n.module_path = source->module_path;
  }
  n.saving = current_save_policy();
}

// What a tensor that the function brings along looks like is a fact of the graph: nothing in a run
// could change it.
void Tracer::refuse_constant(const Op& op, const Argument& self) const {
  if (options_.with == TraceWith::data || !self.is_node()) return;
  const Node* n = self.node();
  while (n->kind == NodeKind::call && n->op->mutates() && n->args[0].is_node())
    n = n->args[0].node();  // the tensor that was written
  INGOT_REQUIRE(n->kind != NodeKind::attribute, "Can't call metadata mutating ops on non-Fake Tensor inputs. Found in ",
                op.qualified(), " of ", n->name, ", a tensor that the function brings along; pass it as an argument");
}

// A number that was read from the data of an input holds for that input alone.
void Tracer::refuse_data(const Op& op, Args args, const Value& r, const Node& n) const {
  if (!r.is_number()) return;
  Values fakes(args.begin(), args.end());
  for (Value& v : fakes)
    if (v.is_tensor()) v = meta_of(v.tensor());
  try {
    if (call_below(Layer::trace, op, fakes).same(r)) return;
  } catch (const UserError&) {  // it needs the data
  }
  throw_user_error(
      text("It appears that you're trying to get value out of a tracing tensor with ", op.qualified(), " (node ", n.name,
           ") - erroring out! It's likely that this is caused by data-dependent control flow or similar: a graph takes one way "
           "through the program, so let where() choose among values, or cond() among functions."));
}

Argument Tracer::argument(const Value& v) {
  if (v.is_tensor()) return node_of(v.tensor());
  if (const Expr e = symbolic(v); e.valid()) return operand(e);
  if (v.is_tensors()) return list(v.tensors(), [&](const Tensor& t) { return t.defined() ? Argument(node_of(t)) : Argument(); });
  if (v.is_ints() && v.ints().is_symbolic()) return list(v.ints(), [&](Int i) { return argument(i); });
  if (v.is_values()) return list(v.values(), [&](const Value& e) { return argument(e); });
  return v;
}

void Tracer::bind(const Tensor& t, Node* n) {
  tensors_.insert_or_assign(t->identity(), n);
  if (!t.sizes().is_symbolic()) return;
  // The first size that is a bare symbol is where the graph reads it from. One that data decides is
  // read from what the op made, though an input may have it, too: the gradient of a result (R020).
  for (int d = 0; d < t.dim(); d++) {
    if (!t.size(d).is_symbolic()) continue;
    const Expr e = t.size(d).expr();
    if (e.op() != ExprOp::Sym) continue;
    const auto [source, is_new] = symbols_.try_emplace(e, Source{n, d});
    if (!is_new && source->second.node->kind == NodeKind::placeholder && n->kind != NodeKind::placeholder &&
        is_decided_by_data(e))
      source->second = {n, d};
  }
}

void Tracer::bind_result(const Value& r, Node* n) {
  if (r.is_tensor()) {
    n->meta = meta_of(r.tensor());
    bind(r.tensor(), n);
  } else if (r.is_tensors()) {
    TensorList metas;
    for (const Tensor& t : r.tensors()) metas.push_back(t.defined() ? meta_of(t) : t);
    n->meta = metas;
    for (std::size_t k = 0; k < metas.size(); k++) {
      Node* item = graph_.item(n, static_cast<int>(k));  // also where there is no tensor, so that names are FX's
      if (!metas[k].defined()) continue;
      if (constant_.contains(n)) constant_.insert(item);
      item->meta = metas[k];
      bind(r.tensors()[k], item);
    }
  } else if (r.is_values()) {
    n->meta = r;
    for (std::size_t k = 0; k < r.values().size(); k++) bind_result(r.values()[k], graph_.item(n, static_cast<int>(k)));
  } else {
    n->meta = r;
    if (const Expr e = symbolic(r); e.valid()) numbers_.try_emplace(e, n);
  }
}

Node* Tracer::node_of(const Tensor& t) {
  if (const auto found = tensors_.find(t->identity()); found != tensors_.end()) return found->second;
  INGOT_REQUIRE(!(t->layers & layer_bit(Layer::wrapper)),
                "trace: a result of the function is a wrapper tensor, and graphs are programs of "
                "plain tensors; trace the function of the inner tensors (dense_function of op/wrapper_layout.hpp)");
  INGOT_REQUIRE(!(t->layers & layer_bit(Layer::transform)),
                "trace: a function of a higher-order op brings along a tensor that is vmapped over, and none of the "
                "op's operands is: pass it as an operand");
  if (outer_ && outer_->knows(t)) captured_.push_back(t);
  else
    INGOT_REQUIRE(
        options_.allow_constants,
        "Please convert all Tensors to FakeTensors first, or allow constants (TraceOptions::allow_constants): the function "
        "uses a tensor of size ",
        t.sizes(), " that is none of its arguments");
  const std::string key = text("_tensor_constant", graph_.attributes.size());
  graph_.attributes.emplace_back(key, t);
  Node* n = graph_.attribute(key);
  n->meta = meta_of(t);
  note_source(*n);
  constant_.insert(n);
  bind(t, n);
  return n;
}

// The node that computes a symbolic number from the sizes of the inputs.
Node* Tracer::node_of(const Expr& e) {
  if (const auto found = numbers_.find(e); found != numbers_.end()) return found->second;
  Node* n = make_number(e);
  n->meta = number_of(e);
  numbers_.emplace(e, n);
  return n;
}
Argument Tracer::operand(const Expr& raw) {
  GuardEnv* env = current_guard_env();
  const Expr e = env ? env->simplify(raw) : raw;
  if (!e.is_const()) return node_of(e);
  return e.dtype() == DType::f64 ? Argument(Value(e->f)) : Argument(Value(e->i));
}

Node* Tracer::make_number(const Expr& e) {
  if (e.op() == ExprOp::Sym) {
    const auto source = symbols_.find(e);
    if (source == symbols_.end() && outer_) {
      captured_.push_back(Int(e));
      return graph_.attribute(text("_size_", e));  // made an input before the graph is used
    }
    INGOT_REQUIRE(source != symbols_.end(), "trace: the size ", e,
                  " is no size of an input or of a result, so the graph cannot compute it; give the "
                  "function a tensor that has it");
    return graph_.call(op_ref<"sym_size.int">(), {source->second.node, Value(source->second.dim)}, "sym_size_int");
  }
  if (e.op() == ExprOp::Cast && e.arg(0).dtype() == DType::b8) return node_of(e.arg(0));  // a truth value counts as a number
  // A quotient rounded down is one node.
  if (e.op() == ExprOp::Floor && e.arg(0).op() == ExprOp::FDiv)
    return graph_.scalar(ScalarFunction::floordiv, {operand(e.arg(0).arg(0)), operand(e.arg(0).arg(1))});
  if (e.args().size() == 1) return graph_.scalar(function_of(e), {operand(e.arg(0))});
  if (e.op() == ExprOp::Select) return graph_.scalar(function_of(e), {operand(e.arg(0)), operand(e.arg(1)), operand(e.arg(2))});
  Argument result = operand(e.arg(0));
  for (std::size_t k = 1; k < e.args().size(); k++) {
    Node* n = graph_.scalar(function_of(e), {result, operand(e.arg(k))});
    n->meta = number_of(rebuild(e, e.args().first(k + 1)));  // a part of a longer sum is a value like any other
    result = n;
  }
  INGOT_ENSURE(result.is_node(), "a size cannot be ", e);
  return result.node();
}

}  // namespace ingot
