// What fixed-window (pool.cpp), adaptive and irregular (adaptive_pool.cpp) pooling share.
#pragma once
#include "base/error.hpp"
#include "base/parallel.hpp"
#include "ingot/ingot.hpp"
#include "ingot/op/vjp.hpp"
#include "kernels/pool.hpp"
#include "op/call.hpp"
#include "ops/common/kept_small.hpp"
#include "tensor/geometry.hpp"

namespace ingot {

// A list argument with one entry a dim of space; one entry stands for all.
inline Shape per_space(const Value& v, int space, std::string_view op, std::string_view name) {
  const Shape& s = v.ints();
  INGOT_REQUIRE(s.dim() == space || s.dim() == 1, op, ": ", name, " must either be a single int, or a tuple of ", space,
                " ints, found ", s);
  return s.dim() == space ? s : Shape::filled(static_cast<std::size_t>(space), s[0]);
}

// The input of a pooling over `space` dims: those, channels, and maybe a batch; only the batch may
// be empty.
inline void check_pool_input(const Call& c, const Tensor& x, int space) {
  INGOT_REQUIRE(x.dim() == space + 1 || x.dim() == space + 2, c.op.schema.name, ": Expected ", space + 1, "D or ", space + 2,
                "D (batch mode) tensor with optional 0 dim batch size for input, but got: ", x.sizes());
  for (int i = x.dim() == space + 2; i < x.dim(); i++)
    INGOT_REQUIRE(x.size(i) > 0, c.op.schema.name,
                  ": Expected input's non-batch dimensions to have positive length, but input has a shape of ", x.sizes(),
                  " and non-batch dimension ", i, " has length zero!");
}
inline Shape pooled_sizes(const Tensor& x, const Shape& space) {
  Shape s = x.sizes().sub(0, x.sizes().size() - space.size());
  for (Int n : space) s.push_back(n);
  return s;
}
// `like` says whether the result is channels last.
inline Geometry pooled_geometry(Shape sizes, const Tensor& like, DType dtype) {
  Geometry g;
  g.strides = strides_for(sizes, suggest_memory_format(like.sizes(), like.strides()));
  g.sizes = std::move(sizes);
  g.dtype = dtype;
  return g;
}

inline int64_t plane_count(const Tensor& t, int space) {
  int64_t n = 1;
  for (int64_t i = 0; i < t.dim() - space; i++) n *= t.size(i).value();
  return n;
}
// Sizes only; windows are the caller's.
inline kernels::Pool pool_sizes(const Tensor& in, const Tensor& out, int space) {
  kernels::Pool p{};
  p.dims = space;
  for (int i = 0; i < space; i++) {
    p.in[i] = in.size(i - space).value();
    p.out[i] = out.size(i - space).value();
  }
  return p;
}

// f(begin, end) over planes, in pieces worth a thread.
template <class F>
void for_planes(const kernels::Pool& p, int64_t planes, const F& f) {
  int64_t size = 1;
  for (int i = 0; i < p.dims; i++) size *= std::max(p.in[i], p.out[i]);
  parallel_for(0, planes, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, size)), f);
}

// y[i] = x[indices[i]] within each plane of `space` dims: the gradient of putting values at
// indices.
inline Tensor gather_in_planes(const Tensor& x, const Tensor& indices, int space) {
  if (indices.numel() == 0) return aten<"zeros">(indices.sizes(), x.dtype(), Value(), x.device());
  Shape flat = indices.sizes().sub(0, indices.sizes().size() - static_cast<std::size_t>(space));
  flat.push_back(-1);
  return aten<"gather">(x.reshape(flat), -1, indices.reshape(flat)).reshape(indices.sizes());
}

// Puts gradients back at the indices a maximum came from (max pooling of any kind).
inline void scatter_to_maxima(const Tensor& grad, const Tensor& indices, const Tensor& result, int space, std::string_view op) {
  on_kept_small(result.dtype(), op, [&]<class T, class A>(T, A) {
    const DType t = kernel_dtype(result.dtype());
    const DenseResult out(result, t);
    const Tensor g = dense(grad, t), at = dense(indices, DType::i64);
    const kernels::Pool p = pool_sizes(result, grad, space);
    int64_t volume = 1;
    for (int i = 0; i < space; i++) volume *= p.in[i];
    const int64_t n = at.numel().value();
    for (int64_t i = 0; i < n; i++)
      INGOT_REQUIRE_INDEX(at.data<int64_t>()[i] >= 0 && at.data<int64_t>()[i] < volume, op, ": found an invalid index ",
                          at.data<int64_t>()[i], " for planes of ", volume, " elements");
    if (n == 0) fill_elements(out.buffer(), 0);
    else
      for_planes(p, plane_count(result, space), [&](int64_t begin, int64_t end) {
        kernels::max_pool_backward<T, A>(p, g.data<T>(), at.data<int64_t>(), out.data<T>(), begin, end);
      });
    out.finish();
  });
}

// Gradients of an op that scatters `grad` (argument 0) to where `indices` (argument i) say.
template <int Space, int Indices>
void maxima_backward_vjp(Vjp& v) {
  if (v.need(0)) v.set(0, gather_in_planes(v.grad(), v.saved(Indices), Space));
  if (v.need(1)) v.set(1, aten<"zeros_like">(v.grad()));  // only its shape matters
}

}  // namespace ingot
