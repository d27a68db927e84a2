// Reductions into the places an index names: scatter_reduce (an index an element) and index_reduce
// (an index a slice). They differ only in how places are named, so their gradients are one rule.
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ingot/op/vjp.hpp"
#include "op/call.hpp"
#include "ops/batch/rules.hpp"
#include "ops/family.hpp"
#include "ops/index/indexing.hpp"
#include "ops/index/scatter.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

// Both ops: (self, dim, index, source, reduce, include_self)
void check_reduce(const Call& c, std::initializer_list<std::string_view> known) {
  const std::string& reduce = c[4].string();
  std::string names;
  for (std::string_view k : known) {
    if (k == reduce) return;
    names += text(names.empty() ? "" : ", ", k);
  }
  throw_user_error(text(c.op.schema.name, "(): Expected reduce to be one of ", names, " but got ", reduce, "."));
}
void check_order(const Call& c) {
  const std::string& reduce = c[4].string();
  INGOT_REQUIRE(!c.tensor(0).is_complex() || (reduce != "amax" && reduce != "amin"), c.op.schema.name, "(): ", reduce,
                " is not defined for complex numbers");
}

void scatter_reduce_meta(const Call& c, Outputs& o) {
  check_reduce(c, {"sum", "prod", "mean", "amax", "amin"});
  check_order(c);
  check_scatter("scatter_reduce", c.tensor(0), c[1].to_int64(), c.tensor(2), &c.tensor(3));
  o.add(c.tensor(0).sizes(), c.tensor(0).dtype());
}
void scatter_reduce_kernel(const Call& c, std::span<const Tensor> r) {
  if (c.tensor(2).numel() == 0) return copy_elements(r[0], c.tensor(0));
  reduce_indexed(r[0], c.tensor(0), c.tensor(3), c[4].string(), c[5].to_bool(),
                 [&](const Tensor& base) { return index_elements(base, c[1].to_int64(), c.tensor(2)); });
}

void index_reduce_meta(const Call& c, Outputs& o) {
  check_reduce(c, {"prod", "mean", "amax", "amin"});
  check_order(c);
  const Tensor &self = c.tensor(0), &index = c.tensor(2), &source = c.tensor(3);
  require_index_dtype("index_reduce", index);
  INGOT_REQUIRE_INDEX(index.dim() <= 1, "index_reduce(): Index is supposed to be a vector, but got dim: ", index.dim());
  INGOT_REQUIRE(self.dtype() == source.dtype(), "index_reduce(): self (", scalar_type_name(self.dtype()), ") and source (",
                scalar_type_name(source.dtype()), ") must have the same scalar type");
  Shape want = at_least_1d(self.sizes());
  want[static_cast<std::size_t>(wrap_dim(c[1].to_int64(), static_cast<int>(self.dim())))] = index.numel();
  INGOT_REQUIRE(at_least_1d(source.sizes()) == want, "index_reduce(): expected a source of shape ", want,
                " (self's, with one slice an index), found ", source.sizes());
  o.add(self.sizes(), self.dtype());
}
void index_reduce_kernel(const Call& c, std::span<const Tensor> r) {
  reduce_indexed(r[0], c.tensor(0), c.tensor(3), c[4].string(), c[5].to_bool(),
                 [&](const Tensor& base) { return index_slices(base, c[1].to_int64(), c.tensor(2)); });
}

struct ByElement {
  const Value dim, index;
  Tensor read(const Tensor& x) const { return aten<"gather">(x, dim, index); }
  Tensor add(const Tensor& x, const Tensor& src) const { return aten<"scatter_add">(x, dim, index, src); }
  Tensor reduce(const Tensor& x, const Tensor& src, const Value& how, const Value& include) const {
    return aten<"scatter_reduce.two">(x, dim, index, src, how, include);
  }
  Tensor clear(const Tensor& x) const { return aten<"scatter.value">(x, dim, index, 0); }
};
struct BySlice {
  const Value dim, index;
  Tensor read(const Tensor& x) const { return aten<"index_select">(x, dim, index); }
  Tensor add(const Tensor& x, const Tensor& src) const { return aten<"index_add">(x, dim, index, src); }
  Tensor reduce(const Tensor& x, const Tensor& src, const Value& how, const Value& include) const {
    return aten<"index_reduce">(x, dim, index, src, how, include);
  }
  Tensor clear(const Tensor& x) const { return aten<"index_fill.int_Scalar">(x, dim, index, 0); }
};

