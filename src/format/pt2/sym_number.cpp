#include "format/pt2/sym_number.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "base/error.hpp"
#include "expr/polynomial.hpp"
#include "expr/scalar.hpp"
#include "format/pt2/sym_expression.hpp"

namespace ingot {

namespace {

[[noreturn]] void overflow() { throw_user_error("the numbers of the expression do not fit 64 bits"); }

// How large an integer expression is when its products are written out.
struct Extent {
  double weight = 0;      // the sum of the sizes of its coefficients
  std::size_t terms = 0;  // its products
  std::size_t atoms = 0;  // in all of them, and one for each
};
Extent extent(const Expr& e) {
  Extent x;
  for (const auto& [monomial, coefficient] : to_poly(e)) {
    x.weight += std::abs(static_cast<double>(coefficient));
    x.terms++;
    x.atoms += 1 + monomial.size();
  }
  return x;
}

// Expressions wrap as machine arithmetic does and write out products of sums, so whoever reads
// numbers from a file has to make sure that none wraps, and that a short text does not become a
// long expression. Sizes of programs have a few terms.
void require_fits(const Extent& result) {
  constexpr double kLargest = 0x1p63;
  constexpr std::size_t kMostTerms = 256, kMostAtoms = 2048;
  INGOT_REQUIRE(result.terms <= kMostTerms && result.atoms <= kMostAtoms, "the expression has too many terms (at most ",
                kMostTerms, " once its products are written out)");
  if (result.weight >= kLargest) overflow();
}

Expr plus(const Expr& a, const Expr& b) {
  if (a.is_const() && b.is_const()) return (Int(a) + Int(b)).expr();  // checked
  const Extent x = extent(a), y = extent(b);
  require_fits({x.weight + y.weight, x.terms + y.terms, x.atoms + y.atoms});
  return a + b;
}
Expr times(const Expr& a, const Expr& b) {
  if (a.is_const() && b.is_const()) return (Int(a) * Int(b)).expr();
  const Extent x = extent(a), y = extent(b);
  require_fits({x.weight * y.weight, x.terms * y.terms, x.atoms * y.terms + y.atoms * x.terms});
  return a * b;
}
Expr minus(const Expr& a) { return times(a, Expr(-1)); }

Expr whole(const SymNumber& n) { return n.is_bool() ? cast(DType::i64, n.top) : n.top; }

SymNumber fraction(Expr top, Expr bottom) {
  if (bottom.is_const()) {
    INGOT_REQUIRE(bottom->i != 0, "division by zero");
    if (bottom->i < 0) {
      top = minus(top);
      bottom = minus(bottom);
    }
    if (top.is_const()) {
      const int64_t divisor = top->i == std::numeric_limits<int64_t>::min() ? 1 : std::gcd(top->i, bottom->i);
      top = Expr(top->i / divisor);
      bottom = Expr(bottom->i / divisor);
    }
  } else if (same(top, bottom)) {
    return Expr(1);
  }
  SymNumber n(top);
  n.bottom = bottom;
  return n;
}

Expr floored(const Expr& a, const Expr& b) {
  INGOT_REQUIRE(!b.is_const(0), "division by zero");
  if (a.is_const() && b.is_const()) return floor_div(Int(a), Int(b)).expr();
  return floor_div(a, b);
}
Expr floored(const SymNumber& n) { return n.is_whole() || n.is_bool() ? whole(n) : floored(n.top, n.bottom); }
Expr raised(const SymNumber& n) { return minus(floored(minus(n.top), n.bottom)); }

bool either_real(const SymNumber& a, const SymNumber& b) { return a.is_real() || b.is_real(); }

// The double nearest to top/bottom, bottom > 0, as Python divides integers. The quotient is taken
// to more bits than a double has, the last of them set where something is left over, so that the
// conversion is the one rounding.
double nearest_quotient(int64_t top, int64_t bottom) {
  const bool negative = top < 0;
  unsigned __int128 n = negative ? -static_cast<unsigned __int128>(top) : static_cast<unsigned __int128>(top);
  const auto d = static_cast<unsigned __int128>(bottom);
  int shift = 0;
  while (n != 0 && n / d < (static_cast<unsigned __int128>(1) << 56) && n < static_cast<unsigned __int128>(1) << 126) {
    n <<= 1;
    shift++;
  }
  auto q = static_cast<uint64_t>(n / d);
  if (n % d != 0) q |= 1;  // sticky
  const double magnitude = std::ldexp(static_cast<double>(q), -shift);
  return negative ? -magnitude : magnitude;
}

// The larger or smaller of two.
SymNumber extremum(bool larger, const SymNumber& a, const SymNumber& b) {
  const auto pick = [&](const Expr& x, const Expr& y) { return larger ? max(x, y) : min(x, y); };
  if (either_real(a, b)) return pick(sym_real(a), sym_real(b));
  if (a.bottom.is_const(1) && b.bottom.is_const(1)) return pick(whole(a), whole(b));
  INGOT_REQUIRE(prove_ge(a.bottom, 1) && prove_ge(b.bottom, 1), "cannot compare quotients whose divisors may be negative");
  return fraction(pick(times(whole(a), b.bottom), times(whole(b), a.bottom)), times(a.bottom, b.bottom));
}

// Integers of a double: the function rounds it to a whole double first.
SymNumber to_integer(const SymNumber& n, Expr (*rounded)(const Expr&)) { return cast(DType::i64, rounded(sym_real(n))); }

SymNumber truncated(const SymNumber& n) {
  if (n.is_real()) return to_integer(n, [](const Expr& e) { return trunc(e); });
  if (n.is_whole() || n.is_bool()) return whole(n);
  return select(sym_compare("Ge", n, Expr(0)).top, floored(n), raised(n));
}

SymNumber chosen(const SymNumber& condition, const SymNumber& a, const SymNumber& b) {
  const Expr c = sym_bool(condition);
  if (a.is_bool() && b.is_bool()) return select(c, a.top, b.top);
  if (either_real(a, b)) return select(c, sym_real(a), sym_real(b));
  if (same(a.bottom, b.bottom)) return fraction(select(c, whole(a), whole(b)), a.bottom);
  return fraction(select(c, times(whole(a), b.bottom), times(whole(b), a.bottom)), times(a.bottom, b.bottom));
}

// Whether sizes and strides describe a dense tensor without overlap: in some order of the dims,
// each stride is the number of elements inside it. Dims of size 1 may have any stride.
SymNumber dense_indicator(std::span<const SymNumber> args) {
  constexpr std::size_t kMostDims = 5;  // all orders are written out
  const std::size_t n = args.size() / 2;
  INGOT_REQUIRE(args.size() % 2 == 0, "IsNonOverlappingAndDenseIndicator takes sizes and as many strides");
  INGOT_REQUIRE(n <= kMostDims, "IsNonOverlappingAndDenseIndicator of ", n, " dims is not supported");
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Expr any = Expr(false);
  do {
    Expr all = Expr(true), inside = Expr(1);
    for (const std::size_t d : order) {
      const Expr size = sym_integer(args[d]), stride = sym_integer(args[n + d]);
      all = all && (eq(size, 1) || eq(stride, inside));
      inside = times(inside, size);
    }
    any = any || all;
  } while (std::next_permutation(order.begin(), order.end()));
  return select(any, Expr(1), Expr(0));
}

SymNumber shifted(std::string_view name, const SymNumber& a, const SymNumber& b) {
  const Expr value = sym_integer(a), count = sym_integer(b);
  if (!count.is_const()) return name == "LShift" ? value << count : value >> count;
  INGOT_REQUIRE(count->i >= 0, name, ": negative shift count ", count->i);
  INGOT_REQUIRE(count->i < 63, name, ": the shift count ", count->i, " does not fit 64-bit integers");
  const Expr factor(int64_t{1} << count->i);
  return name == "LShift" ? times(value, factor) : floored(value, factor);
}

SymNumber rounded_decimal(const SymNumber& a, const SymNumber& digits) {
  const Expr n = sym_integer(digits);
  INGOT_REQUIRE(n.is_const(), "RoundDecimal: the number of digits should be constant");
  const Expr scale(std::pow(10.0, static_cast<double>(n->i)));
  return round(sym_real(a) * scale) / scale;
}

using Arguments = std::span<const SymNumber>;
constexpr int kAnyNumber = -1;
struct SymFunction {
  std::string_view name;
  int arity;
  SymNumber (*apply)(Arguments);
};

template <SymNumber (*F)(const SymNumber&, const SymNumber&)>
SymNumber fold(Arguments a) {
  SymNumber all = a[0];
  for (const SymNumber& n : a.subspan(1)) all = F(all, n);
  return all;
}
SymNumber larger(const SymNumber& a, const SymNumber& b) { return extremum(true, a, b); }
SymNumber smaller(const SymNumber& a, const SymNumber& b) { return extremum(false, a, b); }
SymNumber both(const SymNumber& a, const SymNumber& b) { return sym_bool(a) && sym_bool(b); }
SymNumber any_of(const SymNumber& a, const SymNumber& b) { return sym_bool(a) || sym_bool(b); }
SymNumber differ(const SymNumber& a, const SymNumber& b) { return ne(sym_bool(a), sym_bool(b)); }

#define INGOT_REAL(name, f) {name, 1, [](Arguments a) -> SymNumber { return f(sym_real(a[0])); }}
#define INGOT_COMPARE(name, relation) {name, 2, [](Arguments a) { return sym_compare(relation, a[0], a[1]); }}

SymNumber absolute(Arguments a) {
  if (a[0].is_real()) return abs(a[0].top);
  return a[0].is_whole() || a[0].is_bool() ? SymNumber(abs(whole(a[0]))) : fraction(abs(a[0].top), abs(a[0].bottom));
}
SymNumber sign_of(Arguments a) {
  if (a[0].is_real()) return cast(DType::i64, sign(a[0].top));
  return times(sign(whole(a[0])), sign(a[0].bottom));
}
SymNumber floor_to_integer(Arguments a) {
  return a[0].is_real() ? to_integer(a[0], [](const Expr& e) { return floor(e); }) : SymNumber(floored(a[0]));
}
SymNumber ceil_to_integer(Arguments a) {
  return a[0].is_real() ? to_integer(a[0], [](const Expr& e) { return ceil(e); }) : SymNumber(raised(a[0]));
}
// A pair is read as its value followed by its condition.
SymNumber piecewise(Arguments a) {
  INGOT_REQUIRE(a.size() % 2 == 0, "Piecewise takes pairs of a value and a condition");
  SymNumber result = a[a.size() - 2];
  for (std::size_t i = a.size() - 2; i >= 2; i -= 2) result = chosen(a[i - 1], a[i - 2], result);
  return result;
}

SymNumber natural_power(Arguments a) {
  INGOT_REQUIRE(!a[1].is_whole() || !a[1].top.is_const() || a[1].top->i >= 0, "PowByNatural: the exponent ", a[1].top,
                " is negative");
  return sym_power(a[0], a[1]);
}
// Dividing doubles would round three times where the integers have more bits than a double.
SymNumber true_quotient(Arguments a) {
  const SymNumber q = sym_divide(a[0], a[1]);
  if (q.is_real() || !q.top.is_const() || !q.bottom.is_const()) return sym_real(q);
  return Expr(nearest_quotient(q.top->i, q.bottom->i));
}

const SymFunction kFunctions[] = {
    {"Add", kAnyNumber, fold<sym_add>},
    {"Mul", kAnyNumber, fold<sym_multiply>},
    {"Pow", 2, fold<sym_power>},
    {"PowByNatural", 2, natural_power},
    {"FloatPow", 2, [](Arguments a) -> SymNumber { return pow(sym_real(a[0]), sym_real(a[1])); }},
    {"Max", kAnyNumber, fold<larger>},
    {"Min", kAnyNumber, fold<smaller>},
    {"max", kAnyNumber, fold<larger>},
    {"min", kAnyNumber, fold<smaller>},
    {"Abs", 1, absolute},
    {"abs", 1, absolute},
    {"sign", 1, sign_of},
    {"floor", 1, floor_to_integer},
    {"math.floor", 1, floor_to_integer},
    {"FloorToInt", 1, floor_to_integer},
    {"ceiling", 1, ceil_to_integer},
    {"math.ceil", 1, ceil_to_integer},
    {"CeilToInt", 1, ceil_to_integer},
    {"FloorDiv", 2, fold<sym_floor_divide>},
    {"CleanDiv", 2, fold<sym_floor_divide>},
    {"CeilDiv", 2, [](Arguments a) -> SymNumber { return minus(sym_floor_divide(minus(sym_integer(a[0])), a[1]).top); }},
    {"Mod", 2, fold<sym_modulo>},
    {"PythonMod", 2, fold<sym_modulo>},
    {"ModularIndexing", 3, [](Arguments a) { return sym_modulo(sym_floor_divide(a[0], a[1]), a[2]); }},
    {"LShift", 2, [](Arguments a) { return shifted("LShift", a[0], a[1]); }},
    {"RShift", 2, [](Arguments a) { return shifted("RShift", a[0], a[1]); }},
    {"IntTrueDiv", 2, true_quotient},
    {"FloatTrueDiv", 2, [](Arguments a) -> SymNumber { return sym_real(a[0]) / sym_real(a[1]); }},
    {"ToFloat", 1, [](Arguments a) -> SymNumber { return sym_real(a[0]); }},
    {"float", 1, [](Arguments a) -> SymNumber { return sym_real(a[0]); }},
    {"TruncToFloat", 1, [](Arguments a) -> SymNumber { return trunc(sym_real(a[0])); }},
    {"TruncToInt", 1, [](Arguments a) { return truncated(a[0]); }},
    {"math.trunc", 1, [](Arguments a) { return truncated(a[0]); }},
    {"int", 1, [](Arguments a) { return truncated(a[0]); }},
    {"RoundToInt", 1, [](Arguments a) { return to_integer(a[0], [](const Expr& e) { return round(e); }); }},
    {"RoundDecimal", 2, [](Arguments a) { return rounded_decimal(a[0], a[1]); }},
    {"Where", 3, [](Arguments a) { return chosen(a[0], a[1], a[2]); }},
    {"ITE", 3, [](Arguments a) { return chosen(a[0], a[1], a[2]); }},
    {"Identity", 1, [](Arguments a) { return a[0]; }},
    {"Piecewise", kAnyNumber, piecewise},
    {"IsNonOverlappingAndDenseIndicator", kAnyNumber, dense_indicator},
    INGOT_COMPARE("Equality", "Eq"),
    INGOT_COMPARE("Eq", "Eq"),
    INGOT_COMPARE("Unequality", "Ne"),
    INGOT_COMPARE("Ne", "Ne"),
    INGOT_COMPARE("StrictLessThan", "Lt"),
    INGOT_COMPARE("Lt", "Lt"),
    INGOT_COMPARE("LessThan", "Le"),
    INGOT_COMPARE("Le", "Le"),
    INGOT_COMPARE("StrictGreaterThan", "Gt"),
    INGOT_COMPARE("Gt", "Gt"),
    INGOT_COMPARE("GreaterThan", "Ge"),
    INGOT_COMPARE("Ge", "Ge"),
    {"And", kAnyNumber, fold<both>},
    {"Or", kAnyNumber, fold<any_of>},
    {"Xor", kAnyNumber, fold<differ>},
    {"Not", 1, [](Arguments a) -> SymNumber { return !sym_bool(a[0]); }},
    INGOT_REAL("OpaqueUnaryFn_sqrt", sqrt),
    INGOT_REAL("OpaqueUnaryFn_exp", exp),
    INGOT_REAL("OpaqueUnaryFn_log", log),
    INGOT_REAL("OpaqueUnaryFn_log2", log2),
    INGOT_REAL("OpaqueUnaryFn_sin", sin),
    INGOT_REAL("OpaqueUnaryFn_cos", cos),
    INGOT_REAL("OpaqueUnaryFn_tan", tan),
    INGOT_REAL("OpaqueUnaryFn_asin", asin),
    INGOT_REAL("OpaqueUnaryFn_acos", acos),
    INGOT_REAL("OpaqueUnaryFn_atan", atan),
    INGOT_REAL("OpaqueUnaryFn_sinh", sinh),
    INGOT_REAL("OpaqueUnaryFn_cosh", cosh),
    INGOT_REAL("OpaqueUnaryFn_tanh", tanh),
    INGOT_REAL("OpaqueUnaryFn_asinh", asinh),
    INGOT_REAL("math.sqrt", sqrt),
    INGOT_REAL("math.exp", exp),
    INGOT_REAL("math.log", log),
    INGOT_REAL("math.log2", log2),
    INGOT_REAL("math.sin", sin),
    INGOT_REAL("math.cos", cos),
    INGOT_REAL("math.tan", tan),
    INGOT_REAL("math.asin", asin),
    INGOT_REAL("math.acos", acos),
    INGOT_REAL("math.atan", atan),
    INGOT_REAL("math.sinh", sinh),
    INGOT_REAL("math.cosh", cosh),
    INGOT_REAL("math.tanh", tanh),
    INGOT_REAL("math.asinh", asinh),
};
#undef INGOT_REAL
#undef INGOT_COMPARE

}  // namespace

Expr sym_integer(const SymNumber& n) {
  INGOT_REQUIRE(!n.is_real(), "an integer was expected, found the float ", n.top);
  return floored(n);
}
Expr sym_real(const SymNumber& n) {
  if (n.is_real()) return n.top;
  const Expr top = cast(DType::f64, whole(n));
  return n.bottom.is_const(1) ? top : top / cast(DType::f64, n.bottom);
}
Expr sym_bool(const SymNumber& n) {
  if (n.is_bool()) return n.top;
  return n.is_real() ? ne(n.top, Expr(0.0)) : ne(n.top, 0);
}

SymNumber sym_add(const SymNumber& a, const SymNumber& b) {
  if (either_real(a, b)) return sym_real(a) + sym_real(b);
  if (same(a.bottom, b.bottom)) return fraction(plus(whole(a), whole(b)), a.bottom);
  return fraction(plus(times(whole(a), b.bottom), times(whole(b), a.bottom)), times(a.bottom, b.bottom));
}
SymNumber sym_subtract(const SymNumber& a, const SymNumber& b) { return sym_add(a, sym_multiply(Expr(-1), b)); }
SymNumber sym_multiply(const SymNumber& a, const SymNumber& b) {
  if (either_real(a, b)) return sym_real(a) * sym_real(b);
  return fraction(times(whole(a), whole(b)), times(a.bottom, b.bottom));
}
SymNumber sym_divide(const SymNumber& a, const SymNumber& b) {
  if (either_real(a, b)) return sym_real(a) / sym_real(b);
  return fraction(times(whole(a), b.bottom), times(a.bottom, whole(b)));
}
SymNumber sym_floor_divide(const SymNumber& a, const SymNumber& b) {
  if (either_real(a, b)) return floor(sym_real(a) / sym_real(b));
  return floored(times(whole(a), b.bottom), times(a.bottom, whole(b)));
}
SymNumber sym_modulo(const SymNumber& a, const SymNumber& b) {
  const SymNumber quotient = sym_floor_divide(a, b);
  if (!a.is_whole() || !b.is_whole()) return sym_subtract(a, sym_multiply(quotient, b));
  return a.top.is_const() && b.top.is_const() ? mod(Int(a.top), Int(b.top)).expr() : mod(a.top, b.top);
}
SymNumber sym_power(const SymNumber& a, const SymNumber& b) {
  constexpr uint64_t kLargestExponent = 64;  // of a symbol: products are written out
  if (!b.is_whole() || a.is_real()) return pow(sym_real(a), sym_real(b));
  if (!b.top.is_const()) return a.is_whole() ? SymNumber(pow(a.top, b.top)) : SymNumber(pow(sym_real(a), sym_real(b)));
  const bool inverse = b.top->i < 0;
  const uint64_t n = inverse ? -static_cast<uint64_t>(b.top->i) : static_cast<uint64_t>(b.top->i);
  const bool is_unit = a.bottom.is_const(1) && (a.top.is_const(1) || a.top.is_const(0) || a.top.is_const(-1));
  INGOT_REQUIRE(n <= kLargestExponent || is_unit, "the exponent ", b.top->i, " is too large");
  SymNumber product = Expr(1);
  // Powers of 0, 1 and -1 repeat after two steps.
  for (uint64_t i = n <= kLargestExponent ? n : 2 - n % 2; i > 0; i--) product = sym_multiply(product, a);
  return inverse ? sym_divide(Expr(1), product) : product;
}

SymNumber sym_compare(std::string_view relation, const SymNumber& a, const SymNumber& b) {
  Expr x, y;
  if (a.is_bool() && b.is_bool()) {
    x = a.top;
    y = b.top;
  } else if (either_real(a, b)) {
    x = sym_real(a);
    y = sym_real(b);
  } else if (prove_ge(a.bottom, 1) && prove_ge(b.bottom, 1)) {
    x = times(whole(a), b.bottom);
    y = times(whole(b), a.bottom);
  } else {
    // Multiplied by the squares of the divisors, which leaves the relation as it is whatever their
    // signs.
    x = times(whole(a), times(a.bottom, times(b.bottom, b.bottom)));
    y = times(whole(b), times(b.bottom, times(a.bottom, a.bottom)));
  }
  if (relation == "Eq") return eq(x, y);
  if (relation == "Ne") return ne(x, y);
  if (relation == "Lt") return lt(x, y);
  if (relation == "Le") return le(x, y);
  if (relation == "Gt") return lt(y, x);
  INGOT_ENSURE(relation == "Ge", "no relation ", relation);
  return le(y, x);
}

SymNumber sym_call(std::string_view name, std::span<const SymNumber> args) {
  const auto* f =
      std::find_if(std::begin(kFunctions), std::end(kFunctions), [&](const SymFunction& x) { return x.name == name; });
  if (f == std::end(kFunctions)) throw UnknownSymFunction{std::string(name)};
  const bool fits = f->arity == kAnyNumber ? !args.empty() : static_cast<int>(args.size()) == f->arity;
  INGOT_REQUIRE(fits, name, " cannot take ", args.size(), " arguments");
  return f->apply(args);
}

}  // namespace ingot
