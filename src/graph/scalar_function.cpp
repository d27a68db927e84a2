#include "graph/scalar_function.hpp"

#include <cmath>

#include "base/error.hpp"
#include "expr/guards.hpp"
#include "expr/if_known.hpp"

namespace ingot {

namespace {

struct Info {
  std::string_view target;
  int arity;
  std::string_view spelling = {};  // where FX's text differs from the target
  std::string_view other_name = {};  // that PyTorch has for the function, and FX may print
};
// In the order of the enumerators.
// clang-format off
constexpr Info kInfo[] = {
    {"_operator.add", 2, "+"}, {"_operator.sub", 2, "-"}, {"_operator.mul", 2, "*"}, {"_operator.neg", 1, "-"},
    {"_operator.pos", 1, "+"}, {"_operator.floordiv", 2, "//"}, {"_operator.mod", 2, "%"}, {"_operator.truediv", 2, "/"},
    {"_operator.pow", 2, "**"}, {"_operator.lshift", 2, "<<"}, {"_operator.rshift", 2, ">>"}, {"_operator.and_", 2, "&"},
    {"_operator.or_", 2, "|"}, {"_operator.eq", 2, "=="}, {"_operator.ne", 2, "!="}, {"_operator.lt", 2, "<"},
    {"_operator.le", 2, "<="}, {"_operator.gt", 2, ">"}, {"_operator.ge", 2, ">="}, {"math.trunc", 1, "math_trunc"},
    {"torch.sym_int", 1}, {"torch.sym_float", 1}, {"torch.sym_not", 1}, {"torch.sym_max", 2}, {"torch.sym_min", 2},
    {"torch.sym_ite", 3}, {"torch.sym_sqrt", 1, {}, "torch._sym_sqrt"}};
// clang-format on
static_assert(std::size(kInfo) == static_cast<std::size_t>(ScalarFunction::sym_sqrt) + 1);

const Info& info(ScalarFunction f) { return kInfo[static_cast<std::size_t>(f)]; }

bool is_real(const Value& v) { return v.is_float(); }

Int power(Int base, int64_t exponent) {
  constexpr int64_t kLargestOfSymbols = 64;  // their products are written out
  INGOT_REQUIRE(base.is_number() || exponent <= kLargestOfSymbols, "_operator.pow: the exponent ", exponent, " of ", base,
                " is too large");
  Int result = 1;
  while (exponent > 0) {
    if (exponent % 2 == 1) result = result * base;
    exponent /= 2;
    if (exponent > 0) base = base * base;
  }
  return result;
}

Int truncated(ScalarFunction f, const Value& v) {
  if (!is_real(v)) return v.to_int();
  const Float r = v.to_float();
  INGOT_REQUIRE(r.is_symbolic() || (r.value() >= -0x1p63 && r.value() < 0x1p63), target_of(f), ": ", r, " is no 64-bit integer");
  return r.truncated();
}

// a*2^b, or a / 2^b rounded down.
Int shifted(ScalarFunction f, Int a, Int b) {
  const int64_t n = b.value();
  INGOT_REQUIRE(n >= 0, target_of(f), ": negative shift count ", n);
  INGOT_REQUIRE(n < 62, target_of(f), ": the shift count ", n, " does not fit 64-bit integers");
  const Int factor = int64_t{1} << n;
  return f == ScalarFunction::lshift ? a * factor : floor_div(a, factor);
}

Value real_result(ScalarFunction f, double a, double b) {
  const auto require_divisor = [&] { INGOT_REQUIRE(b != 0, target_of(f), ": division by zero"); };
  switch (f) {
    case ScalarFunction::add: return a + b;
    case ScalarFunction::sub: return a - b;
    case ScalarFunction::mul: return a * b;
    case ScalarFunction::truediv: require_divisor(); return a / b;
    case ScalarFunction::floordiv: require_divisor(); return std::floor(a / b);
    case ScalarFunction::mod: {
      require_divisor();
      const double r = std::fmod(a, b);
      return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    }
    case ScalarFunction::pow: return std::pow(a, b);
    case ScalarFunction::eq: return a == b;
    case ScalarFunction::ne: return a != b;
    case ScalarFunction::lt: return a < b;
    case ScalarFunction::le: return a <= b;
    case ScalarFunction::gt: return a > b;
    case ScalarFunction::ge: return a >= b;
    case ScalarFunction::sym_max: return b > a ? b : a;
    case ScalarFunction::sym_min: return b < a ? b : a;
    default: throw_user_error(text(target_of(f), " takes integers, not a float"));
  }
}

// A truth value that sizes or data decide is a number, 0 or 1: whoever asks for it decides.
Value truth(const Expr& condition) {
  if (condition.is_const()) return condition->i != 0;
  if (GuardEnv* env = current_guard_env())
    if (const auto known = env->known(condition)) return *known;
  return Int(cast(DType::i64, condition));
}
Expr condition_of(const Value& v) {
  if (v.is_bool()) return Expr(v.to_bool());
  return v.is_float() ? ne(v.to_float().expr(), Expr(0.0)) : ne(v.to_int().expr(), Expr(0));
}
// Whether an open number is the answer to a question about sizes, or a bool of the data.
bool is_truth(const Value& v) { return v.is_bool() || (v.is_int() && is_truth(v.to_int())); }

bool is_open(const Value& v) { return v.is_float() ? v.to_float().is_symbolic() : v.is_int() && v.to_int().is_symbolic(); }

// The same for numbers of which sizes or data decide one: no question is asked about them.
Value open_result(ScalarFunction f, const Expr& a, const Expr& b) {
  switch (f) {
    case ScalarFunction::add: return Float(a + b);
    case ScalarFunction::sub: return Float(a - b);
    case ScalarFunction::mul: return Float(a * b);
    case ScalarFunction::truediv: return Float(a / b);
    case ScalarFunction::floordiv: return Float(floor(a / b));
    case ScalarFunction::pow: return Float(pow(a, b));
    case ScalarFunction::eq: return truth(eq(a, b));
    case ScalarFunction::ne: return truth(ne(a, b));
    case ScalarFunction::lt: return truth(lt(a, b));
    case ScalarFunction::le: return truth(le(a, b));
    case ScalarFunction::gt: return truth(gt(a, b));
    case ScalarFunction::ge: return truth(ge(a, b));
    case ScalarFunction::sym_max: return Float(select(gt(b, a), b, a));
    case ScalarFunction::sym_min: return Float(select(lt(b, a), b, a));
    default: return real_result(f, Float(a).value(), Float(b).value());
  }
}

Value any_real_result(ScalarFunction f, const Value& a, const Value& b) {
  if (is_open(a) || is_open(b)) return open_result(f, a.to_float().expr(), b.to_float().expr());
  return real_result(f, a.to_double(), b.to_double());
}

Value integer_result(ScalarFunction f, const Value& left, const Value& right) {
  const Int a = left.to_int(), b = right.to_int();
  const auto require_divisor = [&] { INGOT_REQUIRE(!(b == Int(0)), target_of(f), ": division by zero"); };
  switch (f) {
    case ScalarFunction::add: return a + b;
    case ScalarFunction::sub: return a - b;
    case ScalarFunction::mul: return a * b;
    case ScalarFunction::floordiv: require_divisor(); return floor_div(a, b);
    case ScalarFunction::mod: require_divisor(); return mod(a, b);
    case ScalarFunction::pow:
      if (b < Int(0)) return any_real_result(f, left, right);
      return power(a, b.value());
    case ScalarFunction::lshift:
    case ScalarFunction::rshift: return shifted(f, a, b);
    case ScalarFunction::and_:
    case ScalarFunction::or_: {
      if (is_truth(left) && is_truth(right)) {
        const Expr x = condition_of(left), y = condition_of(right);
        return truth(f == ScalarFunction::and_ ? logical_and(x, y) : logical_or(x, y));
      }
      const int64_t x = a.value(), y = b.value(), bits = f == ScalarFunction::and_ ? x & y : x | y;
      return bits;
    }
    case ScalarFunction::eq: return truth(eq(a.expr(), b.expr()));
    case ScalarFunction::ne: return truth(ne(a.expr(), b.expr()));
    case ScalarFunction::lt: return truth(lt(a.expr(), b.expr()));
    case ScalarFunction::le: return truth(le(a.expr(), b.expr()));
    case ScalarFunction::gt: return truth(gt(a.expr(), b.expr()));
    case ScalarFunction::ge: return truth(ge(a.expr(), b.expr()));
    case ScalarFunction::sym_max: return max(a, b);
    case ScalarFunction::sym_min: return min(a, b);
    default: return any_real_result(f, left, right);
  }
}

}  // namespace

std::string_view target_of(ScalarFunction f) { return info(f).target; }
std::string_view name_of(ScalarFunction f) {
  const std::string_view target = target_of(f);
  return target.substr(target.find('.') + 1);
}
std::string_view spelling_of(ScalarFunction f) { return info(f).spelling.empty() ? info(f).target : info(f).spelling; }
int arity_of(ScalarFunction f) { return info(f).arity; }

std::optional<ScalarFunction> find_scalar_function(std::string_view target) {
  if (target.empty() || is_sign(target)) return std::nullopt;
  for (std::size_t i = 0; i < std::size(kInfo); i++)
    if (const Info& f = kInfo[i]; f.target == target || f.spelling == target || f.other_name == target)
      return static_cast<ScalarFunction>(i);
  return std::nullopt;
}

bool is_sign(std::string_view spelling) { return spelling.find_first_of("+-*/%<>&|=!") == 0; }

std::optional<ScalarFunction> find_sign(std::string_view sign, int arity) {
  for (std::size_t i = 0; i < std::size(kInfo); i++)
    if (kInfo[i].arity == arity && kInfo[i].spelling == sign) return static_cast<ScalarFunction>(i);
  return std::nullopt;
}

Value evaluate(ScalarFunction f, Args args) {
  for (const Value& v : args)
    INGOT_REQUIRE(v.is_int() || v.is_float() || v.is_bool(), target_of(f), " takes numbers, not ", v.kind_name());
  const Value& a = args[0];
  switch (f) {
    case ScalarFunction::neg: return is_real(a) ? Value(Float(-a.to_float().expr())) : Value(-a.to_int());
    case ScalarFunction::pos: return is_real(a) ? a : Value(a.to_int());
    case ScalarFunction::trunc:
    case ScalarFunction::sym_int: return truncated(f, a);
    case ScalarFunction::sym_float: return a.to_float();
    case ScalarFunction::sym_not: return truth(logical_not(condition_of(a)));
    case ScalarFunction::sym_ite:
      if (!is_open(a)) return (is_real(a) ? a.to_double() != 0 : a.to_bool()) ? args[1] : args[2];
      if (is_real(args[1]) && is_real(args[2]))
        return Float(select(condition_of(a), args[1].to_float().expr(), args[2].to_float().expr()));
      if (!is_real(args[1]) && !is_real(args[2]))
        return Int(select(condition_of(a), args[1].to_int().expr(), args[2].to_int().expr()));
      return a.to_scalar().to_bool() ? args[1] : args[2];  // of which kind it is, only the answer says
    case ScalarFunction::sym_sqrt:
      if (is_open(a)) return Float(sqrt(a.to_float().expr()));
      INGOT_REQUIRE(!(a.to_double() < 0), target_of(f), ": math domain error: square root of ", a.to_double());
      return std::sqrt(a.to_double());
    default: return is_real(a) || is_real(args[1]) ? any_real_result(f, a, args[1]) : integer_result(f, a, args[1]);
  }
}

}  // namespace ingot
