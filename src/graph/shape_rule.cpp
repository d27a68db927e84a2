#include "graph/shape_rule.hpp"

#include <optional>
#include <unordered_map>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "expr/guards.hpp"
#include "op/call.hpp"
#include "op/data_dependent.hpp"
#include "op/side_effects.hpp"
#include "op/tensors.hpp"

namespace ingot {
namespace {

// What a rule asks that nobody can answer here. No UserError: it is nobody's fault.
struct Undecided {};

// Answers nothing: what follows from ranges is folded before an environment is asked, and the
// environment that a graph was traced in is not there, or not this graph's.
class NoAnswers final : public GuardEnv {
 public:
  bool decide(const Expr&) override { throw Undecided(); }
  int64_t specialise(const Expr&) override { throw Undecided(); }
  std::optional<bool> known(const Expr&) override { return std::nullopt; }
  // So that a rule with a way to go on where only data decides does not take it: for another size
  // the trace went another way.
  bool needs_data(const Expr&) const override { return false; }
  bool assume(const Expr&, const std::string&) override { return true; }
  void defer(const Expr&, const std::string&) override {}
  Expr simplify(const Expr& e) override { return e; }
  Int fresh_symbol(int64_t, int64_t, bool) override { throw Undecided(); }
  Float fresh_float() override { throw Undecided(); }
  void becomes_size(const Expr&) override {}
};

// Fakes of what is recorded, which a call may change: tensors of one storage share one.
class Fakes {
 public:
  Tensor operator()(const Tensor& t) {
    Ref<Storage>& storage = storages_[t->storage.get()];
    if (!storage) storage = Storage::fake(t->storage->nbytes(), t->device());
    return Tensor(make_ref<TensorImpl>(storage, t->geom));
  }

