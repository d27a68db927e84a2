// Norms of tensors seen as vectors: (sum |x|^p)^(1/p) over dims, and what is made of them.
#include <cmath>
#include <limits>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ops/family.hpp"
#include "ops/reduce/fold.hpp"
#include "ops/reduce/reduction.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// ---- forward
template <class T>
struct NormFold {
  using In = T;
  using Acc = double;
  double p;
  Acc start() const { return p == -kInfinity ? kInfinity : 0; }
  void add(Acc& a, In x, int64_t) const {
    const double m = std::abs(std::conditional_t<std::same_as<T, float>, double, T>(x));
    if (p == 2) a += m * m;
    else if (p == 1) a += m;
    else if (p == 0) a += m != 0;
    else if (p == kInfinity) a = m != m || m > a ? m : a;
    else if (p == -kInfinity) a = m != m || m < a ? m : a;
    else a += std::pow(m, p);
  }
  void merge(Acc& a, const Acc& b) const {
    if (p == kInfinity) a = b != b || b > a ? b : a;
    else if (p == -kInfinity) a = b != b || b < a ? b : a;
    else a += b;
  }
  double finish(double a) const { return p == 0 || p == 1 || std::isinf(p) ? a : p == 2 ? std::sqrt(a) : std::pow(a, 1 / p); }
};

// self, ord, dim, keepdim, dtype
void vector_norm_meta(const Call& c, Outputs& o) {
  const Tensor& self = c.tensor(0);
  const DType dtype = c[4].dtype_or(self.dtype());
  INGOT_REQUIRE(is_floating(self.dtype()) || is_complex(self.dtype()),
                "linalg.vector_norm: Expected a floating point or complex tensor as input. Got ", scalar_type_name(self.dtype()));
  INGOT_REQUIRE(is_floating(dtype) || is_complex(dtype), "linalg.vector_norm: dtype should be floating point or complex. Got ",
                scalar_type_name(dtype));
  INGOT_REQUIRE(is_complex(dtype) || !is_complex(self.dtype()),
                "linalg.vector_norm: for complex inputs dtype should be complex, found ", scalar_type_name(dtype));
  const auto reduced = reduced_dims(c[2], static_cast<int>(self.dim()));
  const double p = c[1].to_double();
  if (p < 0 || p == kInfinity)
    INGOT_REQUIRE(!(reduced_count(self.sizes(), reduced) == 0), "linalg.vector_norm cannot compute the ", p,
                  " norm on an empty tensor because the "
                  "operation does not have an identity");
  o.add(reduced_sizes(self.sizes(), reduced, c[3].to_bool()), real_of(dtype));
}
void vector_norm_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor& self = c.tensor(0);
  const FoldSpace s = fold_space(self, reduced_dims(c[2], static_cast<int>(self.dim())), r);
  with_compute(compute_type(self.dtype()), [&]<class T>(T) {
    if constexpr (std::floating_point<T> || std::same_as<T, std::complex<double>>) {
      const NormFold<T> f{c[1].to_double()};
      fold(s, f, [&](const double* acc, int64_t n, char* const* p, const int64_t* stride) {
        store_each<double>(acc, n, r[0].dtype(), p[0], stride[0], [&](double a) { return f.finish(a); });
      });
    }
  });
}

// ---- gradient
Tensor power(const Tensor& t, double p) { return aten<"pow.Tensor_Scalar">(t, p); }
Tensor zero_where(const Tensor& t, const Tensor& mask) { return aten<"masked_fill.Scalar">(t, mask, 0); }

Tensor norm_gradient(const Tensor& grad_in, const Tensor& self, double p, const Tensor& norm_in, const Value& dim, bool keepdim) {
  const int rank = static_cast<int>(self.dim());
  const Tensor grad = restore_dims(grad_in, dim, rank, keepdim), norm = restore_dims(norm_in, dim, rank, keepdim);
  const Tensor is_zero = aten<"eq.Scalar">(norm, 0);
  if (p == 0) return aten<"zeros_like">(self);
  if (p == 1) return aten<"sgn">(self) * grad;
  if (p == 2) return grad * zero_where(self / norm, is_zero);
  if (std::isinf(p)) {
    const Tensor magnitude = aten<"abs">(self);
    const Tensor mask = aten<"logical_or">(aten<"eq.Tensor">(magnitude, norm), aten<"isnan">(magnitude));
    const Tensor count = aten<"sum.dim_IntList">(mask, dim_list(dim, rank), true);
    return aten<"sgn">(self) * (grad / count * mask);
  }
  if (p < 1)
    return aten<"sgn">(self) * zero_where(power(aten<"abs">(self), p - 1), aten<"eq.Scalar">(self, 0)) * grad *
           power(norm, 1 - p);
  const Tensor scaled = p < 2 ? aten<"sgn">(self) * power(aten<"abs">(self), p - 1) : self * power(aten<"abs">(self), p - 2);
  return scaled * zero_where(grad / power(norm, p - 1), is_zero);
}
double order(const Value& p) { return p.is_none() ? 2 : p.to_double(); }

