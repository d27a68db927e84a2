// Bitwise logic and shifts of integers and bool.
#include "base/error.hpp"
#include "ops/family.hpp"
#include "ops/pointwise/formula_math.hpp"
#include "ops/pointwise/rules.hpp"

namespace ingot {
namespace {

constexpr auto and_formula = []<Integer T>(T a, T b) { return T(a & b); };
constexpr auto or_formula = []<Integer T>(T a, T b) { return T(a | b); };
constexpr auto xor_formula = []<Integer T>(T a, T b) { return T(a ^ b); };

// A shift by the type's width or more moves every bit out, as does a negative one. Eager computes
// in 64 bits and stores the low ones, which is the same.
template <class T>
int64_t width(const T& a) {
  if constexpr (std::same_as<T, Expr>) return 8 * size_of(a.dtype());
  else return 64;
}
constexpr auto left_shift_formula = []<IntegerNotBool T>(T a, T b) {
  const auto inside = b >= T(0) && b < T(width(a));
  if constexpr (std::same_as<T, Expr>) return where(inside, a << where(inside, b, T(0)), a * T(0));
  else return inside ? static_cast<int64_t>(static_cast<uint64_t>(a) << b) : 0;
};
constexpr auto right_shift_formula = []<IntegerNotBool T>(T a, T b) {
  const T last = T(width(a) - 1);
  return a >> where(b >= T(0) && b < last, b, last + b * T(0));
};

#define BITWISE(name, formula)                                                       \
  binary("aten::" name ".Tensor(Tensor self, Tensor other) -> Tensor", formula),     \
      binary("aten::" name ".Scalar(Tensor self, Scalar other) -> Tensor", formula), \
      binary("aten::" name ".Scalar_Tensor(Scalar self, Tensor other) -> Tensor", formula)
#define SHIFT(name, formula)                                                                \
  binary("aten::" name ".Tensor(Tensor self, Tensor other) -> Tensor", formula),            \
      binary("aten::" name ".Tensor_Scalar(Tensor self, Scalar other) -> Tensor", formula), \
      binary("aten::" name ".Scalar_Tensor(Scalar self, Tensor other) -> Tensor", formula)
#define OPERATOR(name, of)                                                              \
  alias_of<of ".Tensor">("aten::" name ".Tensor(Tensor self, Tensor other) -> Tensor"), \
      alias_of<of ".Scalar">("aten::" name ".Scalar(Tensor self, Scalar other) -> Tensor")

// << and >> of floats scale by a power of two.
template <OpName Shift, int Sign>
Value shift_operator(const Call& c) {
  if (!is_floating(c.tensor(0).dtype())) return aten<Shift>(c[0], c[1].is_tensor() ? c[1] : Value(aten<"full_like">(c[0], c[1])));
  const Tensor exponent = c[1].is_tensor() ? c.tensor(1) : scalar_tensor(c[1].to_scalar(), {.dtype = c.tensor(0).dtype()});
  const Tensor scale = aten<"pow.Scalar">(2.0, exponent.to(c.tensor(0).dtype()));
  return Sign > 0 ? c.tensor(0) * scale : c.tensor(0) / scale;
}

constexpr OpDef kBitwiseOps[] = {
    BITWISE("bitwise_and", and_formula),
    BITWISE("bitwise_or", or_formula),
    BITWISE("bitwise_xor", xor_formula),
    unary("aten::bitwise_not(Tensor self) -> Tensor",
          []<Integer T>(T x) {
            if constexpr (std::same_as<T, bool>) return !x;
            else return ~x;
          }),
    SHIFT("bitwise_left_shift", left_shift_formula),
    SHIFT("bitwise_right_shift", right_shift_formula),
    OPERATOR("__and__", "bitwise_and"),
    OPERATOR("__or__", "bitwise_or"),
    OPERATOR("__xor__", "bitwise_xor"),
    composite("aten::__lshift__.Tensor(Tensor self, Tensor other) -> Tensor", shift_operator<"bitwise_left_shift.Tensor", 1>),
    composite("aten::__lshift__.Scalar(Tensor self, Scalar other) -> Tensor", shift_operator<"bitwise_left_shift.Tensor", 1>),
    composite("aten::__rshift__.Tensor(Tensor self, Tensor other) -> Tensor", shift_operator<"bitwise_right_shift.Tensor", -1>),
    composite("aten::__rshift__.Scalar(Tensor self, Scalar other) -> Tensor", shift_operator<"bitwise_right_shift.Tensor", -1>),
};

}  // namespace

INGOT_FAMILY(bitwise, kBitwiseOps)

}  // namespace ingot
