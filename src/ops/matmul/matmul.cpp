// Matrix products that are kernels of their own: mm, bmm, the add… family, groups, vectors. What is
// made of them is in composite.cpp and einsum.cpp.
#include <algorithm>

#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "ingot/op/lowering.hpp"
#include "op/promotion.hpp"
#include "ingot/op/vjp.hpp"
#include "ops/batch/rules.hpp"
#include "ops/family.hpp"
#include "ops/common/lower_rules.hpp"
#include "ops/common/gradient_terms.hpp"
#include "ops/matmul/batched_product.hpp"
#include "tensor/geometry.hpp"
#include "tensor/rows.hpp"

namespace ingot {
namespace {

std::string extent(const Tensor& t) {
  std::string s;
  for (Int n : t.sizes()) {
    if (!s.empty()) s += 'x';
    s += to_text(n);
  }
  return s;
}

// A product of these dtypes exists; all operands must agree.
void check_dtypes(const Call& c, const Tensor& a, const Tensor& b) {
  INGOT_REQUIRE(a.dtype() == b.dtype(), c.op.schema.name,
                ": expected both operands to have the same dtype, but got: ", name_of(a.dtype()), " != ", name_of(b.dtype()));
  INGOT_REQUIRE(a.dtype() != DType::b8 && !is_float8(a.dtype()), "\"", c.op.schema.name, "\" not implemented for '",
                scalar_type_name(a.dtype()), "'");
}
// Of an integer product a real factor counts as far as it is whole (0.6 as 0), as in PyTorch; addr
// alone refuses it.
void check_factors(const Call& c, DType t, int beta, int alpha) {
  for (int i : {beta, alpha})
    INGOT_REQUIRE(is_complex(t) || !c[i].is_complex(), "For non-complex input tensors, argument ",
                  c.op.schema.args[static_cast<std::size_t>(i)].name, " must not be a complex number.");
}
void check_whole_factors(const Call& c, DType t, int beta, int alpha) {
  check_factors(c, t, beta, alpha);
  for (int i : {beta, alpha})
    INGOT_REQUIRE(!is_integral(t) || c[i].is_int() || c[i].is_bool(), "For integral input tensors, argument ",
                  c.op.schema.args[static_cast<std::size_t>(i)].name, " must not be a floating point number.");
}
void check_addend(const Call& c, const Tensor& self, const Shape& sizes, DType dtype) {
  INGOT_REQUIRE(self.dtype() == dtype, c.op.schema.name, ": self and the product must have the same dtype, but got ",
                scalar_type_name(self.dtype()), " and ", scalar_type_name(dtype));
  INGOT_REQUIRE(self.dim() <= sizes.dim(), c.op.schema.name, ": The expanded size of self must have at most ", sizes.dim(),
                " dims, found ", self.sizes());
  expand_geometry(self->geom, sizes);  // says what does not fit
}

Shape product_sizes(const Call& c, const Tensor& a, const Tensor& b) {
  INGOT_REQUIRE(a.dim() == 2, c.op.schema.name, ": mat1 must be a matrix, got ", a.dim(), "-D tensor");
  INGOT_REQUIRE(b.dim() == 2, c.op.schema.name, ": mat2 must be a matrix, got ", b.dim(), "-D tensor");
  INGOT_REQUIRE(a.size(1) == b.size(0), "mat1 and mat2 shapes cannot be multiplied (", extent(a), " and ", extent(b), ")");
  check_dtypes(c, a, b);
  return {a.size(0), b.size(1)};
}
Shape batched_sizes(const Call& c, const Tensor& a, const Tensor& b) {
  INGOT_REQUIRE(a.dim() == 3, c.op.schema.name, ": batch1 must be a 3D tensor, found ", a.sizes());
  INGOT_REQUIRE(b.dim() == 3, c.op.schema.name, ": batch2 must be a 3D tensor, found ", b.sizes());
  INGOT_REQUIRE(a.size(0) == b.size(0) && a.size(2) == b.size(1), c.op.schema.name,
                ": Expected size for first two dimensions of batch2 tensor to be: [", a.size(0), ", ", a.size(2), "] but got: [",
                b.size(0), ", ", b.size(1), "].");
  check_dtypes(c, a, b);
  return {a.size(0), a.size(1), b.size(2)};
}
Shape matrix_vector_sizes(const Call& c, const Tensor& m, const Tensor& x) {
  INGOT_REQUIRE(m.dim() == 2 && x.dim() == 1, c.op.schema.name, ": matrix @ vector expected, got ", m.dim(), "D and ", x.dim(),
                "D");
  INGOT_REQUIRE(m.size(1) == x.size(0), c.op.schema.name, ": size mismatch, got mat (", extent(m), "), vec (", extent(x), ")");
  check_dtypes(c, m, x);
  return {m.size(0)};
}
void vector_vector_meta(const Call& c, Outputs& o) {
  const Tensor &a = c.tensor(0), &b = c.tensor(1);
  INGOT_REQUIRE(a.dim() == 1 && b.dim() == 1, "1D tensors expected, but got ", a.dim(), "D and ", b.dim(), "D tensors");
  INGOT_REQUIRE(a.dtype() == b.dtype(), c.op.schema.name, " : expected both vectors to have same dtype, but found ",
                scalar_type_name(a.dtype()), " and ", scalar_type_name(b.dtype()));
  INGOT_REQUIRE(a.size(0) == b.size(0), "inconsistent tensor size, expected tensor ", a.sizes(), " and src ", b.sizes(),
                " to have the same number of elements, but got ", a.numel(), " and ", b.numel(), " elements respectively");
  check_dtypes(c, a, b);
  o.add(Shape{}, a.dtype());
}

// The same elements seen as [batch, rows, cols].
Tensor batch_of_one(const Tensor& t) {
  Geometry g = t->geom;
  g.sizes.insert(0, 1);
  g.strides.insert(0, 0);
  return make_alias(t, std::move(g));
}
Tensor column(const Tensor& t) {  // [n] as [n, 1]
  Geometry g = t->geom;
  g.sizes.push_back(1);
  g.strides.push_back(1);
  return make_alias(t, std::move(g));
}
Tensor row(const Tensor& t) {  // [n] as [1, n]
  return batch_of_one(t);
}
// The addend of a matrix with columns: [n] stands for [n, 1].
Tensor column_addend(const Tensor& t) { return t.dim() == 0 ? t : column(t); }
// None when beta is zero: then self is not read, so that its NaN do not spread.
Tensor addend(const Tensor& self, const Value& beta) { return beta.to_scalar().to_bool() ? self : Tensor(); }

bool column_major(const Geometry& g) { return statically_equal(g.strides[0], 1) && statically_equal(g.strides[1], g.sizes[0]); }

// The gradients of alpha * a @ b for matrices; the layout of the gradient follows that of its
// matrix.
Tensor left_gradient(const Tensor& grad, const Tensor& b, const Geometry& a, const Value& alpha) {
  if (column_major(a)) return times_conjugate(conjugate(b).mm(grad.t()).t(), alpha);
  return times_conjugate(grad.mm(conjugate(b.t())), alpha);
}
Tensor right_gradient(const Tensor& grad, const Tensor& a, const Geometry& b, const Value& alpha) {
  if (column_major(b)) return times_conjugate(grad.t().mm(conjugate(a)).t(), alpha);
  return times_conjugate(conjugate(a.t()).mm(grad), alpha);
}
void mm_vjp(Vjp& v) {
  if (v.need(1)) v.set(1, right_gradient(v.grad(), v.saved(0), v.geom(1), 1));
  if (v.need(0)) v.set(0, left_gradient(v.grad(), v.saved(1), v.geom(0), 1));
}
void addmm_vjp(Vjp& v) {
  if (v.need(1)) v.set(1, left_gradient(v.grad(), v.saved(2), v.geom(1), v.arg(4)));
  if (v.need(2)) v.set(2, right_gradient(v.grad(), v.saved(1), v.geom(2), v.arg(4)));
  if (v.need(0)) v.set(0, times_conjugate(v.grad(), v.arg(3)));
}

Tensor bmm(const Tensor& a, const Tensor& b) { return aten<"bmm">(a, b); }
void bmm_vjp(Vjp& v) {
  if (v.need(1)) v.set(1, bmm(conjugate(v.saved(0).transpose(1, 2)), v.grad()));
  if (v.need(0)) v.set(0, bmm(v.grad(), conjugate(v.saved(1).transpose(1, 2))));
}
void baddbmm_vjp(Vjp& v) {
  if (v.need(1)) v.set(1, times_conjugate(bmm(v.grad(), conjugate(v.saved(2).transpose(1, 2))), v.arg(4)));
  if (v.need(2)) v.set(2, times_conjugate(bmm(conjugate(v.saved(1).transpose(1, 2)), v.grad()), v.arg(4)));
  if (v.need(0)) v.set(0, times_conjugate(v.grad(), v.arg(3)));
}
void addbmm_vjp(Vjp& v) {
  // Every batch member sees the same gradient.
  auto expanded = [&] { return v.grad().unsqueeze(0).expand({v.sizes(1)[0], v.sizes(1)[1], v.sizes(2)[2]}); };
  if (v.need(1)) v.set(1, times_conjugate(bmm(expanded(), conjugate(v.saved(2).transpose(1, 2))), v.arg(4)));
  if (v.need(2)) v.set(2, times_conjugate(bmm(conjugate(v.saved(1).transpose(1, 2)), expanded()), v.arg(4)));
  if (v.need(0)) v.set(0, times_conjugate(v.grad(), v.arg(3)));
}
void mv_vjp(Vjp& v) {
  if (v.need(0)) v.set(0, aten<"ger">(v.grad(), conjugate(v.saved(1))));
  if (v.need(1)) v.set(1, aten<"mv">(conjugate(v.saved(0)).t(), v.grad()));
}
void addmv_vjp(Vjp& v) {
  if (v.need(1)) v.set(1, times_conjugate(aten<"ger">(v.grad(), conjugate(v.saved(2))), v.arg(4)));
  if (v.need(0)) v.set(0, times_conjugate(v.grad(), v.arg(3)));
  if (v.need(2)) v.set(2, times_conjugate(aten<"mv">(conjugate(v.saved(1).t()), v.grad()), v.arg(4)));
}
void addr_vjp(Vjp& v) {
  if (v.need(0)) v.set(0, times_conjugate(v.grad(), v.arg(3)));
  if (v.need(1)) v.set(1, times_conjugate(aten<"mv">(v.grad(), conjugate(v.saved(2))), v.arg(4)));
  if (v.need(2)) v.set(2, times_conjugate(aten<"mv">(v.grad().t(), conjugate(v.saved(1))), v.arg(4)));
}

void vector_product(const Tensor& result, const Tensor& a, const Tensor& b) {
  Geometry g = result->geom;
  g.sizes = g.strides = {1, 1, 1};
  batched_product(make_alias(result, std::move(g)), batch_of_one(row(a)), batch_of_one(column(b)));
}

// ---- grouped: a product for each part of a dim, which the offsets cut where the parts end
// [S, K] [G, K, N] -> [S, N], cut along S; [G, M, K] [K, N] -> [M, N], along N; [M, K] [K, N] ->
// [G, M, N], along K; batches have no offsets. What lies behind the last offset belongs to no group
// and is zero.

void grouped_meta(const Call& c, Outputs& o) {
  const Tensor &a = c.tensor(0), &b = c.tensor(1);
  const auto rank_a = a.dim(), rank_b = b.dim();
  INGOT_REQUIRE((rank_a == 2 || rank_a == 3) && (rank_b == 2 || rank_b == 3),
                "Multiplicands must be 2D or 3D but got mat_a.dim()=", rank_a, " and mat_b.dim()=", rank_b);
  INGOT_REQUIRE(a.size(-1) == b.size(-2), "contraction dimension of mat_a and mat_b must match");
  check_dtypes(c, a, b);
  INGOT_REQUIRE(is_floating(a.dtype()), "Expected mat_a to be Float32, BFloat16 or Float16 matrix, got ",
                scalar_type_name(a.dtype()));
  INGOT_REQUIRE(c[3].is_none(), "Bias not supported yet");
  INGOT_REQUIRE(c[4].is_none() || c[4].dtype() == a.dtype(), "Grouped gemm output dtype must match `mat_a` dtype");
  INGOT_REQUIRE(c[2].is_none() == (rank_a == 3 && rank_b == 3),
                "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d");
  if (c[2].is_none()) {
    INGOT_REQUIRE(a.size(0) == b.size(0), "batched dimension has to match");
    o.add({a.size(0), a.size(1), b.size(2)}, a.dtype());
    return;
  }
  const Tensor& offsets = c.tensor(2);
  INGOT_REQUIRE(offsets.dim() == 1, "offs has to be 1D");
  INGOT_REQUIRE(offsets.dtype() == DType::i32 || offsets.dtype() == DType::i64, "Offsets have to be int32");
  if (rank_a == 3 || rank_b == 3)
    INGOT_REQUIRE(offsets.size(0) == (rank_a == 3 ? a : b).size(0), "matrix batch sizes have to match");
  if (rank_a == 2 && rank_b == 2) o.add({offsets.size(0), a.size(0), b.size(1)}, a.dtype());
  else o.add({a.size(-2), b.size(-1)}, a.dtype());
}

void grouped_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor &a = c.tensor(0), &b = c.tensor(1);
  if (c[2].is_none()) return batched_product(r[0], a, b);
  const auto part = [](const Tensor& t, int dim, int64_t begin, int64_t end) {
    const Tensor cut = make_alias(t, slice_geometry(t->geom, dim, begin, end, 1));
    return t.dim() == 2 ? batch_of_one(cut) : cut;
  };
  const int64_t extent = (a.dim() == 3 ? b.size(1) : b.dim() == 3 ? a.size(0) : a.size(1)).value();
  std::vector<int64_t> ends = c.tensor(2).to_vector<int64_t>();
  std::ranges::sort(ends);
  aten_value<"zero_">(r[0]);
  int64_t begin = 0;
  for (std::size_t k = 0; k < ends.size(); k++) {
    const auto group = static_cast<int64_t>(k);
    const int64_t end = std::clamp(ends[k], begin, extent);
    if (begin == end) continue;
    if (b.dim() == 3) batched_product(part(r[0], 0, begin, end), part(a, 0, begin, end), part(b, 0, group, group + 1));
    else if (a.dim() == 3) batched_product(part(r[0], 1, begin, end), part(a, 0, group, group + 1), part(b, 1, begin, end));
    else batched_product(part(r[0], 0, group, group + 1), part(a, 1, begin, end), part(b, 0, begin, end));
    begin = end;
  }
}

// Whatever is cut, a gradient is the product of the same kind with the other factor.
void grouped_vjp(Vjp& v) {
  const auto product = [&](const Tensor& a, const Tensor& b) { return aten<"_grouped_mm">(a, b, v.arg(2)); };
  if (v.need(0)) v.set(0, product(v.grad(), v.saved(1).transpose(-2, -1)));
  if (v.need(1)) v.set(1, product(v.saved(0).transpose(-2, -1), v.grad()));
}

// ---- compiled: a sum of products in the compute type, so that small floats round once

// What the factors, arguments a and b, make at an element of the result: matrices, a batch of them,
// or vectors.
Expr product_at(Lowering& l, int a, int b, std::span<const Expr> at) {
  const DType type = compute_dtype(l);
  const auto rank_a = static_cast<int>(l.call.tensor(a).dim());
  const Expr k = l.variable(l.size(a, rank_a - 1));
  std::vector<Expr> left(at.begin(), at.end()), right(at.begin(), at.end());
  if (l.call.tensor(b).dim() == 1) {
    right = {k};
    left.push_back(k);
  } else {
    left.back() = k;
    right[right.size() - 2] = k;
  }
  return l.fold(Accumulate::sum, {k}, cast(type, l.load(a, left)) * cast(type, l.load(b, right)));
}
void product_lower(Lowering& l) {
  const std::vector<Expr> at = variables_over(l, l.result(0).sizes);
  l.define(0, at, product_at(l, 0, 1, at));
}
// beta * self + alpha * product: (self, a, b, beta, alpha). Where beta is zero self is not looked
// at.
void scaled_sum_lower(Lowering& l) {
  const DType type = compute_dtype(l);
  const std::vector<Expr> at = variables_over(l, l.result(0).sizes);
  auto factor = [&](int argument) { return cast(type, l.load(argument, {})); };
  Expr value = product_at(l, 1, 2, at) * factor(4);
  if (!factor(3).is_const(0)) value = value + factor(3) * cast(type, load_broadcast(l, 0, at));
  l.define(0, at, value);
}

// ---- batching: the product with one batch dim more
// The shape rule of the member's own op is asked first, for its refusals: matmul takes more than mm
// does.

Value batch_product(const Batching& b) {
  (void)b.member_results();
  return aten<"matmul">(b.tensor(0), b.tensor(1));
}
Tensor vector_product(const Tensor& matrix, const Tensor& vector, bool batched_vector) {
  return batched_vector ? aten<"matmul">(matrix, vector.unsqueeze(-1)).squeeze(-1) : aten<"matmul">(matrix, vector);
}
Value batch_mv(const Batching& b) {
  (void)b.member_results();
  return vector_product(b.tensor(0), b.tensor(1), b.batched(1));
}
Value batch_dot(const Batching& b) {
  (void)b.member_results();
  return aten<"sum.dim_IntList">(aten<"mul.Tensor">(b.tensor(0), b.tensor(1)), Shape{-1}, false, b.tensor(0).dtype());
}
// beta * self + alpha * product: (self, a, b, beta, alpha). `product` is what the two factors make,
// for every member.
Value scaled_sum(const Batching& b, Tensor product, int rank) {
  const auto one = [](const Value& v) { return v.is_int() && v.to_int().same(1); };
  const auto factor = [&](int i) { return is_integral(product.dtype()) ? Value(b[i].to_scalar().to_int()) : b[i]; };
  const Value beta = factor(3), alpha = factor(4);
  if (!one(alpha)) product = aten<"mul.Scalar">(product, alpha);
  if (!beta.to_scalar().to_bool()) return product;  // self is not looked at, not even for NaN
  const Tensor self = b.batched(0) ? raise_rank(b.tensor(0), rank) : b.tensor(0);
  return aten<"add.Tensor">(product, one(beta) ? self : aten<"mul.Scalar">(self, beta));
}
Tensor in_front(const Batching& b, const Tensor& product) { return b.batched(1) || b.batched(2) ? product : b.repeated(product); }
Value batch_add_product(const Batching& b) {  // addmm, baddbmm
  const int rank = b.rank(1);
  (void)b.member_results();
  return scaled_sum(b, in_front(b, aten<"matmul">(b.tensor(1), b.tensor(2))), rank);
}
Value batch_addbmm(const Batching& b) {
  (void)b.member_results();
  return scaled_sum(
      b, aten<"sum.dim_IntList">(in_front(b, aten<"matmul">(b.tensor(1), b.tensor(2))), Shape{1}, false, b.tensor(1).dtype()), 2);
}
Value batch_addmv(const Batching& b) {
  (void)b.member_results();
  return scaled_sum(b, in_front(b, vector_product(b.tensor(1), b.tensor(2), b.batched(2))), 1);
}

// All groups' products at once, and of each what belongs to its group: offsets, too, may differ by
// member.
Value batch_grouped(const Batching& b) {
  (void)b.member_results();
  if (b[2].is_none()) return aten<"matmul">(b.tensor(0), b.tensor(1));
  const bool cuts_rows = b.rank(1) == 3, cuts_columns = b.rank(0) == 3;
  const Tensor left = cuts_columns ? b.tensor(0) : b.tensor(0).unsqueeze(-3);
  const Tensor right = cuts_rows ? b.tensor(1) : b.tensor(1).unsqueeze(-3), &ends = b.tensor(2);
  const Int extent = cuts_rows ? left.size(-2) : cuts_columns ? right.size(-1) : left.size(-1);
  // By group and place along the dim that is cut: is it this group's? As many groups come before a
  // place as end there or earlier.
  const Tensor place = aten<"arange">(extent);
  const Tensor group = aten<"sum.dim_IntList">(aten<"ge.Tensor">(place, ends.unsqueeze(-1)), Shape{-2}, false);
  const Tensor own = aten<"eq.Tensor">(group.unsqueeze(-2), aten<"arange">(ends.size(-1)).unsqueeze(-1));
  const auto kept = [](const Tensor& where, const Tensor& t) { return aten<"where.ScalarOther">(where, t, 0); };
  if (!cuts_rows && !cuts_columns) return aten<"matmul">(kept(own.unsqueeze(-2), left), right);
  const Tensor product = kept(own.unsqueeze(cuts_rows ? -1 : -2), aten<"matmul">(left, right));
  return aten<"sum.dim_IntList">(product, Shape{-3}, false);
}

constexpr OpDef kMatmulOps[] = {
    {.schema = "aten::mm(Tensor self, Tensor mat2) -> Tensor",
     .meta = [](const Call& c, Outputs& o) { o.add(product_sizes(c, c.tensor(0), c.tensor(1)), c.tensor(0).dtype()); },
     .kernel =
         [](const Call& c, std::span<const Tensor> r) {
           batched_product(batch_of_one(r[0]), batch_of_one(c.tensor(0)), batch_of_one(c.tensor(1)));
         },
     .vjp = mm_vjp,
     .saves = {{0, 1}, {1, 0}},
     .autocast = Autocast::lower_precision,
     .lower = product_lower,
     .batch = batch_product},
    {.schema = "aten::_int_mm(Tensor self, Tensor mat2) -> Tensor",
     .meta =
         [](const Call& c, Outputs& o) {
           Shape sizes = product_sizes(c, c.tensor(0), c.tensor(1));
           INGOT_REQUIRE(c.tensor(0).dtype() == DType::i8, "_int_mm: Expected self dtype to be of type int8 but got ",
                         c.tensor(0).dtype());
           o.add(std::move(sizes), DType::i32);
         },
     .kernel =
         [](const Call& c, std::span<const Tensor> r) {
           batched_product(batch_of_one(r[0]), batch_of_one(c.tensor(0)), batch_of_one(c.tensor(1)));
         },
     .grad = {.none = true}},
    {.schema = "aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     .meta =
         [](const Call& c, Outputs& o) {
           Shape sizes = product_sizes(c, c.tensor(1), c.tensor(2));
           check_addend(c, c.tensor(0), sizes, c.tensor(1).dtype());
           check_factors(c, c.tensor(1).dtype(), 3, 4);
           o.add(std::move(sizes), c.tensor(1).dtype());
         },
     .kernel =
         [](const Call& c, std::span<const Tensor> r) {
           batched_product(batch_of_one(r[0]), batch_of_one(c.tensor(1)), batch_of_one(c.tensor(2)), c[4].to_scalar(),
                           addend(c.tensor(0), c[3]), c[3].to_scalar());
         },
     .vjp = addmm_vjp,
     .saves = {{1, 2}, {2, 1}},
     .autocast = Autocast::lower_precision,
     .lower = scaled_sum_lower,
     .batch = batch_add_product},
    {.schema = "aten::bmm(Tensor self, Tensor mat2) -> Tensor",
     .meta = [](const Call& c, Outputs& o) { o.add(batched_sizes(c, c.tensor(0), c.tensor(1)), c.tensor(0).dtype()); },
     .kernel = [](const Call& c, std::span<const Tensor> r) { batched_product(r[0], c.tensor(0), c.tensor(1), 1, {}, 0, true); },
     .vjp = bmm_vjp,
     .saves = {{0, 1}, {1, 0}},
     .autocast = Autocast::lower_precision,
     .lower = product_lower,
     .batch = batch_product},
    {.schema = "aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     .meta =
         [](const Call& c, Outputs& o) {
           Shape sizes = batched_sizes(c, c.tensor(1), c.tensor(2));
           check_addend(c, c.tensor(0), sizes, c.tensor(1).dtype());
           check_factors(c, c.tensor(1).dtype(), 3, 4);
           o.add(std::move(sizes), c.tensor(1).dtype());
         },
     .kernel =
         [](const Call& c, std::span<const Tensor> r) {
           batched_product(r[0], c.tensor(1), c.tensor(2), c[4].to_scalar(), addend(c.tensor(0), c[3]), c[3].to_scalar(), true);
         },
     .vjp = baddbmm_vjp,
     .saves = {{1, 2}, {2, 1}},
     .autocast = Autocast::lower_precision,
     .lower = scaled_sum_lower,
     .batch = batch_add_product},
    {.schema = "aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     .meta =
         [](const Call& c, Outputs& o) {
           const Shape sizes = batched_sizes(c, c.tensor(1), c.tensor(2)).sub(1, 3);
           check_addend(c, c.tensor(0), sizes, c.tensor(1).dtype());
           check_factors(c, c.tensor(1).dtype(), 3, 4);
           o.add(sizes, c.tensor(1).dtype());
         },
     .kernel =
         [](const Call& c, std::span<const Tensor> r) {
           // One product after the other, each rounded to the result's type, as in PyTorch.
           const Tensor &a = c.tensor(1), &b = c.tensor(2), out = batch_of_one(r[0]);
           const int64_t n = a.size(0).value();
           Tensor sum = addend(c.tensor(0), c[3]);
           Scalar beta = c[3].to_scalar();
           if (n == 0) {  // beta * self alone
             const Tensor none = make_tensor(Geometry::contiguous({1, a.size(1), 0}, a.dtype()));
             batched_product(out, none, make_tensor(Geometry::contiguous({1, 0, b.size(2)}, b.dtype())), 1, sum, beta);
           }
           for (int64_t i = 0; i < n; i++) {
             batched_product(out, make_alias(a, slice_geometry(a->geom, 0, i, i + 1, 1)),
                             make_alias(b, slice_geometry(b->geom, 0, i, i + 1, 1)), c[4].to_scalar(), sum, beta);
             sum = r[0];
             beta = 1;
           }
         },
     .vjp = addbmm_vjp,
     .saves = {{1, 2}, {2, 1}},
     .autocast = Autocast::lower_precision,
     .batch = batch_addbmm},
    {.schema =
         "aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor",
     .meta = grouped_meta,
     .kernel = grouped_kernel,
     .vjp = grouped_vjp,
     .saves = {{0, 1}, {1, 0}, {2}},
     .batch = batch_grouped},
    // An operator of the transformers library: its experts, where PyTorch's own does not take the
    // dtype.
    {.schema = "transformers::grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value { return aten<"_grouped_mm">(c.tensor(0), c.tensor(1), c[2]); }},
    {.schema = "aten::mv(Tensor self, Tensor vec) -> Tensor",
     .meta = [](const Call& c, Outputs& o) { o.add(matrix_vector_sizes(c, c.tensor(0), c.tensor(1)), c.tensor(0).dtype()); },
     .kernel =
         [](const Call& c, std::span<const Tensor> r) {
           batched_product(batch_of_one(column(r[0])), batch_of_one(c.tensor(0)), batch_of_one(column(c.tensor(1))));
         },
     .vjp = mv_vjp,
     .saves = {{0, 1}, {1, 0}},
     .lower = product_lower,
     .batch = batch_mv},
    {.schema = "aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     .meta =
         [](const Call& c, Outputs& o) {
           Shape sizes = matrix_vector_sizes(c, c.tensor(1), c.tensor(2));
           check_addend(c, c.tensor(0), sizes, c.tensor(1).dtype());
           check_factors(c, c.tensor(1).dtype(), 3, 4);
           o.add(std::move(sizes), c.tensor(1).dtype());
         },
     .kernel =
         [](const Call& c, std::span<const Tensor> r) {
           const Tensor self = addend(c.tensor(0), c[3]);
           batched_product(batch_of_one(column(r[0])), batch_of_one(c.tensor(1)), batch_of_one(column(c.tensor(2))),
                           c[4].to_scalar(), self.defined() ? column_addend(self) : self, c[3].to_scalar());
         },
     .vjp = addmv_vjp,
     .saves = {{1, 2}, {2, 1}},
     .lower = scaled_sum_lower,
     .batch = batch_addmv},
    {.schema = "aten::dot(Tensor self, Tensor tensor) -> Tensor",
     .meta = vector_vector_meta,
     .kernel = [](const Call& c, std::span<const Tensor> r) { vector_product(r[0], c.tensor(0), c.tensor(1)); },
     .vjp =
         [](Vjp& v) {
           if (v.need(0)) v.set(0, v.grad() * conjugate(v.saved(1)));
           if (v.need(1)) v.set(1, v.grad() * conjugate(v.saved(0)));
         },
     .saves = {{0, 1}, {1, 0}},
     .lower = product_lower,
     .batch = batch_dot},
    {.schema = "aten::vdot(Tensor self, Tensor other) -> Tensor",
     .body = [](const Call& c) -> Value { return aten<"dot">(conjugate(c.tensor(0)), c.tensor(1)); },
     .vjp =
         [](Vjp& v) {
           if (v.need(1)) v.set(1, v.grad() * v.saved(0));
           if (v.need(0)) v.set(0, conjugate(v.grad()) * v.saved(1));
         },
     .saves = {{0, 1}, {1, 0}}},
    {.schema = "aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     .body = [](const Call& c) -> Value {
       const Tensor &self = c.tensor(0), &a = c.tensor(1), &b = c.tensor(2);
       INGOT_REQUIRE(a.dim() == 1 && b.dim() == 1, "addr: Expected 1-D argument vec1 and vec2, but got ", a.dim(), "-D and ",
                     b.dim(), "-D");
       expand_geometry(self->geom, {a.size(0), b.size(0)});
       check_whole_factors(c, result_type(c.args.first(3)), 3, 4);
       // alpha goes into the column, not into the product: where every step is rounded, that is
       // another number. The factors are numbers of the tensors' dtype, as PyTorch's are here: 0.6
       // of a bfloat16 is 0.6016.
       const auto times = [&](const Tensor& t, const Value& factor) {
         if (factor.is_int() && factor.to_int().same(1)) return t;
         const Value own = is_reduced_floating(t.dtype()) ? Value(aten<"scalar_tensor">(factor, t.dtype())) : factor;
         return aten<"mul.Tensor">(t, own);
       };
       const Tensor outer = times(a, c[4]).unsqueeze(1) * b;
       return c[3].to_scalar().to_bool() ? times(self, c[3]) + outer : outer;
     },
     .vjp = addr_vjp,
     .saves = {{1, 2}, {2, 1}}},
};

}  // namespace

INGOT_FAMILY(matmul, kMatmulOps)

}  // namespace ingot
