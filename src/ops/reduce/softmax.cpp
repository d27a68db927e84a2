// Softmax and its logarithm along one dim, with their backward ops.
#include <cmath>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ops/batch/rules.hpp"
#include "ops/reduce/dim_rows.hpp"
#include "ops/reduce/carried_fold.hpp"
#include "ops/family.hpp"
#include "ops/reduce/fold.hpp"
#include "ops/common/kept_small.hpp"
#include "ops/common/lower_rules.hpp"
#include "ops/reduce/reduction.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

constexpr bool log_space = true;

// ---- forward
void softmax_meta(const Call& c, Outputs& o) {
  const Tensor& self = c.tensor(0);
  wrap_dim(c[1].to_int64(), static_cast<int>(self.dim()));
  INGOT_REQUIRE(self.is_floating_point(), "\"", c.op.schema.name, "\" not implemented for '", scalar_type_name(self.dtype()),
                "'");
  const bool to_float = c[2].to_bool();
  INGOT_REQUIRE(!to_float || self.dtype() == DType::f16, c.op.schema.name, ": conversion is supported for Half type only, found ",
                scalar_type_name(self.dtype()));
  o.add(self.sizes(), to_float ? DType::f32 : self.dtype());  // contiguous whatever the input's layout
}

// Carried in double and in blocks: the length of a row costs no digits, of doubles neither.
class RowSum {
 public:
  void operator+=(double x) {
    block_ += x;
    if (++terms_ < 256) return;
    total_ += block_;
    block_ = 0;
    terms_ = 0;
  }
  double value() const { return total_ + block_; }

 private:
  double total_ = 0, block_ = 0;
  int terms_ = 0;
};

// PyTorch has a kernel for the last dim that keeps the sum and its logarithm in the input's dtype.
bool is_last(int dim, int rank) { return rank == 0 || dim == rank - 1; }

template <bool Log>
void softmax_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor &self = c.tensor(0), &out = r[0];
  const int rank = static_cast<int>(self.dim()), dim = wrap_dim(c[1].to_int64(), rank);
  const int64_t n = rank == 0 ? 1 : self.sizes()[dim].number();
  const bool last = is_last(dim, rank);
  if (self.numel() == 0) return;
  const Tensor tensors[] = {self, out};
  with_floating(self.dtype(), [&]<class T>(T) {
    for_each_row(tensors, dim, n, [&](const DimRow& row) {
      T* x = row_buffer<T>(n);
      load_row(self.dtype(), row.data[0], row.strides[0], n, detail::compute_of<T>(), x);
      T top = x[0];
      for (int64_t i = 1; i < n; i++) top = x[i] > top || x[i] != x[i] ? x[i] : top;
      RowSum sum;
      if constexpr (Log) {
        for (int64_t i = 0; i < n; i++) sum += std::exp(x[i] - top);
        const double total = last ? rounded_number(sum.value(), self.dtype()) : sum.value();
        const T shift = static_cast<T>(last ? rounded_number(std::log(total), self.dtype()) : std::log(total));
        for (int64_t i = 0; i < n; i++) x[i] = x[i] - top - shift;
      } else {
        for (int64_t i = 0; i < n; i++) sum += x[i] = std::exp(x[i] - top);
        const T scale = static_cast<T>(1 / sum.value());
        for (int64_t i = 0; i < n; i++) x[i] *= scale;
      }
      store_row(detail::compute_of<T>(), x, n, out.dtype(), row.data[1], row.strides[1]);
    });
  });
}

// ---- backward
void backward_meta(const Call& c, Outputs& o) {
  const Tensor &grad = c.tensor(0), &output = c.tensor(1);
  INGOT_REQUIRE(grad.sizes() == output.sizes(), c.op.schema.name, ": grad_output ", grad.sizes(), " and output ", output.sizes(),
                " must have the same shape");
  wrap_dim(c[2].to_int64(), static_cast<int>(grad.dim()));
  o.add(grad.sizes(), c[3].dtype());
}

constexpr int64_t kShortRow = 8;  // elements that PyTorch adds one after the other on every CPU

