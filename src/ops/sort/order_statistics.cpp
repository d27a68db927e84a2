// Median, mode and quantiles.
#include <cmath>
#include <limits>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/parallel.hpp"
#include "ingot/ingot.hpp"
#include "kernels/sort.hpp"
#include "ops/common/autocast_policy.hpp"
#include "ops/batch/rules.hpp"
#include "ops/common/composite.hpp"
#include "ops/common/dense.hpp"
#include "ops/family.hpp"
#include "ops/reduce/reduction.hpp"
#include "ops/sort/sort_rows.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

// ---- median and mode

void require_real(const Call& c) {
  INGOT_REQUIRE(!c.tensor(0).is_complex(), "\"", c.op.schema.name, "\" not implemented for '",
                scalar_type_name(c.tensor(0).dtype()), "'");
}

void median_meta(const Call& c, Outputs& o) {
  require_real(c);
  o.add(Shape{}, c.tensor(0).dtype());
}
template <bool IgnoreNan>
void median_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor flat = dense(c.tensor(0), c.tensor(0).dtype());
  const int64_t n = flat.numel().number();
  if (n == 0)
    return fill_elements(r[0], is_floating(flat.dtype()) ? Scalar(std::numeric_limits<double>::quiet_NaN()) : Scalar(0));
  std::vector<int64_t> scratch(static_cast<std::size_t>(kernels::select_scratch_bytes(n) / 8 + 1));
  int64_t at = 0;
  kernels::median_rows(flat.dtype(), flat.data_ptr(), kernels::Rows::along(n, 1), n, IgnoreNan, r[0].data_ptr(), &at, 0, 1,
                       scratch.data());
}

void selected_meta(const Call& c, Outputs& o) {  // values and indices along a dim
  require_real(c);
  const Tensor& self = c.tensor(0);
  const auto reduced = reduced_dims(c[1], static_cast<int>(self.dim()));
  require_nonempty(c, self, reduced, true);
  const Shape sizes = reduced_sizes(self.sizes(), reduced, c[2].to_bool());
  o.add(sizes, self.dtype());
  o.add(sizes, DType::i64);
}
template <bool IgnoreNan>
void median_dim_kernel(const Call& c, std::span<const Tensor> r) {
  const SortRows s = sort_rows_of(c.tensor(0), wrap_dim(c[1].to_int64(), static_cast<int>(c.tensor(0).dim())));
  parallel_for(0, s.rows, std::max<int64_t>(1, 4096 / std::max<int64_t>(1, s.n)), [&](int64_t b, int64_t e) {
    std::vector<int64_t> scratch(static_cast<std::size_t>(kernels::select_scratch_bytes(s.n) / 8 + 1));
    kernels::median_rows(s.data.dtype(), s.data.data_ptr(), s.layout, s.n, IgnoreNan, r[0].data_ptr(), r[1].data<int64_t>(), b, e,
                         scratch.data());
  });
}

