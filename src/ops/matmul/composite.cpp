// Products made of other products: matmul with ATen's folding rules, linear, tensordot, kron,
// chains.
#include <algorithm>

#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "ingot/op/vjp.hpp"
#include "ops/common/autocast_policy.hpp"
#include "ops/common/composite.hpp"
#include "ops/matmul/contract.hpp"
#include "ops/family.hpp"
#include "ops/common/gradient_terms.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

// Whether a batched matrix times a single one should be one product over the folded batch.
bool should_fold(const Tensor& a, const Tensor& b) {
  const bool a_larger = a.dim() >= b.dim();
  const Tensor large = a_larger ? a : b.transpose(-2, -1);
  const Tensor& small = a_larger ? b : a;
  if (large.dim() < 3 || small.dim() > 2) return false;
  // Folding may copy, but the gradient of the small one would be expanded to the batch otherwise.
  if (small.requires_grad()) return true;
  // The product would come out transposed and be copied.
  if (a.dim() == 2) return false;
  if (large.numel() == 0) return true;
  const Shape &sizes = large.sizes(), &strides = large.strides();
  for (std::size_t i = 0; i + 2 < sizes.size(); i++)
    if (!(sizes[i] == 1) && !(strides[i] == strides[i + 1] * sizes[i + 1])) return false;
  return true;
}

Tensor unsafe_view(const Tensor& t, const Shape& sizes) { return aten<"_unsafe_view">(t, sizes); }

Tensor folded_product(const Tensor& a, const Tensor& b) {
  const bool transposed = b.dim() > a.dim();
  const Tensor large = transposed ? b.transpose(-2, -1) : a;
  const Tensor small = !transposed ? b : a.dim() == 2 ? a.t() : a;
  Shape sizes = large.sizes();
  const Int inner = sizes.back();
  sizes.pop_back();
  const Int rows = sizes.product();
  const Tensor folded = large.reshape({rows, inner});
  if (small.dim() == 1) return unsafe_view(aten<"mv">(folded, small), sizes);
  sizes.push_back(small.size(1));
  const Tensor out = unsafe_view(folded.mm(small), sizes);
  return transposed ? out.transpose(-2, -1).contiguous() : out;
}

Tensor matmul_of(const Tensor& a, const Tensor& b) {
  const auto da = a.dim(), db = b.dim();
  INGOT_REQUIRE(da != 0 && db != 0, "both arguments to matmul need to be at least 1D, but they are ", da, "D and ", db, "D");
  if (da == 1 && db == 1) return aten<"dot">(a, b);
  if (da == 2 && db == 1) return aten<"mv">(a, b);
  if (da == 1 && db == 2) return a.unsqueeze(0).mm(b).squeeze(0);
  if (da == 2 && db == 2) return a.mm(b);
  if (should_fold(a, b)) return folded_product(a, b);

  const Int n = da > 1 ? a.size(-2) : Int(1), k = a.size(-1), p = db > 1 ? b.size(-1) : Int(1);
  const Int kb = db > 1 ? b.size(-2) : b.size(0);
  const Shape batch_a = da > 2 ? a.sizes().sub(0, static_cast<std::size_t>(da) - 2) : Shape{};
  const Shape batch_b = db > 2 ? b.sizes().sub(0, static_cast<std::size_t>(db) - 2) : Shape{};
  // As in should_fold: no expanded gradient for a broadcast operand.
  if (da == 3 && db == 3 && !(batch_a[0] == batch_b[0])) {
    if (batch_a[0] == 1 && a.requires_grad()) return matmul_of(a.squeeze(0), b);
    if (batch_b[0] == 1 && b.requires_grad()) return matmul_of(a, b.squeeze(0));
  }
  Shape sizes = broadcast_shapes(batch_a, batch_b, "matmul");
  const Int batch = sizes.product();
  auto with = [&](std::initializer_list<Int> tail) {
    Shape s = sizes;
    for (Int x : tail) s.push_back(x);
    return s;
  };
  const Tensor left = a.expand(with({n, k})).reshape({batch, n, k});
  const Tensor right =
      db == 1 ? b.expand(with({kb})).reshape({batch, kb}).unsqueeze(2) : b.expand(with({kb, p})).reshape({batch, kb, p});
  if (da > 1) sizes.push_back(n);
  if (db > 1) sizes.push_back(p);
  const Tensor product = aten<"bmm">(left, right);
  return unsafe_view(db == 1 ? product.squeeze(-1) : product, sizes);
}