template <bool Log>
void backward_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor &grad = c.tensor(0), &output = c.tensor(1), &out = r[0];
  const int rank = static_cast<int>(grad.dim()), dim = wrap_dim(c[2].to_int64(), rank);
  const int64_t n = rank == 0 ? 1 : grad.sizes()[dim].number();
  if (grad.numel() == 0) return;
  const Tensor tensors[] = {grad, output, out};
  with_floating(output.dtype(), [&]<class T>(T) {
    for_each_row(tensors, dim, n, [&](const DimRow& row) {
      T *g = row_buffer<T>(n, 0), *y = row_buffer<T>(n, 1);
      load_row(grad.dtype(), row.data[0], row.strides[0], n, detail::compute_of<T>(), g);
      load_row(output.dtype(), row.data[1], row.strides[1], n, detail::compute_of<T>(), y);
      // A short row is summed as PyTorch does, in T and in order: near a one-hot row the gradient
      // is what this rounding leaves.
      T sum = 0;
      RowSum total;
      for (int64_t i = 0; i < n; i++) {
        const T term = Log ? g[i] : g[i] * y[i];
        sum += term;
        total += term;
      }
      if (n >= kShortRow) sum = static_cast<T>(total.value());
      for (int64_t i = 0; i < n; i++) g[i] = Log ? g[i] - std::exp(y[i]) * sum : (g[i] - sum) * y[i];
      store_row(detail::compute_of<T>(), g, n, out.dtype(), row.data[2], row.strides[2]);
    });
  });
}

void softmax_vjp(Vjp& v) { v.set(0, aten<"_softmax_backward_data">(v.grad(), v.result(), v.arg(1), v.geom(0).dtype)); }
void log_softmax_vjp(Vjp& v) { v.set(0, aten<"_log_softmax_backward_data">(v.grad(), v.result(), v.arg(1), v.geom(0).dtype)); }

Tensor as_type(const Tensor& t, DType dtype) { return t.dtype() == dtype ? t : aten<"_to_copy">(t, dtype); }
Tensor sum_keeping(const Tensor& t, const Value& dim) { return aten<"sum.dim_IntList">(t, Shape{dim.to_int()}, true); }

void softmax_backward_vjp(Vjp& v) {
  const Tensor output = v.saved(1), grad = as_type(v.grad(), output.dtype());
  if (v.need(0)) v.set(0, aten<"_softmax_backward_data">(grad, output, v.arg(2), v.arg(3)));
  if (v.need(1)) {
    const Tensor g = v.saved(0);
    v.set(1, g * grad - sum_keeping(output * g, v.arg(2)) * grad - g * sum_keeping(output * grad, v.arg(2)));
  }
}
void log_softmax_backward_vjp(Vjp& v) {
  const Tensor output = v.saved(1), grad = as_type(v.grad(), output.dtype());
  if (v.need(0)) v.set(0, grad - sum_keeping(grad * aten<"exp">(output), v.arg(2)));
  if (v.need(1)) v.set(1, -sum_keeping(v.saved(0), v.arg(2)) * aten<"exp">(output) * grad);
}

// ---- composites
template <bool Log>
Value softmax_int(const Call& c) {
  Tensor x = c.tensor(0);
  if (!c[2].is_none()) x = aten<"to.dtype">(x, c[2].dtype());
  return Log ? aten<"_log_softmax">(x, c[1], false) : aten<"_softmax">(x, c[1], false);
}

