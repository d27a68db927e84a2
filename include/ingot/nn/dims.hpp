// Sizes of windows and the like, as layers take them.
#pragma once
#include <concepts>
#include <initializer_list>

#include "ingot/shape.hpp"

namespace ingot::nn {

// One value for every spatial dim, or one each: 3, {3, 5}.
class Dims {
 public:
  Dims() = default;  // none: what that means is up to the layer
  template <std::integral T>
  Dims(T x) : values_{x} {}
  Dims(Int x) : values_{x} {}
  Dims(std::initializer_list<Int> l) : values_(l) {}
  Dims(Shape s) : values_(std::move(s)) {}
  bool empty() const { return values_.empty(); }
  const Shape& values() const { return values_; }
  Shape of(int dims) const;  // user error where there are neither one nor `dims` values

 private:
  Shape values_;
};

}  // namespace ingot::nn