// The most frequent value, the smallest of several; its last index.
void mode_kernel(const Call& c, std::span<const Tensor> r) {
  const SortRows s = sort_rows_of(c.tensor(0), wrap_dim(c[1].to_int64(), static_cast<int>(c.tensor(0).dim())));
  const DType dtype = s.data.dtype();
  const int64_t bytes = size_of(dtype), n = s.n;
  const Compute compute = compute_type(dtype);
  parallel_for(0, s.rows, std::max<int64_t>(1, 4096 / std::max<int64_t>(1, n)), [&](int64_t b, int64_t e) {
    std::vector<int64_t> scratch(static_cast<std::size_t>(kernels::select_scratch_bytes(n) / 8 + 1)),
        order(static_cast<std::size_t>(n));
    std::vector<char> sorted(static_cast<std::size_t>(n * bytes)), wide(static_cast<std::size_t>(n * 8));
    const kernels::Rows one{1, 0, 0, 1};
    for (int64_t row = b; row < e; row++) {
      // The kernel writes row `row` of its outputs: a layout without row strides puts it at the
      // start.
      kernels::sort_rows(dtype, s.data.data_ptr(), s.layout, n, false, sorted.data(), one, order.data(), one, row, row + 1,
                         scratch.data());
      load_row(dtype, sorted.data(), 1, n, compute, wide.data());
      auto equal = [&](int64_t i, int64_t j) {
        const auto* f = reinterpret_cast<const float*>(wide.data());
        const auto* d = reinterpret_cast<const double*>(wide.data());
        const auto* k = reinterpret_cast<const int64_t*>(wide.data());
        switch (compute) {
          case Compute::f32: return f[i] == f[j];
          case Compute::f64: return d[i] == d[j];
          case Compute::b8: return wide[static_cast<std::size_t>(i)] == wide[static_cast<std::size_t>(j)];
          default: return k[i] == k[j];
        }
      };
      int64_t best = 0, most = 0, run = 0;
      for (int64_t i = 0; i < n; i++) {
        run++;
        if (i + 1 < n && equal(i, i + 1)) continue;
        if (run > most) most = run, best = i;
        run = 0;
      }
      std::copy_n(sorted.data() + best * bytes, bytes, static_cast<char*>(r[0].data_ptr()) + row * bytes);
      r[1].data<int64_t>()[row] = order[static_cast<std::size_t>(best)];
    }
  });
}

void median_vjp(Vjp& v) { v.set(0, evenly_distributed(v.grad(), v.saved(0), v.result())); }
void selected_vjp(Vjp& v) {
  if (v.grad(0).defined())
    v.set(0, aten<"value_selecting_reduction_backward">(v.grad(0), v.arg(1), v.result(1), v.sizes(0), v.arg(2)));
}

// ---- quantiles: sort, then interpolate between neighbouring ranks
Tensor quantile_of(const Call& c, const Tensor& self, const Tensor& q, bool ignore_nan) {
  const std::string& mode = c[4].string();
  INGOT_REQUIRE(mode == "linear" || mode == "lower" || mode == "higher" || mode == "midpoint" || mode == "nearest",
                c.op.schema.name, "() interpolation must be one of linear, lower, higher, midpoint or nearest, but got ", mode);
  INGOT_REQUIRE(q.dim() <= 1, c.op.schema.name, "() q must be a scalar or 1D tensor");
  INGOT_REQUIRE(self.dtype() == DType::f32 || self.dtype() == DType::f64, c.op.schema.name,
                "() input tensor must be either float or double dtype");
  INGOT_REQUIRE(q.dtype() == self.dtype(), c.op.schema.name, "() q tensor must be same dtype as the input tensor");
  INGOT_REQUIRE(!(self.numel() == 0), c.op.schema.name, "() input tensor must be non-empty");
  const int rank = static_cast<int>(self.dim());
  const bool flat = c[2].is_none(), keepdim = c[3].to_bool();
  const int dim = flat ? 0 : wrap_dim(c[2].to_int64(), rank);
  Tensor sorted;
  if (flat) sorted = atens<"sort">(aten<"flatten.using_ints">(self))[0];
  else if (dim == rank - 1) sorted = atens<"sort">(self)[0];
  else sorted = atens<"sort">(aten<"transpose.int">(aten<"unsqueeze">(self, -1), dim, -1))[0];
  Shape shape = flat ? (keepdim ? Shape::filled(self.sizes().size(), 1) : Shape{})
                     : reduced_sizes(self.sizes(), reduced_dims(c[2], rank), keepdim);
  const Int n = sorted.size(-1);
  shape.push_back(n);
  sorted = aten<"view">(sorted, shape);
  Tensor ranks;
  if (ignore_nan) {
    const Tensor count = aten<"sum.dim_IntList">(aten<"logical_not">(aten<"isnan">(sorted)), Shape{-1}, true);
    ranks = q * (count - 1);
    ranks = aten<"masked_fill.Scalar">(ranks, aten<"lt.Scalar">(ranks, 0), 0);
  } else {
    const TensorList both =
        atens<"broadcast_tensors">(TensorList{q * Scalar(n - 1), aten<"any.dim">(aten<"isnan">(sorted), -1, true)});
    ranks = aten<"masked_fill.Scalar">(both[0], both[1], n - 1);
  }
  if (mode == "lower") ranks = aten<"floor">(ranks);
  else if (mode == "higher") ranks = aten<"ceil">(ranks);
  else if (mode == "nearest") ranks = aten<"round">(ranks);
  const Tensor below_at = aten<"to.dtype">(ranks, DType::i64);
  Tensor values = aten<"gather">(sorted, -1, below_at);
  if (mode == "linear" || mode == "midpoint") {
    const Tensor weights = mode == "midpoint" ? aten<"full_like">(ranks, 0.5) : ranks - below_at;
    const Tensor above = aten<"gather">(sorted, -1, aten<"to.dtype">(aten<"ceil">(ranks), DType::i64));
    values = aten<"lerp.Tensor">(values, above, weights);
  }
  if (q.dim() == 0) return aten<"squeeze.dim">(values, -1);
  return aten<"squeeze.dim">(aten<"transpose.int">(aten<"unsqueeze">(values, 0), 0, -1), -1);
}
template <bool IgnoreNan>
Value quantile(const Call& c) {
  return quantile_of(c, c.tensor(0), c.tensor(1), IgnoreNan);
}
template <bool IgnoreNan>
Value quantile_scalar(const Call& c) {
  const double q = c[1].to_double();
  INGOT_REQUIRE(q >= 0 && q <= 1, c.op.schema.name, "() q must be in the range [0, 1] but got ", q);
  return quantile_of(c, c.tensor(0), aten<"full">(Shape{}, q, c.tensor(0).dtype(), Value(), c.tensor(0).device()), IgnoreNan);
}