Tensor flag(const Tensor& condition, const Tensor& like) { return aten<"to.dtype">(condition, like.dtype()); }

// d(product of self and its sources). A factor's gradient is the product of the others: the result
// divided by the factor, but where the factor is zero, the product computed with 1 in its place.
template <class Places>
std::pair<Tensor, Tensor> product_gradients(const Vjp& v, const Places& at) {
  const Tensor grad = v.grad(), self = v.saved(0), src = v.saved(3), result = v.result();
  const Value &how = v.arg(4), &include = v.arg(5);
  std::pair<Tensor, Tensor> g;
  if (v.need(0)) {
    const Tensor masked = aten<"masked_fill.Scalar">(self, self == 0, 1);
    g.first = grad * at.reduce(masked, src, how, include) / masked;
  }
  if (v.need(3)) {
    const Tensor zero = src == 0;
    const Tensor zeros = at.read(at.add(aten<"zeros_like">(self), flag(zero, self)));
    const Tensor single = aten<"bitwise_and.Tensor">(zero, zeros == 1);
    const Tensor without = at.reduce(self, aten<"masked_fill.Scalar">(src, single, 1), how, include);
    g.second = where(single, at.read(grad * without), at.read(grad * result) / aten<"masked_fill.Scalar">(src, zero, 1));
  }
  return g;
}

template <class Places>
void reduce_vjp(Vjp& v) {
  const Places at{v.arg(1), Value(v.saved(2))};
  const std::string& how = v.arg(4).string();
  const bool include_self = v.arg(5).to_bool();
  const Tensor& grad = v.grad();
  Tensor self_grad, src_grad;
  if (how == "sum") {
    if (v.need(0)) self_grad = grad;
    if (v.need(3)) src_grad = at.read(grad);
  } else if (how == "prod") {
    std::tie(self_grad, src_grad) = product_gradients(v, at);
  } else if (how == "mean") {
    const Tensor counts = at.add(include_self ? ones_like(grad) : zeros_like(grad), aten<"ones_like">(v.saved(3)));
    const Tensor n = aten<"masked_fill.Scalar">(counts, counts == 0, 1);
    if (v.need(0)) self_grad = grad / n;
    if (v.need(3)) src_grad = at.read(grad) / at.read(n);
  } else {  // amax, amin: equal winners share
    const Tensor self = v.saved(0), src = v.saved(3), &result = v.result();
    const Tensor self_wins = flag(self == result, self), src_wins = flag(src == at.read(result), self);
    const Tensor share = grad / at.add(self_wins, src_wins);
    if (v.need(0)) self_grad = aten<"masked_fill.Scalar">(share, aten<"ne.Tensor">(self, result), 0);
    if (v.need(3)) src_grad = src_wins * at.read(share);
  }
  if (v.need(0)) v.set(0, include_self ? self_grad : at.clear(self_grad));
  if (v.need(3)) v.set(3, src_grad);
}

Value batch_index_reduce(const Batching& b) {
  if (b.batched(2) || b.rank(0) == 0 || b.rank(3) != b.rank(0)) return batch_loop(b);
  Values args = b.args;
  args[0] = b.front(0);
  args[3] = b.front(3);
  return call(b.op, with_dims_shifted(b.op, args, b.rank(0)));
}

constexpr OpDef kScatterReduceOps[] = {
    {.schema =
         "aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor",
     .meta = scatter_reduce_meta,
     .kernel = scatter_reduce_kernel,
     .vjp = reduce_vjp<ByElement>,
     .saves = {{0}, {2}, {3}, {kResult}},
     .batch = batch_elements},
    {.schema =
         "aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor",
     .meta = index_reduce_meta,
     .kernel = index_reduce_kernel,
     .vjp = reduce_vjp<BySlice>,
     .saves = {{0}, {2}, {3}, {kResult}},
     .batch = batch_index_reduce},
};

}  // namespace

INGOT_FAMILY(scatter_reduce, kScatterReduceOps)

}  // namespace ingot
