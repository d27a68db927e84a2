// Slices along one dim chosen by a vector of indices (index_select, index_add …), and elements by
// their flat place (take, put).
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "op/deterministic.hpp"
#include "ingot/op/vjp.hpp"
#include "ops/batch/rules.hpp"
#include "ops/common/dense.hpp"
#include "ops/family.hpp"
#include "ops/common/lower_rules.hpp"
#include "ops/common/gradient_terms.hpp"
#include "ops/index/indexing.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

void check_index_vector(std::string_view op, const Tensor& index) {
  INGOT_REQUIRE_INDEX(index.dim() <= 1, op, "(): Index is supposed to be a vector, but got dim: ", index.dim());
  require_index_dtype(op, index);
}
// self and source agree but along dim, where source has one slice an index.
void check_source(std::string_view op, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  check_index_vector(op, index);
  INGOT_REQUIRE(self.dtype() == source.dtype(), op, "(): self (", scalar_type_name(self.dtype()), ") and source (",
                scalar_type_name(source.dtype()), ") must have the same scalar type");
  const int d = wrap_dim(dim, static_cast<int>(self.dim()));
  const Shape a = at_least_1d(self.sizes()), b = at_least_1d(source.sizes());
  bool match = a.size() == b.size();
  for (int i = 0; match && i < a.dim(); i++) match = i == d || a[static_cast<std::size_t>(i)] == b[static_cast<std::size_t>(i)];
  INGOT_REQUIRE(match, op,
                "(): source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = ",
                self.sizes(), ", source.shape = ", source.sizes());
  INGOT_REQUIRE_INDEX(index.numel() == b[static_cast<std::size_t>(d)], op, "(): Number of indices (", index.numel(),
                      ") should be equal to source.size(dim): (", b[static_cast<std::size_t>(d)], "), for dim: ", d);
}

void index_select_meta(const Call& c, Outputs& o) {
  const Tensor &self = c.tensor(0), &index = c.tensor(2);
  check_index_vector("index_select", index);
  const int d = wrap_dim(c[1].to_int64(), static_cast<int>(self.dim()));
  Shape sizes = self.sizes();
  if (self.dim() == 0)
    INGOT_REQUIRE(index.numel() == 1, "index_select(): Index to scalar can have only 1 value, got ", index.numel(), " value(s)");
  else sizes[static_cast<std::size_t>(d)] = index.numel();
  o.add(std::move(sizes), self.dtype());
}
void index_select_kernel(const Call& c, std::span<const Tensor> r) {
  const Indexing ix = index_slices(c.tensor(0), c[1].to_int64(), c.tensor(2));
  if (r[0].numel().same(0)) require_in_bounds(ix);  // as PyTorch does
  read_indexed(ix, c.tensor(0), r[0]);
}

// (self, dim, index, source, …)
template <bool kPreserve>
void like_self_meta(const Call& c, Outputs& o) {
  const Tensor& self = c.tensor(0);
  Geometry g = Geometry::contiguous(self.sizes(), self.dtype());
  if (kPreserve) g.strides = dense_strides_like(self.sizes(), self.strides());
  o.add(std::move(g));
}
auto slices(const Call& c) {
  return [&c](const Tensor& base) { return index_slices(base, c[1].to_int64(), c.tensor(2)); };
}

void index_add_meta(const Call& c, Outputs& o) {
  const Tensor& self = c.tensor(0);
  check_source("index_add", self, c[1].to_int64(), c.tensor(2), c.tensor(3));
  INGOT_REQUIRE(is_floating(self.dtype()) || is_complex(self.dtype()) || !c[4].is_float(),
                "For integral input tensors, argument alpha must not be a floating point number.");
  like_self_meta<false>(c, o);
}
void index_add_kernel(const Call& c, std::span<const Tensor> r) {
  const DType compute = compute_dtype(r[0].dtype());
  Tensor source = dense(c.tensor(3), compute);
  const Scalar alpha = c[4].to_scalar();
  if (!(alpha.is_int() && alpha.to_int().same(1))) {
    const Tensor scaled = make_tensor(Geometry::contiguous(source.sizes(), compute), source.device());
    on_compute_dtype(compute, [&]<class T>(T) {
      T factor;
      if constexpr (std::is_same_v<T, std::complex<double>>) factor = alpha.to_complex();
      else if constexpr (std::is_floating_point_v<T>) factor = static_cast<T>(alpha.to_double());
      else factor = static_cast<T>(alpha.to_int().value());
      for (int64_t i = 0, n = source.numel().number(); i < n; i++)
        scaled.data<T>()[i] = static_cast<T>(source.data<T>()[i] * factor);
    });
    source = scaled;
  }
  // One element at a time into a vector, whole slices into anything else.
  combine_indexed(r[0], c.tensor(0), source, Combine::add, slices(c), r[0].dim() <= 1 ? SumsAre::rounded : SumsAre::wide);
}

