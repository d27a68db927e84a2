#include "aot/cache_entry.hpp"

#include <algorithm>

#include "aot/metadata_record.hpp"
#include "base/error.hpp"
#include "graph/text.hpp"
#include "io/json.hpp"
#include "io/json_writer.hpp"
#include "ops/sparse/sparse_tensor.hpp"

namespace ingot::aot {
namespace {

constexpr int kVersion = 3;

template <class List>
void write_list(JsonWriter& w, std::string_view name, const List& list) {
  w.key(name).begin_list();
  for (const auto& v : list) w.value(v);
  w.end();
}
template <class T>
std::vector<T> integers(const Json& list) {
  return list.map([](const Json& j) {
    const int64_t v = j.integer();
    if (v < (std::is_signed_v<T> ? -1 : 0) || v > int64_t{1} << 30) j.fail("expected the number of a place");
    return static_cast<T>(v);
  });
}

// ---- views: a graph of the steps, of one input

std::string view_text(const std::vector<ViewStep>& steps) {
  Graph g;
  Node* at = g.placeholder("base");
  for (const ViewStep& s : steps) {
    std::vector<Argument> args{at};
    for (std::size_t k = 1; k < s.args.size(); k++) {
      const Value& v = s.args[k];
      INGOT_REQUIRE(!v.is_tensor() && !(v.is_int() && v.to_int().is_symbolic()) &&
                        !(v.is_float() && v.to_float().is_symbolic()) && !(v.is_ints() && v.ints().is_symbolic()),
                    "a view by ", s.op->qualified(), " depends on more than its base");
      args.emplace_back(v);
    }
    at = g.call(*s.op, std::move(args));
    if (s.op->returns_list()) at = g.item(at, s.out);
  }
  g.outputs = {at};
  g.returns = Graph::Returns::bare;
  return print(g);
}

void write_steps(JsonWriter& w, const std::vector<ViewStep>& steps) {
  if (steps.empty()) return;
  w.field("view", view_text(steps));
  w.key("in_place").begin_list();
  for (const ViewStep& s : steps) w.value(s.in_place ? s.in_place->name : std::string());
  w.end();
  w.key("retyped").begin_list();
  for (const ViewStep& s : steps) w.value(s.retyped);
  w.end();
}

std::vector<ViewStep> read_steps(const Json& j) {
  const std::optional<Json> view = j.optional("view");
  if (!view) return {};
  const Graph g = parse_graph(view->string(), {.file = view->path()});
  std::vector<ViewStep> steps;
  for (const auto& n : g.nodes()) {
    if (n->kind == NodeKind::placeholder) continue;
    if (n->kind == NodeKind::item && !steps.empty()) {
      steps.back().out = n->index;
      continue;
    }
    if (n->kind != NodeKind::call || !n->op->is_view()) view->fail("expected views alone, found " + n->name);
    ViewStep s{n->op, Values(1)};
    for (std::size_t k = 1; k < n->args.size(); k++) {
      if (!n->args[k].is_value()) view->fail("expected constant arguments of " + n->name);
      s.args.push_back(n->args[k].value());
    }
    steps.push_back(std::move(s));
  }
  const std::vector<Json> in_place = j.field("in_place").list();
  const std::vector<Json> retyped = j.field("retyped").list();
  if (in_place.size() != steps.size() || retyped.size() != steps.size())
    view->fail("expected as many steps as ops in place and as said to be retyped");
  for (std::size_t k = 0; k < steps.size(); k++) {
    if (const std::string name = in_place[k].string(); !name.empty()) steps[k].in_place = &op(name);
    steps[k].retyped = retyped[k].boolean();
  }
  return steps;
}

// ---- what the function does

void write(JsonWriter& w, const Metadata& m) {
  w.key("inputs").begin_list();
  for (const InputInfo& i : m.inputs) {
    w.begin_object().field("is_tensor", i.is_tensor);
    for (const InputField& f : input_fields())
      if (i.*f.value) w.field(f.name, true);
    if (i.refers_to_storage) w.field("refers_to_storage", true);
    write_steps(w, i.steps);
    w.end();
  }
  w.end().key("outputs").begin_list();
  for (const OutputInfo& o : m.outputs) {
    w.begin_object()
        .field("kind", static_cast<int>(o.kind))
        .field("is_tensor", o.is_tensor)
        .field("base", o.base)
        .field("requires_grad", o.requires_grad);
    w.field("multi_output", o.multi_output).field("can_replay", o.can_replay).field("older_steps", o.older_steps);
    w.field("stands_in_for_input", o.stands_in_for_input).field("stands_in_for_output", o.stands_in_for_output);
    w.field("stand_in_by", o.stand_in_by);
    write_list(w, "dynamic_dims", o.dynamic_dims);
    write_steps(w, o.steps);
    w.end();
  }
  w.end()
      .field("tokens", m.tokens)
      .field("intermediate_bases", m.intermediate_bases)
      .field("keep_mutations", m.keep_mutations)
      .field("has_wrappers", m.has_wrappers);
  w.field("is_train", m.is_train);
  write_list(w, "static_parameters", m.static_parameters);
  if (m.grad_mode) w.field("grad_mode", *m.grad_mode);
}

Metadata read_metadata(const Json& j) {
  Metadata m;
  m.inputs = j.field("inputs").map([](const Json& in) {
    InputInfo i;
    i.is_tensor = in.field("is_tensor").boolean();
    for (const InputField& f : input_fields())
      if (const auto v = in.optional(f.name)) i.*f.value = v->boolean();
    if (const auto v = in.optional("refers_to_storage")) i.refers_to_storage = v->boolean();
    i.steps = read_steps(in);
    const bool looks_change = i.mutates_metadata && i.mutation() == Mutation::out_of_graph;
    for (const ViewStep& s : i.steps)
      if (looks_change && !s.in_place) in.fail("expected views that an input went through in place");
    return i;
  });
  m.outputs = j.field("outputs").map([](const Json& out) {
    OutputInfo o;
    const int64_t kind = out.field("kind").integer();
    if (kind < 0 || kind > static_cast<int>(OutputKind::custom_function_view))
      out.fail("expected the number of a kind of output");
    o.kind = static_cast<OutputKind>(kind);
    o.is_tensor = out.field("is_tensor").boolean();
    o.base = static_cast<int>(out.field("base").integer());
    o.requires_grad = out.field("requires_grad").boolean();
    o.multi_output = out.field("multi_output").boolean();
    o.can_replay = out.field("can_replay").boolean();
    o.stands_in_for_input = static_cast<int>(out.field("stands_in_for_input").integer());
    o.stands_in_for_output = static_cast<int>(out.field("stands_in_for_output").integer());
    o.stand_in_by = out.field("stand_in_by").string();
    const bool is_stand_in = o.stands_in_for_input >= 0 || o.stands_in_for_output >= 0;
    if (is_stand_in && (!o.is_tensor || !find_op(o.stand_in_by))) out.fail("expected an op that makes what stands in for a view");
    o.dynamic_dims = integers<int>(out.field("dynamic_dims"));
    o.steps = read_steps(out);
    o.older_steps = static_cast<std::size_t>(out.field("older_steps").integer());
    if (o.older_steps > o.steps.size()) out.fail("expected no more old steps than steps");
    return o;
  });
  m.tokens = static_cast<int>(j.field("tokens").integer());
  if (m.tokens < 0 || m.tokens > 1) j.fail("expected one kind of effects, or none");
  m.intermediate_bases = static_cast<int>(j.field("intermediate_bases").integer());
  m.keep_mutations = j.field("keep_mutations").boolean();
  m.has_wrappers = j.field("has_wrappers").boolean();
  m.is_train = j.field("is_train").boolean();
  m.static_parameters = integers<int>(j.field("static_parameters"));
  if (const auto mode = j.optional("grad_mode")) m.grad_mode = mode->boolean();
  for (const OutputInfo& o : m.outputs) {
    const bool refers = o.is_made_again() || o.kind == OutputKind::is_input || o.base >= 0;
    const int count = o.base_is_input()                                                 ? static_cast<int>(m.inputs.size())
                      : o.kind == OutputKind::alias_of_intermediate_base_is_user_output ? static_cast<int>(m.outputs.size())
                                                                                        : m.intermediate_bases;
    if (refers && (o.base < 0 || o.base >= count))
      j.fail(text("expected the base of an output among ", count, ", found ", o.base));
    if (o.stands_in_for_input >= static_cast<int>(m.inputs.size()) ||
        o.stands_in_for_output >= static_cast<int>(m.outputs.size()))
      j.fail("expected an input or an output that an output stands in for");
  }
  return m;
}

// ---- wrappers

using Classes = std::map<std::string, Ref<const WrapperClass>>;

void add_classes(const WrapperLayout& l, Classes& classes) {
  if (!l.cls) return;
  classes.emplace(l.cls->name(), l.cls);
  for (const WrapperLayout& i : l.inner) add_classes(i, classes);
}
Classes classes_of(const DenseLayout& arguments) {
  Classes classes;
  for (std::size_t k = 0; k < arguments.outer_size(); k++) add_classes(arguments[k], classes);
  classes.emplace(sparse_class()->name(), sparse_class());  // what gradients of plain tensors may be
  return classes;
}

void write(JsonWriter& w, const Shape& s) {
  INGOT_REQUIRE(!s.is_symbolic(), "a wrapper tensor has open sizes");
  w.begin_list();
  for (const Int i : s) w.value(i.value());
  w.end();
}
void write(JsonWriter& w, const WrapperLayout& l, const Classes& classes) {
  if (!l.cls) {
    w.null();
    return;
  }
  const auto known = classes.find(l.cls->name());
  INGOT_REQUIRE(known != classes.end() && known->second == l.cls, "no argument is a ", l.cls->name(),
                ", so that nobody who reads the entry knows the class");
  INGOT_REQUIRE(l.metadata.is_none() || (l.metadata.is_int() && l.metadata.to_int().is_number()), "the metadata of ",
                l.cls->name(), " have no text");
  w.begin_object().field("class", l.cls->name());
  w.key("sizes");
  write(w, l.sizes);
  w.key("strides");
  write(w, l.strides);
  if (!l.metadata.is_none()) w.field("metadata", l.metadata.to_int().value());
  w.key("inner").begin_list();
  for (const WrapperLayout& i : l.inner) write(w, i, classes);
  w.end().end();
}
void write(JsonWriter& w, std::string_view name, const DenseLayout& l, const Classes& classes) {
  w.key(name).begin_list();
  for (std::size_t k = 0; k < l.outer_size(); k++) write(w, l[k], classes);
  w.end();
}

WrapperLayout read_layout(const Json& j, const Classes& classes) {
  if (j.is_null()) return {};
  WrapperLayout l;
  const auto cls = classes.find(j.field("class").string());
  if (cls == classes.end()) j.fail("no argument is of this wrapper class");
  l.cls = cls->second;
  const auto shape = [](const Json& list) { return Shape(list.map([](const Json& i) { return i.integer(); })); };
  l.sizes = shape(j.field("sizes"));
  l.strides = shape(j.field("strides"));
  if (const auto metadata = j.optional("metadata")) l.metadata = metadata->integer();
  l.inner = j.field("inner").map([&](const Json& i) { return read_layout(i, classes); });
  if (l.inner.size() != l.cls->inner_names(l.metadata).size()) j.fail("expected as many inner tensors as the class has");
  return l;
}

}  // namespace

std::string to_json(const CacheEntry& e, const DenseLayout& arguments) {
  const Classes classes = classes_of(arguments);
  const Assembly& a = e.assembly;
  JsonWriter w;
  w.begin_object().field("version", kVersion).field("forward", e.forward).field("backward", e.backward);
  w.key("guards").begin_list();
  for (const CacheEntry::Condition& c : e.guards) w.begin_object().field("condition", c.text).field("answer", c.answer).end();
  w.end();
  write_list(w, "places", a.dedupe.places());
  const SyntheticBase::State& bases = a.bases.state();
  w.key("bases").begin_list();
  for (const SyntheticBase::Argument& b : bases.arguments) {
    w.begin_object().field("is_base", b.is_base);
    write_list(w, "members", b.members);
    w.end();
  }
  w.end();
  write_list(w, "looks_changed", bases.looks_changed);
  w.field("saved_tensors", a.saved_tensors).field("writes_tracked", a.writes_tracked).field("backward_writes", a.backward_writes);
  w.key("without_gradient").begin_list();
  for (const bool none : a.without_gradient) w.value(none);
  w.end();
  write(w, "input_layouts", a.layouts.inputs, classes);
  write(w, "returned_layouts", a.layouts.returned, classes);
  write(w, "tangent_layouts", a.layouts.tangents, classes);
  write(w, "gradient_layouts", a.layouts.gradients, classes);
  write(w, a.meta);
  w.end();
  return w.take();
}

CacheEntry read_entry(const std::string& json, const std::string& what, const DenseLayout& arguments, int params_and_buffers,
                      int id) {
  const JsonDocument document(json, what);
  const Json j = document.root().of("cache entry");
  if (j.field("version").integer() != kVersion) j.fail(text("expected version ", kVersion));
  const Classes classes = classes_of(arguments);
  const auto layouts = [&](std::string_view name) {
    return DenseLayout(j.field(name).map([&](const Json& l) { return read_layout(l, classes); }));
  };
  SyntheticBase::State bases;
  const auto place = [&](const Json& list) {
    std::vector<std::size_t> places = integers<std::size_t>(list);
    for (const std::size_t p : places)
      if (p >= arguments.outer_size()) list.fail(text("expected places among ", arguments.outer_size(), " arguments"));
    return places;
  };
  bases.arguments = j.field("bases").map([&](const Json& b) {
    SyntheticBase::Argument a{place(b.field("members")), b.field("is_base").boolean()};
    if (a.members.empty()) b.fail("expected members of a base");
    return a;
  });
  bases.looks_changed = place(j.field("looks_changed"));
  std::vector<std::size_t> places = place(j.field("places"));
  if (!places.empty() && places.size() != arguments.outer_size())
    j.field("places").fail(text("expected ", arguments.outer_size(), " places"));
  CacheEntry e{j.field("forward").string(),
               j.field("backward").string(),
               {read_metadata(j),
                Dedupe(std::move(places), params_and_buffers, id),
                SyntheticBase(std::move(bases)),
                {},
                0,
                false,
                false,
                {}},
               {}};
  Assembly& a = e.assembly;
  a.layouts = {layouts("input_layouts"), layouts("returned_layouts"), layouts("tangent_layouts"), layouts("gradient_layouts")};
  a.saved_tensors = static_cast<int>(j.field("saved_tensors").integer());
  a.writes_tracked = j.field("writes_tracked").boolean();
  a.backward_writes = j.field("backward_writes").boolean();
  a.without_gradient = j.field("without_gradient").map([](const Json& b) { return b.boolean(); });
  e.guards = j.field("guards").map(
      [](const Json& g) { return CacheEntry::Condition{g.field("condition").string(), g.field("answer").boolean()}; });
  if (a.meta.is_train != !e.backward.empty() || (a.meta.is_train && a.without_gradient.size() != a.meta.inputs.size()))
    j.fail("expected a backward, and whose gradients it has, where the function has gradients");
  return e;
}

}  // namespace ingot::aot
