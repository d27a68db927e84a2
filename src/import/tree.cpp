#include "import/tree.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "io/json_writer.hpp"
#include "io/dense.hpp"

namespace ingot {

namespace {

constexpr std::string_view kTuple = "builtins.tuple", kList = "builtins.list", kDict = "builtins.dict",
                           kOrderedDict = "collections.OrderedDict", kDefaultDict = "collections.defaultdict",
                           kDeque = "collections.deque", kNamedTuple = "collections.namedtuple";

// An enum member is opaque text.
Value key_of(const Json& j) {
  if (j.is_object()) {
    if (j.optional("__enum__") && j.optional("fqn") && j.optional("name"))
      return text(j.field("fqn").string(), ".", j.field("name").string());
    return j.dump();
  }
  return j.is_list() ? Value(j.dump()) : j.constant();
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

// Names of the children of a type nobody told us about: dataclasses say [field names, absent names].
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

std::string step(const Value& key) {
  if (!key.is_string()) return text("[", to_text(key), "]");
  constexpr std::size_t kLongest = 200;
  const std::string& s = key.string();
  return s.size() <= kLongest ? text("['", s, "']") : text("['", s.substr(0, kLongest), "…']");
}
// The name of child `i` of the container called `name`.
std::string child_name(const std::string& name, const TreeSpec& spec, std::size_t i) {
  constexpr std::size_t kLongest = 2048;
  constexpr std::string_view kCut = "…";
  if (name.size() > kLongest) return name.ends_with(kCut) ? name : text(name.substr(0, kLongest), kCut);
  return name + (i < spec.keys.size() ? step(spec.keys[i]) : text("[", i, "]"));
}

void add_leaf_names(const TreeSpec& spec, const std::string& name, std::vector<std::string>& out) {
  if (spec.is_leaf()) return out.push_back(name);
  for (std::size_t i = 0; i < spec.children.size(); i++) add_leaf_names(spec.children[i], child_name(name, spec, i), out);
}

std::string short_type(std::string_view type) {
  return std::string(type.substr(type.rfind('.') == type.npos ? 0 : type.rfind('.') + 1));
}
std::string kind_of(const Tree& t) {
  return t.is_leaf() ? std::string(t.leaf().kind_name())
                     : text("a ", short_type(t.type()), " of ", t.children().size());
}

std::string listed(const Values& keys) {
  std::string out;
  for (const Value& k : keys) out += (out.empty() ? "" : ", ") + to_text(k);
  return out;
}

const Tree* find(const Tree& tree, const Value& key) {
  for (std::size_t i = 0; i < tree.keys().size(); i++)
    if (tree.keys()[i].same(key)) return &tree.children()[i];
  return nullptr;
}

void add_leaves(const Tree& tree, const TreeSpec& spec, const std::string& name, Values& out) {
  if (spec.is_leaf()) {
    INGOT_REQUIRE(tree.is_leaf(), "input ", name, " must be a single value, got ", kind_of(tree));
    return out.push_back(tree.leaf());
  }
  INGOT_REQUIRE(!tree.is_leaf(), "input ", name, " must be a ", short_type(spec.type), " of ", spec.children.size(),
                ", got ", kind_of(tree));
  if (spec.keys.empty() || tree.keys().empty()) {
    INGOT_REQUIRE(tree.keys().empty() && !spec.is_mapping() && tree.children().size() == spec.children.size(), "input ",
                  name, " must be a ", short_type(spec.type), " of ", spec.children.size(), ", got ", kind_of(tree));
    for (std::size_t i = 0; i < spec.children.size(); i++)
      add_leaves(tree.children()[i], spec.children[i], child_name(name, spec, i), out);
    return;
  }
  Values missing, extra;
  for (const Value& k : spec.keys)
    if (find(tree, k) == nullptr) missing.push_back(k);
  for (const Value& k : tree.keys())
    if (std::none_of(spec.keys.begin(), spec.keys.end(), [&](const Value& s) { return s.same(k); })) extra.push_back(k);
  INGOT_REQUIRE(missing.empty() && extra.empty(), "input ", name, ":",
                missing.empty() ? "" : " missing keys " + listed(missing), missing.empty() || extra.empty() ? "" : ",",
                extra.empty() ? "" : " unexpected keys " + listed(extra));
  for (std::size_t i = 0; i < spec.children.size(); i++)
    add_leaves(*find(tree, spec.keys[i]), spec.children[i], child_name(name, spec, i), out);
}

Tree take_leaves(Args leaves, std::size_t& next, const TreeSpec& spec) {
  if (spec.is_leaf()) return leaves[next++];
  std::vector<Tree> children;
  for (const TreeSpec& child : spec.children) children.push_back(take_leaves(leaves, next, child));
  return Tree::container(spec.type, spec.keys, std::move(children));
}

void write(const TreeSpec& spec, JsonWriter& w) {
  w.begin_object();
  if (spec.is_leaf()) {
    w.key("type").null();
    w.key("context").null();
  } else {
    w.key("type").value(spec.type);
    w.key("context").raw(spec.context);
  }
  w.key("children_spec").begin_list();
  for (const TreeSpec& child : spec.children) write(child, w);
  w.end();
  w.end();
}

}  // namespace

Tree Tree::container(std::string type, Values keys, std::vector<Tree> children) {
  INGOT_ENSURE(keys.empty() || keys.size() == children.size(), type, " with ", keys.size(), " keys for ",
               children.size());
  Tree t;
  t.type_ = std::move(type);
  t.keys_ = std::move(keys);
  t.children_ = std::move(children);
  return t;
}
Tree Tree::tuple(std::vector<Tree> children) { return container(std::string(kTuple), {}, std::move(children)); }
Tree Tree::list(std::vector<Tree> children) { return container(std::string(kList), {}, std::move(children)); }
Tree Tree::dict(std::vector<std::pair<Value, Tree>> entries) {
  Values keys;
  std::vector<Tree> children;
  for (auto& [key, child] : entries) {
    keys.push_back(key);
    children.push_back(std::move(child));
  }
  return container(std::string(kDict), std::move(keys), std::move(children));
}

const Tree& Tree::operator[](std::size_t i) const {
  INGOT_REQUIRE(i < children_.size(), "child ", i, " of ", kind_of(*this));
  return children_[i];
}
const Tree& Tree::at(const Value& key) const {
  const Tree* child = find(*this, key);
  INGOT_REQUIRE(child != nullptr, kind_of(*this), " has no key ", to_text(key));
  return *child;
}

bool TreeSpec::is_mapping() const { return type == kDict || type == kOrderedDict || type == kDefaultDict; }

std::size_t TreeSpec::leaves() const {
  if (is_leaf()) return 1;
  std::size_t n = 0;
  for (const TreeSpec& child : children) n += child.leaves();
  return n;
}

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

std::vector<std::string> leaf_names(const TreeSpec& spec, const std::string& name) {
  std::vector<std::string> out;
  add_leaf_names(spec, name, out);
  return out;
}

Values flatten(const Tree& tree, const TreeSpec& spec, const std::string& name) {
  Values out;
  add_leaves(tree, spec, name, out);
  return out;
}

Tree unflatten(Args leaves, const TreeSpec& spec) {
  INGOT_REQUIRE(leaves.size() == spec.leaves(), "the tree has ", spec.leaves(), " leaves, found ", leaves.size(),
                " values");
  std::size_t next = 0;
  return take_leaves(leaves, next, spec);
}

}  // namespace ingot