// The gradient's slices for the source of index_add and index_copy. A 0-dim source gets its one
// element.
Tensor source_gradient(const Vjp& v) { return aten<"index_select">(v.grad(), v.arg(1), v.saved(2)); }

void index_fill_meta(const Call& c, Outputs& o) {
  check_index_vector("index_fill", c.tensor(2));
  wrap_dim(c[1].to_int64(), static_cast<int>(c.tensor(0).dim()));
  if (c[3].is_tensor())
    INGOT_REQUIRE(c.tensor(3).dim() == 0, "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
                  c.tensor(3).dim(), " dimension(s).");
  INGOT_REQUIRE(is_complex(c.tensor(0).dtype()) || !(c[3].is_complex() || (c[3].is_tensor() && c.tensor(3).is_complex())),
                "index_fill_(): Converting complex Scalar to non-complex type is not supported");
  like_self_meta<true>(c, o);
}
void index_fill_kernel(const Call& c, std::span<const Tensor> r) {
  combine_indexed(r[0], c.tensor(0), c[3], Combine::assign, slices(c));
}

// Along dim, the places that `index` names.
Tensor index_fill_gradient(const Vjp& v) { return aten<"index_fill.int_Scalar">(v.grad(), v.arg(1), v.saved(2), 0); }

// ---- flat places

void take_meta(const Call& c, Outputs& o) {
  INGOT_REQUIRE(c.tensor(1).dtype() == DType::i64, "take(): Expected a long tensor for index, but got ",
                scalar_type_name(c.tensor(1).dtype()));
  INGOT_REQUIRE_INDEX(!statically_equal(c.tensor(0).numel(), 0) || statically_equal(c.tensor(1).numel(), 0),
                      "take(): tried to take from an empty tensor");
  o.add(c.tensor(1).sizes(), c.tensor(0).dtype());
}
void take_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor base = dense(c.tensor(0), c.tensor(0).dtype());
  read_indexed(index_flat(base, c.tensor(1)), base, make_alias(r[0], Geometry::contiguous({r[0].numel()}, r[0].dtype())));
}

// (self, index, source, accumulate)
void put_meta(const Call& c, Outputs& o) {
  const Tensor &self = c.tensor(0), &index = c.tensor(1), &source = c.tensor(2);
  if (!c[3].to_bool()) refuse_if_deterministic("put_");
  INGOT_REQUIRE(index.dtype() == DType::i64, "put_(): Expected a long tensor for index, but got ",
                scalar_type_name(index.dtype()));
  INGOT_REQUIRE(self.dtype() == source.dtype(),
                "put_(): self and source expected to have the same dtype, but got self.dtype = ", self.dtype(),
                " and source.dtype = ", source.dtype());
  INGOT_REQUIRE(index.numel() == source.numel(),
                "put_(): Expected source and index to have the same number of elements, but got source.numel() = ",
                source.numel(), ", index.numel() = ", index.numel());
  like_self_meta<true>(c, o);
}
void put_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor source = dense(c.tensor(2), c.tensor(2).dtype());
  Geometry flat = Geometry::contiguous({source.numel()}, source.dtype());
  flat.offset = source.storage_offset();
  combine_indexed(
      r[0], c.tensor(0), make_alias(source, std::move(flat)), c[3].to_bool() ? Combine::add : Combine::assign,
      [&](const Tensor& base) { return index_flat(base, c.tensor(1)); }, SumsAre::rounded);
}

