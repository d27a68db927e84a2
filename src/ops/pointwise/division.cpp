// Division that rounds, and its remainders.
#include <algorithm>

#include "base/error.hpp"
#include "op/promotion.hpp"
#include "ops/family.hpp"
#include "ops/pointwise/formula_math.hpp"
#include "ops/common/lower_rules.hpp"
#include "ops/pointwise/rules.hpp"

namespace ingot {
namespace {

struct TrueQuotient {
  template <Inexact T> T operator()(T a, T b) const { return a / b; }
};
struct FloorQuotient {
  template <RealNotBool T> T operator()(T a, T b) const { return floored_quotient(a, b); }
};
// Of a half type the quotient is one before its fraction is dropped: 17.99 is 18 in bfloat16.
template <DType Small>
struct TruncQuotient {
  template <RealNotBool T> T operator()(T a, T b) const {
    if constexpr (Small == DType::f32 || !(std::same_as<T, Expr> || std::same_as<T, float>)) return truncated_quotient(a, b);
    else return trunc(as_small<Small>(a / b));
  }
};
constexpr auto remainder_formula = []<RealNotBool T>(T a, T b) { return floored_remainder(a, b); };
constexpr auto fmod_formula = []<RealNotBool T>(T a, T b) { return truncated_remainder(a, b); };

const Formula* quotient(const Call& c) {
  if (c[2].is_none()) return &formula_of<TrueQuotient, 2, int_to_float>;
  const std::string& mode = c[2].string();
  INGOT_REQUIRE(mode == "trunc" || mode == "floor",
                "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '", mode, "'");
  if (mode == "floor") return &formula_of<FloorQuotient, 2, common>;
  return formula_by_size<TruncQuotient, 2, common>(c);
}

// Integers have no infinity to return.
bool divides_integers(const Call& c, DType result) { return is_integral(result_type(c.args.first(2))) && !is_floating(result); }
constexpr const char* kNoQuotient = "ZeroDivisionError";

void divide_kernel(const Call& c, std::span<const Tensor> results) {
  if (divides_integers(c, results[0].dtype())) {
    const bool zero = c[1].is_tensor() ? std::ranges::count(c.tensor(1).to_vector<int64_t>(), 0) > 0 : c[1].to_int() == 0;
    INGOT_REQUIRE(!zero, kNoQuotient);
  }
  pointwise_kernel(c, results);
}
// Compiled, the formula says what the elements are, and this what has to hold of them.
void require_divisors(Lowering& l) {
  if (!divides_integers(l.call, l.result(0).dtype)) return;
  const std::vector<Expr> at = l.call[1].is_tensor() ? variables_over(l, l.call.tensor(1).sizes()) : std::vector<Expr>();
  const Expr divisor = cast(DType::i64, l.load(1, at));
  const Expr all = at.empty() ? !(divisor == Expr(0)) : l.fold(Accumulate::all, at, !(divisor == Expr(0)));
  l.check(l.load_temporary(l.temporary({}, all), {}), text(l.call.op.schema.name, ": ", kNoQuotient));
}

void div_mode_vjp(Vjp& v) {
  const Value &a = v.arg(0), &b = v.arg(1);
  if (!v.arg(2).is_none()) return zero_gradients(v);
  if (v.need(0)) v.set(0, aten<"div.Tensor">(v.grad(), conjugate(b)));
  if (v.need(1)) v.set(1, -v.grad() * conjugate(aten<"div.Tensor">(aten<"div.Tensor">(a, b), b)));
}
void remainder_vjp(Vjp& v, const char* mode) {
  if (v.need(0)) v.set(0, v.grad());
  if (v.need(1)) v.set(1, -v.grad() * aten<"div.Tensor_mode">(v.arg(0), v.arg(1), mode));
}
void floor_remainder_vjp(Vjp& v) { remainder_vjp(v, "floor"); }
void trunc_remainder_vjp(Vjp& v) { remainder_vjp(v, "trunc"); }

constexpr OpDef division(OpDef d) {
  d.kernel = divide_kernel;
  d.lower = require_divisors;
  return d;
}
constexpr OpDef division(OpDef d, uint8_t backward_index) { return indexed(division(d), backward_index); }

constexpr OpDef kDivisionOps[] = {
    division(pointwise_choice("aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor", quotient,
                              div_mode_vjp, {{0, 1}, {1}}),
             2),
    division(pointwise_choice("aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor", quotient,
                              div_mode_vjp),
             3),
    division(binary("aten::floor_divide(Tensor self, Tensor other) -> Tensor", FloorQuotient{})),
    division(binary("aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor", FloorQuotient{})),
    division(binary("aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor", remainder_formula, floor_remainder_vjp,
                    {{0, 1}, {1, 1}}),
             1),
    division(binary("aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor", remainder_formula, same_gradient), 0),
    division(binary("aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", remainder_formula)),
    division(
        binary("aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor", fmod_formula, trunc_remainder_vjp, {{0, 1}, {1, 1}}), 1),
    division(binary("aten::fmod.Scalar(Tensor self, Scalar other) -> Tensor", fmod_formula, same_gradient), 0),

    alias_of<"div.Tensor">("aten::divide.Tensor(Tensor self, Tensor other) -> Tensor"),
    alias_of<"div.Scalar">("aten::divide.Scalar(Tensor self, Scalar other) -> Tensor"),
    alias_of<"div.Tensor_mode">("aten::divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor"),
    alias_of<"div.Scalar_mode">("aten::divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor"),
    alias_of<"div.Tensor">("aten::true_divide.Tensor(Tensor self, Tensor other) -> Tensor"),
    alias_of<"div.Scalar">("aten::true_divide.Scalar(Tensor self, Scalar other) -> Tensor"),
};

}  // namespace

INGOT_FAMILY(division, kDivisionOps)

}  // namespace ingot
