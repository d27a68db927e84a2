// Linear algebra that is made of the factorisations: solvers with checks, norms, ranks, powers,
// reflector products.
#include <cmath>
#include <limits>

#include "ops/common/autocast_policy.hpp"
#include "ops/batch/rules.hpp"
#include "ops/common/composite.hpp"
#include "ops/family.hpp"
#include "ops/linalg/linalg.hpp"
#include "ops/reduce/reduction.hpp"

namespace ingot {
namespace {

// Raises if a factorisation said that it failed. Fakes cannot fail.
Value check_errors_body(const Call& c) {
  const Tensor& info = c.tensor(0);
  if (info->is_fake()) return {};
  const std::string& op = c[1].string();
  const Tensor dense = info.contiguous();
  const int64_t n = dense.numel().value();
  for (int64_t i = 0; i < n; i++) {
    const int32_t code = dense.data<int32_t>()[i];
    if (code == 0) continue;
    const std::string where = c[2].to_bool() ? "" : text("(Batch element ", i, "): ");
    if (op.find("cholesky") != std::string::npos)
      throw_user_error(
          text(op, ": ", where,
               "The factorization could not be completed because the input is not positive-definite (the leading minor of order ",
               code, " is not positive-definite)."));
    throw_user_error(text(op, ": ", where, "The diagonal element ", code, " is zero, the ",
                          op.find("solve") != std::string::npos ? "solve" : "inversion",
                          " could not be completed because the input matrix is singular."));
  }
  return {};
}
void check_info(const Tensor& info, std::string_view op, const Tensor& matrix) {
  aten_value<"_linalg_check_errors">(info, std::string(op), matrix.dim() == 2);
}

Value cholesky_body(const Call& c) {  // self, upper
  const TensorList r = atens<"linalg_cholesky_ex">(c[0], c[1]);
  check_info(r[1], "linalg.cholesky", c.tensor(0));
  return r[0];
}
Value cholesky_solve_body(const Call& c) {  // B, factor, upper
  const Tensor &b = c.tensor(0), &f = c.tensor(1);
  check_square(f, "cholesky_solve", "u");
  check_matrix(b, "cholesky_solve", "b");
  const Tensor l = c[2].to_bool() ? adjoint(f) : f;
  return solve_triangular_of(adjoint(l), solve_triangular_of(l, b, false), true);
}
void cholesky_solve_vjp(Vjp& v) {
  const Tensor f = v.saved(1), gb = aten<"cholesky_solve">(v.grad(), f, v.arg(2));
  if (v.need(1)) {
    const Tensor half = gb.matmul(adjoint(v.result())), both = half + adjoint(half);
    v.set(1, v.arg(2).to_bool() ? -f.matmul(both) : -both.matmul(f));
  }
  if (v.need(0)) v.set(0, gb);
}
Tensor identity(Int n, const Tensor& like) { return aten<"eye">(n, like.dtype(), Value(), like.device()); }
Value cholesky_inverse_body(const Call& c) {
  check_square(c.tensor(0), "cholesky_inverse");
  const Tensor& f = c.tensor(0);
  return aten<"cholesky_solve">(identity(f.size(-1), f).expand(f.sizes()), f, c[1]);
}
void cholesky_inverse_vjp(Vjp& v) {
  const Tensor f = v.saved(0), &x = v.result(), both = x.matmul(v.grad() + adjoint(v.grad())).matmul(x);
  v.set(0, v.arg(1).to_bool() ? -f.matmul(both) : -both.matmul(f));
}

Value inv_body(const Call& c) {
  const TensorList r = atens<"linalg_inv_ex">(c[0]);
  check_info(r[1], "linalg.inv", c.tensor(0));
  return r[0];
}
Value logdet_body(const Call& c) {
  const Tensor& a = c.tensor(0);
  const TensorList r = atens<"_linalg_slogdet">(a);
  if (a.is_complex()) return r[0].log() + r[1];
  return where(r[0] == -1, Scalar(std::numeric_limits<double>::quiet_NaN()), r[1]);
}
Value slogdet_body(const Call& c) {
  const TensorList r = atens<"_linalg_slogdet">(c[0]);
  return TensorList{r[0], r[1]};
}
Value solve_body(const Call& c) {  // A, B, left
  const TensorList r = atens<"_linalg_solve_ex">(c[0], c[1], c[2]);
  check_info(r[3], "torch.linalg.solve", c.tensor(0));
  return r[0];
}

// ---- eigenvalues and singular values alone: vectors are computed where a gradient will want them

Value eigvalsh_body(const Call& c) { return atens<"_linalg_eigh">(c[0], c[1], wants_gradient(c.tensor(0)))[0]; }
Tensor singular_values_of(const Tensor& a) { return atens<"_linalg_svd">(a, false, wants_gradient(a))[1]; }
Value svd_body(const Call& c) {  // the old one: self, some, compute_uv -> U, S, V
  const Tensor& a = c.tensor(0);
  check_matrix(a, "linalg.svd");
  if (c[2].to_bool()) {
    const TensorList r = atens<"_linalg_svd">(a, !c[1].to_bool());
    return TensorList{r[0], r[1], adjoint(r[2])};
  }
  auto zeros = [&](Int n) { return aten<"zeros">(joined(batch_of(a), {n, n}), a.dtype(), Value(), a.device()); };
  return TensorList{zeros(a.size(-2)), singular_values_of(a), zeros(a.size(-1))};
}

// ---- pseudo-inverse and rank

Tensor number_like(double x, const Tensor& a) { return aten<"full">(Shape{}, x, real_of(a.dtype()), Value(), a.device()); }
Value number_or_none(const Value& v, const Tensor& a) { return v.is_none() ? Value() : Value(number_like(v.to_double(), a)); }
Tensor pinv(const Tensor& a, const Value& atol, const Value& rtol, const Value& hermitian) {
  return aten<"linalg_pinv.atol_rtol_tensor">(a, atol, rtol, hermitian);
}

Value matrix_rank_of(const Tensor& a, const Value& atol, const Value& rtol, bool hermitian) {
  check_matrix(a, "linalg.matrix_rank");
  if (hermitian) check_square(a, "linalg.matrix_rank");
  if (a.numel() == 0) return aten<"zeros">(batch_of(a), DType::i64, Value(), a.device());
  const Tensor s = hermitian ? atens<"_linalg_eigh">(a, "L", false)[0].abs() : atens<"_linalg_svd">(a, false, false)[1];
  const Tensor largest = amax(s, {-1});
  const double eps = epsilon_of(a.dtype());
  const double slack = eps * static_cast<double>(std::max(a.size(-1).value(), a.size(-2).value()));
  Tensor bound;
  if (!rtol.is_none()) bound = rtol.tensor() * largest;
  else if (atol.is_none()) bound = aten<"mul.Tensor">(largest, slack);
  else bound = where(atol.tensor() > 0, aten<"zeros_like">(largest), aten<"mul.Tensor">(largest, slack));
  if (!atol.is_none()) bound = maximum(atol.tensor().to(bound.dtype()), bound);
  return aten<"sum.dim_IntList">(s > bound.unsqueeze(-1), Shape{-1});
}

// ---- least squares: A, B, rcond, driver -> (solution, residuals, rank, singular values)

Value lstsq_body(const Call& c) {
  const Tensor &a = c.tensor(0), &b = c.tensor(1);
  const std::string_view op = "torch.linalg.lstsq";
  check_matrix(a, op, "input");
  INGOT_REQUIRE(b.dim() >= 1, op, ": other must have at least 1 dimension.");
  check_same_dtype(a, b, op);
  const std::string driver = c[3].is_none() ? "gelsy" : c[3].string();
  INGOT_REQUIRE(driver == "gels" || driver == "gelsy" || driver == "gelsd" || driver == "gelss", op,
                ": parameter `driver` should be one of (gels, gelsy, gelsd, gelss), found '", driver, "'");
  const bool vector = b.dim() == 1 || (a.dim() - 1 == b.dim() && b.sizes() == a.sizes().sub(0, a.sizes().size() - 1));
  const Tensor rhs = vector ? b.unsqueeze(-1) : b;
  INGOT_REQUIRE(a.size(-2) == rhs.size(-2), op, ": input.size(-2) should match other.size(", vector ? -1 : -2, "), found ",
                a.sizes(), " and ", b.sizes());
  // gels takes the matrix to be of full rank; the others count what is small as zero.
  const bool ranked = driver != "gels", valued = driver == "gelsd" || driver == "gelss";
  const Value rcond = ranked ? number_or_none(c[2], a) : Value();
  const Tensor x = pinv(a, Value(), rcond, false).matmul(rhs);
  const auto none = [&](DType t) { return aten<"empty.memory_format">(Shape{0}, t, Value(), a.device()); };
  Tensor residuals = none(real_of(a.dtype())), rank = none(DType::i64), values = none(real_of(a.dtype()));
  if (ranked) rank = matrix_rank_of(a, Value(), rcond, false).tensor();
  if (valued) values = atens<"_linalg_svd">(a.detach(), false, false)[1];
  const bool overdetermined = a.size(-2) > a.size(-1);
  if (overdetermined && driver != "gelsy" && (!valued || aten<"all">(rank == a.size(-1)).item().to_bool()))
    residuals = (a.matmul(x) - rhs).abs().pow(2).sum({-2});
  return TensorList{vector ? x.squeeze(-1) : x, residuals, rank, values};
}

// ---- norms

// The permutation that moves dims a and b last, and its inverse.
Shape dims_last(int64_t rank, int a, int b) {
  Shape order;
  for (int i = 0; i < rank; i++)
    if (i != a && i != b) order.push_back(i);
  order.push_back(a);
  order.push_back(b);
  return order;
}
Tensor keep_dims(const Tensor& reduced, int64_t rank, int a, int b) {
  Tensor r = reduced.unsqueeze(-1).unsqueeze(-1);
  const Shape order = dims_last(rank, a, b);
  Shape back = Shape::filled(order.size(), 0);
  for (std::size_t k = 0; k < order.size(); k++) back[static_cast<std::size_t>(order[k].value())] = static_cast<int64_t>(k);
  return r.permute(back);
}
struct MatrixDims {
  int a, b;
  MatrixDims(const Tensor& t, const Shape& dims) {
    INGOT_REQUIRE(dims.dim() == 2, "linalg.matrix_norm: dim must be a 2-tuple. Got ", dims);
    a = wrap_dim(dims[0].value(), static_cast<int>(t.dim()));
    b = wrap_dim(dims[1].value(), static_cast<int>(t.dim()));
    INGOT_REQUIRE(a != b, "linalg.matrix_norm: dims must be different. Got (", a, ", ", b, ")");
  }
};
Tensor vector_norm(const Tensor& t, double ord, const Value& dims, bool keepdim, const Value& dtype) {
  return aten<"linalg_vector_norm">(t, ord, dims, keepdim, dtype);
}
Tensor matrix_norm(const Tensor& t, double ord, const Shape& dims, bool keepdim, const Value& dtype) {
  INGOT_REQUIRE(t.dim() >= 2, "linalg.matrix_norm: The input tensor A must have at least 2 dimensions.");
  const double size = std::abs(ord);
  INGOT_REQUIRE(size == 1 || size == 2 || std::isinf(size), "linalg.matrix_norm: Order ", ord, " not supported.");
  const MatrixDims d(t, dims);
  auto extreme = [&](const Tensor& x, int64_t dim, bool keep) {
    return ord > 0 ? amax(x, {dim}, keep) : aten<"amin">(x, Shape{dim}, keep);
  };
  if (size == 2) {
    const Tensor x = dtype.is_none() ? t : t.to(dtype.dtype());
    const Tensor r = extreme(singular_values_of(x.permute(dims_last(t.dim(), d.a, d.b))), -1, false);
    return keepdim ? keep_dims(r, t.dim(), d.a, d.b) : r;
  }
  // Columns are summed for 1, rows for infinity.
  const int inner = size == 1 ? d.a : d.b;
  int outer = size == 1 ? d.b : d.a;
  if (outer > inner && !keepdim) outer--;
  return extreme(vector_norm(t, 1, Shape{inner}, keepdim, dtype), outer, keepdim);
}
Tensor matrix_norm(const Tensor& t, const std::string& ord, const Shape& dims, bool keepdim, const Value& dtype) {
  INGOT_REQUIRE(ord == "fro" || ord == "nuc", "linalg.matrix_norm: Order ", ord, " not supported.");
  INGOT_REQUIRE(t.dim() >= 2, "linalg.matrix_norm: The input tensor A must have at least 2 dimensions.");
  const MatrixDims d(t, dims);
  if (ord == "fro") return vector_norm(t, 2, Shape{d.a, d.b}, keepdim, dtype);
  const Tensor x = dtype.is_none() ? t : t.to(dtype.dtype());
  const Tensor r = singular_values_of(x.permute(dims_last(t.dim(), d.a, d.b))).sum({-1});
  return keepdim ? keep_dims(r, t.dim(), d.a, d.b) : r;
}
Value norm_body(const Call& c) {  // self, ord, dim, keepdim, dtype
  const Tensor& t = c.tensor(0);
  const bool keepdim = c[3].to_bool();
  if (!c[1].is_none()) {
    const int64_t dims = c[2].is_none() ? t.dim() : c[2].ints().dim();
    INGOT_REQUIRE(dims == 1 || dims == 2, "linalg.norm: If ",
                  c[2].is_none() ? "dim is not specified but ord is, the input must be 1D or 2D. Got "
                                 : "dim is specified, it must be of length 1 or 2. Got ",
                  dims, c[2].is_none() ? "D." : "");
    const Shape both = c[2].is_none() ? Shape{0, 1} : c[2].ints();
    if (c[1].is_string()) return matrix_norm(t, c[1].string(), both, keepdim, c[4]);
    if (dims == 2) return matrix_norm(t, c[1].to_double(), both, keepdim, c[4]);
  }
  return vector_norm(t, c[1].is_none() ? 2.0 : c[1].to_double(), c[2], keepdim, c[4]);
}
template <class Ord>
Tensor condition_number(const Tensor& a, const Ord& ord) {
  const TensorList r = atens<"linalg_inv_ex">(a);
  const Tensor inverse = masked_fill(r[0], r[1].unsqueeze(-1).unsqueeze(-1) > 0, Scalar(std::numeric_limits<double>::infinity()));
  const Shape last{-2, -1};
  return matrix_norm(a, ord, last, false, Value()) * matrix_norm(inverse, ord, last, false, Value());
}
Value cond_body(const Call& c) {
  const Tensor& a = c.tensor(0);
  check_matrix(a, "linalg.cond");
  if (c[1].is_string()) {
    check_square(a, "linalg.cond");
    return condition_number(a, c[1].string());
  }
  const double p = c[1].is_none() ? 2.0 : c[1].to_double();
  if (std::abs(p) != 2) {
    check_square(a, "linalg.cond");
    return condition_number(a, p);
  }
  const Tensor s = singular_values_of(a), largest = s.narrow(-1, 0, 1), least = s.narrow(-1, s.size(-1) - 1, 1);
  return (p > 0 ? largest / least : least / largest).squeeze(-1);
}

// ---- powers, reflectors, tensors as matrices

Value matrix_power_body(const Call& c) {
  Tensor a = c.tensor(0);
  int64_t n = c[1].to_int64();
  INGOT_REQUIRE(a.dim() >= 2 && a.size(-1) == a.size(-2), "linalg.matrix_power: A must be batches of square matrices, found ",
                a.sizes());
  if (n == 0) return aten_value<"copy_">(a.clone(), identity(a.size(-1), a));
  if (n == 1) return a.clone();
  if (n < 0) {
    a = aten<"linalg_inv">(a);
    n = -n;
  }
  Tensor r;
  for (Tensor square = a;; square = square.matmul(square)) {
    if (n & 1) r = r.defined() ? r.matmul(square) : square;
    if ((n >>= 1) == 0) break;
  }
  return r;
}

// Reflector i of `a`: zeros, a one at place i, then the column below the diagonal. As [batch..., m,
// 1].
Tensor reflector(const Tensor& a, int64_t i) {
  const Int m = a.size(-2);
  const Tensor below = a.narrow(-1, i, 1).narrow(-2, i + 1, m - i - 1);
  const Tensor one = aten<"ones">(joined(batch_of(a), {1, 1}), a.dtype(), Value(), a.device());
  const Tensor tail = cat({one, below}, -2);
  return i == 0 ? tail : aten<"constant_pad_nd">(tail, Shape{0, 0, i, 0});
}
// x becomes H_i x (or H_i^H x).
Tensor reflected(const Tensor& x, const Tensor& a, const Tensor& tau, int64_t i, bool adjointed) {
  const Tensor v = reflector(a, i), t = tau.narrow(-1, i, 1).unsqueeze(-1);
  return x - (adjointed ? conjugate(t) : t) * v.matmul(adjoint(v).matmul(x));
}
Tensor in_columns(const Tensor& t) { return aten<"clone">(t.transpose(-2, -1), MemoryFormat::contiguous).transpose(-2, -1); }
Value householder_product_body(const Call& c) {
  const Tensor &a = c.tensor(0), &tau = c.tensor(1);
  check_matrix(a, "torch.linalg.householder_product", "input");
  INGOT_REQUIRE(a.size(-2) >= a.size(-1),
                "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]");
  INGOT_REQUIRE(tau.dim() == a.dim() - 1 && tau.size(-1) <= a.size(-1),
                "torch.linalg.householder_product: expected tau with one dim less than input and "
                "at most ",
                a.size(-1), " reflectors, found ", tau.sizes());
  const Int m = a.size(-2), n = a.size(-1);
  Tensor q = identity(m, a).narrow(-1, 0, n).expand(joined(batch_of(a), {m, n}));
  for (int64_t i = tau.size(-1).value(); i-- > 0;) q = reflected(q, a, tau, i, false);
  return in_columns(q);
}
Value ormqr_body(const Call& c) {  // a, tau, other, left, transpose
  const Tensor &a = c.tensor(0), &tau = c.tensor(1), &other = c.tensor(2);
  check_matrix(a, "torch.ormqr", "input");
  check_matrix(other, "torch.ormqr", "other");
  const bool left = c[3].to_bool(), transpose = c[4].to_bool();
  INGOT_REQUIRE(other.size(left ? -2 : -1) == a.size(-2), "torch.ormqr: other.shape[", left ? -2 : -1,
                "] must be equal to input.shape[-2], found ", other.sizes(), " and ", a.sizes());
  // X Q = (Q^H X^H)^H. Q = H_0 … H_{k-1}: the last reflector acts first, for the adjoint the first.
  const bool adjointed = transpose == left;
  Tensor x = left ? other : adjoint(other);
  const int64_t k = tau.size(-1).value();
  for (int64_t step = 0; step < k; step++) x = reflected(x, a, tau, adjointed ? step : k - 1 - step, adjointed);
  return in_columns(left ? x : adjoint(x));
}

Value tensorinv_body(const Call& c) {
  const Tensor& a = c.tensor(0);
  const int64_t ind = c[1].to_int64();
  INGOT_REQUIRE(ind > 0 && ind < a.dim() + 1,
                "Expected a strictly positive integer for 'ind', at most the number of dims, found ", ind);
  const Shape first = a.sizes().sub(0, static_cast<std::size_t>(ind)),
              rest = a.sizes().sub(static_cast<std::size_t>(ind), a.sizes().size());
  INGOT_REQUIRE(first.product() == rest.product(),
                "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got ",
                rest.product(), " != ", first.product());
  Shape out = rest;
  for (Int n : first) out.push_back(n);
  return aten<"linalg_inv">(a.reshape({first.product(), rest.product()})).reshape(out);
}
Value tensorsolve_body(const Call& c) {  // self, other, dims
  Tensor a = c.tensor(0);
  const Tensor& b = c.tensor(1);
  if (!c[2].is_none()) {
    const Shape& dims = c[2].ints();
    Shape to;
    for (int64_t i = 0; i < dims.dim(); i++) to.push_back(i - dims.dim());
    a = aten<"movedim.intlist">(a, dims, to);
  }
  const Shape out = a.sizes().sub(static_cast<std::size_t>(b.dim()), a.sizes().size());
  INGOT_REQUIRE(
      out.product() == b.numel(),
      "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got ",
      out.product(), " != ", b.numel());
  return aten<"linalg_solve">(a.reshape({b.numel(), out.product()}), b.reshape({-1})).reshape(out);
}
Value vander_body(const Call& c) {
  Tensor x = c.tensor(0);
  const Tensor row = x.dim() == 0 ? x.unsqueeze(0) : x;
  const Int n = c[1].int_or(row.size(-1));
  INGOT_REQUIRE(n > 1, "linalg.vander: N must be greater than 1.");
  const Tensor powers = aten<"cumprod">(row.unsqueeze(-1).expand(joined(row.sizes(), {n - 1})), -1);
  return cat({aten<"ones">(joined(row.sizes(), {1}), powers.dtype(), Value(), x.device()), powers}, -1);
}

Value linalg_cross_body(const Call& c) {  // self, other, dim
  const Tensor &a = c.tensor(0), &b = c.tensor(1);
  INGOT_REQUIRE(a.dim() == b.dim(), "linalg.cross: inputs must have the same number of dimensions.");
  const Shape sizes = broadcast_shapes(a.sizes(), b.sizes(), "linalg.cross");
  const int d = wrap_dim(c[2].to_int64(), static_cast<int>(a.dim()));
  INGOT_REQUIRE(a.size(d) == 3 && b.size(d) == 3, "linalg.cross: inputs dimension ", d, " must have length 3. Got ", a.size(d),
                " and ", b.size(d));
  const Tensor x = a.expand(sizes), y = b.expand(sizes);
  TensorList parts;
  for (int k = 0; k < 3; k++) {
    const int i = (k + 1) % 3, j = (k + 2) % 3;
    parts.push_back(x.select(d, i) * y.select(d, j) - x.select(d, j) * y.select(d, i));
  }
  return stack(parts, d);
}
Value cross_body(const Call& c) {
  const Tensor &a = c.tensor(0), &b = c.tensor(1);
  if (!c[2].is_none()) return aten<"linalg_cross">(a, b, c[2]);
  for (int i = 0; i < a.dim(); i++)
    if (a.size(i) == 3) return aten<"linalg_cross">(a, b, i);
  throw_user_error(text("no dimension of size 3 in input ", a.sizes()));
}

Value batch_check_errors(const Batching& b) { return call(b.op, {b[0], b[1], false}); }

constexpr OpDef kLinalgCompositeOps[] = {
    {.schema = "aten::_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()",
     .body = check_errors_body,
     .grad = {.none = true},
     .batch = batch_check_errors},
    in_float32(composite("aten::linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor", cholesky_body)),
    in_float32(composite("aten::cholesky(Tensor self, bool upper=False) -> Tensor", cholesky_body)),
    {.schema = "aten::cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor",
     .body = cholesky_solve_body,
     .vjp = cholesky_solve_vjp,
     .saves = {{1}, {kResult, 1}},
     .autocast = Autocast::float32},
    {.schema = "aten::cholesky_inverse(Tensor self, bool upper=False) -> Tensor",
     .body = cholesky_inverse_body,
     .vjp = cholesky_inverse_vjp,
     .saves = {{0}, {kResult}},
     .autocast = Autocast::float32},
    in_float32(composite("aten::linalg_inv(Tensor A) -> Tensor", inv_body)),
    in_float32(composite("aten::inverse(Tensor self) -> Tensor", inv_body)),
    composite("aten::linalg_det(Tensor A) -> Tensor", [](const Call& c) -> Value { return atens<"_linalg_det">(c[0])[0]; }),
    composite("aten::det(Tensor self) -> Tensor", [](const Call& c) -> Value { return atens<"_linalg_det">(c[0])[0]; }),
    composite("aten::linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)", slogdet_body),
    composite("aten::slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)", slogdet_body),
    composite("aten::logdet(Tensor self) -> Tensor", logdet_body),
    in_float32(composite("aten::linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor", solve_body)),
    composite(
        "aten::linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)",
        [](const Call& c) -> Value {
          const TensorList r = atens<"_linalg_solve_ex">(c[0], c[1], c[2], c[3]);
          return TensorList{r[0], r[3]};
        }),
    composite("aten::linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)",
              [](const Call& c) -> Value {
                const TensorList r = atens<"linalg_lu_factor_ex">(c[0], c[1]);
                return TensorList{r[0], r[1]};
              }),
    in_float32(composite(
        "aten::_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor pivots, Tensor info)",
        [](const Call& c) -> Value { return atens<"linalg_lu_factor_ex">(c[0], c[1]); })),
    in_float32(composite("aten::lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor",
                         [](const Call& c) -> Value { return aten<"linalg_lu_solve">(c[1], c[2], c[0]); })),
    in_float32(composite("aten::linalg_eigh(Tensor self, str UPLO=\"L\") -> (Tensor eigenvalues, Tensor eigenvectors)",
                         [](const Call& c) -> Value { return atens<"_linalg_eigh">(c[0], c[1]); })),
    in_float32(composite("aten::linalg_eigvalsh(Tensor self, str UPLO=\"L\") -> Tensor", eigvalsh_body)),
    composite("aten::_linalg_eigvals(Tensor self) -> Tensor",
              [](const Call& c) -> Value { return atens<"linalg_eig">(c[0])[0]; }),
    in_float32(composite("aten::linalg_eigvals(Tensor self) -> Tensor",
                         [](const Call& c) -> Value { return atens<"linalg_eig">(c[0])[0]; })),
    in_float32(
        composite("aten::linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
                  [](const Call& c) -> Value { return atens<"_linalg_svd">(c[0], c[1], true, c[2]); })),
    in_float32(composite("aten::linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor",
                         [](const Call& c) -> Value { return singular_values_of(c.tensor(0)); })),
    in_float32(
        composite("aten::svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)", svd_body)),
    in_float32(
        composite("aten::qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)",
                  [](const Call& c) -> Value { return atens<"linalg_qr">(c[0], c[1].to_bool() ? "reduced" : "complete"); })),
    composite(
        "aten::linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor",
        [](const Call& c) -> Value {
          return pinv(c.tensor(0), number_or_none(c[1], c.tensor(0)), number_or_none(c[2], c.tensor(0)), c[3]);
        }),
    composite("aten::linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor",
              [](const Call& c) -> Value {
                return pinv(c.tensor(0), number_like(0, c.tensor(0)), number_like(c[1].to_double(), c.tensor(0)), c[2]);
              }),
    composite("aten::linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor",
              [](const Call& c) -> Value { return pinv(c.tensor(0), number_like(0, c.tensor(0)), c[1], c[2]); }),
    in_float32(composite("aten::pinverse(Tensor self, float rcond=1.0000000000000001e-15) -> Tensor",
                         [](const Call& c) -> Value {
                           return pinv(c.tensor(0), number_like(0, c.tensor(0)), number_like(c[1].to_double(), c.tensor(0)),
                                       false);
                         })),
    in_float32(composite(
        "aten::linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, Tensor rank, "
        "Tensor singular_values)",
        lstsq_body)),
    in_float32(composite("aten::linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor",
                         [](const Call& c) {
                           return matrix_rank_of(c.tensor(0), number_like(c[1].to_double(), c.tensor(0)),
                                                 number_like(0, c.tensor(0)), c[2].to_bool());
                         })),
    in_float32(
        composite("aten::linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor",
                  [](const Call& c) { return matrix_rank_of(c.tensor(0), c[1], number_like(0, c.tensor(0)), c[2].to_bool()); })),
    in_float32(composite(
        "aten::linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor",
        [](const Call& c) {
          return matrix_rank_of(c.tensor(0), number_or_none(c[1], c.tensor(0)), number_or_none(c[2], c.tensor(0)),
                                c[3].to_bool());
        })),
    in_float32(composite(
        "aten::linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor",
        [](const Call& c) { return matrix_rank_of(c.tensor(0), c[1], c[2], c[3].to_bool()); })),
    composite(
        "aten::linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        [](const Call& c) -> Value { return matrix_norm(c.tensor(0), c[1].to_double(), c[2].ints(), c[3].to_bool(), c[4]); }),
    composite(
        "aten::linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        [](const Call& c) -> Value { return matrix_norm(c.tensor(0), c[1].string(), c[2].ints(), c[3].to_bool(), c[4]); }),
    composite(
        "aten::linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        norm_body),
    composite(
        "aten::linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        norm_body),
    composite("aten::nuclear_norm(Tensor self, bool keepdim=False) -> Tensor",
              [](const Call& c) -> Value {
                return matrix_norm(c.tensor(0), std::string("nuc"), Shape{-2, -1}, c[1].to_bool(), Value());
              }),
    composite("aten::nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor",
              [](const Call& c) -> Value {
                return matrix_norm(c.tensor(0), std::string("nuc"), c[1].ints(), c[2].to_bool(), Value());
              }),
    in_float32(composite("aten::linalg_cond(Tensor self, Scalar? p=None) -> Tensor", cond_body)),
    in_float32(composite("aten::linalg_cond.p_str(Tensor self, str p) -> Tensor", cond_body)),
    composite("aten::linalg_matrix_power(Tensor self, int n) -> Tensor", matrix_power_body),
    composite("aten::matrix_power(Tensor self, int n) -> Tensor", matrix_power_body),
    in_float32(composite("aten::linalg_householder_product(Tensor input, Tensor tau) -> Tensor", householder_product_body)),
    in_float32(composite("aten::orgqr(Tensor self, Tensor input2) -> Tensor", householder_product_body)),
    in_float32(composite("aten::ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor",
                         ormqr_body)),
    in_float32(composite("aten::linalg_tensorinv(Tensor self, int ind=2) -> Tensor", tensorinv_body)),
    in_float32(composite("aten::linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor", tensorsolve_body)),
    composite("aten::linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor", vander_body),
    {.schema = "aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor",
     .body = linalg_cross_body,
     .vjp =
         [](Vjp& v) {
           if (v.need(1)) v.set(1, aten<"linalg_cross">(v.grad(), conjugate(v.saved(0)), v.arg(2)));
           if (v.need(0)) v.set(0, aten<"linalg_cross">(conjugate(v.saved(1)), v.grad(), v.arg(2)));
         },
     .saves = {{0, 1}, {1, 0}}},
    composite("aten::cross(Tensor self, Tensor other, int? dim=None) -> Tensor", cross_body),
};

}  // namespace

INGOT_FAMILY(linalg_composite, kLinalgCompositeOps)

}  // namespace ingot