Value take_along_dim(const Call& c) {
  const Tensor &self = c.tensor(0), &indices = c.tensor(1);
  INGOT_REQUIRE(indices.dtype() == DType::i64, "torch.take_along_dim(): dtype of indices should be Long but got ",
                scalar_type_name(indices.dtype()));
  if (c[2].is_none()) return aten<"take_along_dim">(aten<"reshape">(self, Shape{-1}), aten<"reshape">(indices, Shape{-1}), 0);
  INGOT_REQUIRE(self.dim() == indices.dim(),
                "torch.take_along_dim(): input and indices should have the same number of dimensions, but got ", self.dim(),
                " dimensions for input, and ", indices.dim(), " dimensions for indices");
  const auto d = static_cast<std::size_t>(wrap_dim(c[2].to_int64(), static_cast<int>(self.dim())));
  if (self.dim() == 0) return aten<"gather">(self, 0, indices);
  const Tensor wrapped = aten<"where.self">(indices < 0, aten<"add.Tensor">(indices, self.sizes()[d]), indices);
  Shape a = self.sizes(), b = indices.sizes();
  a[d] = b[d];
  const Shape index_sizes = broadcast_shapes(a, b, "take_along_dim");
  a = self.sizes();
  b[d] = a[d];
  const Shape self_sizes = broadcast_shapes(a, b, "take_along_dim");
  return aten<"gather">(self.expand(self_sizes), c[2], wrapped.expand(index_sizes));
}

// ---- batching

// Indices [batch, n] along dim `dim` of `self`, whose dim 0 is the batch, as gather and scatter
// take them.
Tensor spread_index(const Tensor& index, const Tensor& self, int dim) {
  Shape ones = Shape::filled(self.sizes().size(), 1), sizes = self.sizes();
  const Tensor rows = index.dim() == 1 ? index.unsqueeze(1) : index;
  ones[0] = sizes[0];
  ones[static_cast<std::size_t>(dim)] = sizes[static_cast<std::size_t>(dim)] = rows.sizes()[1];
  return aten<"expand">(aten<"reshape">(aten<"to.dtype">(rows, DType::i64), ones), sizes);
}
Value batch_index_select(const Batching& b) {
  if (b.rank(0) == 0) return batch_loop(b);
  const int dim = wrap_dim(b[1].to_int64(), b.rank(0));
  if (!b.batched(2)) return aten<"index_select">(b.tensor(0), dim + 1, b[2]);
  if (b.batched(0)) return aten<"gather">(b.tensor(0), dim + 1, spread_index(b.tensor(2), b.tensor(0), dim + 1));
  const Tensor all = aten<"index_select">(b.tensor(0), dim, aten<"reshape">(b.tensor(2), Shape{-1}));
  return move_dim(split_dim(all, dim, b.size, b.sizes(2).product()), dim, 0);
}
// index_add, index_copy, index_fill: (self, dim, index, what is written, …). With an index of its
// own for each member the same is a scatter.
enum class Written : uint8_t { slices, one_value };
template <OpName Scatter, Written What>
Value batch_index_write(const Batching& b) {
  constexpr bool source = What == Written::slices;
  const bool same_rank = !source || b.rank(3) == b.rank(0);
  if (b.rank(0) == 0 || !same_rank || b.rank(2) > 1 || (!source && b.batched(3))) return batch_loop(b);
  const int dim = wrap_dim(b[1].to_int64(), b.rank(0)) + 1;
  Values args = b.args;
  args[0] = b.front(0);
  args[1] = dim;
  if (source) args[3] = b.front(3);
  if (!b.batched(2)) return call(b.op, args);
  (void)b.member_results();
  Value written = args[3];
  if (args.size() > 4 && !(b[4].is_int() && b[4].to_int().same(1))) written = aten<"mul.Scalar">(args[3].tensor(), b[4]);
  if (!source && written.is_tensor()) return batch_loop(b);
  return aten<Scatter>(args[0], dim, spread_index(b.tensor(2), args[0].tensor(), dim), written);
}
Value batch_take(const Batching& b) {
  if (!b.batched(0)) return call(b.op, b.args);
  const Tensor flat = aten<"reshape">(b.tensor(0), Shape{b.size, b.sizes(0).product()});
  const Tensor index =
      aten<"reshape">(b.tensor(1), b.batched(1) ? Shape{b.size, b.sizes(1).product()} : Shape{b.sizes(1).product()});
  const Tensor members =
      b.batched(1) ? aten<"unsqueeze">(aten<"arange">(b.size, DType::i64, Value(), flat.device()), 1) : Tensor();
  return aten<"reshape">(aten<"index.Tensor">(flat, TensorList{members, index}), b.with_batch(b.sizes(1)));
}

