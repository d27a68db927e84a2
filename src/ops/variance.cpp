// Variance and standard deviation: a mean and a sum of squared distances from it, gathered in one pass block by block
// (two passes over a block in cache, blocks merged by Chan's formula), so a large mean costs no digits.
#include <cmath>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ops/families.hpp"
#include "ops/fold.hpp"
#include "ops/reduction.hpp"

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
  INGOT_REQUIRE(self.is_floating_point() || self.is_complex(), c.op.schema.name, " only support floating point and complex dtypes, found ",
                scalar_type_name(self.dtype()));
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
Tensor std_gradient(const Tensor& grad, const Tensor& self, const Tensor& result, const Value& dim, const Value& correction, bool keepdim) {
  const Tensor per_var = aten<"masked_fill.Scalar">(aten<"div.Tensor">(grad, aten<"mul.Scalar">(result, 2)), aten<"eq.Scalar">(result, 0), 0);
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
Value unbiased_all(const Call& c) { return aten_value<Name>(c[0], Value(), c[1].to_bool() ? 1 : 0, false); }
template <OpName Name>
Value unbiased_dims(const Call& c) { return aten_value<Name>(c[0], c[1], c[2].to_bool() ? 1 : 0, c[3]); }

constinit const OpDef kOps[] = {
    {.schema = "aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
     .form = Form::reduction,
     .meta = moment_meta<false>,
     .kernel = moment_kernel<false>,
     .vjp = moment_vjp<false>,
     .saves = {{0}}},
    {.schema = "aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
     .form = Form::reduction,
     .meta = moment_meta<false>,
     .kernel = moment_kernel<true>,
     .vjp = moment_vjp<true>,
     .saves = {{0}, {kResult}}},
    {.schema = "aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)",
     .form = Form::reduction,
     .meta = moment_meta<true>,
     .kernel = moment_kernel<false>,
     .vjp = moment_vjp<false>,
     .saves = {{0}}},
    {.schema = "aten::std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)",
     .form = Form::reduction,
     .meta = moment_meta<true>,
     .kernel = moment_kernel<true>,
     .vjp = moment_vjp<true>,
     .saves = {{0}, {kResult}}},
    {.schema = "aten::var(Tensor self, bool unbiased=True) -> Tensor", .form = Form::composite, .body = unbiased_all<"var.correction">},
    {.schema = "aten::var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
     .form = Form::composite,
     .body = unbiased_dims<"var.correction">},
    {.schema = "aten::std(Tensor self, bool unbiased=True) -> Tensor", .form = Form::composite, .body = unbiased_all<"std.correction">},
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
};

}  // namespace

Family variance_family() { return kOps; }

}  // namespace ingot
