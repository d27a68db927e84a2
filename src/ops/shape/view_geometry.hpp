// Geometry rules that more than one family needs: the view itself, its copy, and the ops that write
// through it.
#pragma once
#include "tensor/impl.hpp"

namespace ingot {

Geometry diagonal_geometry(const Geometry& g, int64_t offset, int64_t dim1, int64_t dim2);
// Windows of `size` elements every `step` along `dim`; the window is the last dim of the result.
Geometry unfold_geometry(const Geometry& g, int64_t dim, Int size, Int step);
// The same bytes read as another dtype; only the last dim can change.
Geometry view_dtype_geometry(const Geometry& g, DType dtype);
// Dim `dim` of a strided tensor as (outer, its size / outer): always possible without a copy.
// Requires divisibility.
Geometry split_dim(Geometry g, int dim, Int outer, Int inner);

}  // namespace ingot