void index_select_lower(Lowering& l) {
  const int rank = static_cast<int>(l.call.tensor(0).dim());
  if (rank == 0 || l.call.tensor(2).dim() != 1) return;
  const int dim = wrap_dim(l.call[1].to_int64(), rank);
  const Expr size = l.size(0, dim);
  check_indices_in_range(l, 2, -1, 0, size,
                         text("index_select: an index is out of bounds for dimension ", dim, " with size ", size));
  const std::vector<Expr> at = variables_over(l, l.result(0).sizes);
  std::vector<Expr> own = at;
  own[static_cast<std::size_t>(dim)] = cast(DType::i64, l.load(2, {at[static_cast<std::size_t>(dim)]}));
  l.define(0, at, l.load(0, own));
}

constexpr OpDef kIndexSlicesOps[] = {
    {.schema = "aten::index_select(Tensor self, int dim, Tensor index) -> Tensor",
     .meta = index_select_meta,
     .kernel = index_select_kernel,
     .vjp = [](Vjp& v) { v.set(0, aten<"index_add">(aten<"new_zeros">(v.grad(), v.sizes(0)), v.arg(1), v.saved(2), v.grad())); },
     .saves = {{2}},
     .lower = index_select_lower,
     .batch = batch_index_select},
    {.schema = "aten::index_select_backward(Tensor grad, SymInt[] self_sizes, int dim, Tensor index) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value { return aten<"index_add">(aten<"new_zeros">(c[0], c[1]), c[2], c[3], c[0]); }},
    {.schema = "aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
     .meta = index_add_meta,
     .kernel = index_add_kernel,
     .vjp =
         [](Vjp& v) {
           if (v.need(0)) v.set(0, v.grad());
           if (v.need(3)) v.set(3, times_conjugate(source_gradient(v), v.arg(4)));
         },
     .saves = {{2, 3}},
     .batch = batch_index_write<"scatter_add", Written::slices>},
    {.schema = "aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
     .meta =
         [](const Call& c, Outputs& o) {
           check_source("index_copy", c.tensor(0), c[1].to_int64(), c.tensor(2), c.tensor(3));
           like_self_meta<false>(c, o);
         },
     .kernel = [](const Call& c,
                  std::span<const Tensor> r) { combine_indexed(r[0], c.tensor(0), c[3], Combine::assign, slices(c)); },
     .vjp =
         [](Vjp& v) {
           if (v.need(0)) v.set(0, index_fill_gradient(v));
           if (v.need(3)) v.set(3, source_gradient(v));
         },
     .saves = {{2}},
     .autocast = Autocast::promote,
     .batch = batch_index_write<"scatter.src", Written::slices>},
    {.schema = "aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
     .meta = index_fill_meta,
     .kernel = index_fill_kernel,
     .vjp = [](Vjp& v) { v.set(0, index_fill_gradient(v)); },
     .saves = {{2}},
     .batch = batch_index_write<"scatter.value", Written::one_value>},
    {.schema = "aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
     .meta = index_fill_meta,
     .kernel = index_fill_kernel,
     .vjp =
         [](Vjp& v) {
           if (v.need(0)) v.set(0, index_fill_gradient(v));
           // Places named twice count once: what is left of the gradient is what was filled.
           if (v.need(3)) v.set(3, aten<"sum">(v.grad() - index_fill_gradient(v)));
         },
     .saves = {{2}},
     .grad = {.node_number = 1},
     .batch = batch_index_write<"scatter.value", Written::one_value>},
    {.schema = "aten::take(Tensor self, Tensor index) -> Tensor",
     .meta = take_meta,
     .kernel = take_kernel,
     .vjp = [](Vjp& v) { v.set(0, aten<"put">(aten<"new_zeros">(v.grad(), v.sizes(0)), v.saved(1), v.grad(), true)); },
     .saves = {{1}},
     .batch = batch_take},
    {.schema = "aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor",
     .meta = put_meta,
     .kernel = put_kernel,
     .vjp =
         [](Vjp& v) {
           if (v.need(0))
             v.set(0, v.arg(3).to_bool() ? v.grad()
                                         : aten<"put">(v.grad(), v.saved(1), aten<"new_zeros">(v.grad(), v.sizes(2)), false));
           if (v.need(2)) v.set(2, aten<"reshape">(aten<"take">(v.grad(), v.saved(1)), v.sizes(2)));
         },
     .saves = {{1}}},
    {.schema = "aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
     .form = Form::composite,
     .body = take_along_dim},
};

}  // namespace

INGOT_FAMILY(index_slices, kIndexSlicesOps)

}  // namespace ingot
