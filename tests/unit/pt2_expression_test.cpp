// The texts of symbolic numbers in exported programs.
#include <cmath>

#include "expr/evaluate.hpp"
#include "format/pt2/sym_expression.hpp"
#include "unit/pt2_fixture.hpp"

namespace ingot {
namespace {

using namespace pt2_json;

struct Symbols final : SymScope {
  Expr symbol(std::string_view name) override { return Expr::symbol(name, std::numeric_limits<int64_t>::min()); }
};

using Given = std::map<std::string, int64_t, std::less<>>;
int64_t value(std::string_view s, const Given& given = {}) {
  Symbols scope;
  return evaluate(parse_sym_int(s, scope), given);
}
bool truth(std::string_view s, const Given& given = {}) {
  Symbols scope;
  const Expr e = parse_sym_expression(s, scope);
  EXPECT_EQ(e.dtype(), DType::b8) << s;
  return evaluate(e, given) != 0;
}
double real(std::string_view s, const Given& given = {}) {
  Symbols scope;
  const Expr e = parse_sym_expression(s, scope);
  EXPECT_EQ(e.dtype(), DType::f64) << s;
  return evaluate_real(e, [&](const Expr& leaf) { return given.at(leaf->name); });
}
std::string problem(std::string_view s, const Given& given = {}) {
  return user_error([&] { (void)value(s, given); });
}

TEST(Pt2Expression, P093_P094_Leaves) {
  EXPECT_EQ(value("Integer(32)"), 32);
  EXPECT_EQ(value("Integer(-1)"), -1);
  EXPECT_EQ(value(" Add( Integer(1) ,Integer( 2 ) ) "), 3);
  EXPECT_EQ(value("Symbol('s77', positive=True, integer=True)", {{"s77", 5}}), 5);
  EXPECT_EQ(value("Symbol(\"u0\", integer=True, nonnegative=True, finite=True, real=True)", {{"u0", 7}}), 7);
  EXPECT_EQ(real("Rational(1, 2)"), 0.5);
  EXPECT_EQ(real("Float('0.5', precision=53)"), 0.5);
  EXPECT_EQ(real("1.5e-3"), 1.5e-3);
  EXPECT_TRUE(truth("true"));
  EXPECT_FALSE(truth("false"));
  EXPECT_EQ(real("oo"), INFINITY);
  EXPECT_EQ(real("-oo"), -INFINITY);
  EXPECT_EQ(real("-int_oo"), -INFINITY);
  EXPECT_TRUE(std::isnan(real("nan")));
  EXPECT_EQ(value("-9223372036854775808"), std::numeric_limits<int64_t>::min());
  expect_in("position 9: expected ')'", problem("Integer(1"));
  expect_in("expected the end or an operator", problem("Integer(1) 2"));
  expect_in("expected a number, a name or '('", problem(""));
  expect_in("no integer of 64 bits", problem("9223372036854775808"));
}

TEST(Pt2Expression, P095_NamesOfSymbols) {
  Pt2Symbols symbols;
  EXPECT_EQ(symbols.symbol("s77")->name, "s77");
  EXPECT_EQ(symbols.symbol("u12").dtype(), DType::i64);
  EXPECT_EQ(symbols.symbol("zf3").dtype(), DType::f64);
  EXPECT_EQ(symbols.symbol("zuf0").dtype(), DType::f64);
  for (const char* bad : {"x", "s", "s1a", "su0", "77", "i0"})
    expect_in("is no symbol", user_error([&] { (void)symbols.symbol(bad); }));
}

struct Case {
  const char* written;
  int64_t value;
};
TEST(Pt2Expression, P096_IntegerFunctions) {
  const Given g{{"s0", 7}, {"s1", 3}, {"u0", -7}};
  const auto with_symbols = [](std::string s) {
    for (const char* name : {"s0", "s1", "u0"})
      for (std::size_t at = 0; (at = s.find(name, at)) != s.npos;) {
        const std::string symbol = text("Symbol('", name, "', integer=True)");
        s.replace(at, 2, symbol);
        at += symbol.size();
      }
    return s;
  };
  const Case cases[] = {
      {"Add(s0, s1, Integer(1))", 11},
      {"Mul(Integer(2), s0, s1)", 42},
      {"Pow(s0, Integer(2))", 49},
      {"Mul(Add(s0, Integer(-1)), Pow(s1, Integer(-1)))", 2},
      {"Max(s0, s1, Integer(9))", 9},
      {"Min(s0, s1)", 3},
      {"Abs(u0)", 7},
      {"sign(u0)", -1},
      {"floor(Mul(Rational(1, 2), u0))", -4},
      {"ceiling(Mul(Rational(1, 2), u0))", -3},
      {"FloorDiv(u0, Integer(2))", -4},
      {"CleanDiv(Mul(s0, s1), s1)", 7},
      {"CeilDiv(s0, Integer(2))", 4},
      {"CeilDiv(u0, Integer(2))", -3},
      {"Mod(s0, s1)", 1},
      {"PythonMod(u0, Integer(3))", 2},
      {"PythonMod(s0, Integer(-3))", -2},
      {"ModularIndexing(s0, Integer(2), Integer(2))", 1},
      {"LShift(s0, Integer(3))", 56},
      {"RShift(u0, Integer(1))", -4},
      {"LShift(Integer(1), s1)", 8},
      {"RShift(s0, s1)", 0},
      {"PowByNatural(s1, Integer(3))", 27},
      {"PowByNatural(Integer(2), s1)", 8},
      {"TruncToInt(Mul(Rational(1, 2), u0))", -3},
      {"TruncToInt(Float('-2.5', precision=53))", -2},
      {"FloorToInt(IntTrueDiv(u0, Integer(2)))", -4},
      {"CeilToInt(IntTrueDiv(u0, Integer(2)))", -3},
      {"RoundToInt(Float('2.5', precision=53))", 2},
      {"RoundToInt(Float('3.5', precision=53))", 4},
      {"Where(StrictLessThan(s0, s1), Integer(1), Integer(2))", 2},
      {"Identity(s0)", 7},
      {"ITE(true, s0, s1)", 7},
      {"IsNonOverlappingAndDenseIndicator(s0, s1, s1, Integer(1))", 1},
      {"IsNonOverlappingAndDenseIndicator(s0, s1, Integer(1), s0)", 1},
      {"IsNonOverlappingAndDenseIndicator(s0, s1, s1, Integer(2))", 0},
      {"IsNonOverlappingAndDenseIndicator(Integer(1), s1, Integer(99), Integer(1))", 1},
      {"Piecewise(ExprCondPair(Integer(1), StrictLessThan(s0, Integer(3))), ExprCondPair(Integer(2), StrictLessThan(s0, Integer(9))), "
       "ExprCondPair(Integer(3), true))",
       2},
  };
  for (const Case& c : cases) EXPECT_EQ(value(with_symbols(c.written), g), c.value) << c.written;
  expect_in("negative shift count", problem("LShift(Integer(1), Integer(-1))"));
  expect_in("bad operand", problem("LShift(Integer(1), u0)", {{"u0", -1}}));
  expect_in("division by zero", problem("FloorDiv(Integer(1), Integer(0))"));
  expect_in("division by zero", problem("FloorDiv(Integer(1), s0)", {{"s0", 0}}));
  expect_in("cannot take 1 arguments", problem("FloorDiv(Integer(1))"));
}

TEST(Pt2Expression, P096_ComparisonsAndLogic) {
  const Given g{{"s0", 4}, {"s1", 4}};
  // LessThan is <=, GreaterThan is >=
  for (const char* holds : {"LessThan(s0, s1)",
                            "GreaterThan(s0, s1)",
                            "Le(s0, s1)",
                            "Ge(s0, s1)",
                            "Equality(s0, s1)",
                            "Eq(s0, s1)",
                            "Not(Unequality(s0, s1))",
                            "Not(Ne(s0, s1))",
                            "Not(StrictLessThan(s0, s1))",
                            "Not(Lt(s0, s1))",
                            "Not(StrictGreaterThan(s0, s1))",
                            "Not(Gt(s0, s1))",
                            "And(true, true, Le(s0, s1))",
                            "Or(false, Ge(s0, s1))",
                            "Xor(true, false)",
                            "Not(Xor(true, true))",
                            "ITE(false, false, true)",
                            "Lt(Rational(1, 3), Rational(1, 2))",
                            "Eq(Mul(s0, Pow(s1, Integer(-1))), Integer(1))",
                            "Lt(Mul(Integer(-1), Pow(s1, Integer(-1))), Integer(0))"})
    EXPECT_TRUE(truth(holds, g)) << holds;
}

TEST(Pt2Expression, P096_RealFunctions) {
  const Given g{{"s0", 7}};
  EXPECT_EQ(real("IntTrueDiv(s0, Integer(2))", g), 3.5);
  EXPECT_EQ(real("FloatTrueDiv(ToFloat(s0), Float('2.0', precision=53))", g), 3.5);
  EXPECT_EQ(real("FloatPow(ToFloat(s0), Float('0.5', precision=53))", g), std::pow(7.0, 0.5));
  EXPECT_EQ(real("TruncToFloat(Float('-2.5', precision=53))"), -2.0);
  EXPECT_EQ(real("RoundDecimal(Float('2.345', precision=53), Integer(1))"), 2.3);
  struct {
    const char* name;
    double (*f)(double);
  } const functions[] = {{"sqrt", std::sqrt}, {"exp", std::exp},   {"log", std::log},   {"log2", std::log2},  {"sin", std::sin},
                         {"cos", std::cos},   {"tan", std::tan},   {"asin", std::asin}, {"acos", std::acos},  {"atan", std::atan},
                         {"sinh", std::sinh}, {"cosh", std::cosh}, {"tanh", std::tanh}, {"asinh", std::asinh}};
  for (const auto& [name, f] : functions)
    EXPECT_DOUBLE_EQ(real(text("OpaqueUnaryFn_", name, "(IntTrueDiv(s0, Integer(8)))"), g), f(0.875)) << name;
}

TEST(Pt2Expression, P097_UnknownFunctions) {
  Symbols scope;
  try {
    (void)parse_sym_int("Add(zeta(Integer(2)), Integer(1))", scope);
    FAIL();
  } catch (const UnknownSymFunction& f) {
    EXPECT_EQ(f.name, "zeta");
  }
  // In a size it is an error, in a stride a warning.
  ProgramJson p;
  p.input("x", meta({"zeta(Integer(2))"}, {"1"})).returns(val("x"));
  expect_in("value x: expression uses unknown function zeta", error_of(p));
  ProgramJson q;
  q.input("x", meta({"2"}, {"zeta(Integer(2))"})).returns(val("x"));
  const Program program = read(q);
  ASSERT_EQ(program.warnings.size(), 1u);
  EXPECT_EQ(program.warnings[0], "value x: expression uses unknown function zeta");
}

TEST(Pt2Expression, P098_ExactAndChecked) {
  // A third of three is one, not 0.999…
  EXPECT_EQ(value("Mul(Rational(1, 3), s0)", {{"s0", 3}}), 1);
  EXPECT_EQ(value("floor(Mul(Integer(3), Pow(Integer(3), Integer(-1)), s0))", {{"s0", 9007199254740993}}), 9007199254740993);
  EXPECT_EQ(value("floor(Mul(Rational(1, 3), s0))", {{"s0", 9223372036854775806}}), 3074457345618258602);
  EXPECT_TRUE(truth("Lt(Rational(9007199254740992, 9007199254740993), Integer(1))"));  // equal as doubles
  expect_in("overflow", problem("Mul(Integer(4611686018427387904), Integer(2))"));
  expect_in("overflow", problem("Mul(s0, s0)", {{"s0", 4611686018427387904}}));
  expect_in("do not fit 64 bits", problem("Mul(Integer(4611686018427387904), Mul(Integer(4), s0))"));
  expect_in("overflow", problem("PowByNatural(Integer(10), s0)", {{"s0", 30}}));
}

TEST(Pt2Expression, P182_ReadableForm) {
  const Given g{{"s0", 7}, {"s1", 3}};
  const Case cases[] = {{"s0*s1 + 2", 23},  {"s0//2", 3},      {"s0 % 4", 3}, {"s0**2 - s1", 46},   {"-s0 + 10", 3},
                        {"-2**2", -4},      {"(s0 + 1)/2", 4}, {"2*s0/2", 7}, {"Max(s0, 2*s1)", 7}, {"FloorDiv(s0 + 1, s1)", 2},
                        {"s0 - s1 - 1", 3}, {"2**-1*4", 2}};
  for (const Case& c : cases) EXPECT_EQ(value(c.written, g), c.value) << c.written;
  for (const char* holds : {"s0 > s1", "s0 >= 7 and not s1 == 4", "1 < s1 < s0", "s0 != s1 or false", "s1 <= 3"})
    EXPECT_TRUE(truth(holds, g)) << holds;
  EXPECT_FALSE(truth("1 < s1 < 3", g));
}

// P202
TEST(Pt2Expression, P202_DeepNestingIsAnError) {
  constexpr int kDepth = 100000;
  const auto deep = [](std::string_view open, std::string_view inside, std::string_view close) {
    std::string s;
    for (int i = 0; i < kDepth; i++) s += open;
    s += inside;
    for (int i = 0; i < kDepth; i++) s += close;
    return s;
  };
  for (const std::string& s : {deep("Add(", "1", ")"), deep("(", "1", ")"), deep("-", "1", ""), deep("not ", "1", ""),
                               deep("2**", "1", ""), deep("ExprCondPair(", "1", ")"), deep("Symbol('s0', a=", "1", ")")})
    expect_in("longer than", problem(s));
  constexpr int kFewer = 3000;  // short enough to be read
  for (const char* open : {"Abs(", "(", "-", "not ", "2**", "Piecewise(ExprCondPair("}) {
    std::string s;
    for (int i = 0; i < kFewer && s.size() + 40 < (1u << 15); i++) s += open;
    expect_in("nests deeper", problem(s + "1"));
  }
}

TEST(Pt2Expression, P202_ShortTextsThatAreLongWrittenOut) {
  std::string product = "(a0 + b0)", sum = "s0";
  for (int i = 1; i < 40; i++) product += text("*(a", i, " + b", i, ")");
  for (int i = 1; i < 3000; i++) sum += text("+s", i);
  expect_in("too many terms", problem(product));
  expect_in("too many terms", problem(sum));
  expect_in("too many terms", problem("((a*b*c*d*e*f*g*h)**64)**4"));
  std::string fine = "s0";
  for (int i = 1; i < 200; i++) fine += text("+s", i);
  Given g;
  for (int i = 0; i < 200; i++) g[text("s", i)] = i;
  EXPECT_EQ(value(fine, g), 199 * 100);
  EXPECT_EQ(value("(s1 + s2)**20", g), 3486784401);
}

TEST(Pt2Expression, P098_PowersAndQuotientsAtTheEnds) {
  expect_in("is too large", problem("Pow(Integer(2), Integer(-9223372036854775808))"));
  expect_in("is too large", problem("Pow(Rational(1, 3), Integer(9223372036854775807))"));
  EXPECT_EQ(value("Pow(Integer(1), Integer(-9223372036854775808))"), 1);
  EXPECT_EQ(value("Pow(Integer(-1), Integer(9223372036854775807))"), -1);
  EXPECT_EQ(value("Pow(Integer(-1), Integer(-9223372036854775808))"), 1);
  expect_in("is negative", problem("PowByNatural(s0, Integer(-2))", {{"s0", 2}}));
  // As Python says; dividing doubles would give another one each time.
  EXPECT_EQ(real("IntTrueDiv(Integer(3996569778745097362), Integer(11))"), 3.633245253404634e+17);
  EXPECT_EQ(real("IntTrueDiv(Integer(9223372036854775807), Integer(9007199254740993))"), 0x1.fffffffffffffp+9);
  EXPECT_EQ(real("IntTrueDiv(Integer(-1841108478282659762), Integer(314180959003851683))"), -5.860025649294962);
  EXPECT_EQ(real("IntTrueDiv(Integer(0), Integer(7))"), 0.0);
}

TEST(Pt2Expression, TextReadsBack) {
  Symbols scope;
  for (const char* written :
       {"2*s0 + s1 - 3", "s0//4", "(s0 + 1) % s1", "Max(s0, 2*s1)", "Min(s0, s1)", "Abs(s0)", "Where(s0 < s1, s0, 2)"}) {
    const Expr e = parse_sym_int(written, scope);
    EXPECT_TRUE(same(parse_sym_int(sym_expression_text(e), scope), e)) << sym_expression_text(e);
  }
  EXPECT_EQ(sym_expression_text(parse_sym_int("2*s0", scope)), "Mul(Integer(2), Symbol('s0', positive=True, integer=True))");
}

}  // namespace
}  // namespace ingot
