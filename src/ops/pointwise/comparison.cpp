// Comparisons, logic and tests of values. Results are bool, so they carry no gradient; the in-place
// comparisons of a float tensor get zeros. In-place logic leaves the history of its tensor alone,
// as PyTorch does.
#include <algorithm>

#include "base/error.hpp"
#include "op/promotion.hpp"
#include "ops/batch/rules.hpp"
#include "ops/family.hpp"
#include "ops/pointwise/formula_math.hpp"
#include "ops/pointwise/rules.hpp"

namespace ingot {
namespace {

constexpr auto eq_formula = []<Number T>(T a, T b) { return a == b; };
constexpr auto ne_formula = []<Number T>(T a, T b) { return a != b; };
constexpr auto lt_formula = []<Real T>(T a, T b) { return a < b; };
constexpr auto le_formula = []<Real T>(T a, T b) { return a <= b; };
constexpr auto gt_formula = []<Real T>(T a, T b) { return a > b; };
constexpr auto ge_formula = []<Real T>(T a, T b) { return a >= b; };

#define COMPARISON(name, formula)                                                                \
  binary("aten::" name ".Tensor(Tensor self, Tensor other) -> Tensor", formula, zero_gradients), \
      binary("aten::" name ".Scalar(Tensor self, Scalar other) -> Tensor", formula, zero_gradients)
#define COMPARISON_ALIAS(name, of)                                                      \
  alias_of<of ".Tensor">("aten::" name ".Tensor(Tensor self, Tensor other) -> Tensor"), \
      alias_of<of ".Scalar">("aten::" name ".Scalar(Tensor self, Scalar other) -> Tensor")

// Tests of floating values; an integer is always finite.
template <class Test>
struct FloatTest {
  template <Number T>
  auto operator()(T x) const {
    if constexpr (std::integral<T>) {
      return false;
    } else if constexpr (Complex<T>) {
      return Test{}(x.real()) || Test{}(x.imag());
    } else {
      if constexpr (std::same_as<T, Expr>)
        if (is_integer_value(x)) return Expr::boolean(false);
      return Test{}(x);
    }
  }
};
struct IsNan {
  template <class T> auto operator()(T x) const { return x != x; }
};
struct IsInf {
  template <class T> auto operator()(T x) const { return isinf(x); }
};
template <int Sign>
struct IsSignedInf {
  template <class T>
    requires(!std::same_as<T, std::complex<double>>)
  auto operator()(T x) const {
    return FloatTest<Equals>{}(x);
  }
  struct Equals {
    template <class T> auto operator()(T x) const { return x == T(Sign * INFINITY); }
  };
};
constexpr auto signbit_formula = []<Real T>(T x) {
  if constexpr (std::same_as<T, Expr>) return is_integer_value(x) ? x < Expr::constant(x.dtype(), 0) : copysign(T(1), x) < T(0);
  else if constexpr (std::integral<T>) return x < T(0);
  else return std::signbit(x);
};

Value isfinite(const Call& c) {
  const Tensor& x = c.tensor(0);
  if (!is_differentiable(x.dtype())) return aten<"ones_like">(x, DType::b8);
  return aten<"mul.Tensor">(x == x, abs(x) != INFINITY);
}
Value isreal(const Call& c) {
  const Tensor& x = c.tensor(0);
  if (x.is_complex()) return aten<"imag">(x) == 0;
  return aten<"ones_like">(x, DType::b8);
}
Value isclose(const Call& c) {
  const Tensor &a = c.tensor(0), &b = c.tensor(1);
  const double rtol = c[2].to_double(), atol = c[3].to_double();
  INGOT_REQUIRE(a.dtype() == b.dtype(), scalar_type_name(a.dtype()), " did not match ", scalar_type_name(b.dtype()));
  INGOT_REQUIRE(rtol >= 0, "rtol must be greater than or equal to zero, but got ", rtol);
  INGOT_REQUIRE(atol >= 0, "atol must be greater than or equal to zero, but got ", atol);
  Tensor close = a == b;
  const bool inexact = is_differentiable(a.dtype());
  if (inexact && c[4].to_bool()) close = aten<"logical_or">(close, aten<"logical_and">(a != a, b != b));
  if (rtol == 0 && atol == 0) return close;
  const Tensor x = inexact ? a : a.to(thread_state().default_dtype), y = inexact ? b : b.to(thread_state().default_dtype);
  const Tensor allowed = abs(y * rtol) + atol, actual = abs(x - y);
  return aten<"logical_or">(close, aten<"logical_and">(aten<"isfinite">(actual), actual <= allowed));
}

bool all_set(const Tensor& mask) {
  const std::vector<bool> v = mask.to_vector<bool>();
  return std::ranges::find(v, false) == v.end();
}
// Ops whose result is a number read from the data.
constexpr OpDef reads_data(std::string_view schema, Value (*body)(const Call&)) {
  OpDef d{.schema = schema, .form = Form::external};
  d.body = body;
  d.grad.none = true;
  return d;
}
void require_data(const Call& c) {
  for (const Value& v : c.args)
    INGOT_REQUIRE(!v.is_tensor() || !v.tensor()->is_fake(), c.op.schema.name,
                  ": the result depends on data, and the tensor has none");
}

constexpr OpDef kComparisonOps[] = {
    COMPARISON("eq", eq_formula),
    COMPARISON("ne", ne_formula),
    COMPARISON("lt", lt_formula),
    COMPARISON("le", le_formula),
    COMPARISON("gt", gt_formula),
    COMPARISON("ge", ge_formula),
    COMPARISON_ALIAS("not_equal", "ne"),
    COMPARISON_ALIAS("less", "lt"),
    COMPARISON_ALIAS("less_equal", "le"),
    COMPARISON_ALIAS("greater", "gt"),
    COMPARISON_ALIAS("greater_equal", "ge"),

    no_gradient(binary("aten::logical_and(Tensor self, Tensor other) -> Tensor",
                       []<Number T>(T a, T b) { return a != T(0) && b != T(0); })),
    no_gradient(binary("aten::logical_or(Tensor self, Tensor other) -> Tensor",
                       []<Number T>(T a, T b) { return a != T(0) || b != T(0); })),
    no_gradient(binary("aten::logical_xor(Tensor self, Tensor other) -> Tensor",
                       []<Number T>(T a, T b) { return (a != T(0)) != (b != T(0)); })),
    no_gradient(unary("aten::logical_not(Tensor self) -> Tensor", []<Number T>(T x) { return x == T(0); })),

    no_gradient(unary("aten::isnan(Tensor self) -> Tensor", FloatTest<IsNan>{})),
    no_gradient(unary("aten::isinf(Tensor self) -> Tensor", FloatTest<IsInf>{})),
    no_gradient(unary("aten::isposinf(Tensor self) -> Tensor", IsSignedInf<1>{})),
    no_gradient(unary("aten::isneginf(Tensor self) -> Tensor", IsSignedInf<-1>{})),
    no_gradient(unary("aten::signbit(Tensor self) -> Tensor", signbit_formula)),
    composite("aten::isfinite(Tensor self) -> Tensor", isfinite),
    composite("aten::isreal(Tensor self) -> Tensor", isreal),
    composite(
        "aten::isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> Tensor",
        isclose),
    with_meta(
        binary("aten::heaviside(Tensor self, Tensor values) -> Tensor",
               []<Real T>(T x, T at_zero) { return where(x == T(0), at_zero, where(x > T(0), constant_like(x, 1), T(0))); }),
        [](const Call& c, Outputs& out) {
          INGOT_REQUIRE(!c[1].is_tensor() || c.tensor(0).dtype() == c.tensor(1).dtype(),
                        "heaviside is not yet implemented for tensors with different dtypes.");
          pointwise_meta(c, out);
        }),

    with_batch(reads_data("aten::equal(Tensor self, Tensor other) -> bool",
                          [](const Call& c) -> Value {
                            require_data(c);
                            INGOT_REQUIRE(c.tensor(0).dtype() == c.tensor(1).dtype(), "Expected object of data type ",
                                          c.tensor(0).dtype(), " but got data type ", c.tensor(1).dtype(),
                                          " for argument 'other' in call to equal");
                            return c.tensor(0).sizes() == c.tensor(1).sizes() && all_set(c.tensor(0) == c.tensor(1));
                          }),
               batch_loop),
    with_batch(
        reads_data(
            "aten::allclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> bool",
            [](const Call& c) -> Value {
              require_data(c);
              return all_set(aten<"isclose">(c[0], c[1], c[2], c[3], c[4]));
            }),
        batch_loop),
};

}  // namespace

INGOT_FAMILY(comparison, kComparisonOps)

}  // namespace ingot
