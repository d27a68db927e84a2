// Discrete Fourier transforms: the three core ops. The functions users call are programs of them:
// composite.cpp.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "ingot/ingot.hpp"
#include "ingot/op/vjp.hpp"
#include "kernels/fft.hpp"
#include "op/call.hpp"
#include "ops/batch/rules.hpp"
#include "ops/common/dense.hpp"
#include "ops/family.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

// The transformed dims, wrapped and distinct.
std::vector<int> dims_of(const Call& c) {
  const int rank = static_cast<int>(c.tensor(0).dim());
  std::vector<int> r;
  for (Int d : c[1].ints()) {
    const int w = wrap_dim(d.value(), rank);
    INGOT_REQUIRE(rank > 0 && std::count(r.begin(), r.end(), w) == 0, c.op.schema.name,
                  ": FFT dims must be unique dims of the tensor, found ", c[1].ints());
    INGOT_REQUIRE(c.tensor(0).size(w) > 0, c.op.schema.name, ": Invalid number of data points (", c.tensor(0).size(w),
                  ") specified");
    r.push_back(w);
  }
  const int64_t norm = c[2].to_int64();
  INGOT_REQUIRE(norm >= 0 && norm <= 2, c.op.schema.name,
                ": expected a normalization of 0 (none), 1 (1/sqrt(n)) or 2 (1/n), found ", norm);
  return r;
}
void check_dtype(const Call& c, bool complex) {
  const DType t = c.tensor(0).dtype();
  INGOT_REQUIRE(complex ? is_complex(t) : t == DType::f32 || t == DType::f64, c.op.schema.name, ": expected a ",
                complex ? "complex" : "float32 or float64", " tensor, found ", t);
}

// ATen's layout (that of its MKL path): batch dims first in the order of their strides, then the
// transformed ones in theirs;
// `keep_last`: the last transformed dim stays last.
Geometry transformed_layout(const Tensor& x, const Shape& sizes, std::vector<int> dims, DType dtype, bool keep_last) {
  const Shape& strides = x.strides();
  auto wider = [&](int a, int b) { return strides[a] > strides[b]; };
  std::stable_sort(dims.begin(), dims.end() - keep_last, wider);
  std::vector<int> order;
  for (int i = 0; i < x.dim(); i++)
    if (std::count(dims.begin(), dims.end(), i) == 0) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), wider);
  order.insert(order.end(), dims.begin(), dims.end());
  Geometry g;
  g.sizes = sizes;
  g.strides = Shape::filled(sizes.size(), 0);
  g.dtype = dtype;
  Int stride = 1;
  for (std::size_t k = order.size(); k-- > 0;) {
    g.strides[static_cast<std::size_t>(order[k])] = stride;
    stride = stride * sizes[static_cast<std::size_t>(order[k])];
  }
  return g;
}

double scale_for(const Value& normalization, int64_t n) {
  const int64_t norm = normalization.to_int64();
  return norm == 0 ? 1.0 : norm == 1 ? 1.0 / std::sqrt(static_cast<double>(n)) : 1.0 / static_cast<double>(n);
}

// One dim of a contiguous tensor: how many rows of what length at what distance.
struct Lines {
  int64_t count, n, inner;
  Lines(const Tensor& t, int dim) : count(1), n(t.size(dim).value()), inner(1) {
    for (int i = 0; i < t.dim(); i++)
      if (i != dim) count *= t.size(i).value();
    for (int64_t i = dim + 1; i < t.dim(); i++) inner *= t.size(i).value();
  }
};
// Eager transforms run in double whatever the dtype: the results of float tensors are then rounded
// once.
constexpr DType kReal = DType::f64, kComplex = DType::c128;
using Real = double;
using Complex = std::complex<double>;

