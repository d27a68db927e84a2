// Variance and standard deviation: a mean and a sum of squared distances from it, gathered in one
// pass block by block (two passes over a block in cache, blocks merged by Chan's formula), so a
// large mean costs no digits.
#include <cmath>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ops/reduce/carried_fold.hpp"
#include "ops/family.hpp"
#include "ops/reduce/fold.hpp"
#include "ops/common/lower_rules.hpp"
#include "ops/reduce/reduction.hpp"

namespace ingot {
namespace {

template <class T>
struct MomentFold {
  using In = T;
  using Wide = std::conditional_t<std::same_as<T, std::complex<double>>, std::complex<double>, double>;
  struct Acc {
    Wide mean;
    double squares;  // sum of |x - mean|^2
    double count;
  };
  static double squared(Wide d) {
    if constexpr (std::same_as<Wide, double>) return d * d;
    else return std::norm(d);
  }
  Acc start() const { return {Wide(0), 0, 0}; }
  void add(Acc& a, In x, int64_t) const {
    a.count += 1;
    const Wide before = static_cast<Wide>(x) - a.mean;
    a.mean += before / a.count;
    const Wide after = static_cast<Wide>(x) - a.mean;
    if constexpr (std::same_as<Wide, double>) a.squares += before * after;
    else a.squares += std::real(before * std::conj(after));
  }
  void row(Acc& a, const In* x, int64_t n) const {
    Wide total(0);
    SumFold<T>{}.row(total, x, n);
    Acc b{total / static_cast<double>(n), 0, static_cast<double>(n)};
    double lane[4] = {};
    for (int64_t i = 0; i < n; i++) lane[i % 4] += squared(static_cast<Wide>(x[i]) - b.mean);
    b.squares = (lane[0] + lane[1]) + (lane[2] + lane[3]);
    merge(a, b);
  }
  void merge(Acc& a, const Acc& b) const {
    if (b.count == 0) return;
    if (a.count == 0) {
      a = b;
      return;
    }
    const double n = a.count + b.count;
    const Wide d = b.mean - a.mean;
    a.mean += d * (b.count / n);
    a.squares += b.squares + squared(d) * (a.count * b.count / n);
    a.count = n;
  }
};

// self, dim, correction, keepdim; results: the spread, and for *_mean the mean.
template <bool WithMean>
void moment_meta(const Call& c, Outputs& o) {
  const Tensor& self = c.tensor(0);
  INGOT_REQUIRE(self.is_floating_point() || self.is_complex(), c.op.schema.name,
                " only support floating point and complex dtypes, found ", scalar_type_name(self.dtype()));
  const Shape sizes = reduced_sizes(self.sizes(), reduced_dims(c[1], static_cast<int>(self.dim())), c[3].to_bool());
  o.add(sizes, real_of(self.dtype()));
  if (WithMean) o.add(sizes, self.dtype());
}
template <bool Root>
void moment_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor& self = c.tensor(0);
  const FoldSpace s = fold_space(self, reduced_dims(c[1], static_cast<int>(self.dim())), r);
  const double free = std::max(0.0, static_cast<double>(s.length) - c[2].double_or(1));
  with_compute(compute_type(self.dtype()), [&]<class T>(T) {
    if constexpr (std::floating_point<T> || std::same_as<T, std::complex<double>>) {
      using F = MomentFold<T>;
      const double nan = std::numeric_limits<double>::quiet_NaN();
      fold(s, F{}, [&](const typename F::Acc* acc, int64_t n, char* const* p, const int64_t* stride) {
        store_each<double>(acc, n, r[0].dtype(), p[0], stride[0], [&](const auto& a) {
          const double var = a.count == 0 ? nan : a.squares / free;
          return Root ? std::sqrt(var) : var;
        });
        if (r.size() > 1)
          store_each<typename F::Wide>(acc, n, r[1].dtype(), p[1], stride[1],
                                       [&](const auto& a) { return a.count == 0 ? typename F::Wide(nan) : a.mean; });
      });
    }
  });
}

// ---- gradients

// 2 / (n - correction) * grad * (self - mean)
Tensor var_gradient(const Tensor& grad_in, const Tensor& self, const Value& dim, const Value& correction, bool keepdim) {
  const int rank = static_cast<int>(self.dim());
  const Tensor grad = restore_dims(grad_in, dim, rank, keepdim);
  const bool full = dim.is_none() || rank == 0;
  const Tensor mean = full ? aten<"mean">(self) : aten<"mean.dim">(self, dim, true);
  const Int n = reduced_count(self.sizes(), reduced_dims(dim, rank));
  const double c = correction.double_or(1);
  // An open size stays one where the correction is a whole number.
  if (!n.is_number() && c == std::floor(c)) {
    const Tensor scaled = aten<"div.Scalar">(aten<"mul.Scalar">(grad, 2.0), n - static_cast<int64_t>(c));
    return aten<"mul.Tensor">(scaled, aten<"sub.Tensor">(self, mean));
  }
  const double free = static_cast<double>(n.value()) - c;
  if (full && free <= 0) {
    // infinity * 0 is NaN where an element is the mean, infinity elsewhere
    const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    return grad * aten<"where.Scalar">(aten<"eq.Tensor">(self, mean), nan, inf);
  }
  return aten<"mul.Tensor">(aten<"mul.Scalar">(grad, 2.0 / free), aten<"sub.Tensor">(self, mean));
}
Tensor std_gradient(const Tensor& grad, const Tensor& self, const Tensor& result, const Value& dim, const Value& correction,
                    bool keepdim) {
  const Tensor per_var =
      aten<"masked_fill.Scalar">(aten<"div.Tensor">(grad, aten<"mul.Scalar">(result, 2)), aten<"eq.Scalar">(result, 0), 0);
  return var_gradient(per_var, self, dim, correction, keepdim);
}
Tensor mean_gradient(const Tensor& grad, const Vjp& v) {
  const int rank = v.sizes(0).dim();
  const Tensor spread = aten<"expand">(restore_dims(grad, v.arg(1), rank, v.arg(3).to_bool()), v.sizes(0));
  return aten<"div.Scalar">(spread, reduced_count(v.sizes(0), reduced_dims(v.arg(1), rank)));
}
template <bool Root>
void moment_vjp(Vjp& v) {
  Tensor g;
  if (v.grad(0).defined())
    g = Root ? std_gradient(v.grad(0), v.saved(0), v.result(), v.arg(1), v.arg(2), v.arg(3).to_bool())
             : var_gradient(v.grad(0), v.saved(0), v.arg(1), v.arg(2), v.arg(3).to_bool());
  if (v.grads.size() > 1 && v.grad(1).defined()) {
    const Tensor m = mean_gradient(v.grad(1), v);
    g = g.defined() ? g + m : m;
  }
  v.set(0, g);
}

// ---- the forms with `unbiased`
template <OpName Name>
Value unbiased_all(const Call& c) {
  return aten_value<Name>(c[0], Value(), c[1].to_bool() ? 1 : 0, false);
}
template <OpName Name>
Value unbiased_dims(const Call& c) {
  return aten_value<Name>(c[0], c[1], c[2].to_bool() ? 1 : 0, c[3]);
}

// ---- covariance of the rows of a matrix (a vector is one row): self, correction, fweights,
// aweights

Tensor covariance(const Tensor& self, int64_t correction, const Tensor& frequencies, const Tensor& importances) {
  INGOT_REQUIRE(self.dim() <= 2, "cov(): expected input to have two or fewer dimensions but got an input with ", self.dim(),
                " dimensions");
  INGOT_REQUIRE(self.dtype() != DType::b8, "cov(): bool dtype is not supported for input");
  const Tensor in = self.dim() < 2 ? self.reshape({1, -1}) : self;
  const auto check = [&](const Tensor& w, std::string_view name, bool integral) {
    if (!w.defined()) return;
    INGOT_REQUIRE(w.dim() <= 1, "cov(): expected ", name, " to have one or fewer dimensions but got ", name, " with ", w.dim(),
                  " dimensions");
    INGOT_REQUIRE(integral ? is_integral(w.dtype()) : is_floating(w.dtype()), "cov(): expected ", name, " to have ",
                  integral ? "integral" : "floating point", " dtype but got ", name, " with ", scalar_type_name(w.dtype()),
                  " dtype");
    INGOT_REQUIRE(w.numel() == in.size(1), "cov(): expected ", name,
                  " to have the same numel as there are observations in the input but got ", w.numel(), " != ", in.size(1));
    INGOT_REQUIRE(!may_look_at(w) || w.numel() == 0 || aten<"min">(w).item_double() >= 0, "cov(): ", name, " cannot be negative");
  };
  check(frequencies, "fweights", true);
  check(importances, "aweights", false);
  Tensor w = frequencies;
  if (importances.defined()) w = w.defined() ? w * importances : importances;
  const auto weighted = [&](const Tensor& t) { return w.defined() ? t * w : t; };
  const Tensor total = w.defined() ? w.sum() : scalar_tensor(in.size(1), {.dtype = DType::i64});
  Tensor count = total - correction;
  if (importances.defined() && correction != 0) count = total - (w * importances).sum() / total * correction;
  const Tensor centred = in - (weighted(in).sum({1}) / total).unsqueeze(1);
  const Tensor products = centred.mm(aten<"conj_physical">(weighted(centred).t()));
  return aten<"true_divide.Tensor">(products, aten<"clamp_min">(count, 0)).squeeze();
}
Value cov_body(const Call& c) { return covariance(c.tensor(0), c[1].to_int64(), c[2].tensor_or_none(), c[3].tensor_or_none()); }
Value corrcoef_body(const Call& c) {
  INGOT_REQUIRE(c.tensor(0).dim() <= 2, "corrcoef(): expected input to have two or fewer dimensions but got an input with ",
                c.tensor(0).dim(), " dimensions");
  const Tensor v = covariance(c.tensor(0), 1, {}, {});
  if (v.dim() == 0) return v / v;
  const Tensor variances = v.diagonal(), deviations = (v.is_complex() ? aten<"real">(variances) : variances).sqrt();
  const Tensor r = v / deviations.unsqueeze(1) / deviations.unsqueeze(0);
  const auto clipped = [](const Tensor& t) { return aten<"clamp">(t, -1, 1); };
  return v.is_complex() ? aten<"complex">(clipped(aten<"real">(r)), clipped(aten<"imag">(r))) : clipped(r);
}

// The mean first, then the squares of what is left: as fast as one pass, and a large mean costs no
// digits.
template <bool Root>
void moment_lower(Lowering& l) {
  const Tensor& self = l.call.tensor(0);
  const DType own = dtype_of(compute_type(self.dtype())), type = carried_dtype(own);
  const auto reduced = reduced_dims(l.call[1], static_cast<int>(self.dim()));
  const bool keepdim = l.call[3].to_bool();
  std::vector<Expr> at, vars, over, kept;
  for (int d = 0; d < self.dim(); d++) {
    at.push_back(l.variable(l.size(0, d)));
    if (reduced[static_cast<std::size_t>(d)]) over.push_back(at.back());
    else kept.push_back(at.back());
    if (!reduced[static_cast<std::size_t>(d)]) vars.push_back(at.back());
    else if (keepdim) vars.push_back(l.variable(1));
  }
  const Expr count = cast(type, reduced_count(self.sizes(), reduced).expr());
  const Expr x = cast(type, cast(own, l.load(0, at)));
  const int mean = l.temporary(kept, l.fold(Accumulate::sum, over, x) / count);
  const Expr d = x - l.load_temporary(mean, kept);
  const Expr squares = l.fold(Accumulate::sum, over, d * d);
  const Expr free = max(count - Expr::constant(type, l.call[2].double_or(1)), Expr::constant(type, 0.0));
  l.define(0, vars, cast(own, Root ? sqrt(squares / free) : squares / free));
  if (l.call.op.schema.results.size() > 1) l.define(1, vars, cast(own, l.load_temporary(mean, kept)));
}

constexpr OpDef kVarianceOps[] = {
    {.schema = "aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
     .form = Form::reduction,
     .meta = moment_meta<false>,
     .kernel = moment_kernel<false>,
     .vjp = moment_vjp<false>,
     .saves = {{0}},
     .lower = moment_lower<false>},
    {.schema = "aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
     .form = Form::reduction,
     .meta = moment_meta<false>,
     .kernel = moment_kernel<true>,
     .vjp = moment_vjp<true>,
     .saves = {{0}, {kResult}},
     .lower = moment_lower<true>},
    {.schema =
         "aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)",
     .form = Form::reduction,
     .meta = moment_meta<true>,
     .kernel = moment_kernel<false>,
     .vjp = moment_vjp<false>,
     .saves = {{0}},
     .lower = moment_lower<false>},
    {.schema =
         "aten::std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)",
     .form = Form::reduction,
     .meta = moment_meta<true>,
     .kernel = moment_kernel<true>,
     .vjp = moment_vjp<true>,
     .saves = {{0}, {kResult}},
     .lower = moment_lower<true>},
    {.schema = "aten::var(Tensor self, bool unbiased=True) -> Tensor",
     .form = Form::composite,
     .body = unbiased_all<"var.correction">},
    {.schema = "aten::var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
     .form = Form::composite,
     .body = unbiased_dims<"var.correction">},
    {.schema = "aten::std(Tensor self, bool unbiased=True) -> Tensor",
     .form = Form::composite,
     .body = unbiased_all<"std.correction">},
    {.schema = "aten::std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
     .form = Form::composite,
     .body = unbiased_dims<"std.correction">},
    {.schema = "aten::var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
     .form = Form::composite,
     .body = unbiased_all<"var_mean.correction">},
    {.schema = "aten::var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)",
     .form = Form::composite,
     .body = unbiased_dims<"var_mean.correction">},
    {.schema = "aten::std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
     .form = Form::composite,
     .body = unbiased_all<"std_mean.correction">},
    {.schema = "aten::std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)",
     .form = Form::composite,
     .body = unbiased_dims<"std_mean.correction">},
    {.schema = "aten::cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor",
     .form = Form::composite,
     .body = cov_body},
    {.schema = "aten::corrcoef(Tensor self) -> Tensor", .form = Form::composite, .body = corrcoef_body},
};

}  // namespace

INGOT_FAMILY(variance, kVarianceOps)

}  // namespace ingot