// ---- compiled: three passes over a row, and what they share is computed once for each
struct Row {
  std::vector<Expr> at, others;  // all variables; those of the other dims
  std::vector<Expr> along;  // that of the dim, or none of a 0-dim tensor
};
Row row_of(Lowering& l, int64_t dim) {
  Row r;
  r.at = variables_over(l, l.result(0).sizes);
  const int d = r.at.empty() ? -1 : wrap_dim(dim, static_cast<int>(r.at.size()));
  for (int k = 0; k < static_cast<int>(r.at.size()); k++)
    (k == d ? r.along : r.others).push_back(r.at[static_cast<std::size_t>(k)]);
  return r;
}
enum class Softmax : uint8_t { plain, log, safe };  // safe: a row of nothing but -inf is zero
template <Softmax Kind>
void softmax_lower(Lowering& l) {
  const DType type = compute_dtype(l);
  const Row r = row_of(l, l.call[1].to_int64());
  const Expr x = cast(type, l.load(0, r.at));
  const int top = l.temporary(r.others, l.fold(Accumulate::max, r.along, x));
  const Expr most = l.load_temporary(top, r.others), shifted = x - most;
  const int total = l.temporary(r.others, carried_fold(l, Accumulate::sum, r.along, exp(shifted)));
  const Expr sum = l.load_temporary(total, r.others);
  if (Kind == Softmax::log) {
    const DType small = l.call.tensor(0).dtype();
    const int rank = static_cast<int>(r.at.size());
    const bool rounds = is_reduced_floating(small) && is_last(wrap_dim(l.call[1].to_int64(), rank), rank);
    const auto kept = [&](const Expr& e) { return rounds ? cast(sum.dtype(), cast(small, cast(type, e))) : e; };
    return l.define(0, r.at, shifted - cast(type, kept(log(kept(sum)))));
  }
  const Expr share = exp(shifted) * cast(type, Expr::constant(sum.dtype(), 1.0) / sum);
  const double nothing = -std::numeric_limits<double>::infinity();
  l.define(0, r.at,
           Kind == Softmax::safe ? select(most == Expr::constant(type, nothing), Expr::constant(type, 0.0), share) : share);
}
template <bool Log>
void backward_lower(Lowering& l) {
  const DType type = dtype_of(compute_type(l.call.tensor(1).dtype()));
  const Row r = row_of(l, l.call[2].to_int64());
  const Expr g = cast(type, l.load(0, r.at)), y = cast(type, l.load(1, r.at));
  const int total = l.temporary(r.others, carried_fold(l, Accumulate::sum, r.along, Log ? g : g * y));
  const Expr sum = cast(type, l.load_temporary(total, r.others));
  l.define(0, r.at, Log ? g - exp(y) * sum : (g - sum) * y);
}

constexpr OpDef kSoftmaxOps[] = {
    {.schema = "aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
     .meta = softmax_meta,
     .kernel = softmax_kernel<!log_space>,
     .vjp = softmax_vjp,
     .saves = {{kResult}},
     .lower = softmax_lower<Softmax::plain>,
     .batch = batch_dims},
    {.schema = "aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
     .meta = softmax_meta,
     .kernel = softmax_kernel<log_space>,
     .vjp = log_softmax_vjp,
     .saves = {{kResult}},
     .lower = softmax_lower<Softmax::log>,
     .batch = batch_dims},
    {.schema = "aten::_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
     .meta = backward_meta,
     .kernel = backward_kernel<!log_space>,
     .vjp = softmax_backward_vjp,
     .saves = {{0, 1}, {1}},
     .lower = backward_lower<!log_space>,
     .batch = batch_dims},
    {.schema = "aten::_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
     .meta = backward_meta,
     .kernel = backward_kernel<log_space>,
     .vjp = log_softmax_backward_vjp,
     .saves = {{0, 1}, {1}},
     .lower = backward_lower<log_space>,
     .batch = batch_dims},
    // Rows of nothing but -inf become zeros, not NaN: attention with everything masked.
    {.schema = "aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     .body = [](const Call& c) -> Value {
       const Tensor &self = c.tensor(0), out = aten<"softmax.int">(self, c[1], c[2]);
       const Tensor masked = aten<"all.dim">(aten<"eq.Scalar">(self, -std::numeric_limits<double>::infinity()), c[1], true);
       return aten<"masked_fill.Scalar">(out, masked, 0);
     },
     .vjp = softmax_vjp,
     .saves = {{kResult}},
     .lower = softmax_lower<Softmax::safe>,
     .batch = batch_dims},
    {.schema = "aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     .form = Form::composite,
     .body = softmax_int<!log_space>},
    {.schema = "aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     .form = Form::composite,
     .body = softmax_int<log_space>},
    {.schema = "aten::special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     .form = Form::composite,
     .body = softmax_int<!log_space>},
    {.schema = "aten::special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
     .form = Form::composite,
     .body = softmax_int<log_space>},
};

}  // namespace

INGOT_FAMILY(softmax, kSoftmaxOps)

}  // namespace ingot