 private:
  std::unordered_map<const Storage*, Ref<Storage>> storages_;
};

const Tensor* attribute_of(const Graph& g, const Node& n) {
  const Attribute* a = n.kind == NodeKind::attribute ? g.find_attribute(n.target) : nullptr;
  return a ? std::get_if<Tensor>(a) : nullptr;
}

// What is recorded of the argument; none where something is missing.
std::optional<Value> recorded(const Graph& g, const Argument& a) {
  if (a.is_value()) return a.value();
  if (a.is_node()) {
    const Node& n = *a.node();
    if (!n.meta.is_none()) return n.meta;
    const Tensor* attribute = attribute_of(g, n);
    return attribute ? std::optional<Value>(*attribute) : std::nullopt;
  }
  Values elements;
  for (const Argument& e : a.elements()) {
    std::optional<Value> v = recorded(g, e);
    if (!v) return std::nullopt;
    elements.push_back(std::move(*v));
  }
  return list_value(std::move(elements));
}

// Whether what the op makes follows from what its operands look like, by a rule that may be asked
// at any time.
bool has_rule(const Op& op) {
  return op.form() != Form::higher_order && !depends_on_data(op) && !op.def->result.is_wrapper && !op.def->effects.ordered &&
         !op.schema.results.empty();
}

// What the op makes of these; none where it asks what nobody can answer. User error where it
// refuses them.
std::optional<Value> made(const Op& op, Args recorded) {
  NoAnswers nobody;
  const GuardScope sizes(nobody);
  ThreadState& state = thread_state();
  const Scoped<Layer> rules_alone(state.layer, Layer::kernel);
  const Scoped<bool> fakes(state.fake_factories, true), as_written(state.exporting, false);
  const Scoped<ProgramListener*> unheard(program_listener(), nullptr);
  Fakes fake;
  try {
    return call(op, map_tensors(recorded, [&](const Tensor& t) { return fake(t); }));
  } catch (const Undecided&) {
    return std::nullopt;
  }
}

bool differ(Int a, Int b) {
  if (a.is_number() && b.is_number()) return !a.same(b);
  NoAnswers nobody;
  const GuardScope sizes(nobody);
  try {
    return !(a == b);
  } catch (const Undecided&) {
    return false;
  }
}
bool differ(const Shape& a, const Shape& b) {
  if (a.size() != b.size()) return true;
  for (std::size_t d = 0; d < a.size(); d++)
    if (differ(a[d], b[d])) return true;
  return false;
}
// The stride of a dim says something where there are two elements along it.
bool strides_differ(const Geometry& a, const Geometry& b) {
  for (const Int size : a.sizes)
    if (size.same(0)) return false;
  for (std::size_t d = 0; d < a.sizes.size(); d++)
    if (!a.sizes[d].same(1) && differ(a.strides[d], b.strides[d])) return true;
  return false;
}

std::string described(const Value& v) {
  if (!v.is_tensor()) return v.is_number() ? to_text(v) : std::string(v.kind_name());
  const Tensor& t = v.tensor();
  return text(short_name_of(t.dtype()), t.sizes(), t.strides(), t.device());
}

bool records_differ(const Value& a, const Value& b, GraphForm form) {
  if (a.is_tensor() && b.is_tensor()) {
    const Tensor &x = a.tensor(), &y = b.tensor();
    if (x.dtype() != y.dtype() || differ(x.sizes(), y.sizes())) return true;
    return form == GraphForm::full && (x.device() != y.device() || strides_differ(x->geom, y->geom));
  }
  if (a.is_int() && b.is_int()) return differ(a.to_int(), b.to_int());
  if (a.is_number() && b.is_number()) return false;
  return a.is_tensor() || b.is_tensor() || a.is_number() || b.is_number();
}

// Who says something else than the record: "attribute w", which "is" it.
struct Truth {
  std::string who;
  std::string_view does;
};

// `which`: " element 1", or empty.
std::string difference(const Value& recorded, const Value& said, GraphForm form, const Truth& by, const std::string& which = {}) {
  const auto is_list = [](const Value& v) { return v.is_tensors() || v.is_values(); };
  if (is_list(recorded) && is_list(said)) {
    const Values a = list_elements(recorded), b = list_elements(said);
    if (a.size() != b.size()) return text("records", which, " ", a.size(), " values, and ", by.who, " ", by.does, " ", b.size());
    for (std::size_t k = 0; k < a.size(); k++)
      if (std::string d = difference(a[k], b[k], form, by, text(which, " element ", k)); !d.empty()) return d;
    return {};
  }
  if (!records_differ(recorded, said, form)) return {};
  return text("records", which, " ", described(recorded), ", and ", by.who, " ", by.does, " ", described(said));
}

std::string call_fault(const Graph& g, const Node& n, GraphForm form) {
  if (!has_rule(*n.op)) return {};
  Values operands;
  for (const Argument& a : n.args) {
    std::optional<Value> v = recorded(g, a);
    if (!v) return {};
    operands.push_back(std::move(*v));
  }
  try {
    const std::optional<Value> result = made(*n.op, operands);
    return result ? difference(n.meta, *result, form, {n.op->qualified(), "makes"}) : "";
  } catch (const UserError& e) {
    if (form != GraphForm::full && n.op->is_view()) return {};  // strides, which it may refuse, are not known
    return text(n.op->qualified(), " refuses what is recorded of its operands: ", e.what());
  }
}

}  // namespace

std::string record_fault(const Graph& g, const Node& n, GraphForm form) {
  if (form == GraphForm::plain || n.meta.is_none()) return {};
  if (n.kind == NodeKind::call) return call_fault(g, n, form);
  if (const Tensor* t = attribute_of(g, n)) return difference(n.meta, *t, form, {text("attribute ", n.target), "is"});
  if (n.kind != NodeKind::item || n.args[0].node()->meta.is_none()) return {};
  const Node& list = *n.args[0].node();
  const Value element = list_elements(list.meta)[static_cast<std::size_t>(n.index)];
  return difference(n.meta, element, form, {text("the list ", list.name), "has"});
}

}  // namespace ingot