Value linear_body(const Call& c) {
  const Tensor &x = c.tensor(0), &w = c.tensor(1);
  const Tensor bias = c[2].tensor_or_none();
  INGOT_REQUIRE(x.dim() != 0 && w.dim() != 0, "both arguments to linear need to be at least 1D, but they are ", x.dim(), "D and ",
                w.dim(), "D");
  if (x.dim() == 2 && bias.defined()) return aten<"addmm">(bias, x, w.t());
  if (x.dim() == 3 && bias.defined() && x.is_contiguous()) {
    const Tensor folded = aten<"addmm">(bias, x.reshape({x.size(0) * x.size(1), x.size(2)}), w.t());
    return folded.view({x.size(0), x.size(1), folded.size(1)});
  }
  const Tensor product = matmul_of(x, w.t());
  return bias.defined() ? product + bias : product;
}

Value tensordot_body(const Call& c) {
  Tensor a = c.tensor(0), b = c.tensor(1);
  const Shape &dims_a = c[2].ints(), &dims_b = c[3].ints();
  INGOT_REQUIRE(dims_a.size() == dims_b.size(), "both dimension lists should have same length");
  INGOT_REQUIRE(a.dtype() == b.dtype(), "both inputs should have same dtype");
  std::vector<bool> gone_a(a.sizes().size()), gone_b(b.sizes().size());
  Shape wrapped_a, wrapped_b;
  Int contracted = 1;
  for (std::size_t i = 0; i < dims_a.size(); i++) {
    const int da = wrap_dim(dims_a[i].value(), static_cast<int>(a.dim())),
              db = wrap_dim(dims_b[i].value(), static_cast<int>(b.dim()));
    INGOT_REQUIRE(!gone_a[da] && !gone_b[db], "dim ", gone_a[da] ? da : db, " appears multiple times in the list of dims");
    gone_a[da] = gone_b[db] = true;
    wrapped_a.push_back(da);
    wrapped_b.push_back(db);
    const Int sa = a.size(da), sb = b.size(db);
    if (sb == 1) a = a.sum({da}, true);  // broadcast: summed right away
    else if (sa == 1) b = b.sum({db}, true);
    else {
      INGOT_REQUIRE(sa == sb, "contracted dimensions need to match, but first has size ", sa, " in dim ", da,
                    " and second has size ", sb, " in dim ", db);
      contracted = contracted * sa;
    }
  }
  Shape order_a, order_b = wrapped_b, sizes;
  Int rows = 1, cols = 1;
  for (int i = 0; i < a.dim(); i++)
    if (!gone_a[i]) order_a.push_back(i), rows = rows * a.size(i), sizes.push_back(a.size(i));
  for (Int d : wrapped_a) order_a.push_back(d);
  for (int i = 0; i < b.dim(); i++)
    if (!gone_b[i]) order_b.push_back(i), cols = cols * b.size(i), sizes.push_back(b.size(i));
  return a.permute(order_a).reshape({rows, contracted}).mm(b.permute(order_b).reshape({contracted, cols})).reshape(sizes);
}

Value kron_body(const Call& c) {
  const Tensor &a = c.tensor(0), &b = c.tensor(1);
  const int64_t rank = std::max(a.dim(), b.dim());
  Shape sa, sb, sizes;
  for (int64_t i = 0; i < rank; i++) {
    const Int na = i < rank - a.dim() ? Int(1) : a.size(i - (rank - a.dim())),
              nb = i < rank - b.dim() ? Int(1) : b.size(i - (rank - b.dim()));
    for (Int x : {na, Int(1)}) sa.push_back(x);
    for (Int x : {Int(1), nb}) sb.push_back(x);
    sizes.push_back(na * nb);
  }
  return unsafe_view(a.reshape(sa) * b.reshape(sb), sizes);
}

Value inner_body(const Call& c) {
  const Tensor &a = c.tensor(0), &b = c.tensor(1);
  if (a.dim() == 0 || b.dim() == 0) return a * b;
  INGOT_REQUIRE(a.size(-1) == b.size(-1), "inner() the last dimension must match on both input tensors but got shapes ",
                a.sizes(), " and ", b.sizes());
  return aten<"tensordot">(a, b, Shape{-1}, Shape{-1});
}

