// Geometry of strided views: pure functions over sizes and strides, symbolic or not. Each one is
// the single statement of what a view op means; eager, fake and compiled views are derived from it.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "tensor/impl.hpp"

namespace ingot {

// Wraps a negative dim; IndexError with PyTorch's text when it is outside [-rank, rank-1] (0-dim
// tensors allow -1 and 0).
int wrap_dim(int64_t dim, int rank);

Shape contiguous_strides(const Shape& sizes);
Shape strides_for(const Shape& sizes, MemoryFormat format);  // contiguous or channels_last(_3d)
bool is_contiguous(const Shape& sizes, const Shape& strides);
bool is_contiguous(const Shape& sizes, const Shape& strides, MemoryFormat format);
bool is_non_overlapping_and_dense(const Shape& sizes, const Shape& strides);
// channels_last strides count as "suggested" only when they tell the formats apart, as in ATen.
MemoryFormat suggest_memory_format(const Shape& sizes, const Shape& strides);
// Whether both are the same wherever the guards hold that there are: what is a symbol in one may be
// a number in the other since a guard made it so. Asks for no guard.
bool statically_same(const Geometry& a, const Geometry& b);
// Bytes a storage needs so that every element of the geometry lies inside.
Int required_bytes(const Geometry& g);
// Whether two elements of the geometry may share an address (expanded dims and the like).
bool may_overlap(const Geometry& g);

Shape broadcast_shapes(const Shape& a, const Shape& b, std::string_view op);
// Replaces one -1 by what `numel` leaves; user error if it does not fit.
Shape infer_size(const Shape& size, Int numel);
// Strides that view (sizes, strides) as `new_sizes` without a copy, or nothing.
std::optional<Shape> view_strides(const Shape& sizes, const Shape& strides, const Shape& new_sizes);
// The general case: dims in the order of the first operand that tells two of them apart. Each
// operand's strides are those over `sizes`, 0 where it repeats. Asks nothing about a size unless
// strides are equal.
Shape strides_in_order_of(const Shape& sizes, const std::vector<Shape>& strides);
// The strides a dense result gets when it should look like this input (ATen's infer_dense_strides,
// "preserve").
Shape dense_strides_like(const Shape& sizes, const Shape& strides);

Geometry expand_geometry(const Geometry& g, const Shape& sizes);
Geometry permute_geometry(const Geometry& g, const Shape& dims);
Geometry select_geometry(const Geometry& g, int64_t dim, Int index);
Geometry slice_geometry(const Geometry& g, int64_t dim, std::optional<Int> start, std::optional<Int> end, Int step);

}  // namespace ingot
