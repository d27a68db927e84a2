// Sums, means, products, extremes and truth values over dims.
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ops/common/autocast_policy.hpp"
#include "ops/batch/rules.hpp"
#include "ops/family.hpp"
#include "ops/reduce/fold.hpp"
#include "ops/reduce/reduction.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

int rank_of(const Vjp& v) { return v.sizes(0).dim(); }

// ---- sums and means

// The gradient of a sum: the result's gradient, spread over the elements it stands for.
Tensor spread(const Vjp& v, const Value& dim, bool keepdim) {
  return aten<"expand">(restore_dims(v.grad(), dim, rank_of(v), keepdim), v.sizes(0));
}
void sum_vjp(Vjp& v) { v.set(0, aten<"expand">(v.grad(), v.sizes(0))); }
void sum_dim_vjp(Vjp& v) { v.set(0, spread(v, v.arg(1), v.arg(2).to_bool())); }
void mean_vjp(Vjp& v) { v.set(0, aten<"div.Scalar">(aten<"expand">(v.grad(), v.sizes(0)), v.sizes(0).product())); }
void mean_dim_vjp(Vjp& v) {
  const Int n = reduced_count(v.sizes(0), reduced_dims(v.arg(1), rank_of(v)));
  v.set(0, aten<"div.Scalar">(spread(v, v.arg(1), v.arg(2).to_bool()), n));
}
void nansum_vjp(Vjp& v) {
  const Tensor counted = aten<"logical_not">(aten<"isnan">(v.saved(0)));
  v.set(0, aten<"mul.Tensor">(spread(v, v.arg(1), v.arg(2).to_bool()), counted));
}
Value nanmean(const Call& c) {
  const Tensor& self = c.tensor(0);
  INGOT_REQUIRE(self.is_floating_point() || self.is_complex(),
                "nanmean(): expected input to have floating point or complex dtype but got ", scalar_type_name(self.dtype()));
  const Tensor counted = aten<"logical_not">(aten<"isnan">(aten<"detach">(self)));
  return aten<"div.Tensor">(aten<"nansum">(self, c[1], c[2], c[3]), aten<"sum.dim_IntList">(counted, c[1], c[2]));
}

// Sums leading dims and dims that `size` has as 1 away: the reverse of broadcasting.
Value sum_to_size(const Call& c) {
  const Tensor& self = c.tensor(0);
  const Shape& size = c[1].ints();
  if (size.empty()) return aten<"sum">(self);
  const int lead = static_cast<int>(self.dim()) - size.dim();
  Shape dims;
  bool fits = lead >= 0;
  for (int i = 0; fits && i < self.dim(); i++) {
    const Int want = i < lead ? Int(0) : size[static_cast<std::size_t>(i - lead)],
              have = self.sizes()[static_cast<std::size_t>(i)];
    if (i < lead || (want == 1 && !(have == 1))) dims.push_back(i);
    else fits = want == have;
  }
  INGOT_REQUIRE(fits, "size {", size, "} is not expandable to size {", self.sizes(), "}.");
  if (dims.empty()) return self;
  const Tensor sum = aten<"sum.dim_IntList">(self, dims, true);
  return lead > 0 ? aten<"view">(sum, size) : sum;
}

// ---- products

// d prod / d x_i is the product of the others: result / x_i, or, where elements may be zero, of
// those before times those after.
Tensor prod_gradient(const Tensor& grad, const Tensor& x, const Tensor& result, int64_t dim) {
  if (may_look_at(x) && !aten<"any">(aten<"eq.Scalar">(aten<"detach">(x), 0)).item().to_bool())
    return aten<"mul.Tensor">(grad, conjugate(aten<"div.Tensor">(result, x)));
  const Int n = x.size(dim);
  if (n == 0) return aten<"expand">(grad, x.sizes());
  if (n == 1) return grad;
  Shape one = x.sizes();
  one[static_cast<std::size_t>(dim)] = 1;
  const Tensor ones = aten<"ones">(one, grad.dtype(), Value(), grad.device());
  const Tensor before = aten<"cumprod">(aten<"cat">(TensorList{ones, aten<"narrow">(x, dim, 0, n - 1)}, dim), dim);
  const Tensor rest = aten<"flip">(aten<"narrow">(x, dim, 1, n - 1), Shape{dim});
  const Tensor after = aten<"flip">(aten<"cumprod">(aten<"cat">(TensorList{ones, rest}, dim), dim), Shape{dim});
  return aten<"mul.Tensor">(grad, conjugate(aten<"mul.Tensor">(before, after)));
}
Tensor as_gradient_type(const Tensor& t, const Tensor& grad) {
  return t.dtype() == grad.dtype() ? t : aten<"_to_copy">(t, grad.dtype());
}
void prod_vjp(Vjp& v) {
  if (rank_of(v) == 0) return v.set(0, v.grad());
  const Tensor flat = aten<"reshape">(as_gradient_type(v.saved(0), v.grad()), Shape{-1});
  v.set(0, aten<"reshape">(prod_gradient(v.grad(), flat, v.result(), 0), v.sizes(0)));
}
void prod_dim_vjp(Vjp& v) {
  if (rank_of(v) == 0) return v.set(0, v.grad());
  const int dim = wrap_dim(v.arg(1).to_int64(), rank_of(v));
  auto restored = [&](const Tensor& t) { return restore_dims(t, v.arg(1), rank_of(v), v.arg(2).to_bool()); };
  v.set(0, prod_gradient(restored(v.grad()), as_gradient_type(v.saved(0), v.grad()), restored(v.result()), dim));
}

