#include "program/tree_spec.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "io/dense.hpp"
#include "io/json_writer.hpp"

namespace ingot {

namespace {

using namespace tree_types;

// An enum member is opaque text.
Value key_of(const Json& j) {
  if (j.is_object()) {
    if (j.optional("__enum__") && j.optional("fqn") && j.optional("name"))
      return text(j.field("fqn").string(), ".", j.field("name").string());
    return j.dump();
  }
  if (j.is_list()) return j.dump();
  if (j.is_null()) return {};
  if (j.is_string()) return j.string();
  if (j.is_bool()) return j.boolean();
  return j.is_integer() ? Value(j.integer()) : Value(j.real());
}
Values keys_of(const Json& array) { return array.map(key_of); }

// The JSON inside a string, if it is any.
std::optional<JsonDocument> inner_document(const Json& context, const std::string& what) {
  try {
    if (context.is_string()) return std::optional<JsonDocument>(std::in_place, context.string(), what);
  } catch (const UserError&) {  // contexts of unknown types are free
  }
  return std::nullopt;
}

// Names of the children of a type nobody told us about: dataclasses say [field names, absent
// names].
Values field_names(const Json& context, std::size_t children) {
  if (!context.is_list()) return {};
  if (context.size() != 2) return {};
  const auto parts = context.list();
  if (!parts[0].is_list() || parts[0].size() != children) return {};
  return keys_of(parts[0]);
}

class SpecReader {
 public:
  SpecReader(const Json& where, const NamedTupleFields& fields) : what_(where.path()), fields_(fields) {}

  TreeSpec read(const Json& j) const {
    TreeSpec s;
    const auto type = j.optional("type");
    s.children = j.field("children_spec").map([&](const Json& child) { return read(child); });
    if (!type) {
      if (!s.children.empty()) j.fail("a leaf has no children");
      return s;
    }
    s.type = type->string();
    if (s.type.empty()) type->fail("the type has no name");
    const auto context = j.optional("context");
    s.context = context ? context->dump() : "null";
    if (context) s.keys = keys(s, *context);
    const bool numbered = s.keys.empty() && !s.is_mapping();
    if (!numbered && s.keys.size() != s.children.size())
      j.fail(text(s.type, " has ", s.keys.size(), " keys and ", s.children.size(), " children"));
    return s;
  }

 private:
  const std::string what_;
  const NamedTupleFields& fields_;

  Values keys(const TreeSpec& s, const Json& context) const {
    if (s.type == kTuple || s.type == kList || s.type == kDeque) return {};
    if (s.type == kDefaultDict) return default_dict_keys(context);
    if (s.type == kNamedTuple && context.is_string()) {
      const std::string name = context.string();
      const auto it = std::find_if(fields_.begin(), fields_.end(), [&](const auto& f) { return f.first == name; });
      return it == fields_.end() ? Values() : Values(it->second.begin(), it->second.end());
    }
    const bool is_dict = s.type == kDict || s.type == kOrderedDict;
    if (!context.is_string()) return is_dict ? keys_of(context) : field_names(context, s.children.size());
    const auto document = inner_document(context, what_);
    if (!document) {
      if (is_dict) context.fail(text("the keys of ", s.type, " should be JSON"));
      return {};
    }
    return is_dict ? keys_of(document->root()) : field_names(document->root(), s.children.size());
  }

  Values default_dict_keys(const Json& context) const {
    if (!context.is_string()) return keys_of(context.field("dict_context"));
    const auto document = inner_document(context, what_);
    if (!document) context.fail("the context of a defaultdict should be JSON");
    return keys_of(document->root().field("dict_context"));
  }
};

// The context of a spec that no file brought along: a text with JSON in it, the keys of a dict or
// null.
std::string made_context(const TreeSpec& spec) {
  if (!spec.is_mapping()) return json_string("null");
  JsonWriter keys;
  keys.begin_list();
  for (const Value& k : spec.keys) k.is_string() ? keys.value(k.string()) : keys.raw(to_text(k));
  keys.end();
  return json_string(keys.take());
}

void write(const TreeSpec& spec, JsonWriter& w) {
  w.begin_object();
  if (spec.is_leaf()) {
    w.key("type").null();
    w.key("context").null();
  } else {
    w.key("type").value(spec.type);
    w.key("context").raw(spec.context.empty() ? made_context(spec) : spec.context);
  }
  w.key("children_spec").begin_list();
  for (const TreeSpec& child : spec.children) write(child, w);
  w.end();
  w.end();
}

}  // namespace

TreeSpec read_tree_spec(const Json& where, const NamedTupleFields& fields) {
  const JsonDocument document(where.string(), where.path());
  const Json root = document.root();
  if (root.size() != 2) where.fail(text("expected [protocol, tree], found a list of ", root.size()));
  const auto parts = root.list();
  if (const int64_t protocol = parts[0].integer(); protocol != 1)
    where.fail(text("tree spec protocol ", protocol, " is not supported; this reader knows 1"));
  return SpecReader(where, fields).read(parts[1]);
}

std::string tree_spec_text(const TreeSpec& spec) {
  JsonWriter w;
  w.begin_list().value(1);
  write(spec, w);
  w.end();
  return w.take();
}

}  // namespace ingot
