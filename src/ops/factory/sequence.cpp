// Factories of number sequences: arange, linspace, eye, index triangles, and the windows of signal
// processing.
#include <cmath>
#include <complex>
#include <numbers>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "expr/float_steps.hpp"
#include "expr/if_known.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "ops/batch/rules.hpp"
#include "ops/factory/factory.hpp"
#include "ops/family.hpp"
#include "ops/common/lower_rules.hpp"
#include "tensor/rows.hpp"

namespace ingot {
namespace {

DType default_dtype() { return thread_state().default_dtype; }

template <class T>
constexpr Compute kComputeOf = std::same_as<T, int64_t>  ? Compute::i64
                               : std::same_as<T, double> ? Compute::f64
                                                         : Compute::c128;

// r[i] = f(i) for a fresh contiguous vector, computed in T.
template <class T, class F>
void generate(const Tensor& r, const F& f) {
  constexpr int64_t kChunk = 512;
  T buffer[kChunk];
  const int64_t n = r.numel().number();
  for (int64_t b = 0; b < n; b += kChunk) {
    const int64_t m = std::min(kChunk, n - b);
    for (int64_t i = 0; i < m; i++) buffer[i] = f(b + i);
    store_row(kComputeOf<T>, buffer, m, r.dtype(), r->bytes() + b * size_of(r.dtype()), 1);
  }
}

// ---- arange and range: from start, which may be missing, by step, which may be missing

struct Span {
  Value start, end, step;
  explicit Span(const Call& c) : start(0), end(named(c, "end")), step(1) {
    if (c.op.schema.index_of("start") >= 0) start = named(c, "start");
    if (c.op.schema.index_of("step") >= 0) step = named(c, "step");
  }
  bool all_integers() const {
    auto integer = [](const Value& v) { return v.is_int() || v.is_bool(); };
    return integer(start) && integer(end) && integer(step);
  }
};
std::string span_problem(const auto& start, const auto& end, const auto& step) {
  return text("arange: upper bound and lower bound inconsistent with step sign, found start ", start, ", end ", end, ", step ",
              step);
}
void check_span(double start, double end, double step) {
  INGOT_REQUIRE(step != 0, "arange: step must be nonzero");
  INGOT_REQUIRE(step > 0 ? end >= start : end <= start, span_problem(start, end, step));
}
// Of a step that only data decides it is taken for granted that it goes up, and of ends that they
// are in order: a run checks both.
void check_span(Int start, Int end, Int step) {
  INGOT_REQUIRE(!step.same(0), "arange: step must be nonzero");
  const auto up = less_if_known(0, step);
  if (!up) take_for_less(0, step, text("arange: step must be positive, found ", step));
  const Int first = up.value_or(true) ? start : end, last = up.value_or(true) ? end : start;
  const auto reversed = less_if_known(last, first);
  INGOT_REQUIRE(!reversed.value_or(false), span_problem(start, end, step));
  if (!reversed) take_for_less(first - 1, last, span_problem(start, end, step));
}
void arange_meta(const Call& c, Outputs& o) {
  take_device(c, o);
  const Span s(c);
  const DType dtype = named(c, "dtype").dtype_or(s.all_integers() ? DType::i64 : default_dtype());
  INGOT_REQUIRE(!is_complex(dtype) && dtype != DType::b8, "\"arange\" not implemented for '", scalar_type_name(dtype), "'");
  if (s.all_integers() || dtype == DType::i64) {
    const Int start = s.start.to_scalar().to_int(), end = s.end.to_scalar().to_int(), step = s.step.to_scalar().to_int();
    check_span(start, end, step);
    o.add({step.same(1) ? end - start : step > 0 ? ceil_div(end - start, step) : ceil_div(start - end, -step)}, dtype);
    return;
  }
  const Float start = s.start.to_float(), end = s.end.to_float(), step = s.step.to_float();
  if (start.is_number() && end.is_number() && step.is_number()) {
    INGOT_REQUIRE(std::isfinite(start.value()) && std::isfinite(end.value()), "arange: unsupported range: ", start, " -> ", end);
    check_span(start.value(), end.value(), step.value());
    INGOT_REQUIRE((end.value() - start.value()) / step.value() < 9e18, "arange: invalid size, possible overflow?");
  }
  o.add({count_steps(start, end, step)}, dtype);
}
void range_meta(const Call& c, Outputs& o) {
  take_device(c, o);
  const Span s(c);
  const DType dtype = named(c, "dtype").dtype_or(default_dtype());
  const double start = s.start.to_double(), end = s.end.to_double(), step = s.step.to_double();
  INGOT_REQUIRE(std::isfinite(start) && std::isfinite(end), "arange: unsupported range: ", start, " -> ", end);
  check_span(start, end, step);
  o.add({static_cast<int64_t>((end - start) / step) + 1}, dtype);
}
void span_kernel(const Call& c, std::span<const Tensor> r) {
  const Span s(c);
  if (is_floating(r[0].dtype())) {
    const double start = s.start.to_double(), step = s.step.to_double();
    generate<double>(r[0], [&](int64_t i) { return start + step * static_cast<double>(i); });
  } else {
    const int64_t start = s.start.to_scalar().to_int().value(), step = s.step.to_scalar().to_int().value();
    generate<int64_t>(r[0], [&](int64_t i) { return start + step * i; });
  }
}

// ---- linspace and logspace: the ends may be 0-dim tensors

bool is_complex_end(const Value& v) { return v.is_tensor() ? v.tensor().is_complex() : v.is_complex(); }
std::complex<double> end_value(const Value& v) { return (v.is_tensor() ? v.tensor().item() : v.to_scalar()).to_complex(); }

void linspace_meta(const Call& c, Outputs& o) {
  take_device(c, o);
  for (int i = 0; i < 2; i++)
    INGOT_REQUIRE(!c[i].is_tensor() || c.tensor(i).dim() == 0, c.op.schema.name,
                  " only supports 0-dimensional start and end tensors, but got ", i ? "end" : "start", " with ",
                  c.tensor(i).dim(), " dimension(s).");
  const Int steps = c[2].to_int();
  INGOT_REQUIRE(steps >= 0, c.op.schema.name, ": number of steps must be non-negative, found ", steps);
  const bool complex = is_complex_end(c[0]) || is_complex_end(c[1]);
  const DType dtype = named(c, "dtype").dtype_or(complex ? complex_of(default_dtype()) : default_dtype());
  INGOT_REQUIRE(!complex || is_complex(dtype), c.op.schema.name, "(): inferred dtype ", complex_of(default_dtype()),
                " can't be safely cast to passed dtype ", dtype);
  o.add({steps}, dtype);
}
// Calls make(k-th point) so that both ends are hit exactly: the first half counts from the start,
// the second from the end.
template <class T, class F>
void evenly_spaced(const Tensor& r, T start, T end, const F& make) {
  const int64_t n = r.numel().number();
  const T step = n > 1 ? (end - start) / static_cast<double>(n - 1) : T(0);
  generate<T>(r, [&](int64_t i) {
    return make(i < n / 2 || n == 1 ? start + step * static_cast<double>(i) : end - step * static_cast<double>(n - 1 - i));
  });
}
template <bool Log>
void linspace_kernel(const Call& c, std::span<const Tensor> r) {
  std::complex<double> start = end_value(c[0]), end = end_value(c[1]);
  const double base = Log ? c[3].to_double() : 0;
  if (is_complex(r[0].dtype()))
    return evenly_spaced(r[0], start, end,
                         [&](std::complex<double> x) { return Log ? std::pow(std::complex<double>(base), x) : x; });
  double a = start.real(), b = end.real();
  if (!is_floating(r[0].dtype())) a = std::trunc(a), b = std::trunc(b);
  evenly_spaced(r[0], a, b, [&](double x) { return Log ? std::pow(base, x) : x; });
}

// ---- eye, index triangles

void eye_meta(const Call& c, Outputs& o) {
  take_device(c, o);
  const Int n = c[0].to_int(), m = c.op.schema.index_of("m") >= 0 ? named(c, "m").to_int() : n;
  INGOT_REQUIRE(n >= 0, "eye: n must be greater or equal to 0, got ", n);
  INGOT_REQUIRE(m >= 0, "eye: m must be greater or equal to 0, got ", m);
  o.add({n, m}, named(c, "dtype").dtype_or(default_dtype()));
}
void eye_kernel(const Call&, std::span<const Tensor> r) {
  fill_elements(r[0], 0);
  Geometry g = r[0]->geom;
  g.sizes = {min(g.sizes[0], g.sizes[1])};
  g.strides = {g.strides[0] + g.strides[1]};
  fill_elements(make_alias(r[0], std::move(g)), 1);
}

// Columns [first, second) of row i inside the triangle.
template <bool Upper>
std::pair<int64_t, int64_t> triangle_columns(const Call& c, int64_t i) {
  const int64_t cols = c[1].to_int64(), edge = std::clamp<int64_t>(c[2].to_int64(), -c[0].to_int64() - 1, cols + 1) + i;
  if (Upper) return {std::clamp<int64_t>(edge, 0, cols), cols};
  return {0, std::clamp<int64_t>(edge + 1, 0, cols)};
}
template <bool Upper>
void triangle_indices_meta(const Call& c, Outputs& o) {
  take_device(c, o);
  INGOT_REQUIRE(c[0].to_int64() >= 0, c.op.schema.name, ": row must be non-negative, got ", c[0]);
  INGOT_REQUIRE(c[1].to_int64() >= 0, c.op.schema.name, ": col must be non-negative, got ", c[1]);
  int64_t n = 0;
  for (int64_t i = 0; i < c[0].to_int64(); i++) n += triangle_columns<Upper>(c, i).second - triangle_columns<Upper>(c, i).first;
  const Value& dtype = named(c, "dtype");
  o.add({2, n}, dtype.is_dtype() ? dtype.dtype() : DType::i64);
}
template <bool Upper>
void triangle_indices_kernel(const Call& c, std::span<const Tensor> r) {
  std::vector<int64_t> rows, cols;
  for (int64_t i = 0; i < c[0].to_int64(); i++)
    for (auto [j, end] = triangle_columns<Upper>(c, i); j < end; j++) {
      rows.push_back(i);
      cols.push_back(j);
    }
  rows.insert(rows.end(), cols.begin(), cols.end());
  store_row(Compute::i64, rows.data(), static_cast<int64_t>(rows.size()), r[0].dtype(), r[0].data_ptr(), 1);
}

// ---- windows

// A periodic window is the symmetric one of one more point without its last.
template <class F>
void window(const Call& c, const Tensor& r, const F& value) {
  const int64_t n = c[0].to_int64();
  const bool periodic = c.op.schema.index_of("periodic") < 0 || named(c, "periodic").to_bool();
  const double last = static_cast<double>(periodic ? n : n - 1);
  generate<double>(r, [&](int64_t i) { return n == 1 ? 1.0 : value(static_cast<double>(i) / last); });  // x in [0, 1]
}
double argument_or(const Call& c, std::string_view name, double d) {
  return c.op.schema.index_of(name) < 0 ? d : named(c, name).to_double();
}
double wave(double x, int k) { return std::cos(2 * std::numbers::pi * k * x); }

void window_meta(const Call& c, Outputs& o) {
  take_device(c, o);
  const DType dtype = named(c, "dtype").dtype_or(default_dtype());
  INGOT_REQUIRE(is_floating(dtype), c.op.schema.name, " expects floating point dtypes, got: ", dtype);
  INGOT_REQUIRE(c[0].to_int64() >= 0, c.op.schema.name, " requires non-negative window_length, got window_length=", c[0]);
  o.add({c[0].to_int()}, dtype);
}
void cosine_window(const Call& c, std::span<const Tensor> r, double alpha, double beta) {
  window(c, r[0], [&](double x) { return alpha - beta * wave(x, 1); });
}
void hann_kernel(const Call& c, std::span<const Tensor> r) { cosine_window(c, r, 0.5, 0.5); }
void hamming_kernel(const Call& c, std::span<const Tensor> r) {
  cosine_window(c, r, argument_or(c, "alpha", 0.54), argument_or(c, "beta", 0.46));
}
void blackman_kernel(const Call& c, std::span<const Tensor> r) {
  window(c, r[0], [](double x) { return 0.42 - 0.5 * wave(x, 1) + 0.08 * wave(x, 2); });
}
void bartlett_kernel(const Call& c, std::span<const Tensor> r) {
  window(c, r[0], [](double x) { return 1 - std::abs(2 * x - 1); });
}
void kaiser_kernel(const Call& c, std::span<const Tensor> r) {
  const double beta = std::abs(argument_or(c, "beta", 12.0));  // the Bessel function is even
  window(c, r[0], [&](double x) {
    const double inside = std::max(0.0, 1 - (2 * x - 1) * (2 * x - 1));
    return std::cyl_bessel_i(0.0, beta * std::sqrt(inside)) / std::cyl_bessel_i(0.0, beta);
  });
}

#define PERIODIC "int window_length, bool periodic"
#define LENGTH "int window_length"
#define TRIANGLE_OPTIONS "ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None"

// The ends are tensors: the result is a function of them, one without a derivative in PyTorch.
constexpr OpDef spaced(std::string_view schema, MetaRule meta, KernelRule kernel) {
  OpDef d = factory(schema, meta, kernel);
  d.grad.none = false;
  d.batch = batch_loop;  // each member may start and end elsewhere
  return d;
}

// Computed in double unless the elements are integers, as the kernel does.
void span_lower(Lowering& l) {
  const Span s(l.call);
  const DType t = is_floating(l.result(0).dtype) ? DType::f64 : DType::i64;
  auto number = [&](const Value& v) {
    const Scalar x = v.to_scalar();
    return cast(t, x.is_int() ? x.to_int().expr() : x.to_float().expr());
  };
  if (!s.all_integers()) {
    const Expr steps = (s.end.to_float().expr() - s.start.to_float().expr()) / s.step.to_float().expr();
    if (const Expr fits = steps >= Expr(0.0) && steps < Expr(9e18); !fits.is_const())
      l.check(fits, "arange: upper bound and lower bound inconsistent with step sign");
  }
  const Expr i = l.variable(l.result(0).sizes[0].expr());
  l.define(0, {i}, number(s.start) + number(s.step) * cast(t, i));
}
void eye_lower(Lowering& l) {
  const std::vector<Expr> at = variables_over(l, l.result(0).sizes);
  l.define(0, at, select(at[0] == at[1], Expr(1), Expr(0)));
}

constexpr OpDef kSequenceOps[] = {
    factory("aten::arange(Scalar end, *, " OPTIONS ") -> Tensor", arange_meta, span_kernel, span_lower),
    factory("aten::arange.start(Scalar start, Scalar end, *, " OPTIONS ") -> Tensor", arange_meta, span_kernel, span_lower),
    factory("aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, " OPTIONS ") -> Tensor", arange_meta,
            span_kernel, span_lower),
    factory("aten::range(Scalar start, Scalar end, *, " OPTIONS ") -> Tensor", range_meta, span_kernel),
    factory("aten::range.step(Scalar start, Scalar end, Scalar step=1, *, " OPTIONS ") -> Tensor", range_meta, span_kernel),
    factory("aten::linspace(Scalar start, Scalar end, int steps, *, " OPTIONS ") -> Tensor", linspace_meta,
            linspace_kernel<false>),
    spaced("aten::linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, " OPTIONS ") -> Tensor", linspace_meta,
           linspace_kernel<false>),
    spaced("aten::linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, *, " OPTIONS ") -> Tensor", linspace_meta,
           linspace_kernel<false>),
    spaced("aten::linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, *, " OPTIONS ") -> Tensor", linspace_meta,
           linspace_kernel<false>),
    factory("aten::logspace(Scalar start, Scalar end, int steps, float base=10., *, " OPTIONS ") -> Tensor", linspace_meta,
            linspace_kernel<true>),
    spaced("aten::logspace.Tensor_Tensor(Tensor start, Tensor end, int steps, float base=10., *, " OPTIONS ") -> Tensor",
           linspace_meta, linspace_kernel<true>),
    spaced("aten::logspace.Tensor_Scalar(Tensor start, Scalar end, int steps, float base=10., *, " OPTIONS ") -> Tensor",
           linspace_meta, linspace_kernel<true>),
    spaced("aten::logspace.Scalar_Tensor(Scalar start, Tensor end, int steps, float base=10., *, " OPTIONS ") -> Tensor",
           linspace_meta, linspace_kernel<true>),
    factory("aten::eye(SymInt n, *, " OPTIONS ") -> Tensor", eye_meta, eye_kernel, eye_lower),
    factory("aten::eye.m(SymInt n, SymInt m, *, " OPTIONS ") -> Tensor", eye_meta, eye_kernel, eye_lower),
    factory("aten::tril_indices(int row, int col, int offset=0, *, " TRIANGLE_OPTIONS ") -> Tensor", triangle_indices_meta<false>,
            triangle_indices_kernel<false>),
    factory("aten::triu_indices(int row, int col, int offset=0, *, " TRIANGLE_OPTIONS ") -> Tensor", triangle_indices_meta<true>,
            triangle_indices_kernel<true>),
    factory("aten::hann_window(" LENGTH ", *, " OPTIONS ") -> Tensor", window_meta, hann_kernel),
    factory("aten::hann_window.periodic(" PERIODIC ", *, " OPTIONS ") -> Tensor", window_meta, hann_kernel),
    factory("aten::hamming_window(" LENGTH ", *, " OPTIONS ") -> Tensor", window_meta, hamming_kernel),
    factory("aten::hamming_window.periodic(" PERIODIC ", *, " OPTIONS ") -> Tensor", window_meta, hamming_kernel),
    factory("aten::hamming_window.periodic_alpha(" PERIODIC ", float alpha, *, " OPTIONS ") -> Tensor", window_meta,
            hamming_kernel),
    factory("aten::hamming_window.periodic_alpha_beta(" PERIODIC ", float alpha, float beta, *, " OPTIONS ") -> Tensor",
            window_meta, hamming_kernel),
    factory("aten::blackman_window(" LENGTH ", *, " OPTIONS ") -> Tensor", window_meta, blackman_kernel),
    factory("aten::blackman_window.periodic(" PERIODIC ", *, " OPTIONS ") -> Tensor", window_meta, blackman_kernel),
    factory("aten::bartlett_window(" LENGTH ", *, " OPTIONS ") -> Tensor", window_meta, bartlett_kernel),
    factory("aten::bartlett_window.periodic(" PERIODIC ", *, " OPTIONS ") -> Tensor", window_meta, bartlett_kernel),
    factory("aten::kaiser_window(" LENGTH ", *, " OPTIONS ") -> Tensor", window_meta, kaiser_kernel),
    factory("aten::kaiser_window.periodic(" PERIODIC ", *, " OPTIONS ") -> Tensor", window_meta, kaiser_kernel),
    factory("aten::kaiser_window.beta(" PERIODIC ", float beta, *, " OPTIONS ") -> Tensor", window_meta, kaiser_kernel),
    {.schema = "aten::_dim_arange(Tensor like, int dim) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value {
       return aten<"arange">(c.tensor(0).size(c[1].to_int64()), DType::i64, Value(), c.tensor(0).device());
     }},
    {.schema = "aten::vander(Tensor x, int? N=None, bool increasing=False) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value {
       Tensor x = c.tensor(0);
       INGOT_REQUIRE(x.dim() == 1, "vander: x must be a one-dimensional tensor.");
       const Int rows = x.numel(), cols = c[1].int_or(rows);
       INGOT_REQUIRE(cols >= 0, "vander: N must be non-negative, found ", cols);
       if (!is_floating(x.dtype()) && !is_complex(x.dtype())) x = x.to(DType::i64);
       if (cols == 0) return aten<"new_empty">(x, Shape{rows, 0});
       Tensor r = aten<"new_ones">(x, Shape{rows, 1});
       if (cols > 1) r = aten<"cat">(TensorList{r, aten<"cumprod">(x.unsqueeze(1).expand({rows, cols - 1}), 1)}, 1);
       return c[2].to_bool() ? r : aten<"flip">(r, Shape{1});
     }},
};

}  // namespace

INGOT_FAMILY(sequence, kSequenceOps)

}  // namespace ingot