// ---- extremes

// Elements that equal the extreme share its gradient.
Tensor shared(const Tensor& grad, const Tensor& self, const Tensor& extreme, const Value& dim) {
  const Tensor mask = aten<"eq.Tensor">(extreme, self);
  const Tensor count = aten<"sum.dim_IntList">(mask, dim_list(dim, static_cast<int>(self.dim())), true);
  return aten<"div.Tensor">(aten<"mul.Tensor">(grad, mask), count);
}
void amax_vjp(Vjp& v) {  // also amin
  const bool keepdim = v.arg(2).to_bool();
  v.set(0, shared(restore_dims(v.grad(), v.arg(1), rank_of(v), keepdim), v.saved(0),
                  restore_dims(v.result(), v.arg(1), rank_of(v), keepdim), v.arg(1)));
}
void aminmax_vjp(Vjp& v) {
  const bool keepdim = v.arg(2).to_bool();
  Tensor sum;
  for (int k = 0; k < 2; k++) {
    if (!v.grad(k).defined()) continue;
    const Tensor g = shared(restore_dims(v.grad(k), v.arg(1), rank_of(v), keepdim), v.saved(0),
                            restore_dims(v.result(k), v.arg(1), rank_of(v), keepdim), v.arg(1));
    sum = sum.defined() ? sum + g : g;
  }
  if (sum.defined()) v.set(0, sum);
}
void max_vjp(Vjp& v) { v.set(0, evenly_distributed(v.grad(), v.saved(0), v.result())); }
// Also of median.dim, mode and the like: the gradient goes to the element that was chosen.
void selecting_vjp(Vjp& v) {
  if (v.grad(0).defined())
    v.set(0, aten<"value_selecting_reduction_backward">(v.grad(0), v.arg(1), v.result(1), v.sizes(0), v.arg(2)));
}

void extreme_dim_meta(const Call& c, Outputs& o) {
  const Tensor& self = c.tensor(0);
  INGOT_REQUIRE(!self.is_complex(), c.op.schema.name, "(): not implemented for '", scalar_type_name(self.dtype()), "'");
  const auto reduced = reduced_dims(c[1], static_cast<int>(self.dim()));
  require_nonempty(c, self, reduced, true);
  const Shape sizes = reduced_sizes(self.sizes(), reduced, c[2].to_bool());
  o.add(sizes, self.dtype());
  o.add(sizes, DType::i64);
}
template <bool Max>
void extreme_dim_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor& self = c.tensor(0);
  const FoldSpace s = fold_space(self, reduced_dims(c[1], static_cast<int>(self.dim())), r);
  with_compute(compute_type(self.dtype()), [&]<class T>(T) {
    if constexpr (!std::same_as<T, std::complex<double>>) {
      using F = ExtremeFold<T, Max>;
      fold(s, F{}, [&](const typename F::Acc* acc, int64_t n, char* const* p, const int64_t* stride) {
        store_each<T>(acc, n, r[0].dtype(), p[0], stride[0], [](const auto& a) { return a.value; });
        store_each<int64_t>(acc, n, DType::i64, p[1], stride[1], [](const auto& a) { return a.at; });
      });
    }
  });
}