// f(plan, begin, end, scratch) over all lines, with a plan for length n.
template <class F>
void for_lines(int64_t n, int64_t count, const F& f) {
  const Scratch plan(kernels::fft_plan_bytes<Real>(n));
  kernels::fft_make_plan<Real>(n, plan.get());
  parallel_for(0, count, std::max<int64_t>(1, 4096 / n), [&](int64_t begin, int64_t end) {
    const Scratch scratch(kernels::fft_scratch_bytes<Real>(n));
    f(plan.get(), begin, end, scratch.get());
  });
}
// In place along one dim of contiguous complex t.
void transform(const Tensor& t, int dim, bool inverse, const Value& normalization) {
  const Lines l(t, dim);
  auto* p = t.data<Complex>();
  const kernels::Rows rows = kernels::Rows::along(l.n, l.inner);
  for_lines(l.n, l.count, [&](const void* plan, int64_t begin, int64_t end, void* scratch) {
    kernels::fft_rows<Real>(plan, l.n, inverse, scale_for(normalization, l.n), p, rows, p, rows, begin, end, scratch);
  });
}
// A contiguous copy that may be written.
Tensor writable(const Tensor& t, DType dtype) {
  const Tensor r = make_tensor(Geometry::contiguous(t.sizes(), dtype));
  copy_elements(r, t);
  return r;
}
// ---- complex to complex: self, dim, normalization, forward
void c2c_meta(const Call& c, Outputs& o) {
  check_dtype(c, true);
  const Tensor& x = c.tensor(0);
  const std::vector<int> dims = dims_of(c);
  if (dims.empty()) {
    Geometry g = x->geom;
    g.strides = dense_strides_like(x.sizes(), x.strides());
    g.offset = 0;
    o.add(std::move(g));
  } else {
    o.add(transformed_layout(x, x.sizes(), dims, x.dtype(), false));
  }
}
void c2c_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor x = writable(c.tensor(0), kComplex);
  if (x.numel() == 0) return;
  for (int d : dims_of(c)) transform(x, d, !c[3].to_bool(), c[2]);
  copy_elements(r[0], x);
}

// ---- real to complex: self, dim, normalization, onesided
void r2c_meta(const Call& c, Outputs& o) {
  check_dtype(c, false);
  const Tensor& x = c.tensor(0);
  const std::vector<int> dims = dims_of(c);
  INGOT_REQUIRE(!dims.empty(), "_fft_r2c: expected at least one dim");
  Shape sizes = x.sizes();
  if (c[3].to_bool())
    sizes[static_cast<std::size_t>(dims.back())] = floor_div(sizes[static_cast<std::size_t>(dims.back())], 2) + 1;
  o.add(transformed_layout(x, sizes, dims, complex_of(x.dtype()), true));
}
void r2c_kernel(const Call& c, std::span<const Tensor> r) {
  if (r[0].numel() == 0) return;
  const std::vector<int> dims = dims_of(c);
  Tensor y;
  if (c[3].to_bool()) {
    const Tensor x = dense(c.tensor(0), kReal);
    y = make_tensor(Geometry::contiguous(r[0].sizes(), kComplex));
    const Lines in(x, dims.back()), out(y, dims.back());
    for_lines(in.n, in.count, [&](const void* plan, int64_t begin, int64_t end, void* scratch) {
      kernels::fft_real_rows<Real>(plan, in.n, scale_for(c[2], in.n), x.data<Real>(), kernels::Rows::along(in.n, in.inner),
                                   y.data<Complex>(), kernels::Rows::along(out.n, out.inner), begin, end, scratch);
    });
  } else {
    y = writable(c.tensor(0), kComplex);
    transform(y, dims.back(), false, c[2]);
  }
  for (std::size_t k = 0; k + 1 < dims.size(); k++) transform(y, dims[k], false, c[2]);
  copy_elements(r[0], y);
}
void r2c_vjp(Vjp& v) {
  // The half that was dropped had no gradient: put zeros there, transform back, the imaginary part
  // is not the input's.
  const Shape& sizes = v.sizes(0);
  const int rank = sizes.dim(), last = wrap_dim(v.arg(1).ints().back().value(), rank);
  Tensor g = v.grad();
  const Int missing = sizes[static_cast<std::size_t>(last)] - g.size(last);
  if (v.arg(3).to_bool() && missing > 0) {
    Shape pad;
    for (int d = rank - 1; d >= last; d--) pad.push_back(0), pad.push_back(d == last ? missing : Int(0));
    g = aten<"constant_pad_nd">(g, pad);
  }
  v.set(0, aten<"real">(aten<"_fft_c2c">(g, v.arg(1), v.arg(2), false)));
}

