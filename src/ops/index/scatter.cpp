// gather and scatter: one index for every element along a dim.
#include "ops/batch/rules.hpp"
#include "ops/index/scatter.hpp"

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "ingot/op/vjp.hpp"
#include "ops/family.hpp"
#include "ops/index/indexing.hpp"
#include "ops/common/lower_rules.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

bool is_empty(const Tensor& t) {
  for (Int s : t.sizes())
    if (statically_equal(s, 0)) return true;
  return false;
}

}  // namespace

void check_scatter(std::string_view op, const Tensor& self, int64_t dim, const Tensor& index, const Tensor* src) {
  const int d = wrap_dim(dim, static_cast<int>(self.dim()));
  if (src)
    INGOT_REQUIRE(src->dtype() == self.dtype(), op, "(): Expected self.dtype to be equal to src.dtype, found ", self.dtype(),
                  " and ", src->dtype());
  if (is_empty(index)) return;
  require_index_dtype(op, index);
  const Shape a = at_least_1d(self.sizes()), i = at_least_1d(index.sizes());
  INGOT_REQUIRE(a.size() == i.size(), "Index tensor must have the same number of dimensions as ", src ? "self" : "input",
                " tensor: ", op, "() found ", index.dim(), " and ", self.dim());
  auto no_larger = [](const Shape& x, const Shape& y, int but) {
    for (int k = 0; k < x.dim(); k++)
      if (k != but && !statically_equal(x[static_cast<std::size_t>(k)], y[static_cast<std::size_t>(k)]) &&
          x[static_cast<std::size_t>(k)] > y[static_cast<std::size_t>(k)])
        return false;
    return true;
  };
  INGOT_REQUIRE(no_larger(i, a, d), op, "(): Expected index ", index.sizes(), " to be no larger than self ", self.sizes(),
                " apart from dimension ", d);
  if (!src) return;
  const Shape b = at_least_1d(src->sizes());
  INGOT_REQUIRE(b.size() == i.size(), "Index tensor must have the same number of dimensions as src tensor: ", op, "() found ",
                index.dim(), " and ", src->dim());
  INGOT_REQUIRE(no_larger(i, b, -1), op, "(): Expected index ", index.sizes(), " to be no larger than src ", src->sizes());
}

namespace {

void gather_meta(const Call& c, Outputs& o) {
  check_scatter("gather", c.tensor(0), c[1].to_int64(), c.tensor(2), nullptr);
  o.add(c.tensor(2).sizes(), c.tensor(0).dtype());
}
void gather_kernel(const Call& c, std::span<const Tensor> r) {
  if (r[0].numel() == 0) return;
  read_indexed(index_elements(c.tensor(0), c[1].to_int64(), c.tensor(2)), c.tensor(0), r[0]);
}

// (self, dim, index, src or value, …)
void scatter_meta(const Call& c, Outputs& o) {
  check_scatter(c.op.schema.name, c.tensor(0), c[1].to_int64(), c.tensor(2), c[3].is_tensor() ? &c.tensor(3) : nullptr);
  o.add(c.tensor(0).sizes(), c.tensor(0).dtype());
}
template <Combine kCombine>
void scatter_kernel(const Call& c, std::span<const Tensor> r) {
  if (c.tensor(2).numel() == 0) return copy_elements(r[0], c.tensor(0));
  combine_indexed(r[0], c.tensor(0), c[3], kCombine,
                  [&](const Tensor& base) { return index_elements(base, c[1].to_int64(), c.tensor(2)); });
}
void scatter_by_name(const Call& c, std::span<const Tensor> r) {
  const std::string& reduce = c[4].string();
  INGOT_REQUIRE(reduce == "add" || reduce == "multiply", "reduce argument must be either add or multiply, found '", reduce, "'");
  if (reduce == "add") scatter_kernel<Combine::add>(c, r);
  else scatter_kernel<Combine::multiply>(c, r);
}

// What scatter read of src; src may be larger than the index, and is not read there.
Tensor src_gradient(const Vjp& v) {
  const Tensor g = aten<"gather">(v.grad(), v.arg(1), v.saved(2));
  const Shape &have = g.sizes(), &want = v.sizes(3);
  if (have.same(want) || have == want) return g;
  Shape pad;
  for (std::size_t d = want.size(); d-- > 0;) {
    pad.push_back(0);
    pad.push_back(want[d] - have[d]);
  }
  return aten<"constant_pad_nd">(g, pad, 0);
}
Tensor cleared(const Vjp& v) { return aten<"scatter.value">(v.grad(), v.arg(1), v.saved(2), 0); }

void gather_lower(Lowering& l) {
  const int rank = static_cast<int>(l.call.tensor(0).dim());
  if (rank == 0 || l.call.tensor(2).dim() != rank) return;
  const int dim = wrap_dim(l.call[1].to_int64(), rank);
  const Expr size = l.size(0, dim);
  check_indices_in_range(l, 2, -1, 0, size, text("gather: an index is out of bounds for dimension ", dim, " with size ", size));
  const std::vector<Expr> at = variables_over(l, l.result(0).sizes);
  std::vector<Expr> own = at;
  own[static_cast<std::size_t>(dim)] = cast(DType::i64, l.load(2, at));
  l.define(0, at, l.load(0, own));
}

constexpr OpDef kScatterOps[] = {
    {.schema = "aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
     .meta = gather_meta,
     .kernel = gather_kernel,
     .vjp =
         [](Vjp& v) { v.set(0, aten<"scatter_add">(aten<"new_zeros">(v.grad(), v.sizes(0)), v.arg(1), v.saved(2), v.grad())); },
     .saves = {{2}},
     .lower = gather_lower,
     .batch = batch_elements},
    {.schema = "aten::gather_backward(Tensor grad, Tensor self, int dim, Tensor index, bool sparse_grad) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value {
       return aten<"scatter_add">(aten<"new_zeros">(c[0], c.tensor(1).sizes()), c[2], c[3], c[0]);
     }},
    {.schema = "aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
     .meta = scatter_meta,
     .kernel = scatter_kernel<Combine::assign>,
     .vjp =
         [](Vjp& v) {
           if (v.need(0)) v.set(0, cleared(v));
           if (v.need(3)) v.set(3, src_gradient(v));
         },
     .saves = {{2}},
     .batch = batch_elements},
    {.schema = "aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
     .meta = scatter_meta,
     .kernel = scatter_kernel<Combine::assign>,
     .vjp = [](Vjp& v) { v.set(0, cleared(v)); },
     .saves = {{2}},
     .grad = {.node_number = 1},
     .batch = batch_elements},
    {.schema = "aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
     .meta = scatter_meta,
     .kernel = scatter_by_name,
     .batch = batch_elements},
    {.schema = "aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
     .meta = scatter_meta,
     .kernel = scatter_by_name,
     .batch = batch_elements},
    {.schema = "aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
     .meta = scatter_meta,
     .kernel = scatter_kernel<Combine::add>,
     .vjp =
         [](Vjp& v) {
           if (v.need(0)) v.set(0, v.grad());
           if (v.need(3)) v.set(3, src_gradient(v));
         },
     .saves = {{2, 3}},
     .batch = batch_elements},
};

}  // namespace

INGOT_FAMILY(scatter, kScatterOps)

}  // namespace ingot