void aminmax_meta(const Call& c, Outputs& o) {
  const Tensor& self = c.tensor(0);
  INGOT_REQUIRE(!self.is_complex(), "aminmax(): not implemented for '", scalar_type_name(self.dtype()), "'");
  const auto reduced = reduced_dims(c[1], static_cast<int>(self.dim()));
  require_nonempty(c, self, reduced, !c[1].is_none());
  const Shape sizes = reduced_sizes(self.sizes(), reduced, c[2].to_bool());
  o.add(sizes, self.dtype());
  o.add(sizes, self.dtype());
}
template <class T>
struct RangeFold {
  using In = T;
  using Low = ExtremeFold<T, false>;
  using High = ExtremeFold<T, true>;
  struct Acc {
    typename Low::Acc low;
    typename High::Acc high;
  };
  Acc start() const { return {Low{}.start(), High{}.start()}; }
  void add(Acc& a, In x, int64_t at) const { Low{}.add(a.low, x, at), High{}.add(a.high, x, at); }
  void merge(Acc& a, const Acc& b) const { Low{}.merge(a.low, b.low), High{}.merge(a.high, b.high); }
};
void aminmax_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor& self = c.tensor(0);
  const FoldSpace s = fold_space(self, reduced_dims(c[1], static_cast<int>(self.dim())), r);
  with_compute(compute_type(self.dtype()), [&]<class T>(T) {
    if constexpr (!std::same_as<T, std::complex<double>>) {
      using F = RangeFold<T>;
      fold(s, F{}, [&](const typename F::Acc* acc, int64_t n, char* const* p, const int64_t* stride) {
        store_each<T>(acc, n, self.dtype(), p[0], stride[0], [](const auto& a) { return a.low.value; });
        store_each<T>(acc, n, self.dtype(), p[1], stride[1], [](const auto& a) { return a.high.value; });
      });
    }
  });
}

// ---- log of a sum of exponentials
Value logsumexp(const Call& c) {
  Tensor self = c.tensor(0);
  if (!self.is_floating_point() && !self.is_complex()) self = aten<"to.dtype">(self, thread_state().default_dtype);
  const Value& dim = c[1];
  const bool keepdim = c[2].to_bool();
  const auto reduced = reduced_dims(dim, static_cast<int>(self.dim()));
  if (self.numel() == 0) return aten<"log">(aten<"sum.dim_IntList">(aten<"exp">(self), dim, keepdim));
  // An infinite maximum would give inf - inf: it is not subtracted. Of complex numbers the real
  // part says how large exp is.
  const Tensor top = aten<"amax">(self.is_complex() ? aten<"real">(self) : self, dim, true);
  const Tensor shift = aten<"masked_fill.Scalar">(top, aten<"isinf">(top), 0);
  const Tensor total = aten<"log">(aten<"sum.dim_IntList">(aten<"exp">(self - shift), dim, keepdim));
  return total + aten<"view">(shift, reduced_sizes(self.sizes(), reduced, keepdim));
}
void logsumexp_vjp(Vjp& v) {
  const bool keepdim = v.arg(2).to_bool();
  const Tensor grad = restore_dims(v.grad(), v.arg(1), rank_of(v), keepdim),
               result = restore_dims(v.result(), v.arg(1), rank_of(v), keepdim);
  v.set(0, grad * conjugate(aten<"exp">(v.saved(0) - result)));
}

constexpr Reduction total{.fold = Fold::sum, .type = ReducedType::widened, .dtype = 1};
constexpr Reduction partial{.fold = Fold::sum, .type = ReducedType::widened, .dim = 1, .keepdim = 2, .dtype = 3};
constexpr Reduction nan_partial{
    .fold = Fold::sum, .type = ReducedType::widened, .dim = 1, .keepdim = 2, .dtype = 3, .nan_as_zero = true};
constexpr Reduction mean_all{.fold = Fold::sum, .type = ReducedType::floating, .dtype = 1, .divide_by_count = true};
constexpr Reduction mean_dims{
    .fold = Fold::sum, .type = ReducedType::floating, .dim = 1, .keepdim = 2, .dtype = 3, .divide_by_count = true};
constexpr Reduction prod_all{.fold = Fold::prod, .type = ReducedType::widened, .dtype = 1};
constexpr Reduction prod_dim{.fold = Fold::prod, .type = ReducedType::widened, .dim = 1, .keepdim = 2, .dtype = 3};
constexpr Reduction max_all{.fold = Fold::max}, min_all{.fold = Fold::min};
constexpr Reduction max_dims{.fold = Fold::max, .dim = 1, .keepdim = 2}, min_dims{.fold = Fold::min, .dim = 1, .keepdim = 2};
constexpr Reduction max_index{.fold = Fold::argmax, .type = ReducedType::index, .dim = 1, .keepdim = 2};
constexpr Reduction min_index{.fold = Fold::argmin, .type = ReducedType::index, .dim = 1, .keepdim = 2};
constexpr Reduction any_all{.fold = Fold::any, .type = ReducedType::boolean},
    all_all{.fold = Fold::all, .type = ReducedType::boolean};
