#include "ops/common/dense.hpp"

#include <utility>

namespace ingot {
namespace {

bool is_dense(const Tensor& t, DType dtype) { return t.dtype() == dtype && t.is_contiguous(); }

Tensor dense_copy(const Tensor& t, DType dtype, const Shape& sizes) {
  Tensor r = make_tensor(Geometry::contiguous(sizes, dtype), t.device());
  copy_elements(r, t);
  return r;
}

}  // namespace

Tensor dense(const Tensor& t, DType dtype) { return is_dense(t, dtype) ? t : dense_copy(t, dtype, t.sizes()); }
Tensor dense(const Tensor& t, DType dtype, const Shape& sizes) {
  return t.sizes().same(sizes) ? dense(t, dtype) : dense_copy(t, dtype, sizes);
}

Tensor component(const Tensor& t, int k) {
  Geometry g = t->geom;
  g.dtype = real_of(g.dtype);
  for (Int& s : g.strides) s = s * 2;
  g.offset = g.offset * 2 + k;
  return make_alias(t, std::move(g));
}

DenseResult::DenseResult(const Tensor& result, DType dtype)
    : result_(result),
      buffer_(is_dense(result, dtype) ? result : make_tensor(Geometry::contiguous(result.sizes(), dtype), result.device())) {}
DenseResult::~DenseResult() = default;
void DenseResult::finish() const {
  if (!buffer_.is_same(result_)) copy_elements(result_, buffer_);
}

void refuse_dtype(std::string_view op, DType t) {
  throw_user_error(text("\"", op, "\" not implemented for '", scalar_type_name(t), "'"));
}

}  // namespace ingot
