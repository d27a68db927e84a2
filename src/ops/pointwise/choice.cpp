// Elements chosen by a condition or held within bounds: where, masked_fill, clamp, nan_to_num.
#include <limits>

#include "base/error.hpp"
#include "op/promotion.hpp"
#include "ops/batch/rules.hpp"
#include "ops/family.hpp"
#include "ops/pointwise/formula_math.hpp"
#include "ops/pointwise/rules.hpp"
#include "ops/shape/reinterpret.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

// ---- where
void where_meta(const Call& c, Outputs& out) {
  const DType t = c.tensor(0).dtype();
  INGOT_REQUIRE(t == DType::b8 || t == DType::u8, "where expected condition to be a boolean tensor, but got a tensor with dtype ",
                scalar_type_name(t));
  pointwise_meta(c, out);
}
void where_vjp(Vjp& v) {
  if (v.need(1)) v.set(1, aten<"where.ScalarOther">(v.saved(0), v.grad(), 0));
  if (v.need(2)) v.set(2, aten<"where.ScalarSelf">(v.saved(0), 0, v.grad()));
}
inline constexpr Traits first_is_condition{.bool_operands = 0b001};

// Numbers become 0-dim tensors of the result's type.
Value where_numbers(const Call& c) {
  const Value operands[] = {c[1], c[2]};
  const DType t = result_type(operands);
  auto converted = [&](const Value& v) {
    return v.is_tensor() ? aten<"to.dtype">(v, t) : aten<"scalar_tensor">(v, t, Value(), c.tensor(0).device());
  };
  return aten<"where.self">(c[0], converted(c[1]), converted(c[2]));
}

// ---- masked_fill: the result has self's type and, whatever the strides of its operands, is
// contiguous
void masked_fill_meta(const Call& c, Outputs& out) {
  INGOT_REQUIRE(c.tensor(1).dtype() == DType::b8, "masked_fill only supports boolean masks, but got mask with dtype ",
                name_of(c.tensor(1).dtype()));
  INGOT_REQUIRE(!c[2].is_tensor() || c.tensor(2).dim() == 0,
                "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
                c[2].is_tensor() ? c.tensor(2).dim() : 0, " dimension(s).");
  out.add(broadcast_shapes(c.tensor(0).sizes(), c.tensor(1).sizes(), "masked_fill"), c.tensor(0).dtype());
}
void masked_fill_vjp(Vjp& v) {
  if (v.need(0)) v.set(0, drop(v.saved(1), v.grad()));
  if (v.need(2)) v.set(2, keep(v.saved(1), v.grad()));
}
struct MaskedFill {
  template <Number T>
  T operator()(T x, std::conditional_t<std::same_as<T, Expr>, Expr, bool> mask, T value) const {
    return where(mask, value, x);
  }
};
inline constexpr Traits fills_self{.promoting = 0b001, .bool_operands = 0b010};

// ---- clamp
struct AtLeast {
  template <Real T> T operator()(T x, T lo) const { return larger(x, lo); }
};
struct AtMost {
  template <Real T> T operator()(T x, T hi) const { return smaller(x, hi); }
};
struct Between {
  template <RealNotBool T> T operator()(T x, T lo, T hi) const { return min(max(x, lo), hi); }
};
const Formula* clamp_formula(const Call& c) {
  INGOT_REQUIRE(!c[1].is_none() || !c[2].is_none(), "torch.clamp: At least one of 'min' or 'max' must not be None");
  if (c[2].is_none()) return &formula_of<AtLeast, 2, common>;
  return c[1].is_none() ? &formula_of<AtMost, 2, common> : &formula_of<Between, 3, common>;
}
Tensor at_least(const Value& x, const Value& lo) { return lo.is_tensor() ? aten<"ge.Tensor">(x, lo) : aten<"ge.Scalar">(x, lo); }
Tensor at_most(const Value& x, const Value& hi) { return hi.is_tensor() ? aten<"le.Tensor">(x, hi) : aten<"le.Scalar">(x, hi); }

// At a bound the gradient goes to self. Where the bounds cross the upper one counts.
void bounds_vjp(Vjp& v, const Value& lo, const Value& hi, int lo_arg, int hi_arg) {
  const Value& x = v.arg(0);
  const bool both = !lo.is_none() && !hi.is_none();
  if (v.need(0)) {
    Tensor inside = lo.is_none() ? at_most(x, hi) : at_least(x, lo);
    if (both) inside = aten<"logical_and">(inside, at_most(x, hi));
    v.set(0, keep(inside, v.grad()));
  }
  if (lo_arg >= 0 && v.need(lo_arg)) {
    const Tensor below = aten<"lt.Tensor">(x, lo);
    v.set(lo_arg, keep(both ? aten<"logical_and">(below, aten<"lt.Tensor">(lo, hi)) : below, v.grad()));
  }
  if (hi_arg >= 0 && v.need(hi_arg)) {
    const Tensor above = aten<"gt.Tensor">(x, hi);
    v.set(hi_arg, keep(both ? aten<"logical_or">(above, aten<"lt.Tensor">(hi, lo)) : above, v.grad()));
  }
}
void clamp_vjp(Vjp& v) { bounds_vjp(v, v.arg(1), v.arg(2), 1, 2); }
void clamp_min_vjp(Vjp& v) { bounds_vjp(v, v.arg(1), Value(), 1, -1); }
void clamp_max_vjp(Vjp& v) { bounds_vjp(v, Value(), v.arg(1), -1, 1); }