constexpr Reduction any_dims{.fold = Fold::any, .type = ReducedType::boolean, .dim = 1, .keepdim = 2, .empty_means_all = false};
constexpr Reduction all_dims{.fold = Fold::all, .type = ReducedType::boolean, .dim = 1, .keepdim = 2, .empty_means_all = false};
constexpr Reduction count_dims{.fold = Fold::sum, .type = ReducedType::index, .dim = 1, .nonzero = true};

constexpr OpDef kSumsAndExtremesOps[] = {
    with_batch(reduction<total>("aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", sum_vjp),
               batch_over_all<"sum.dim_IntList">),
    reduction<partial>("aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
                       sum_dim_vjp, {}, 1),
    reduction<nan_partial>("aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
                           nansum_vjp, {{0}}),
    with_batch(reduction<mean_all>("aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", mean_vjp),
               batch_over_all<"mean.dim">),
    reduction<mean_dims>("aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
                         mean_dim_vjp, {}, 1),
    {.schema = "aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
     .form = Form::composite,
     .body = nanmean},
    {.schema = "aten::sum_to_size(Tensor self, SymInt[] size) -> Tensor", .form = Form::composite, .body = sum_to_size},
    with_batch(in_float32(reduction<prod_all>("aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", prod_vjp,
                                              {{0}, {kResult}})),
               batch_over_all<"prod.dim_int">),
    in_float32(
        reduction<prod_dim>("aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
                            prod_dim_vjp, {{0}, {kResult}}, 1)),

    with_batch(reduction<max_all>("aten::max(Tensor self) -> Tensor", max_vjp, {{0}, {kResult}}, 1), batch_over_all<"amax">),
    with_batch(reduction<min_all>("aten::min(Tensor self) -> Tensor", max_vjp, {{0}, {kResult}}, 1), batch_over_all<"amin">),
    reduction<max_dims>("aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", amax_vjp, {{0}, {kResult}}),
    reduction<min_dims>("aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", amax_vjp, {{0}, {kResult}}),
    reduction<max_index>("aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor"),
    reduction<min_index>("aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor"),
    {.schema = "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
     .form = Form::reduction,
     .meta = extreme_dim_meta,
     .kernel = extreme_dim_kernel<true>,
     .vjp = selecting_vjp,
     .saves = {{kResult - 1}}},
    {.schema = "aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
     .form = Form::reduction,
     .meta = extreme_dim_meta,
     .kernel = extreme_dim_kernel<false>,
     .vjp = selecting_vjp,
     .saves = {{kResult - 1}}},
    {.schema = "aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
     .form = Form::reduction,
     .meta = aminmax_meta,
     .kernel = aminmax_kernel,
     .vjp = aminmax_vjp,
     .saves = {{0}, {kResult}, {kResult - 1}}},
    {.schema = "aten::max.other(Tensor self, Tensor other) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value { return aten<"maximum">(c[0], c[1]); }},
    {.schema = "aten::min.other(Tensor self, Tensor other) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value { return aten<"minimum">(c[0], c[1]); }},
    {.schema =
         "aten::value_selecting_reduction_backward(Tensor grad, int dim, Tensor indices, SymInt[] sizes, bool keepdim) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value {
       const Tensor& grad = c.tensor(0);
       const Shape& sizes = c[3].ints();
       const Tensor zeros = aten<"new_zeros">(grad, sizes);
       const bool restore = !c[4].to_bool() && sizes.dim() > 0;
       return aten<"scatter.src">(zeros, c[1], restore ? aten<"unsqueeze">(c[2], c[1]) : c.tensor(2),
                                  restore ? aten<"unsqueeze">(grad, c[1]) : grad);
     }},

    with_batch(reduction<any_all>("aten::any(Tensor self) -> Tensor"), batch_over_all<"any.dim">),
    reduction<any_dims>("aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor"),
    reduction<any_dims>("aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor"),
    with_batch(reduction<all_all>("aten::all(Tensor self) -> Tensor"), batch_over_all<"all.dim">),
    {.schema = "aten::_is_any_true(Tensor self) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value { return aten<"any">(c[0]); }},
    {.schema = "aten::_is_all_true(Tensor self) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value { return aten<"all">(c[0]); }},
    reduction<all_dims>("aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor"),
    reduction<all_dims>("aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor"),
    reduction<count_dims>("aten::count_nonzero(Tensor self, int? dim=None) -> Tensor"),
    reduction<count_dims>("aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor"),

    {.schema = "aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
     .form = Form::reduction,
     .body = logsumexp,
     .vjp = logsumexp_vjp,
     .saves = {{0}, {kResult}}},
    {.schema = "aten::special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value { return aten<"logsumexp">(c[0], c[1], c[2]); }},
};

}  // namespace

INGOT_FAMILY(sums_and_extremes, kSumsAndExtremesOps)

}  // namespace ingot
