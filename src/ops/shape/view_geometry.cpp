#include "ops/shape/view_geometry.hpp"

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "tensor/geometry.hpp"

namespace ingot {

Geometry diagonal_geometry(const Geometry& g, int64_t offset, int64_t dim1, int64_t dim2) {
  const int a = wrap_dim(dim1, g.dim()), b = wrap_dim(dim2, g.dim());
  INGOT_REQUIRE(a != b && g.dim() > 1, "diagonal: diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  Geometry r = g;
  const Int rows = g.sizes[a], cols = g.sizes[b];
  const Int n = max(offset >= 0 ? min(rows, cols - offset) : min(rows + offset, cols), 0);
  if (!(n == 0)) r.offset = g.offset + (offset >= 0 ? g.strides[b] * offset : g.strides[a] * -offset);
  const Int stride = g.strides[a] + g.strides[b];
  for (int d : {std::max(a, b), std::min(a, b)}) {
    r.sizes.erase(d);
    r.strides.erase(d);
  }
  r.sizes.push_back(n);
  r.strides.push_back(stride);
  return r;
}

Geometry unfold_geometry(const Geometry& g, int64_t dim, Int size, Int step) {
  const int d = wrap_dim(dim, g.dim());
  const Int extent = g.dim() ? g.sizes[d] : Int(1);
  INGOT_REQUIRE(size >= 0, "unfold: size is ", size, " but must be >= 0");
  INGOT_REQUIRE(size <= extent, "unfold: maximum size for tensor at dimension ", d, " is ", extent, " but size is ", size);
  INGOT_REQUIRE(step > 0, "unfold: step is ", step, " but must be > 0");
  Geometry r = g;
  if (g.dim()) {
    r.sizes[d] = floor_div(extent - size, step) + 1;
    r.strides[d] = g.strides[d] * step;
  }
  r.sizes.push_back(size);
  r.strides.push_back(g.dim() ? g.strides[d] : Int(1));
  return r;
}

Geometry view_dtype_geometry(const Geometry& g, DType dtype) {
  const int64_t from = size_of(g.dtype), to = size_of(dtype);
  Geometry r = g;
  r.dtype = dtype;
  if (from == to) return r;
  auto describe = [&](std::string_view what) {
    return text(what, " to view ", scalar_type_name(g.dtype), " as ", scalar_type_name(dtype),
                " (different element sizes), but got ");
  };
  INGOT_REQUIRE(g.dim() > 0, "self.dim() cannot be 0 to view ", scalar_type_name(g.dtype), " as ", scalar_type_name(dtype),
                " (different element sizes)");
  INGOT_REQUIRE(g.strides.back() == 1, describe("self.stride(-1) must be 1"), g.strides.back());
  if (from > to) {
    const int64_t ratio = from / to;
    r.sizes.back() = g.sizes.back() * ratio;
    for (int i = 0; i + 1 < g.dim(); i++) r.strides[i] = g.strides[i] * ratio;
    r.offset = g.offset * ratio;
    return r;
  }
  const int64_t ratio = to / from;
  auto divided = [&](Int v, std::string_view what) {
    INGOT_REQUIRE(mod(v, ratio) == 0, describe(text(what, " must be divisible by ", ratio)), v);
    return floor_div(v, ratio);
  };
  r.sizes.back() = divided(g.sizes.back(), "self.size(-1)");
  r.offset = divided(g.offset, "self.storage_offset()");
  for (int i = 0; i + 1 < g.dim(); i++) r.strides[i] = divided(g.strides[i], text("self.stride(", i, ")"));
  return r;
}

Geometry split_dim(Geometry g, int dim, Int outer, Int inner) {
  const Int stride = g.strides[dim];
  g.sizes[dim] = inner;
  g.sizes.insert(dim, outer);
  g.strides.insert(dim, stride * inner);
  return g;
}

}  // namespace ingot
