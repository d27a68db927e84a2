// Wrapper tensors and the plain ones that graphs are of (section 12). A list of values is taken
// apart into plain tensors where it goes into a graph, and put together where it comes out; saved
// values stay plain.
#pragma once
#include "op/wrapper_layout.hpp"

namespace ingot::aot {

// How the values of a list are made of plain ones (R161). A value that is no tensor is itself.
class DenseLayout {
 public:
  DenseLayout() = default;
  explicit DenseLayout(const Values& values);
  explicit DenseLayout(std::vector<WrapperLayout> layouts);

  bool has_wrappers() const { return has_wrappers_; }
  std::size_t outer_size() const { return layouts_.size(); }
  std::size_t dense_size() const { return dense_size_; }
  const WrapperLayout& operator[](std::size_t k) const { return layouts_[k]; }
  // Where the plain tensors of value k begin.
  std::size_t first_of(std::size_t k) const { return first_[k]; }
  // Places of the plain tensors of those values that are meant.
  std::vector<int> dense_places(const std::function<bool(std::size_t)>& is_meant) const;
  // The layout of these values of the list.
  DenseLayout at(const std::vector<std::size_t>& places) const;

  // Values of this layout over other plain ones. What was one wrapper, or shared storage, does so
  // again. None stands for a wrapper all of whose tensors are none. User error for another number
  // of them (R165).
  Values wrapped(Values dense) const;

 private:
  std::vector<WrapperLayout> layouts_;
  std::vector<std::size_t> first_;
  std::size_t dense_size_ = 0;
  bool has_wrappers_ = false;
  void add(WrapperLayout layout);
};

bool is_wrapper(const Value& v);
// The plain values, in the order of the layout.
Values unwrapped(const Values& values);

}  // namespace ingot::aot
