// The shapes of nested arguments and results (ingot/tree.hpp). Graphs and exported programs take
// and return flat lists; a TreeSpec says how callers nest them.
#pragma once
#include <string>
#include <vector>

#include "ingot/tree.hpp"

namespace ingot {

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
