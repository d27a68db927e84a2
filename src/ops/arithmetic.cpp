// Arithmetic: + - * / and their kin, with broadcasting and ATen's type promotion.
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "op/promotion.hpp"
#include "op/vjp.hpp"
#include "ops/families.hpp"
#include "ops/pointwise.hpp"
#include "ops/scalar_math.hpp"

namespace ingot {
namespace {

// The conjugate where the type has one: gradients flow through it.
Tensor conj(const Tensor& t) { return t.is_complex() ? aten<"_conj_physical">(t) : t; }
// A tensor operand that was saved, or the number that stood in its place.
Value operand(const Vjp& v, int i) { return v.is_tensor(i) ? Value(conj(v.saved(i))) : v.arg(i); }

inline constexpr Traits no_alpha{.promoting = 0b011};

constexpr auto add_formula = []<Number T>(T a, T b, T alpha) { return T(a + alpha * b); };
constexpr auto sub_formula = []<Number T>(T a, T b, T alpha) { return T(a - alpha * b); };
constexpr auto mul_formula = []<Number T>(T a, T b) { return T(a * b); };
constexpr auto div_formula = []<Inexact T>(T a, T b) { return a / b; };

// alpha must not have a higher category than the operands: 2.5 times an int tensor has no int result.
void check_alpha(const Call& c) {
  const Value operands[] = {c[0], c[1]};
  const DType t = result_type(operands);
  INGOT_REQUIRE(!c[2].is_bool() || t == DType::b8, "Boolean alpha only supported for Boolean results.");
  INGOT_REQUIRE(is_floating(t) || is_complex(t) || !c[2].is_float(),
                "For integral input tensors, argument alpha must not be a floating point number.");
  INGOT_REQUIRE(is_complex(t) || !c[2].is_complex(), "For non-complex input tensors, argument alpha must not be a complex number.");
}
void add_meta(const Call& c, Outputs& out) {
  check_alpha(c);
  pointwise_meta(c, out);
}
void sub_meta(const Call& c, Outputs& out) {
  check_alpha(c);
  const Value operands[] = {c[0], c[1]};
  INGOT_REQUIRE(result_type(operands) != DType::b8, "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
                "`logical_xor()` operator instead.");
  pointwise_meta(c, out);
}
constexpr OpDef with_meta(OpDef d, void (*meta)(const Call&, Outputs&), uint8_t backward_index = 0) {
  d.meta = meta;
  d.backward_index = backward_index;
  return d;
}

Tensor scaled(const Tensor& g, const Value& alpha) { return alpha.is_int() && alpha.to_int().same(1) ? g : aten<"mul.Tensor">(g, alpha); }

void add_vjp(Vjp& v) {
  if (v.need(0)) v.set(0, v.grad());
  if (v.need(1)) v.set(1, scaled(v.grad(), v.arg(2)));
}
void sub_vjp(Vjp& v) {
  if (v.need(0)) v.set(0, v.grad());
  if (v.need(1)) v.set(1, scaled(-v.grad(), v.arg(2)));
}
void mul_vjp(Vjp& v) {
  if (v.need(0)) v.set(0, aten<"mul.Tensor">(v.grad(), operand(v, 1)));
  if (v.need(1)) v.set(1, aten<"mul.Tensor">(v.grad(), operand(v, 0)));
}
void div_vjp(Vjp& v) {
  if (v.need(0)) v.set(0, aten<"div.Tensor">(v.grad(), operand(v, 1)));
  if (v.need(1)) v.set(1, -v.grad() * conj(aten<"div.Tensor">(aten<"div.Tensor">(v.saved(0), v.saved(1)), v.saved(1))));
}

constexpr OpDef indexed(OpDef d, uint8_t backward_index) {
  d.backward_index = backward_index;
  return d;
}

constinit const OpDef kOps[] = {
    with_meta(pointwise<3, no_alpha>("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", add_formula, add_vjp), add_meta),
    with_meta(pointwise<3, no_alpha>("aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", add_formula,
                                     [](Vjp& v) { v.set(0, v.grad()); }), add_meta, 1),
    with_meta(pointwise<3, no_alpha>("aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", sub_formula, sub_vjp), sub_meta),
    with_meta(pointwise<3, no_alpha>("aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", sub_formula,
                                     [](Vjp& v) { v.set(0, v.grad()); }), sub_meta, 1),
    with_meta(pointwise<3, no_alpha>("aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
                                     []<Number T>(T a, T b, T alpha) { return T(b - alpha * a); },
                                     [](Vjp& v) { v.set(0, scaled(-v.grad(), v.arg(2))); }), sub_meta, 1),
    with_meta(pointwise<3, no_alpha>("aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
                                     []<Number T>(T a, T b, T alpha) { return T(b - alpha * a); },
                                     [](Vjp& v) {
                                       if (v.need(0)) v.set(0, scaled(-v.grad(), v.arg(2)));
                                       if (v.need(1)) v.set(1, v.grad());
                                     }), sub_meta),
    binary("aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", mul_formula, mul_vjp, {{0, 1}, {1, 0}}),
    indexed(binary("aten::mul.Scalar(Tensor self, Scalar other) -> Tensor", mul_formula,
                   [](Vjp& v) { v.set(0, aten<"mul.Tensor">(v.grad(), v.arg(1))); }), 1),
    binary<int_to_float>("aten::div.Tensor(Tensor self, Tensor other) -> Tensor", div_formula, div_vjp, {{0, 1}, {1}}),
    indexed(binary<int_to_float>("aten::div.Scalar(Tensor self, Scalar other) -> Tensor", div_formula,
                                 [](Vjp& v) { v.set(0, aten<"div.Tensor">(v.grad(), v.arg(1))); }), 1),
    unary("aten::neg(Tensor self) -> Tensor", []<Number T>(T x) requires(!std::same_as<T, bool>) { return T(-x); },
          [](Vjp& v) { v.set(0, -v.grad()); }),
};

}  // namespace

Family arithmetic_family() { return kOps; }

}  // namespace ingot