// The cheapest order to multiply a chain of matrices (dynamic programming over its intervals), then
// that order.
Tensor chain_product(const TensorList& m, std::size_t from, std::size_t to, const std::vector<std::vector<std::size_t>>& cut) {
  if (from == to) return m[from];
  const std::size_t k = cut[from][to];
  return chain_product(m, from, k, cut).mm(chain_product(m, k + 1, to, cut));
}
Value multi_dot_body(const Call& c) {
  TensorList m = c[0].tensors();
  INGOT_REQUIRE(m.size() >= 2, "multi_dot(): expected at least 2 tensors but got ", m.size());
  // A vector at either end is a matrix with one row or column.
  const bool row = m.front().dim() == 1, col = m.back().dim() == 1;
  INGOT_REQUIRE(row || m.front().dim() == 2, "multi_dot(): the first tensor must be 1D or 2D but got ", m.front().dim(), "D");
  INGOT_REQUIRE(col || m.back().dim() == 2, "multi_dot(): the last tensor must be 1D or 2D but got ", m.back().dim(), "D");
  if (row) m.front() = m.front().unsqueeze(0);
  if (col) m.back() = m.back().unsqueeze(-1);
  const std::size_t n = m.size();
  for (std::size_t i = 0; i < n; i++) {
    INGOT_REQUIRE(m[i].dim() == 2, "multi_dot(): tensor ", i, " must be 2D but got ", m[i].dim(), "D");
    INGOT_REQUIRE(m[i].dtype() == m[0].dtype(), "multi_dot(): all tensors must have be the same dtype but tensor 0 is ",
                  m[0].dtype(), " and tensor ", i, " ", m[i].dtype());
    INGOT_REQUIRE(i == 0 || m[i - 1].size(1) == m[i].size(0), "multi_dot(): tensors ", i - 1, " and ", i, " with shapes ",
                  m[i - 1].sizes(), " and ", m[i].sizes(), " cannot be multiplied");
  }
  std::vector<std::vector<Int>> cost(n, std::vector<Int>(n, 0));
  std::vector<std::vector<std::size_t>> cut(n, std::vector<std::size_t>(n, 0));
  for (std::size_t length = 1; length < n; length++)
    for (std::size_t i = 0; i + length < n; i++) {
      const std::size_t j = i + length;
      for (std::size_t k = i; k < j; k++) {
        const Int here = cost[i][k] + cost[k + 1][j] + m[i].size(0) * m[k].size(1) * m[j].size(1);
        if (k == i || here < cost[i][j]) cost[i][j] = here, cut[i][j] = k;
      }
    }
  Tensor r = chain_product(m, 0, n - 1, cut);
  Shape sizes;
  if (!row) sizes.push_back(r.size(0));
  if (!col) sizes.push_back(r.size(1));
  return row || col ? r.view(sizes) : r;
}

// sum over `sumdim` of i1 * i2 * i3, each with dims of size one inserted at its `expand` places.
// The first two are multiplied and summed over what i3 does not have, then i3 comes in, as in
// PyTorch: half types are rounded in between.
Value trilinear_body(const Call& c) {
  Tensor t[3];
  for (int k = 0; k < 3; k++) {
    t[k] = c.tensor(k);
    for (Int d : c[3 + k].ints()) t[k] = t[k].unsqueeze(d.value());
  }
  const Shape &expand3 = c[5].ints(), &sum = c[6].ints();
  const auto has = [](const Shape& dims, Int d) { return std::find(dims.begin(), dims.end(), d) != dims.end(); };
  Shape before, with_third;
  for (Int d : sum) (has(expand3, d) ? before : with_third).push_back(d);
  const auto product_of = [&](const Tensor& a, const Tensor& b, const Tensor& third) {
    return contract_pair(contract_pair(a, b, before), third, with_third);
  };
  // PyTorch goes along one dim step by step. Where that one is summed, every sum of a half type is
  // rounded.
  const int64_t steps_along = c[7].to_int64();
  const Int steps = max(max(t[0].size(steps_along), t[1].size(steps_along)), t[2].size(steps_along));
  Tensor product;
  if (!is_reduced_floating(t[0].dtype()) || !has(sum, steps_along) || !steps.is_number() || steps.number() == 0) {
    product = product_of(t[0], t[1], t[2]);
  } else {
    for (int64_t k = 0; k < steps.number(); k++) {
      const auto step = [&](const Tensor& x) { return x.size(steps_along) == 1 ? x : aten<"narrow">(x, steps_along, k, 1); };
      const Tensor part = product_of(step(t[0]), step(t[1]), step(t[2]));
      product = k == 0 ? part : product + part;
    }
  }
  return sum.empty() ? product : aten<"squeeze.dims">(product, sum);
}
void trilinear_vjp(Vjp& v) {
  const Value &e1 = v.arg(3), &e2 = v.arg(4), &e3 = v.arg(5), &sum = v.arg(6);
  if (v.need(0)) v.set(0, aten<"_trilinear">(v.grad(), v.saved(1), v.saved(2), sum, e2, e3, e1));
  if (v.need(1)) v.set(1, aten<"_trilinear">(v.saved(0), v.grad(), v.saved(2), e1, sum, e3, e2));
  if (v.need(2)) v.set(2, aten<"_trilinear">(v.saved(0), v.saved(1), v.grad(), e1, e2, sum, e3));
}
Value bilinear_body(const Call& c) {
  const Tensor &a = c.tensor(0), &b = c.tensor(1), &w = c.tensor(2);
  const Tensor bias = c[3].tensor_or_none();
  INGOT_REQUIRE(a.dim() == b.dim(), "bilinear(): input dimensions do not match: got ", a.dim(), " and ", b.dim());
  INGOT_REQUIRE(a.dim() >= 1 && w.dim() == 3, "bilinear(): expected inputs of at least 1 dim and a 3-dim weight, found ",
                a.sizes(), " and ", w.sizes());
  for (int i = 0; i + 1 < a.dim(); i++)
    INGOT_REQUIRE(a.size(i) == b.size(i), "bilinear(): input batch dimensions do not match at dim ", i, ": got ", a.size(i),
                  " and ", b.size(i));
  INGOT_REQUIRE(a.size(-1) == w.size(1), "bilinear(): input1 size does not match weight size: got ", a.size(-1), " but expected ",
                w.size(1));
  INGOT_REQUIRE(b.size(-1) == w.size(2), "bilinear(): input2 size does not match weight size: got ", b.size(-1), " but expected ",
                w.size(2));
  INGOT_REQUIRE(!bias.defined() || bias.size(0) == w.size(0), "bilinear(): bias size does not match weight size");
  Shape sizes = a.sizes();
  sizes.back() = w.size(0);
  const Tensor product = aten<"_trilinear">(a.reshape({-1, a.size(-1)}), w, b.reshape({-1, b.size(-1)}), Shape{1, 3}, Shape{0},
                                            Shape{1, 2}, Shape{2, 3})
                             .reshape(sizes);
  return bias.defined() ? product + bias : product;
}

