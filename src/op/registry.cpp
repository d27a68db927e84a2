#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>

#include "base/error.hpp"
#include "op/call.hpp"
#include "op/make_op.hpp"
#include "op/setup.hpp"
#include "op/upper_layers.hpp"

namespace ingot {
namespace {

// An op is made of its definition when somebody first asks for it: a process uses few of them, and
// to read every schema would take more memory than a small model.
struct Entry {
  const OpDef* def = nullptr;
  std::unique_ptr<Op> op;
};

struct Registry {
  std::shared_mutex mutex;
  std::map<std::string_view, Entry> ops;  // the keys are texts of definitions, or of the ops
  std::set<const Op*> from_outside;
};
Registry& registry() {
  static Registry r;
  return r;
}

thread_local bool sets_up = false;  // the first look-up sets up this process, on this thread

// "aten::add.Tensor" and "add.Tensor" are one key; other namespaces keep their prefix. ".default"
// is no overload.
std::string_view key_of(std::string_view name) {
  if (name.starts_with("aten::")) name.remove_prefix(6);
  if (name.ends_with(".default")) name.remove_suffix(8);
  return name;
}

// What an op with this schema is called.
std::string_view key_of_schema(std::string_view schema) { return key_of(schema.substr(0, schema.find('('))); }

// With the registry locked.
const Op& made(std::string_view key, Entry& entry) {
  if (entry.op) return *entry.op;
  entry.op = make_op(*entry.def, parse_schema(entry.def->schema));
  INGOT_ENSURE(entry.op->name == key, "op ", key, " is called ", entry.op->name);
  return *entry.op;
}

bool same_arg(const SchemaArg& a, const SchemaArg& b) {
  return a.name == b.name && a.type.kind == b.type.kind && a.type.lists == b.type.lists && a.type.optional == b.type.optional;
}
bool same_args(const Schema& a, const Schema& b) {
  return std::equal(a.args.begin(), a.args.end(), b.args.begin(), b.args.end(), same_arg);
}
// Whether `variant` without the arguments it writes by keyword has the functional op's arguments.
bool is_out_of(const Schema& variant, const Schema& functional) {
  std::size_t k = 0;
  for (const SchemaArg& a : variant.args) {
    if (a.type.writes()) continue;
    if (k >= functional.args.size() || !same_arg(a, functional.args[k])) return false;
    k++;
  }
  return k == functional.args.size();
}

// "sub.Tensor" → "sub_.Tensor"
std::string in_place_name(std::string_view functional) {
  const std::size_t end = std::min(functional.find('.'), functional.size());
  return std::string(functional.substr(0, end)) + "_" + std::string(functional.substr(end));
}

// The in-place or out= variant `key` names, if the ATen table has it and its functional op has
// rules.
std::unique_ptr<Op> derive(std::string_view key) {
  const std::string_view base = key.substr(0, key.find('.'));
  for (std::string_view text : find_aten_schemas(base)) {
    Schema s = parse_schema(text);
    if (s.qualified() != key) continue;
    const bool inplace = base.ends_with('_') && !base.ends_with("__") && !s.args.empty() && s.args[0].type.writes();
    const bool out = !inplace && !s.args.empty() && s.args.back().type.writes() && s.args.back().keyword_only;
    if (!inplace && !out) return nullptr;
    const std::string_view stem = inplace ? base.substr(0, base.size() - 1) : base;
    auto from = [&](std::string_view functional_base, auto matches) -> std::unique_ptr<Op> {
      for (std::string_view candidate : find_aten_schemas(functional_base)) {
        const Schema f = parse_schema(candidate);
        if (!matches(f)) continue;
        const Op* functional = find_op(f.qualified());
        if (!functional || functional->variant != Variant::functional || functional->mutates()) continue;
        auto o = make_variant(*functional, inplace ? Variant::inplace : Variant::out, std::move(s));
        if (inplace && !functional->def->same_as.empty()) o->same_as = find_op(in_place_name(functional->def->same_as));
        return o;
      }
      return nullptr;
    };
    if (!inplace) return from(stem, [&](const Schema& f) { return is_out_of(s, f); });
    if (auto o = from(stem, [&](const Schema& f) { return f.overload == s.overload; })) return o;
    // bernoulli_.float is the in-place form of bernoulli.p, normal_ that of normal_functional.
    if (auto o = from(stem, [&](const Schema& f) { return same_args(s, f); })) return o;
    return from(std::string(stem) + "_functional", [&](const Schema& f) { return same_args(s, f); });
  }
  return nullptr;
}

}  // namespace

void register_ops(std::span<const OpDef> defs) {
  Registry& r = registry();
  for (const OpDef& d : defs) {
    std::unique_ptr<Op> outside;
    if (!sets_up) outside = make_op(d, parse_schema(d.schema));  // its user hears at once what is wrong with it
    const std::string_view key = outside ? std::string_view(outside->name) : key_of_schema(d.schema);
    const std::unique_lock lock(r.mutex);
    INGOT_REQUIRE(!r.ops.contains(key), "op ", key, " is defined twice");
    if (outside) r.from_outside.insert(outside.get());
    r.ops.emplace(key, Entry{&d, std::move(outside)});
  }
}

const Op* find_op(std::string_view name) {
  setup_once();
  Registry& r = registry();
  const std::string_view key = key_of(name);
  bool is_defined = false;
  {
    const std::shared_lock lock(r.mutex);
    const auto it = r.ops.find(key);
    is_defined = it != r.ops.end();
    if (is_defined && it->second.op) return it->second.op.get();
  }
  auto derived = is_defined ? nullptr : derive(key);
  if (!is_defined && !derived) return nullptr;
  const std::unique_lock lock(r.mutex);
  if (is_defined) {
    const auto it = r.ops.find(key);
    return &made(it->first, it->second);
  }
  const std::string_view called = derived->name;
  return r.ops.emplace(called, Entry{derived->def, std::move(derived)}).first->second.op.get();
}

const Op& op(std::string_view name) {
  if (const Op* o = find_op(name)) return *o;
  const std::string_view key = key_of(name), base = key.substr(0, key.find('.'));
  std::string known;
  for (const Op* o : all_ops())
    if (o->schema.name == base) known += (known.empty() ? "" : ", ") + o->name;
  throw_user_error(text("unknown op '", name, "'; ",
                        !known.empty() ? "known overloads: " + known
                        : has_upper_layers()
                            ? "`ingot ops` lists what is supported"
                            : "this program has the ops it registers: to have Ingot's it should link ingot_setup"));
}

std::vector<const Op*> all_ops() {
  setup_once();
  Registry& r = registry();
  const std::unique_lock lock(r.mutex);
  std::vector<const Op*> v;
  for (auto& [name, entry] : r.ops)
    if (const Op& o = made(name, entry); o.variant == Variant::functional) v.push_back(&o);
  return v;
}

void setup_once() {
  if (!has_upper_layers()) return;  // there are the ops that somebody registered, and no others
  static std::once_flag once;
  std::call_once(once, [] {
    const Scoped<bool> scope(sets_up, true);
    upper_layers().set_up();
  });
}

bool is_from_outside(const Op& op) {
  Registry& r = registry();
  const std::shared_lock lock(r.mutex);
  return r.from_outside.contains(op.functional ? op.functional : &op);
}

}  // namespace ingot
