#include "graph/tree.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace ingot {

namespace {

using namespace tree_types;

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
  return t.is_leaf() ? std::string(t.leaf().kind_name()) : text("a ", short_type(t.type()), " of ", t.children().size());
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
  INGOT_REQUIRE(!tree.is_leaf(), "input ", name, " must be a ", short_type(spec.type), " of ", spec.children.size(), ", got ",
                kind_of(tree));
  if (spec.keys.empty() || tree.keys().empty()) {
    const bool is_numbered = !spec.is_mapping() || spec.children.empty();  // a dict without keys has no children to name
    INGOT_REQUIRE(tree.keys().empty() && is_numbered && tree.children().size() == spec.children.size(), "input ", name,
                  " must be a ", short_type(spec.type), " of ", spec.children.size(), ", got ", kind_of(tree));
    for (std::size_t i = 0; i < spec.children.size(); i++)
      add_leaves(tree.children()[i], spec.children[i], child_name(name, spec, i), out);
    return;
  }
  Values missing, extra;
  for (const Value& k : spec.keys)
    if (find(tree, k) == nullptr) missing.push_back(k);
  for (const Value& k : tree.keys())
    if (std::none_of(spec.keys.begin(), spec.keys.end(), [&](const Value& s) { return s.same(k); })) extra.push_back(k);
  INGOT_REQUIRE(missing.empty() && extra.empty(), "input ", name, ":", missing.empty() ? "" : " missing keys " + listed(missing),
                missing.empty() || extra.empty() ? "" : ",", extra.empty() ? "" : " unexpected keys " + listed(extra));
  for (std::size_t i = 0; i < spec.children.size(); i++)
    add_leaves(*find(tree, spec.keys[i]), spec.children[i], child_name(name, spec, i), out);
}

Tree take_leaves(Args leaves, std::size_t& next, const TreeSpec& spec) {
  if (spec.is_leaf()) return leaves[next++];
  std::vector<Tree> children;
  for (const TreeSpec& child : spec.children) children.push_back(take_leaves(leaves, next, child));
  return Tree::container(spec.type, spec.keys, std::move(children));
}

}  // namespace

Tree Tree::container(std::string type, Values keys, std::vector<Tree> children) {
  INGOT_ENSURE(keys.empty() || keys.size() == children.size(), type, " with ", keys.size(), " keys for ", children.size());
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

namespace {
void flatten_into(const Tree& tree, Values& leaves, TreeSpec& spec) {
  spec.type = tree.type();
  spec.keys = tree.keys();
  if (tree.is_leaf()) return leaves.push_back(tree.leaf());
  spec.children.resize(tree.children().size());
  for (std::size_t i = 0; i < spec.children.size(); i++) flatten_into(tree.children()[i], leaves, spec.children[i]);
}
}  // namespace

FlatTree flatten(const Tree& tree) {
  FlatTree flat;
  flatten_into(tree, flat.leaves, flat.spec);
  return flat;
}

Tree unflatten(Args leaves, const TreeSpec& spec) {
  INGOT_REQUIRE(leaves.size() == spec.leaves(), "the tree has ", spec.leaves(), " leaves, found ", leaves.size(), " values");
  std::size_t next = 0;
  return take_leaves(leaves, next, spec);
}

}  // namespace ingot