Value vecdot_body(const Call& c) {
  const Tensor &x = c.tensor(0), &y = c.tensor(1);
  INGOT_REQUIRE(x.dtype() == y.dtype() && is_differentiable(x.dtype()),
                "linalg.vecdot: Expected two floating point or complex tensors of one dtype. Got ", x.dtype(), " and ",
                y.dtype());
  if (x.dim() == 1 && y.dim() == 1) return aten<"vdot">(x, y);
  return (conjugate(x) * y).sum({c[2].to_int()});
}

Value outer_body(const Call& c) {
  const Tensor &a = c.tensor(0), &b = c.tensor(1);
  INGOT_REQUIRE(a.dim() == 1, "outer: Expected 1-D argument self, but got ", a.dim(), "-D");
  INGOT_REQUIRE(b.dim() == 1, "outer: Expected 1-D argument vec2, but got ", b.dim(), "-D");
  return a.reshape({a.size(0), 1}) * b;
}
Value matmul_body(const Call& c) { return matmul_of(c.tensor(0), c.tensor(1)); }

constexpr OpDef kMatmulCompositeOps[] = {
    in_lower_precision(composite("aten::matmul(Tensor self, Tensor other) -> Tensor", matmul_body)),
    composite("aten::linalg_matmul(Tensor self, Tensor other) -> Tensor", matmul_body),
    in_lower_precision(composite("aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", linear_body)),
    composite("aten::outer(Tensor self, Tensor vec2) -> Tensor", outer_body),
    composite("aten::ger(Tensor self, Tensor vec2) -> Tensor", outer_body),
    composite("aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor", tensordot_body),
    composite("aten::kron(Tensor self, Tensor other) -> Tensor", kron_body),
    composite("aten::inner(Tensor self, Tensor other) -> Tensor", inner_body),
    composite("aten::linalg_multi_dot(Tensor[] tensors) -> Tensor", multi_dot_body),
    composite("aten::chain_matmul(Tensor[] matrices) -> Tensor",
              [](const Call& c) -> Value {
                for (const Tensor& t : c[0].tensors())
                  INGOT_REQUIRE(t.dim() == 2, "chain_matmul: expected matrices, found a ", t.dim(), "D tensor");
                INGOT_REQUIRE(!c[0].tensors().empty(), "chain_matmul(): Expected one or more matrices");
                return c[0].tensors().size() == 1 ? Value(c[0].tensors()[0]) : multi_dot_body(c);
              }),
    in_lower_precision(composite("aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor", vecdot_body)),
    composite("aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor", bilinear_body),
    {.schema =
         "aten::_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, int unroll_dim=1) -> "
         "Tensor",
     .body = trilinear_body,
     .vjp = trilinear_vjp,
     .saves = {{0}, {1}, {2}}},
};

}  // namespace

INGOT_FAMILY(matmul_composite, kMatmulCompositeOps)

}  // namespace ingot
