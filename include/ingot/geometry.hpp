// How a tensor lies in its storage: sizes, strides and offset in elements, and the type of one.
// What a shape rule (ingot/op/definition.hpp) promises of a result.
#pragma once
#include <utility>

#include "ingot/dtype.hpp"
#include "ingot/shape.hpp"

namespace ingot {

struct Geometry {
  Shape sizes, strides;
  Int offset = 0;
  DType dtype = DType::f32;

  static Geometry contiguous(Shape sizes, DType dtype);
  Int numel() const { return sizes.product(); }
  int dim() const { return sizes.dim(); }
  bool same(const Geometry& o) const {
    return dtype == o.dtype && sizes.same(o.sizes) && strides.same(o.strides) && offset.same(o.offset);
  }
};

}  // namespace ingot