#define QUANTILE_ARGS ", int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor"

constexpr OpDef kOrderStatisticsOps[] = {
    {.schema = "aten::median(Tensor self) -> Tensor",
     .meta = median_meta,
     .kernel = median_kernel<false>,
     .vjp = median_vjp,
     .saves = {{0}, {kResult}},
     .batch = batch_over_all<"median.dim">},
    {.schema = "aten::nanmedian(Tensor self) -> Tensor",
     .meta = median_meta,
     .kernel = median_kernel<true>,
     .vjp = median_vjp,
     .saves = {{0}, {kResult}},
     .batch = batch_over_all<"nanmedian.dim">},
    {.schema = "aten::median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
     .meta = selected_meta,
     .kernel = median_dim_kernel<false>,
     .vjp = selected_vjp,
     .saves = {{kResult - 1}},
     .grad = {.node_number = 1},
     .batch = batch_dims},
    {.schema = "aten::nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
     .meta = selected_meta,
     .kernel = median_dim_kernel<true>,
     .vjp = selected_vjp,
     .saves = {{kResult - 1}},
     .grad = {.node_number = 1},
     .batch = batch_dims},
    {.schema = "aten::mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
     .meta = selected_meta,
     .kernel = mode_kernel,
     .vjp = selected_vjp,
     .saves = {{kResult - 1}},
     .batch = batch_dims},
    in_float32(composite("aten::quantile(Tensor self, Tensor q" QUANTILE_ARGS, quantile<false>)),
    in_float32(composite("aten::quantile.scalar(Tensor self, float q" QUANTILE_ARGS, quantile_scalar<false>)),
    in_float32(composite("aten::nanquantile(Tensor self, Tensor q" QUANTILE_ARGS, quantile<true>)),
    in_float32(composite("aten::nanquantile.scalar(Tensor self, float q" QUANTILE_ARGS, quantile_scalar<true>)),
};

}  // namespace

INGOT_FAMILY(order_statistics, kOrderStatisticsOps)

}  // namespace ingot