// ---- complex to real: self, dim, normalization, last_dim_size
void c2r_meta(const Call& c, Outputs& o) {
  check_dtype(c, true);
  const Tensor& x = c.tensor(0);
  const std::vector<int> dims = dims_of(c);
  INGOT_REQUIRE(!dims.empty(), "_fft_c2r: expected at least one dim");
  const Int n = c[3].to_int();
  INGOT_REQUIRE(n >= 1, "_fft_c2r: Invalid number of data points (", n, ") specified");
  INGOT_REQUIRE(x.size(dims.back()) == floor_div(n, 2) + 1, "_fft_c2r: expected ", floor_div(n, 2) + 1, " elements in dim ",
                dims.back(), ", found ", x.sizes());
  Shape sizes = x.sizes();
  sizes[static_cast<std::size_t>(dims.back())] = n;
  Tensor like = x;
  if (dims.size() > 1) {  // ATen transforms the other dims first, which lays them out anew
    const std::vector<int> others(dims.begin(), dims.end() - 1);
    like = make_tensor(transformed_layout(x, x.sizes(), others, x.dtype(), false), x.device(), true);
  }
  o.add(transformed_layout(like, sizes, {dims.back()}, real_of(x.dtype()), false));
}
void c2r_kernel(const Call& c, std::span<const Tensor> r) {
  if (r[0].numel() == 0) return;
  const std::vector<int> dims = dims_of(c);
  const Tensor x = writable(c.tensor(0), kComplex), y = make_tensor(Geometry::contiguous(r[0].sizes(), kReal));
  for (std::size_t k = 0; k + 1 < dims.size(); k++) transform(x, dims[k], true, c[2]);
  const Lines in(x, dims.back()), to(y, dims.back());
  for_lines(to.n, to.count, [&](const void* plan, int64_t begin, int64_t end, void* scratch) {
    kernels::fft_hermitian_rows<Real>(plan, to.n, scale_for(c[2], to.n), x.data<Complex>(), kernels::Rows::along(in.n, in.inner),
                                      y.data<Real>(), kernels::Rows::along(to.n, to.inner), begin, end, scratch);
  });
  copy_elements(r[0], y);
}
void c2r_vjp(Vjp& v) {
  // Elements that stand for their mirror image too count twice.
  const int last = wrap_dim(v.arg(1).ints().back().value(), v.result_geom().dim());
  Tensor g = aten<"_fft_r2c">(v.grad(), v.arg(1), v.arg(2), true);
  const Int doubled = v.grad().size(last) - g.size(last);
  if (doubled > 0) g = aten<"slice_scatter">(g, aten<"mul.Tensor">(g.narrow(last, 1, doubled), 2), last, 1, doubled + 1);
  v.set(0, g);
}

constexpr OpDef kFftOps[] = {
    {.schema = "aten::_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor",
     .meta = c2c_meta,
     .kernel = c2c_kernel,
     .vjp = [](Vjp& v) { v.set(0, aten<"_fft_c2c">(v.grad(), v.arg(1), v.arg(2), !v.arg(3).to_bool())); },
     .batch = batch_dims},
    {.schema = "aten::_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor",
     .meta = r2c_meta,
     .kernel = r2c_kernel,
     .vjp = r2c_vjp,
     .batch = batch_dims},
    {.schema = "aten::_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor",
     .meta = c2r_meta,
     .kernel = c2r_kernel,
     .vjp = c2r_vjp,
     .batch = batch_dims},
};

}  // namespace

INGOT_FAMILY(fft, kFftOps)

}  // namespace ingot
