#include "ops/linalg/matrices.hpp"

#include <utility>

namespace ingot {

MatrixMemory::MatrixMemory(DType dtype, int64_t batch, int64_t rows, int64_t cols)
    : batch(batch), rows(rows), cols(cols), memory_(make_tensor(Geometry::contiguous({batch, cols, rows}, dtype))) {}

MatrixMemory::MatrixMemory(DType dtype, const Tensor& t, const Shape& batch_sizes)
    : MatrixMemory(dtype, batch_sizes.product().value(), t.size(-2).value(), t.size(-1).value()) {
  const Tensor v = view(batch_sizes);
  copy_elements(v, make_alias(t, expand_geometry(t->geom, v.sizes())));
}

void MatrixMemory::store(const Tensor& result) const {
  copy_elements(result, view(result.sizes().sub(0, result.sizes().size() - 2)));
}

Tensor MatrixMemory::view(const Shape& batch_sizes) const {
  Geometry g = memory_->geom;
  g.sizes = batch_sizes;
  g.sizes.push_back(rows);
  g.sizes.push_back(cols);
  g.strides = contiguous_strides(g.sizes);
  g.strides[g.sizes.size() - 2] = 1;
  g.strides[g.sizes.size() - 1] = rows;
  return make_alias(memory_, std::move(g));
}

}  // namespace ingot