// ---- nan_to_num
double largest(DType t) {
  switch (t) {
    case DType::f64:
    case DType::c128: return std::numeric_limits<double>::max();
    case DType::f16: return 65504;
    case DType::bf16: return 0x1.FEp127;
    default: return std::numeric_limits<float>::max();
  }
}
Value nan_to_num(const Call& c) {
  const Tensor& x = c.tensor(0);
  const DType t = x.dtype();
  if (is_complex(t)) {
    const Tensor parts = aten<"nan_to_num">(aten<"view_as_real">(x), c[1], c[2], c[3]);
    return aten<"view_as_complex">(ready_to_reinterpret(parts));
  }
  if (!is_floating(t)) return aten<"clone">(x);
  Tensor r = where(x != x, Scalar(c[1].double_or(0)), x);
  r = where(x == INFINITY, Scalar(c[2].double_or(largest(t))), r);
  return where(x == -INFINITY, Scalar(c[3].double_or(-largest(t))), r);
}
constexpr OpDef nan_to_num_op() {
  OpDef d{.schema = "aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
          .form = Form::external};
  d.body = nan_to_num;
  d.vjp = [](Vjp& v) {
    const Tensor x = v.saved(0);
    if (!x.is_complex()) return v.set(0, v.grad() * aten<"isfinite">(x));
    const Tensor parts = aten<"view_as_real">(v.grad().contiguous()) * aten<"isfinite">(aten<"view_as_real">(x));
    v.set(0, aten<"view_as_complex">(ready_to_reinterpret(parts)));
  };
  d.saves = {{0}};
  return d;
}

// masked_fill wants a 0-dim value: one that differs by member is chosen element by element.
Value batch_masked_fill(const Batching& b) {
  const int rank = std::max(b.rank(0), b.rank(1));
  if (!b[2].is_tensor() || !b.batched(2)) return batch_pointwise(b);
  INGOT_REQUIRE(b.rank(2) == 0, "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ", b.rank(2),
                " dimension(s).");
  return aten<"where.self">(b.front(1, rank), raise_rank(aten<"to.dtype">(b.tensor(2), b.tensor(0).dtype()), rank),
                            b.front(0, rank));
}

constexpr OpDef kChoiceOps[] = {
    with_meta(pointwise<3, first_is_condition>("aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
                                               []<Number T>(auto condition, T a, T b) { return where(condition, a, b); },
                                               where_vjp, {{0}}),
              where_meta),
    composite("aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor", where_numbers),
    composite("aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor", where_numbers),
    composite("aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor", where_numbers),
    alias_of<"nonzero_numpy">("aten::where(Tensor condition) -> Tensor[]"),

    with_meta(pointwise<3, fills_self>("aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor", MaskedFill{},
                                       masked_fill_vjp, {{1}}),
              masked_fill_meta),
    with_batch(
        indexed(with_meta(pointwise<3, fills_self>("aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
                                                   MaskedFill{}, masked_fill_vjp, {{1}}),
                          masked_fill_meta),
                1),
        batch_masked_fill),

    indexed(pointwise_choice("aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", clamp_formula, clamp_vjp,
                             {{0}}),
            1),
    pointwise_choice("aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", clamp_formula, clamp_vjp,
                     {{0}, {1}, {2}}),
    binary("aten::clamp_min(Tensor self, Scalar min) -> Tensor", AtLeast{}, clamp_min_vjp, {{0}}),
    indexed(binary("aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor", AtLeast{}, clamp_min_vjp, {{0}, {1}}), 1),
    binary("aten::clamp_max(Tensor self, Scalar max) -> Tensor", AtMost{}, clamp_max_vjp, {{0}}),
    indexed(binary("aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor", AtMost{}, clamp_max_vjp, {{0}, {1}}), 1),
    alias_of<"clamp">("aten::clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor"),
    alias_of<"clamp.Tensor">("aten::clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor"),

    nan_to_num_op(),
};

}  // namespace

INGOT_FAMILY(choice, kChoiceOps)

}  // namespace ingot
