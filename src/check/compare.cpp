#include "check/compare.hpp"

#include <algorithm>
#include <cmath>
#include <complex>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "io/dense.hpp"
#include "op/call.hpp"
#include "tensor/rows.hpp"

namespace ingot {

namespace {

struct Exception {
  std::string_view what;  // an operator without overload, the folder of a case, or a case
  DType dtype;            // of the result (c64 counts as f32)
  Tolerance bound;
  bool gradients_only;
  std::string_view reason;
};
// Each line says how far PyTorch's stored result, and ours, are from the same program run by Ingot
// in float64. A bound is the usual one of the dtype unless said otherwise. That reference shares
// our formulas: it tells rounding from a wrong bound, not a right formula from a wrong one. Single
// cases are those where machines that fuse products and sums differ. Sorted by name.
constexpr Exception kExceptions[] = {
    {"aten.conv3d", DType::f32, {1e-5, 1e-4}, false, "hundreds of products that cancel: 1.4 bounds from float64, ours 0.04"},
    {"aten.logit",
     DType::bf16,
     {1e-2, 1.6e-2},
     false,
     "small near x = 1/2, against the rounding of the result's parts; as far from float64 as ours"},
    {"aten.sinc", DType::f32, {1e-5, 1e-5}, false, "complex, |result| 1500: 1.6e-6 relative; not measured against complex128"},
    {"aten.special_log_ndtr", DType::f32, {1e-5, 1e-5}, true, "gradient: 1.8 bounds from float64, ours 0.05"},
    {"cdist/f32_32", DType::f32, {1e-4, 1.3e-6}, true, "gradient by a distance that cancels: 4.2 bounds from float64, ours 4.2"},
    {"grid_sampler_2d/f32_12", DType::f32, {1e-4, 1.3e-6}, true, "gradient of the grid: 9.0 bounds from float64, ours 8.8"},
    {"matrix_exp/f32_1", DType::f32, {3.4e-4, 4.4e-5}, false, "squared again and again: 34 bounds from float64, ours 0.01"},
    {"nn.functional.multi_head_attention_forward",
     DType::f32,
     {1e-5, 1e-5},
     false,
     "logits in the hundreds: the rounding of the projections, times as much, 1.7 bounds apart"},
    {"nn.functional.multi_head_attention_forward",
     DType::f32,
     {2e-3, 1e-2},
     true,
     "logits in the hundreds: gradients up to 400 bounds from float64, ours 10"},
    {"nn.functional.scaled_dot_product_attention/f32_5",
     DType::f32,
     {3e-5, 1.3e-6},
     true,
     "gradient: 1.4 bounds from float64, ours 0.7"},
};

Tolerance general_tolerance(DType t) {
  switch (real_of(t)) {
    case DType::f64: return {1e-7, 1e-7};
    case DType::f32: return {1e-5, 1.3e-6};
    case DType::f16: return {1e-5, 1e-3};
    case DType::bf16: return {1e-5, 1.6e-2};
    case DType::f8e4m3fn:
    case DType::f8e5m2: return {1e-5, 1.3e-1};
    default: return {};
  }
}

// Row-major elements of the first n, as the type elements are computed in.
template <class T>
std::vector<T> first_elements(const Tensor& t, int64_t n, Compute type) {
  const Tensor dense = row_major(t);
  std::vector<T> out(static_cast<std::size_t>(n));
  if (n > 0) load_row(t.dtype(), dense.data_ptr(), 1, n, type, out.data());
  return out;
}

bool is_nan(double x) { return std::isnan(x); }
bool is_nan(std::complex<double> x) { return std::isnan(x.real()) || std::isnan(x.imag()); }

// |got - want| / bound, where equal elements, and NaN against NaN, are 0.
template <class T>
double excess(T got, T want, Tolerance tolerance) {
  if (got == want || (is_nan(got) && is_nan(want))) return 0;
  const double bound = tolerance.absolute + tolerance.relative * std::abs(want), difference = std::abs(got - want);
  if (!(difference < HUGE_VAL) || !std::isfinite(bound)) return HUGE_VAL;
  return bound > 0 ? difference / bound : HUGE_VAL;
}
double excess(int64_t got, int64_t want, Tolerance) { return got == want ? 0 : HUGE_VAL; }

double distance(int64_t a, int64_t b) { return std::abs(static_cast<double>(a) - static_cast<double>(b)); }
template <class T>
double distance(T a, T b) {
  const double d = std::abs(a - b);
  return std::isnan(d) ? HUGE_VAL : d;
}

std::string shown(std::complex<double> x) { return text("(", x.real(), ", ", x.imag(), ")"); }
template <class T>
std::string shown(T x) {
  return text(x);
}

template <class T>
Difference compare_as(const Tensor& got, const Tensor& want, int64_t n, Compute type, Tolerance tolerance) {
  const auto a = first_elements<T>(got, n, type), b = first_elements<T>(want, n, type);
  Difference d;
  std::size_t at = 0, wrong = 0;
  for (std::size_t i = 0; i < a.size(); i++) {
    const double e = excess(a[i], b[i], tolerance);
    if (e > 1) wrong++;
    if (e > d.worst) d.worst = e, at = i;
    if (e > 0) d.largest = std::max(d.largest, distance(a[i], b[i]));
  }
  if (wrong > 0)
    d.message =
        text(wrong, " of ", n, " elements differ; the worst is element ", at, ": got ", shown(a[at]), ", want ", shown(b[at]));
  return d;
}

}  // namespace

Tolerance tolerance_for(DType dtype, bool is_gradient, std::string_view case_name, const std::vector<std::string>& targets) {
  Tolerance bound = general_tolerance(dtype);
  for (const Exception& e : kExceptions) {
    const bool named =
        case_name == e.what || case_name.substr(0, case_name.find('/')) == e.what ||
        std::any_of(targets.begin(), targets.end(), [&](std::string_view t) { return t.substr(0, t.rfind('.')) == e.what; });
    if (named && real_of(dtype) == e.dtype && (is_gradient || !e.gradients_only))
      bound = {std::max(bound.absolute, e.bound.absolute), std::max(bound.relative, e.bound.relative)};
  }
  return bound;
}

Tolerance model_tolerance(const Tensor& want) {
  if (!is_differentiable(want.dtype())) return {};
  std::complex<double> sum = 0;
  double squares = 0, count = 0;
  for (const std::complex<double> x : first_elements<std::complex<double>>(want, want.numel().value(), Compute::c128)) {
    if (!std::isfinite(x.real()) || !std::isfinite(x.imag())) continue;  // these are compared exactly
    sum += x;
    squares += std::norm(x);
    count++;
  }
  // A single value has no spread: its own size stands in.
  const double variance = count > 1 ? squares / count - std::norm(sum / count) : squares,
               spread = std::sqrt(std::max(variance, 0.0));
  return {1e-5 + (is_reduced_floating(want.dtype()) ? 1.6e-2 : 1e-4) * spread, 0};
}

Difference compare_kind(const Tensor& got, const Tensor& want) {
  const auto refuse = [](std::string message) { return Difference{std::move(message), HUGE_VAL, HUGE_VAL}; };
  if (!got.defined()) return refuse("there is no tensor");
  if (got.dtype() != want.dtype()) return refuse(text("got ", got.dtype(), ", want ", want.dtype()));
  if (!(got.sizes() == want.sizes())) return refuse(text("got size ", got.sizes(), ", want ", want.sizes()));
  return {};
}

Tensor no_further(const Tensor& got, const Tensor& want, const Tensor& exact, bool is_whole_program) {
  const DType wide = is_complex(want.dtype()) ? DType::c128 : DType::f64;
  if (!exact.defined() || exact.dtype() != wide || !(exact.sizes() == want.sizes())) return got;
  const auto off = [&](const Tensor& t) { return aten<"abs">(aten<"sub.Tensor">(t.to(wide), exact)); };
  const Tensor ours = off(got), theirs = off(want);
  const auto no_more = [](const Tensor& a, const Tensor& b) { return a.item().to_double() <= b.item().to_double(); };
  const auto mean_square = [](const Tensor& t) { return aten<"mean">(aten<"mul.Tensor">(t, t)); };
  const bool as_a_whole = is_whole_program && want.numel().value() > 0 && no_more(aten<"max">(ours), aten<"max">(theirs)) &&
                          no_more(mean_square(ours), mean_square(theirs));
  return as_a_whole ? want : aten<"where.self">(aten<"le.Tensor">(ours, theirs), want, got);
}

Difference unless_rounding(Difference d, const Difference& nearer, Exact exact) {
  constexpr double kFurthest = 4;  // the furthest of all golden cases is 1.3
  if (nearer.message.empty() && (exact == Exact::pytorchs || d.worst <= kFurthest)) d.message.clear();
  return d;
}

Difference compare(const Tensor& got, const Tensor& want, Tolerance tolerance) {
  Difference d = compare_kind(got, want);
  if (!d.message.empty()) return d;
  const int64_t n = want.numel().value();
  switch (compute_type(want.dtype())) {
    case Compute::f32:
    case Compute::f64: return compare_as<double>(got, want, n, Compute::f64, tolerance);
    case Compute::c128: return compare_as<std::complex<double>>(got, want, n, Compute::c128, tolerance);
    default: return compare_as<int64_t>(got, want, n, Compute::i64, tolerance);
  }
}

}  // namespace ingot
