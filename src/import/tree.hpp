// Nested arguments and results of a program: containers with tensors and numbers for leaves. An exported program takes
// and returns flat lists; its TreeSpecs say how callers nest them (section 12 of the format's description).
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/json.hpp"
#include "op/value.hpp"

namespace ingot {

// One value, or a container: a tuple or list of children, or a dict whose children have keys.
class Tree {
 public:
  Tree() = default;  // None, which is a leaf
  Tree(Value leaf) : leaf_(std::move(leaf)) {}
  Tree(const Tensor& leaf) : leaf_(leaf) {}
  static Tree tuple(std::vector<Tree> children);
  static Tree list(std::vector<Tree> children);
  static Tree dict(std::vector<std::pair<Value, Tree>> entries);
  // A container of another registered type; without keys its children are numbered.
  static Tree container(std::string type, Values keys, std::vector<Tree> children);

  bool is_leaf() const { return type_.empty(); }
  const std::string& type() const { return type_; }  // "builtins.tuple", …; empty for a leaf
  const Value& leaf() const { return leaf_; }
  const Values& keys() const { return keys_; }  // of a dict, or the names of a namedtuple's fields
  const std::vector<Tree>& children() const { return children_; }
  // By position, or by key; user error for one that is not there.
  const Tree& operator[](std::size_t i) const;
  const Tree& at(const Value& key) const;

 private:
  Value leaf_;
  std::string type_;
  Values keys_;
  std::vector<Tree> children_;
};

// The shape of a Tree.
struct TreeSpec {
  std::string type;     // empty: a leaf
  std::string context;  // JSON text: keys and whatever else the type needs, as the file has it
  Values keys;          // of dicts, and names of fields where the context tells them; else empty
  std::vector<TreeSpec> children;

  bool is_leaf() const { return type.empty(); }
  bool is_mapping() const;  // a dict, whose children may be given in any order
  std::size_t leaves() const;
};

// Names of the fields of namedtuples, by registered type name.
using NamedTupleFields = std::vector<std::pair<std::string, std::vector<std::string>>>;

// Reads the text of in_spec or out_spec, a two-element array [1, tree]. `where` is the field that holds it, for messages.
TreeSpec read_tree_spec(const Json& where, const NamedTupleFields& fields);
// The text again.
std::string tree_spec_text(const TreeSpec& spec);

// What a leaf is called: the name, then ['key'] and [i] on the way to it. In order of the leaves. Long keys are cut, and long
// ways end in "…": names are for people, and a tree may have many leaves deep down.
std::vector<std::string> leaf_names(const TreeSpec& spec, const std::string& name);

// The leaves of `tree` in the order of `spec`; a dict's children may come in any order. User error naming the place (`name`
// and what follows) where the tree is another than the spec's, with missing and extra keys.
Values flatten(const Tree& tree, const TreeSpec& spec, const std::string& name);
// The tree of `spec` with these leaves, one for each.
Tree unflatten(Args leaves, const TreeSpec& spec);

}  // namespace ingot
