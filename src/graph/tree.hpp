// Nested arguments and results of a program: containers with tensors and numbers for leaves. Graphs
// and exported programs take and return flat lists; a TreeSpec says how callers nest them.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "op/value.hpp"

namespace ingot {

// PyTorch's names of the container types.
namespace tree_types {
inline constexpr std::string_view kTuple = "builtins.tuple", kList = "builtins.list", kDict = "builtins.dict",
                                  kOrderedDict = "collections.OrderedDict", kDefaultDict = "collections.defaultdict",
                                  kDeque = "collections.deque", kNamedTuple = "collections.namedtuple";
}

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

// What a leaf is called: the name, then ['key'] and [i] on the way to it. In order of the leaves.
// Long keys are cut, and long ways end in "…": names are for people, and a tree may have many
// leaves deep down.
std::vector<std::string> leaf_names(const TreeSpec& spec, const std::string& name);

// The leaves of `tree` in the order of `spec`; a dict's children may come in any order. User error
// naming the place (`name` and what follows) where the tree is another than the spec's, with
// missing and extra keys.
Values flatten(const Tree& tree, const TreeSpec& spec, const std::string& name);
// The leaves in order, and the shape they stood in.
struct FlatTree {
  Values leaves;
  TreeSpec spec;
};
FlatTree flatten(const Tree& tree);
// The tree of `spec` with these leaves, one for each.
Tree unflatten(Args leaves, const TreeSpec& spec);

}  // namespace ingot