void vector_norm_vjp(Vjp& v) {
  v.set(0, norm_gradient(v.grad(), v.saved(0), order(v.arg(1)), v.result(), v.arg(2), v.arg(3).to_bool()));
}
void norm_all_vjp(Vjp& v) { v.set(0, norm_gradient(v.grad(), v.saved(0), order(v.arg(1)), v.result(), Value(), true)); }
void dist_vjp(Vjp& v) {
  const Tensor g = norm_gradient(v.grad(), v.saved(0) - v.saved(1), order(v.arg(2)), v.result(), Value(), true);
  if (v.need(0)) v.set(0, g);
  if (v.need(1)) v.set(1, -g);
}

// ---- renorm: slices along `dim` whose p-norm exceeds maxnorm are scaled down to it
Shape all_dims_but(int64_t dim, int rank) {
  const int d = wrap_dim(dim, rank);
  Shape s;
  for (int i = 0; i < rank; i++)
    if (i != d) s.push_back(i);
  return s;
}
Value renorm(const Call& c) {
  const Tensor& self = c.tensor(0);
  const double p = c[1].to_double(), limit = c[3].to_double();
  INGOT_REQUIRE(p > 0, "renorm: non-positive-norm not supported");
  INGOT_REQUIRE(limit >= 0, "renorm: expected maxnorm to be >= 0 but got ", limit);
  INGOT_REQUIRE(self.dim() > 1, "renorm: input needs at least 2 dimensions, got ", self.dim(), " dimensions");
  const Tensor norm = aten<"linalg_vector_norm">(self, p, all_dims_but(c[2].to_int64(), static_cast<int>(self.dim())), true);
  const Tensor factor =
      aten<"where.ScalarOther">(aten<"gt.Scalar">(norm, limit), aten<"reciprocal">(aten<"add.Scalar">(norm, 1e-7)) * limit, 1);
  return aten<"contiguous">(self * factor);
}
void renorm_vjp(Vjp& v) {
  const Tensor self = v.saved(0), grad = v.grad();
  const double p = v.arg(1).to_double(), limit = v.arg(3).to_double();
  const Shape dims = all_dims_but(v.arg(2).to_int64(), static_cast<int>(self.dim()));
  // Half types: norms and sums are float.
  const Value wide = is_reduced_floating(self.dtype()) ? Value(DType::f32) : Value();
  const Tensor norm = aten<"linalg_vector_norm">(self, p, dims, true, wide);
  Tensor along = conjugate(self) * grad;
  if (along.is_complex()) along = aten<"real">(along);
  const Tensor through_norm = norm_gradient(aten<"sum.dim_IntList">(along, dims, true, wide), self, p, norm, dims, true);
  const Tensor inverse = aten<"reciprocal">(aten<"add.Scalar">(norm, 1e-7));
  const Tensor scaled = aten<"to.dtype">(inverse * limit * (grad - inverse * through_norm), grad.dtype());
  v.set(0, aten<"where.self">(aten<"gt.Scalar">(norm, limit), scaled, grad));
}

void check_norm_input(const Call& c) {
  INGOT_REQUIRE(c.tensor(0).is_floating_point() || c.tensor(0).is_complex(),
                "norm(): input dtype should be either floating point or complex. Got ", scalar_type_name(c.tensor(0).dtype()),
                " instead.");
}
// norm(self, p[, dim, keepdim][, dtype])
template <bool Dims, bool Type>
Value norm(const Call& c) {
  check_norm_input(c);
  return aten<"linalg_vector_norm">(c[0], order(c[1]), Dims ? c[2] : Value(), Dims ? c[3] : Value(false),
                                    Type ? c[Dims ? 4 : 2] : Value());
}

constexpr OpDef kVectorNormOps[] = {
    {.schema =
         "aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
     .form = Form::reduction,
     .meta = vector_norm_meta,
     .kernel = vector_norm_kernel,
     .vjp = vector_norm_vjp,
     .saves = {{0}, {kResult}}},
    {.schema = "aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor",
     .form = Form::reduction,
     .body = norm<false, false>,
     .vjp = norm_all_vjp,
     .saves = {{0}, {kResult}}},
    {.schema = "aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor",
     .form = Form::reduction,
     .body = norm<true, false>,
     .vjp = vector_norm_vjp,
     .saves = {{0}, {kResult}},
     .grad = {.node_number = 1}},
    {.schema = "aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor",
     .form = Form::reduction,
     .body = norm<false, true>,
     .vjp = norm_all_vjp,
     .saves = {{0}, {kResult}},
     .grad = {.node_number = 2}},
    {.schema = "aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor",
     .form = Form::reduction,
     .body = norm<true, true>,
     .vjp = vector_norm_vjp,
     .saves = {{0}, {kResult}},
     .grad = {.node_number = 3}},
    {.schema = "aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value { return aten<"linalg_vector_norm">(c[0], 2, c[1], c[2]); }},
    {.schema = "aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor",
     .form = Form::reduction,
     .body = [](const Call& c) -> Value { return aten<"norm.Scalar">(c.tensor(0) - c.tensor(1), c[2]); },
     .vjp = dist_vjp,
     .saves = {{0}, {1}, {kResult}}},
    {.schema = "aten::renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor",
     .body = renorm,
     .vjp = renorm_vjp,
     .saves = {{0}}},
};

}  // namespace

INGOT_FAMILY(vector_norm, kVectorNormOps)

}  // namespace ingot
