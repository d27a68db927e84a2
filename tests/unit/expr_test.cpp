// Expr, Int, Shape and guards. Simplification is tested against a naive evaluator over the same
// random tree.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <thread>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "expr/evaluate.hpp"
#include "ingot/expr.hpp"
#include "graph/shape_env.hpp"
#include "expr/text.hpp"
#include "ingot/int.hpp"
#include "ingot/shape.hpp"

namespace ingot {
namespace {

int64_t value_of(const Expr& e, const SymbolValues& values) {
  return evaluate(e, [&](const Expr& leaf) { return values.at(default_name(leaf)); });
}

int64_t floor_div_numbers(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// An expression and, beside it, the plain computation it stands for.
struct Random {
  explicit Random(uint64_t seed) : rng(seed) {}

  std::mt19937_64 rng;
  Expr s0 = Expr::symbol("s0"), s1 = Expr::symbol("s1", 2);
  Expr i = Expr::index(0, 6, "i"), j = Expr::index(1, s0, "j"), k = Expr::index(2, 4 * s1, "k");
  std::vector<Expr> leaves = {s0, s1, i, j, k};

  struct Node {
    Expr expr;
    std::function<int64_t(const SymbolValues&)> naive;
  };

  int64_t below(int64_t n) { return static_cast<int64_t>(rng() % static_cast<uint64_t>(n)); }

  SymbolValues values() {
    SymbolValues v;
    v["s0"] = 1 + below(9);
    v["s1"] = 2 + below(9);
    v["i"] = below(6);
    v["j"] = below(v["s0"]);
    v["k"] = below(4 * v["s1"]);
    return v;
  }

  Node leaf() {
    if (below(4) == 0) {
      const int64_t c = below(17) - 8;
      return {Expr(c), [c](const SymbolValues&) { return c; }};
    }
    const Expr e = leaves[static_cast<std::size_t>(below(5))];
    return {e, [name = default_name(e)](const SymbolValues& v) { return v.at(name); }};
  }
  Node divisor() {
    const int64_t c = int64_t{1} << below(4);
    const Node n{Expr(c), [c](const SymbolValues&) { return c; }};
    switch (below(4)) {
      case 0: return {s0 * c, [c](const SymbolValues& v) { return c * v.at("s0"); }};
      case 1: return {s1 * c, [c](const SymbolValues& v) { return c * v.at("s1"); }};
      case 2: return {Expr(3 * c), [c](const SymbolValues&) { return 3 * c; }};
      default: return n;
    }
  }
  Node condition(int depth) {
    const Node a = integer(depth), b = integer(depth);
    switch (below(4)) {
      case 0: return {a.expr < b.expr, [a, b](const SymbolValues& v) { return a.naive(v) < b.naive(v); }};
      case 1: return {a.expr <= b.expr, [a, b](const SymbolValues& v) { return a.naive(v) <= b.naive(v); }};
      case 2: return {a.expr == b.expr, [a, b](const SymbolValues& v) { return a.naive(v) == b.naive(v); }};
      default: {
        const Node c = depth > 0 ? condition(depth - 1) : a;
        if (depth <= 0) return {a.expr != b.expr, [a, b](const SymbolValues& v) { return a.naive(v) != b.naive(v); }};
        const Expr less = b.expr > a.expr;
        if (below(2) != 0)
          return {!less || c.expr, [a, b, c](const SymbolValues& v) { return a.naive(v) >= b.naive(v) || c.naive(v); }};
        return {less && !c.expr, [a, b, c](const SymbolValues& v) { return a.naive(v) < b.naive(v) && !c.naive(v); }};
      }
    }
  }
  Node integer(int depth) {
    if (depth <= 0) return leaf();
    const Node a = integer(depth - 1);
    const int64_t kind = below(11);
    if (kind == 4 || kind == 5 || kind == 6 || kind == 7) {
      const Node d = divisor();
      auto quotient = [a, d](const SymbolValues& v) { return floor_div_numbers(a.naive(v), d.naive(v)); };
      if (kind < 6) return {floor_div(a.expr, d.expr), quotient};
      return {mod(a.expr, d.expr), [a, d, quotient](const SymbolValues& v) { return a.naive(v) - d.naive(v) * quotient(v); }};
    }
    const Node b = integer(depth - 1 - static_cast<int>(below(2)));
    switch (kind) {
      case 0:
      case 1: return {a.expr + b.expr, [a, b](const SymbolValues& v) { return a.naive(v) + b.naive(v); }};
      case 2: return {a.expr - b.expr, [a, b](const SymbolValues& v) { return a.naive(v) - b.naive(v); }};
      case 3: return {a.expr * leaf_of(b), [a, b, l = last](const SymbolValues& v) { return a.naive(v) * l.naive(v); }};
      case 8: return {min(a.expr, b.expr), [a, b](const SymbolValues& v) { return std::min(a.naive(v), b.naive(v)); }};
      case 9: return {max(a.expr, b.expr), [a, b](const SymbolValues& v) { return std::max(a.naive(v), b.naive(v)); }};
      default: {
        const Node c = condition(depth - 2);
        return {select(c.expr, a.expr, b.expr),
                [a, b, c](const SymbolValues& v) { return c.naive(v) ? a.naive(v) : b.naive(v); }};
      }
    }
  }
  // Products grow fast: multiply by a leaf only.
  Node last;
  const Expr& leaf_of(const Node&) {
    last = leaf();
    return last.expr;
  }

  Expr floating(DType t, int depth) {
    if (depth <= 0) {
      switch (below(4)) {
        case 0: return Expr::constant(t, std::ldexp(double(below(2000)) - 1000, static_cast<int>(below(40)) - 20));
        case 1: return Expr::tmp(below(3) + (t == DType::f64 ? 10 : 0), t);
        case 2: return cast(t, integer(1).expr);
        default: return Expr::load(t == DType::f64, t, {integer(1).expr, integer(2).expr}, t == DType::f64 ? "y" : "x");
      }
    }
    const Expr a = floating(t, depth - 1), b = floating(t, depth - 1 - static_cast<int>(below(2)));
    switch (below(16)) {
      case 0: return a + b;
      case 1: return a - b;
      case 2: return a * b;
      case 3: return a / b;
      case 4: return min(a, b);
      case 5: return select(a < b, a, b);
      case 6: return exp(-a);
      case 7: return cast(t, cast(DType::i32, a) + cast(DType::i32, b) * 3 - 1);
      case 8: return select(isnan(a) || !(a <= b), a, Expr(1));
      case 9: return pow(abs(a), b) - 1;
      case 10: return a - 0.1;
      case 11: return cast(t, cast(DType::u8, a) & (cast(DType::u8, b) << 2));
      case 12: return select(a == b, Expr::constant(t, 0.1), Expr::constant(t, -1e30));
      case 13: return cast(t, cast(DType::bf16, a) * 0.3);
      case 14: return digamma(a) + Expr::constant(t, INFINITY);
      default: return atan2(a, b) * -2.5;
    }
  }
};

TEST(ExprProperty, SimplifiedIntegersEvaluateAsTheirTree) {
  for (uint64_t seed = 0; seed < 4000; seed++) {
    Random r(seed);
    const Random::Node n = r.integer(1 + static_cast<int>(seed % 5));
    for (int trial = 0; trial < 8; trial++) {
      const SymbolValues v = r.values();
      ASSERT_EQ(value_of(n.expr, v), n.naive(v)) << "seed " << seed << ": " << print(n.expr);
      ASSERT_LE(n.expr->lo, n.naive(v)) << "seed " << seed << ": " << print(n.expr);
      ASSERT_GE(n.expr->hi, n.naive(v)) << "seed " << seed << ": " << print(n.expr);
    }
  }
}

TEST(ExprProperty, ConditionsAndProofsHold) {
  for (uint64_t seed = 0; seed < 4000; seed++) {
    Random r(seed);
    const Random::Node c = r.condition(static_cast<int>(seed % 4)), a = r.integer(3), b = r.integer(2);
    const bool below = prove_lt(a.expr, b.expr), above = prove_ge(a.expr, b.expr);
    for (int trial = 0; trial < 8; trial++) {
      const SymbolValues v = r.values();
      ASSERT_EQ(value_of(c.expr, v), c.naive(v)) << "seed " << seed << ": " << print(c.expr);
      const bool wrong = a.naive(v) < b.naive(v) ? above : below;
      ASSERT_FALSE(wrong) << "seed " << seed << ": " << print(a.expr) << " against " << print(b.expr);
    }
  }
}

TEST(ExprProperty, SubstitutionEvaluatesTheSame) {
  for (uint64_t seed = 0; seed < 2000; seed++) {
    Random r(seed);
    const Random::Node e = r.integer(4), to = r.integer(1);
    const Expr x = Expr::tmp(7, DType::i64);
    const Expr with_tmp = substitute(e.expr, r.i, x);
    EXPECT_FALSE(depends(with_tmp, r.i));
    EXPECT_EQ(depends(with_tmp, x), depends(e.expr, r.i));
    SymbolValues v = r.values();
    // An index keeps its range, so what replaces it must too.
    const Expr inside = mod(to.expr, Expr(6));
    const int64_t expected = [&] {
      SymbolValues w = v;
      w["i"] = value_of(inside, v);
      return e.naive(w);
    }();
    ASSERT_EQ(value_of(substitute(e.expr, r.i, inside), v), expected) << "seed " << seed << ": " << print(e.expr);
  }
}

void expect_stable(const Expr& e, uint64_t seed) {
  visit(e, [&](const Expr& x) {
    const Expr again = rebuild(x, x.args());
    ASSERT_TRUE(same(again, x)) << "seed " << seed << ": " << print(x) << " became " << print(again);
  });
  const std::string text = print(e);
  Expr back;
  ASSERT_NO_THROW(back = parse(text, Names::of(e))) << "seed " << seed << ": " << text;
  ASSERT_TRUE(same(back, e)) << "seed " << seed << ": " << text << " became " << print(back);
}

TEST(ExprProperty, PrintedTextParsesBack) {
  for (uint64_t seed = 0; seed < 1500; seed++) {
    Random r(seed);
    expect_stable(r.integer(1 + static_cast<int>(seed % 5)).expr, seed);
    expect_stable(r.condition(static_cast<int>(seed % 4)).expr, seed);
    expect_stable(r.floating(DType::f32, static_cast<int>(seed % 5)), seed);
    expect_stable(r.floating(DType::f64, static_cast<int>(seed % 4)), seed);
  }
}

struct ExprRules : ::testing::Test {
  Expr s0 = Expr::symbol("s0"), s1 = Expr::symbol("s1"), n = Expr::symbol("n", 2);
  Expr i = Expr::index(0, n, "i"), j = Expr::index(1, s0, "j"), p = Expr::index(2, Expr(7), "p"),
       lane = Expr::index(3, Expr(8), "lane"), big = Expr::index(4, Expr(1 << 20), "big");
  Expr x = Expr::tmp(0, DType::f32, "x"), y = Expr::tmp(1, DType::f32, "y");
};

TEST_F(ExprRules, SumsAndProductsArePolynomials) {
  EXPECT_TRUE(same((s0 + 1) * (s0 - 1), s0 * s0 - 1));
  EXPECT_TRUE(same(s0 + s1 + s0, 2 * s0 + s1));
  EXPECT_TRUE(same(s0 * s1, s1 * s0));
  EXPECT_TRUE((s0 - s0).is_const(0));
  EXPECT_EQ(print(2 * s0 + 1), "2*s0 + 1");
  EXPECT_EQ(print(1 - s0), "-s0 + 1");
  EXPECT_EQ(print((i * s0 + j) * 2 - 3), "2*s0*i + 2*j - 3");
}

TEST_F(ExprRules, DivisibleTermsLeave) {
  EXPECT_TRUE(same(floor_div(i * s0 + j, s0), i));
  EXPECT_TRUE(same(mod(i * s0 + j, s0), j));
  EXPECT_TRUE(same(floor_div(8 * big + lane, 8), big));
  EXPECT_TRUE(same(mod(8 * big + lane, 8), lane));
  EXPECT_EQ(print(floor_div(s0 * 4 + 6, 4)), "s0 + 1");
  EXPECT_EQ(print(floor_div(s0 - 1, 2) + 1), "(s0 + 1) // 2");
  EXPECT_TRUE(same(floor_div(n * s0 - 1, s0), n - 1));
  EXPECT_TRUE(same(floor_div((s0 + 1) * n, s0 + 1), n));
  EXPECT_TRUE(same(mod((s0 + 1) * n + j, s0 + 1), j));
}

TEST_F(ExprRules, CommonFactorsCancel) {
  EXPECT_EQ(print(floor_div(8 * big + lane, 56)), "big // 7");
  EXPECT_EQ(print(mod(8 * big + lane, 56)), "lane + 8*(big % 7)");
  EXPECT_EQ(print(floor_div(s0 * big + j, 4 * s0)), "big // 4");
  EXPECT_EQ(print(mod(s0 * big + j, 4 * s0)), "s0*(big % 4) + j");
}

TEST_F(ExprRules, NestedDivisionsMerge) {
  EXPECT_EQ(print(floor_div(floor_div(big, 4), 8)), "big // 32");
  EXPECT_EQ(print(floor_div(floor_div(big, s0), s1)), "big // (s0*s1)");
  EXPECT_EQ(print(floor_div(floor_div(s0 + 1, 2) + 1, 2)), "(s0 + 3) // 4");
  EXPECT_EQ(print(mod(mod(big, 8), 4)), "big % 4");
  EXPECT_EQ(print(floor_div(mod(big, 8), 4)), "(big // 4) % 2");
}

TEST_F(ExprRules, QuotientAndRemainderRecombine) {
  EXPECT_TRUE(same(4 * floor_div(big, 4) + mod(big, 4), big));
  EXPECT_TRUE(same(3 * s1 * s0 * floor_div(big, s0) + 3 * s1 * mod(big, s0), 3 * s1 * big));
  EXPECT_TRUE(same(mod(big, 2) + 2 * mod(floor_div(big, 2), 2) + 4 * floor_div(big, 4), big));
  EXPECT_TRUE(same(mod(big, s0) + s0 * mod(floor_div(big, s0), s1), mod(big, s0 * s1)));
  EXPECT_TRUE(same(4 * floor_div(mod(big, 8), 4) + mod(mod(big, 8), 4), mod(big, 8)));
  EXPECT_TRUE(same(mod(big, s0) + s0 * mod(floor_div(big, s0), s1) + s0 * s1 * floor_div(big, s0 * s1), big));
}

TEST_F(ExprRules, ReshapeOfReshapeIsTheIdentity) {
  const std::vector<Expr> sizes = {s0, 3, n, 8};
  std::vector<Expr> vars;
  Expr flat = 0;
  for (std::size_t k = 0; k < sizes.size(); k++) {
    vars.push_back(Expr::index(static_cast<int64_t>(10 + k), sizes[k]));
    flat = flat * sizes[k] + vars.back();
  }
  // [s0, 3, n, 8] -> [s0*3, n*8] -> [s0, 3, n, 8]
  const Expr row = floor_div(flat, n * 8), column = mod(flat, n * 8);
  EXPECT_TRUE(same(row, vars[0] * 3 + vars[1]));
  EXPECT_TRUE(same(column, vars[2] * 8 + vars[3]));
  const Expr again = row * (n * 8) + column;
  EXPECT_TRUE(same(mod(again, 8), vars[3]));
  EXPECT_TRUE(same(mod(floor_div(again, 8), n), vars[2]));
  EXPECT_TRUE(same(mod(floor_div(again, n * 8), 3), vars[1]));
  EXPECT_TRUE(same(floor_div(again, n * 24), vars[0]));
}

TEST_F(ExprRules, BoundsWithSymbolicExtents) {
  EXPECT_TRUE(prove_lt(i * s0 + j, n * s0));
  EXPECT_TRUE(prove_ge(i * s0 + j, 0));
  EXPECT_FALSE(prove_lt(i * s0 + j, n * s0 - 1));
  EXPECT_TRUE(prove_lt(mod(big, s0), s0));
  EXPECT_TRUE(prove_ge(s0 * n, s0));
  EXPECT_TRUE(prove_ge(big, 4 * floor_div(big, 4)));
  EXPECT_TRUE(prove_lt(floor_div(i, 4), floor_div(n - 1, 4) + 1));
  const Expr tile = Expr::index(5, min(Expr(8), n - 8 * p), "t");
  EXPECT_TRUE(prove_lt(8 * p + tile, n));
  // The correlation of v with v % 4 must not be lost: v - 3*(v % 4) goes down to -6.
  EXPECT_FALSE(prove_ge(lane - 3 * mod(lane, 4), 0));
  const Expr triangle = Expr::index(6, i + 1, "u");
  EXPECT_TRUE(prove_lt(triangle, n));
}

TEST_F(ExprRules, Strides) {
  const Expr address = 64 * s0 * i + 3 * j + floor_div(big, 4);
  EXPECT_TRUE(same(*stride(address, i), 64 * s0));
  EXPECT_TRUE(same(*stride(address, j), 3));
  EXPECT_TRUE(same(*stride(address, lane), 0));
  EXPECT_FALSE(stride(address, big).has_value());
  EXPECT_FALSE(stride(i * i, i).has_value());
  EXPECT_FALSE(stride(Expr::load(0, DType::i64, {i}) + i, i).has_value());
}

TEST_F(ExprRules, ComparisonsFold) {
  EXPECT_TRUE((j < s0).is_const(1));
  EXPECT_TRUE((j >= s0).is_const(0));
  EXPECT_TRUE((s0 == s0 + 1).is_const(0));
  EXPECT_TRUE(same(s0 <= 4, s0 < 5));
  EXPECT_TRUE(same(!(s0 < s1), s1 <= s0));
  EXPECT_TRUE(same(s0 == s1, s1 == s0));
  EXPECT_EQ(print(!(x < y)), "not %x < %y");
  EXPECT_TRUE(((s0 < 3) && !(s0 < 3)).is_const(0));
  EXPECT_TRUE(same((s0 < 3) && ((s1 < 3) && (n < 3)), (n < 3) && (s0 < 3) && (s1 < 3)));
  EXPECT_TRUE(same(select(s0 < 3, select(s0 < 3, x, y), y), select(s0 < 3, x, y)));
  EXPECT_TRUE(same(min(min(s0, 8), 4), min(s0, 4)));
  EXPECT_EQ(print(min(Expr(8), s0)), "min(s0, 8)");
  EXPECT_TRUE(same(max(n, 2), n));
}

TEST_F(ExprRules, FloatsKeepTheirOrder) {
  EXPECT_FALSE(same((x + y) + 1, x + (y + 1)));
  EXPECT_FALSE(same(x + 0, x));
  EXPECT_TRUE(same(x - 0.0, x));
  EXPECT_TRUE(same(x * 1, x));
  EXPECT_TRUE(same(x / 4, x * 0.25));
  EXPECT_EQ((x / 3).op(), ExprOp::FDiv);
  EXPECT_TRUE(same(-(-x), x));
  EXPECT_EQ((x * 0).op(), ExprOp::Mul);
  // Constants fold in their own type.
  EXPECT_EQ((Expr::constant(DType::f32, 0.1) + Expr::constant(DType::f32, 0.2))->f, 0.1f + 0.2f);
  EXPECT_EQ((Expr(0.1) + Expr(0.2))->f, 0.1 + 0.2);
  EXPECT_EQ(Expr::constant(DType::bf16, 1.01)->f, 1.0078125);
  EXPECT_TRUE((Expr::constant(DType::u8, 250) + 10).is_const(4));
  EXPECT_EQ(exp(Expr::constant(DType::f32, 1.0))->f, std::exp(1.0f));
  EXPECT_TRUE(isnan(Expr(NAN)).is_const(1));
  EXPECT_TRUE(round(Expr(2.5)).is_const(2));
}

TEST_F(ExprRules, LiteralsTakeTheirPartnersType) {
  auto sigmoid = []<class T>(T v) { return T(1) / (T(1) + exp(-v)); };
  const Expr e = sigmoid(x);
  EXPECT_EQ(e.dtype(), DType::f32);
  EXPECT_EQ(print(e), "1.0 / (exp(-%x) + 1.0)");
  EXPECT_EQ((Expr::tmp(0, DType::i32) + 1).dtype(), DType::i32);
  EXPECT_EQ((Expr(1) / Expr(4))->f, 0.25);
  EXPECT_EQ((x * (Expr(1) / 3)).arg(1)->f, static_cast<double>(static_cast<float>(1.0 / 3)));
  EXPECT_THROW(x + s0, InternalError);
  EXPECT_THROW(s0 / s1, InternalError);
  EXPECT_THROW(exp(s0), InternalError);
  EXPECT_TRUE(same(x * Int(2), x * 2));
}

TEST_F(ExprRules, CostCountsDataOnceAndAddressesNever) {
  const Expr a = Expr::load(0, DType::f32, {i * s0 + j}, "a");
  EXPECT_EQ(cost(a), 2);
  EXPECT_EQ(cost(exp(a - x)), 2 + 1 + 1 + 14);
  EXPECT_EQ(cost(exp(a) * exp(a)), 2 + 14 + 1);
  EXPECT_EQ(cost(i * s0 + floor_div(j, 3)), 0);
}

TEST_F(ExprRules, TextForms) {
  const Expr h = Expr::index(7, 4, "h");
  const Expr t14 = Expr::load(14, DType::f32, {h, i, 2 * j}, "t14");
  EXPECT_EQ(print(exp(t14 - x) / 3), "exp(t14[h, i, 2*j] - %x) / 3.0");
  EXPECT_EQ(print(select(h < 3, x, 0)), "select(h < 3, %x, 0.0)");
  EXPECT_EQ(print(cast(DType::f32, i)), "cast(f32, i)");
  EXPECT_EQ(print(mod(s0, 4) + floor_div(s0, 2)), "s0 // 2 + s0 % 4");
  EXPECT_EQ(print(select(h < 3, Expr::constant(DType::f32, 1.5), Expr::constant(DType::f32, 2))),
            "select(h < 3, f32(1.5), f32(2.0))");
  EXPECT_EQ(print(i, [](const Expr&) { return std::string("renamed"); }), "renamed");
  EXPECT_EQ(print(x - y * 2 - (x - y)), "%x - %y*2.0 - (%x - %y)");
  EXPECT_EQ(print(Expr(std::numeric_limits<int64_t>::min()) + s0), "s0 + -9223372036854775808");
  Names names;
  names.add(s0);
  names.add(x);
  names.add_buffer("a", 3, DType::f32);
  EXPECT_TRUE(same(parse(" 2 * (s0+1) >= 5 ", names), 2 * s0 + 2 >= 5));
  EXPECT_TRUE(same(parse("a[s0 % 3] - -1.5e0", names), Expr::load(3, DType::f32, {mod(s0, 3)}, "a") + 1.5));
  const Expr t = Expr::tmp(3, DType::i64);
  names.add(t);
  EXPECT_TRUE(same(parse("%3 % %3 == 0 and not false", names), mod(t, t) == 0));
}

TEST_F(ExprRules, BadTextIsAUserErrorWithItsPosition) {
  Names names;
  names.add(s0);
  names.add(x);
  names.add_buffer("a", 3, DType::f32);
  for (const char* bad : {"",
                          "s0 +",
                          "s0 s0",
                          "(s0",
                          "s1",
                          "b[0]",
                          "foo(s0)",
                          "min(s0)",
                          "a[%x]",
                          "s0 + %x",
                          "exp(s0)",
                          "1 < s0 < 3",
                          "99999999999999999999",
                          "cast(q7, s0)",
                          "i8(300)",
                          "f32(s0)",
                          "select(s0, 1, 2)",
                          "s0 / s0",
                          "not s0",
                          "1e999",
                          "%",
                          "a[s0",
                          "@",
                          "-",
                          "f32(-)"}) {
    try {
      parse(bad, names);
      ADD_FAILURE() << bad << " was parsed";
    } catch (const UserError& e) {
      EXPECT_NE(std::string(e.what()).find("position"), std::string::npos) << bad << ": " << e.what();
    }
  }
  EXPECT_THROW(parse(std::string(100000, '('), names), UserError);
  EXPECT_THROW(parse(std::string(100000, '-') + "s0", names), UserError);
  std::string staircase;
  for (int k = 0; k < 100000; k++) staircase += "s0 or s0 and s0 == s0 | s0 ^ s0 & s0 << s0 + s0 * -(";
  EXPECT_THROW(parse(staircase, names), UserError);
}

TEST_F(ExprRules, DepthIsBounded) {
  Expr e = x;
  while (e->depth + 4 <= kMaxExprDepth) e = y - (y + exp(e));
  EXPECT_TRUE(same(parse(print(e), Names::of(e)), e));
  EXPECT_TRUE(depends(e, x));
  EXPECT_TRUE(same(substitute(substitute(e, x, y), y, x), substitute(e, y, x)));
  EXPECT_THROW(for (int k = 0; k < 100; k++) e = exp(-e), UserError);
}

TEST_F(ExprRules, EvaluateSaysWhatIsMissing) {
  EXPECT_EQ(evaluate(2 * s0 + 1, SymbolValues{{"s0", 5}}), 11);
  EXPECT_THROW(evaluate(s1, SymbolValues{{"s0", 5}}), UserError);
  EXPECT_THROW(evaluate(i, SymbolValues{{"s0", 5}}), UserError);
  EXPECT_THROW(evaluate(s0 * s0, SymbolValues{{"s0", int64_t{1} << 40}}), UserError);
}

TEST(ExprOrder, IsStructuralAndNaturalInNames) {
  const Expr s10 = Expr::symbol("s10"), s2 = Expr::symbol("s2");
  EXPECT_EQ(print(s10 + s2), "s2 + s10");
  EXPECT_TRUE(compare(s2, s10) < 0);
  EXPECT_TRUE(compare(s10, s10) == 0);
  EXPECT_THROW(Expr::symbol("not"), UserError);
  EXPECT_THROW(Expr::symbol("3x"), UserError);
}

TEST(ExprThreads, InternTheSameNodes) {
  constexpr int kThreads = 4;
  std::vector<std::vector<std::string>> texts(kThreads);
  std::vector<std::vector<Expr>> nodes(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++) {
    threads.emplace_back([&, t] {
      // Each thread starts elsewhere, so that creation order differs.
      for (uint64_t k = 0; k < 200; k++) {
        Random r(70000 + (k + static_cast<uint64_t>(t) * 50) % 200);
        nodes[t].push_back(r.integer(4).expr);
      }
      std::rotate(nodes[t].begin(), nodes[t].begin() + (200 - t * 50) % 200, nodes[t].end());
      for (const Expr& e : nodes[t]) texts[t].push_back(print(e));
    });
  }
  for (std::thread& t : threads) t.join();
  for (int t = 1; t < kThreads; t++) {
    EXPECT_EQ(texts[t], texts[0]);
    EXPECT_TRUE(same(nodes[t], nodes[0]));
  }
}

TEST(IntNumbers, BehaveAsNumbers) {
  constexpr Int three = 3;
  static_assert(three.is_number() && three.number() == 3);
  const Int most = std::numeric_limits<int64_t>::max(), least = std::numeric_limits<int64_t>::min();
  EXPECT_TRUE(most.is_number());
  EXPECT_EQ(most.number(), std::numeric_limits<int64_t>::max());
  EXPECT_TRUE(most.same(std::numeric_limits<int64_t>::max()));
  EXPECT_TRUE(Int(5) < most && least < Int(5) && most == most && most != least);
  EXPECT_EQ((most - 1).value(), std::numeric_limits<int64_t>::max() - 1);
  EXPECT_EQ((Int(int64_t{1} << 61) + Int(int64_t{1} << 61)).value(), int64_t{1} << 62);
  EXPECT_THROW(most + 1, UserError);
  EXPECT_THROW(least - 1, UserError);
  try {
    Int(int64_t{1} << 40) * Int(int64_t{1} << 40);
    ADD_FAILURE();
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("integer overflow"), std::string::npos);
  }
  EXPECT_TRUE(floor_div(-7, Int(2)).same(-4) && mod(-7, Int(2)).same(1) && ceil_div(Int(-7), 2).same(-3));
  EXPECT_TRUE(floor_div(Int(7), -2).same(-4) && mod(Int(7), -2).same(-1) && ceil_div(Int(7), 2).same(4));
  EXPECT_TRUE(min(Int(2), most).same(2) && max(Int(2), most).same(most));
  EXPECT_THROW(floor_div(Int(1), 0), UserError);
  EXPECT_THROW(floor_div(least, -1), UserError);
  EXPECT_EQ(to_text(least), "-9223372036854775808");
}

TEST(IntSymbols, FoldOrAskTheEnvironment) {
  ShapeEnv env;
  const Int s = env.symbol("s0", 10), t = env.symbol("s1", 3, 2, 64);
  EXPECT_TRUE(s.is_symbolic());
  EXPECT_EQ(to_text(2 * s + 1), "2*s0 + 1");
  EXPECT_TRUE((s - s).same(0));
  EXPECT_TRUE((s * 0).is_number());
  EXPECT_TRUE(s > 1 && s != 0 && t <= 64 && s + 1 > s);  // from ranges: no environment is current
  EXPECT_TRUE(statically_equal(s + s, 2 * s));
  EXPECT_FALSE(statically_equal(s, t));
  EXPECT_TRUE(ceil_div(s, 4).same(floor_div(s + 3, 4)));
  EXPECT_EQ(to_text(min(s, 8)), "min(s0, 8)");
  EXPECT_THROW((void)s.number(), InternalError);
  try {
    (void)(s == 4);
    ADD_FAILURE();
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("s0 == 4"), std::string::npos) << e.what();
  }
  EXPECT_THROW((void)s.value(), UserError);
  EXPECT_TRUE(env.guards().empty());
  {
    GuardScope scope(env);
    EXPECT_FALSE(s == 4);
    EXPECT_TRUE(t < s);
    EXPECT_FALSE(s == 4);
    EXPECT_EQ(mod(s, 4).value(), 2);
    ShapeEnv inner;
    const Int u = inner.symbol("u0", 7);
    {
      GuardScope nested(inner);
      EXPECT_EQ(static_cast<int64_t>(u), 7);
    }
    EXPECT_EQ(current_guard_env(), &env);
    EXPECT_EQ(inner.guards().size(), 1u);
  }
  EXPECT_EQ(current_guard_env(), nullptr);
  ASSERT_EQ(env.guards().size(), 3u);
  EXPECT_EQ(print(env.guards()[0].condition), "s0 == 4");
  EXPECT_FALSE(env.guards()[0].answer);
  EXPECT_EQ(print(env.guards()[1].condition), "s1 < s0");
  EXPECT_TRUE(env.guards()[1].answer);
  EXPECT_EQ(print(env.guards()[2].condition), "s0 % 4 == 2");
  EXPECT_THROW(env.symbol("s0", 3), UserError);
  EXPECT_THROW(env.symbol("s9", 1), UserError);
}

TEST(Shapes, HoldFewInsideAndManyOutside) {
  Shape a = {2, 3, 4};
  EXPECT_EQ(to_text(a), "[2, 3, 4]");
  EXPECT_TRUE(a.product().same(24));
  a.insert(0, 1);
  a.insert(4, 5);
  a.insert(2, 9);
  EXPECT_EQ(to_text(a), "[1, 2, 9, 3, 4, 5]");
  a.erase(2);
  a.erase(0);
  EXPECT_TRUE(a == Shape({2, 3, 4, 5}));
  for (int k = 0; k < 20; k++) a.push_back(k);
  Shape b = a, c = std::move(a);
  EXPECT_TRUE(b.same(c) && a.empty());
  a = std::move(c);
  c = b;
  EXPECT_TRUE(a.same(c));
  EXPECT_EQ(a.sub(0, 4).values(), (std::vector<int64_t>{2, 3, 4, 5}));
  Shape small = {1, 2}, moved = std::move(small);
  EXPECT_TRUE(moved.same(Shape({1, 2})) && small.empty());
  ShapeEnv env;
  const Int s = env.symbol("s0", 10);
  EXPECT_TRUE(Shape({s, 2}).is_symbolic());
  EXPECT_FALSE(Shape({s, 2}).same(Shape({s, 3})));
  EXPECT_FALSE(Shape({s, 2}) == Shape({s, 3}));
  EXPECT_EQ(to_text(Shape({s, 2 * s})), "[s0, 2*s0]");
}

}  // namespace
}  // namespace ingot
