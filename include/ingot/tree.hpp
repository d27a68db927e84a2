// Nested arguments and results of a function: containers with tensors, numbers and other values for
// leaves.
//
//   Tree::tuple({x, Tree::dict({{"mask", mask}})})
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingot/value.hpp"

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

using TreeFunction = std::function<Tree(const Tree&)>;

}  // namespace ingot
