// The shape environment: what it answers, what it remembers, what it tells.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "expr/text.hpp"
#include "expr/evaluate.hpp"
#include "graph/interpret.hpp"
#include "graph/shape_env.hpp"
#include "graph/text.hpp"
#include "graph/trace.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "op/source_note.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"

namespace ingot {
namespace {

std::string guards_of(const ShapeEnv& env) {
  std::string all;
  for (const Guard& g : env.guards()) all += to_text(g) + "; ";
  return all;
}

TEST(ShapeEnvEqualities, PutOneForTheOther) {
  ShapeEnv env;
  const Int a = env.symbol("s0", 6), b = env.symbol("s1", 6), c = env.symbol("s2", 12);
  const GuardScope scope(env);
  EXPECT_TRUE(a == b);
  EXPECT_TRUE(2 * a == c);
  EXPECT_EQ(guards_of(env), "s0 == s1; s2 == 2*s0; ");
  // All that follows is answered without a guard.
  EXPECT_TRUE(b == a && c == a + b && a * c == 2 * b * b && mod(c, 2) == 0 && floor_div(c, 2) == a);
  EXPECT_FALSE(c == a);
  EXPECT_TRUE(c >= 4 && c > b);
  EXPECT_EQ(env.guards().size(), 2u);
  EXPECT_EQ(to_text(env.simplify(c + b)), "3*s0");
  EXPECT_EQ(to_text(env.simplify(Shape({b, c, 7}))), "[s0, 2*s0, 7]");
  EXPECT_FALSE(env.is_specialised("s0"));
}

TEST(ShapeEnvEqualities, OneNumberIsASpecialisation) {
  ShapeEnv env;
  const Int a = env.symbol("s0", 6), b = env.symbol("s1", 3);
  const GuardScope scope(env);
  EXPECT_TRUE(2 * b == 6);
  EXPECT_EQ(a.value(), 6);
  EXPECT_EQ(guards_of(env), "2*s1 == 6; s0 == 6; ");
  EXPECT_TRUE(env.is_specialised("s0") && env.is_specialised("s1"));
  EXPECT_EQ(b.value(), 3);
  EXPECT_TRUE(a > b && a == 2 * b);
  EXPECT_EQ(env.guards().size(), 2u);
}

TEST(ShapeEnvEqualities, RemaindersLetQuotientsCancel) {
  ShapeEnv env;
  const Int a = env.symbol("s0", 12), b = env.symbol("s1", 5);
  const GuardScope scope(env);
  EXPECT_TRUE(mod(a, 4) == 0);
  EXPECT_TRUE(4 * floor_div(a, 4) == a);
  EXPECT_TRUE(4 * b * floor_div(a, 4) == b * a);
  EXPECT_EQ(guards_of(env), "s0 % 4 == 0; ");
  EXPECT_EQ(to_text(env.simplify(4 * floor_div(a, 4) + 1)), "s0 + 1");
  EXPECT_EQ(to_text(env.simplify(3 * floor_div(b, 3))), "3*(s1 // 3)");  // nothing is known of this remainder
}

TEST(ShapeEnvRanges, GuardsNarrowThem) {
  ShapeEnv env;
  const Int a = env.symbol("s0", 10), b = env.symbol("s1", 8, 2, 64);
  const GuardScope scope(env);
  EXPECT_TRUE(a > 4);
  EXPECT_EQ(env.range(a.expr()), (Range{5, kUnbounded}));
  EXPECT_TRUE(a > 3 && a >= 5 && !(a == 4));
  EXPECT_TRUE(b < a);
  EXPECT_TRUE(b <= a && a - b >= 1 && !(a == b) && 2 * b < 2 * a);
  EXPECT_TRUE(2 * b <= 17);
  EXPECT_EQ(env.range(b.expr()), (Range{2, 8}));
  EXPECT_EQ(to_text(env.simplify(max(b, 9))), "9");
  EXPECT_FALSE(b == 2);
  EXPECT_TRUE(b >= 3);
  EXPECT_EQ(guards_of(env), "s0 > 4; s1 < s0; 2*s1 < 18; s1 != 2; ");
}

TEST(ShapeEnvKnown, NeverGuards) {
  ShapeEnv env;
  const Int a = env.symbol("s0", 10), b = env.symbol("s1", 10);
  const GuardScope scope(env);
  EXPECT_FALSE(statically_equal(a, b));
  EXPECT_EQ(env.known(eq(a.expr(), b.expr())), std::nullopt);
  EXPECT_TRUE(env.guards().empty());
  EXPECT_TRUE(a == b);
  EXPECT_TRUE(statically_equal(a, b));
  EXPECT_EQ(env.known(lt(a.expr(), b.expr())), false);
}

TEST(ShapeEnvData, DecidesNothing) {
  ShapeEnv env;
  const Int s = env.symbol("s0", 10);
  const GuardScope scope(env);
  const Int u = env.fresh_symbol(), v = env.fresh_symbol(std::numeric_limits<int64_t>::min(), kUnbounded, false);
  EXPECT_EQ(to_text(u), "u0");
  EXPECT_TRUE(u >= 0);
  const std::string text = error_of([&] { (void)(u > 5); });
  EXPECT_TRUE(
      text.starts_with("Could not guard on data-dependent expression u0 > 5 (unhinted: u0 > 5).  (Size-like symbols: u0)"))
      << text;
  EXPECT_NE(text.find("check(condition)"), std::string::npos) << text;
  EXPECT_NE(error_of([&] { (void)v.value(); }).find("Could not extract specialized integer from data-dependent expression u1"),
            std::string::npos);
  EXPECT_THROW((void)(u == 1), UserError);  // the program asks; the rules of an op may
  EXPECT_THROW((void)(u == s), UserError);
  EXPECT_TRUE(env.guards().empty());

  check(gt(u.expr(), 5));
  EXPECT_TRUE(u > 5 && !(u == 1));
  check(eq(v.expr(), s.expr() + 1));
  EXPECT_TRUE(v > s && v == s + 1);
  EXPECT_EQ(to_text(env.simplify(v)), "s0 + 1");
  EXPECT_TRUE(env.guards().empty());
  EXPECT_THROW(check(lt(u.expr(), 3)), UserError);
}

TEST(ShapeEnvData, OpsTakeSizesForMany) {
  ShapeEnv env;
  const GuardScope scope(env);
  const Tensor mask = make_tensor(Geometry::contiguous({5}, DType::b8), {}, true),
               x = make_tensor(Geometry::contiguous({5, 1}, DType::f32), {}, true);
  const Tensor index = aten<"nonzero">(mask);
  EXPECT_EQ(to_text(index.sizes()), "[u0, 1]");
  EXPECT_EQ(env.range(index.size(0).expr()), (Range{0, 5}));
  const Tensor sum = aten<"add.Tensor">(index, aten<"mul.Tensor">(index, 2));
  EXPECT_EQ(to_text(sum.sizes()), "[u0, 1]");
  EXPECT_EQ(to_text(aten<"view">(sum, Shape({-1})).sizes()), "[u0]");
  EXPECT_TRUE(env.guards().empty()) << guards_of(env);
  EXPECT_TRUE(env.deferred().empty());
  // u0 against 5: the op needs them to be equal, and a run checks it.
  EXPECT_EQ(to_text(aten<"add.Tensor">(index, x).sizes()), "[5, 1]");
  ASSERT_EQ(env.deferred().size(), 1u);
  EXPECT_EQ(to_text(env.deferred()[0].condition), "u0 == 5");
  EXPECT_NE(env.deferred()[0].message.find("aten::add.Tensor needs"), std::string::npos) << env.deferred()[0].message;
  EXPECT_TRUE(env.guards().empty()) << guards_of(env);
}

TEST(ShapeEnvData, ComputedSizesAreManyAndNumbersAreNot) {
  ShapeEnv env;
  const GuardScope scope(env);
  const Tensor x = make_tensor(Geometry::contiguous({8, 4}, DType::f32), {}, true);
  const Int u = env.fresh_symbol(Range::kMin, kUnbounded, false), v = env.fresh_symbol(Range::kMin, kUnbounded, false);
  const Tensor part = x.slice(0, u, v), rest = x.slice(0, v, std::nullopt);
  EXPECT_EQ(to_text((part * 2 + part).sizes()), to_text(part.sizes()));
  EXPECT_EQ(to_text(aten<"amax">(rest, Shape{0}).sizes()), "[4]");
  EXPECT_TRUE(env.deferred().empty() && env.guards().empty());
  // Without its first few such a size is many too, in any order of dimensions, and that it has
  // these few a run checks.
  const Tensor later = aten<"reshape">(part.slice(0, 2, std::nullopt), Shape{part.size(0) - 2, 2, 2});
  EXPECT_EQ(later.dim(), 3);
  const Tensor columns = aten<"reshape">(later.transpose(0, 2).contiguous().unsqueeze(3), Shape{2, 2, part.size(0) - 2});
  EXPECT_EQ(columns.dim(), 3);
  ASSERT_EQ(env.deferred().size(), 1u);
  for (const int64_t rows : {0, 1, 2, 5}) {
    const auto value = [&](const Expr& leaf) { return same(leaf, u.expr()) ? int64_t{0} : rows; };
    EXPECT_EQ(evaluate(env.deferred()[0].condition, value) != 0, rows >= 2) << rows;
  }
  EXPECT_TRUE(env.guards().empty());
  // Whether a number is one, or negative, nobody can say: neither an op nor the program.
  EXPECT_THROW((void)(u == 1), UserError);
  EXPECT_THROW(aten<"expand">(x.slice(0, 0, 1), Shape{u, 4}).view({-1, 2, 2, u}), UserError);
}

TEST(ShapeEnvData, RealNumbersAreSymbols) {
  ShapeEnv env;
  const GuardScope scope(env);
  const Tensor x = make_tensor(Geometry::contiguous({}, DType::f32), {}, true);
  const Scalar k = x.item();
  ASSERT_TRUE(k.is_float());
  EXPECT_EQ(to_text(k), "zuf0");
  EXPECT_THROW((void)k.to_double(), UserError);
  EXPECT_TRUE(k.to_int().is_symbolic());
  EXPECT_EQ((x * k).dtype(), DType::f32);
}

TEST(ShapeEnvText, SaysWhoAsked) {
  ShapeEnv env;
  const Int s = env.symbol("s0", 10, 2, kUnbounded, {1, 0}), t = env.symbol("s1", 10, 2, 100, {0, 2});
  const GuardScope scope(env);
  const Tensor a = make_tensor(Geometry::contiguous({s}, DType::f32), {}, true),
               b = make_tensor(Geometry::contiguous({t}, DType::f32), {}, true);
  {
    const SourceScope source(make_ref<SourceNote>("  File \"model.py\", line 12, in forward\n    return a + b\n", ""));
    aten<"add.Tensor">(a, b);
  }
  EXPECT_TRUE(s > 4);
  EXPECT_EQ(guards_of(env), "s0 == s1  # asked by aten::add.Tensor at model.py:12; s0 > 4; ");
  EXPECT_EQ(env.listing(),
            "s0 in [5, 100]  # size 0 of input 1\n"
            "s1 = s0  # size 2 of input 0\n"
            "s0 == s1  # asked by aten::add.Tensor at model.py:12\n"
            "s0 > 4\n");
  EXPECT_EQ(env.violation({{"s0", 7}, {"s1", 7}}), "");
  EXPECT_EQ(env.violation({{"s0", 7}, {"s1", 8}}),
            "the program was traced for s0 == s1  # asked by aten::add.Tensor at model.py:12\n"
            "found s0 = 7 (size 0 of input 1), s1 = 8 (size 2 of input 0)");
  EXPECT_EQ(env.violation({{"s0", 3}, {"s1", 3}}), "the program was traced for s0 > 4\nfound s0 = 3 (size 0 of input 1)");
  EXPECT_EQ(env.violation({{"s0", 101}, {"s1", 101}}), "s1 should be in [2, 100], found 101 for size 2 of input 0");
}

// ---- in a trace

class TracedShapes : public NoLeaks {};

TEST_F(TracedShapes, KeepWhatWasFoundEqual) {
  const Tensor a = ones({3, 4}), b = ones({5, 4});
  Traced t = trace(
      [](const TensorList& in) {
        return TensorList{in[0].t().matmul(in[0]) + in[1].t().matmul(in[1]) + in[0].slice(0, 0, 1).sum()};
      },
      {a, b}, {.open = {{0, 0, "a"}, {1, 0, "b"}, {0, 1, "c"}, {1, 1, "d"}}});
  EXPECT_EQ(t.sizes.guards().size(), 1u) << t.sizes.listing();
  EXPECT_EQ(to_text(t.graph.inputs()[1]->meta.tensor().sizes()), "[b, d]");
  for (const auto& n : t.graph.nodes()) {
    if (n->kind != NodeKind::call || !n->meta.is_tensor()) continue;
    for (const Int size : n->meta.tensor().sizes()) EXPECT_NE(to_text(size), "d") << n->name;
  }
  const Values run = Interpreter(t.graph).run(Values{ones({2, 7}), ones({6, 7})});
  EXPECT_EQ(to_text(run[0].tensor().sizes()), "[7, 7]");
  EXPECT_EQ(t.sizes.violation(Values{ones({2, 7}), ones({6, 7})}), "");
  EXPECT_NE(t.sizes.violation(Values{ones({2, 7}), ones({6, 8})}).find("c == d  # asked by aten::"), std::string::npos);
}

TEST_F(TracedShapes, MayBeDerived) {
  const std::vector<OpenSize> open = {{1, 0, "2*b"}, {0, 0, "b"}, {2, 0, "b // 2"}};
  const TensorFunction f = [](const TensorList& in) { return TensorList{in[0].add(in[1].view({-1, 2}).sum({1})), in[2] + 1}; };
  Traced t = trace(f, {ones({6}), ones({12}), ones({3})}, {.open = open});
  EXPECT_EQ(t.sizes.listing(), "b >= 2  # size 0 of input 0\n2*b  # size 0 of input 1\nb // 2  # size 0 of input 2\n");
  EXPECT_EQ(t.sizes.violation(Values{ones({5}), ones({10}), ones({2})}), "");
  EXPECT_EQ(t.sizes.violation(Values{ones({5}), ones({11}), ones({2})}), "size 0 of input 1 should be 2*b = 10, found 11");
  EXPECT_EQ(to_text(Interpreter(t.graph).run(Values{ones({5}), ones({10}), ones({2})})[0].tensor().sizes()), "[5]");
  EXPECT_NE(error_of([&] { trace(f, {ones({6}), ones({13}), ones({3})}, {.open = open}); }).find("is to be 2*b, which is 12"),
            std::string::npos);
  EXPECT_THROW(trace(f, {ones({6}), ones({12}), ones({3})}, {.open = {{1, 0, "2*b"}}}), UserError);
}

TEST_F(TracedShapes, IntegersAreInputs) {
  const TreeFunction f = [](const Tree& in) {
    const Tensor x = in[0].leaf().tensor();
    const Int n = in[1].leaf().to_int(), one = in[2].leaf().to_int();
    return Tree(Value(x.slice(0, 0, n) * Scalar(n) + Scalar(one)));
  };
  const Tree example = Tree::tuple({Tree(ones({6, 2})), Tree(Value(3)), Tree(Value(1))});
  Traced t = trace(f, example, {.with = TraceWith::symbols});
  EXPECT_EQ(t.graph.inputs()[1]->meta.to_int().is_symbolic(), true);
  EXPECT_TRUE(t.graph.inputs()[2]->meta.to_int().same(1));
  const Tensor got = Interpreter(t.graph).run(Values{ones({9, 2}), Value(4), Value(1)})[0].tensor();
  EXPECT_EQ(to_text(got.sizes()), "[4, 2]");
  EXPECT_EQ(got.to_vector<double>()[0], 5);
  EXPECT_EQ(t.sizes.violation(Values{ones({9, 2}), Value(4), Value(1)}), "") << t.sizes.listing();
  EXPECT_NE(t.sizes.violation(Values{ones({9, 2}), Value(40), Value(1)}), "");
}

TEST_F(TracedShapes, DataDecidesSizesWhileTheProgramRuns) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor index = aten<"nonzero">(in[0]).squeeze(1);
    const int64_t extra = 2;
    return TensorList{aten<"index_select">(in[1], 0, index).add(Tensor(in[2])),
                      aten<"full">(Shape({index.size(0) + extra}), 1.5)};
  };
  const Tensor mask = Tensor(ones({4})), table = ones({4, 3}), row = ones({3});
  Traced t = trace(f, {mask, table, row});
  const Values run = Interpreter(t.graph).run(Values{aten<"mul.Tensor">(mask, 0), table, row});
  EXPECT_EQ(to_text(run[0].tensor().sizes()), "[0, 3]");
  EXPECT_EQ(to_text(run[1].tensor().sizes()), "[2]");
  EXPECT_EQ(t.sizes.guards().size(), 0u);
}

TEST_F(TracedShapes, GradientsFlowThroughSizesOfData) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor x = in[0].detach().requires_grad_();
    const Tensor chosen = aten<"masked_select">(x, in[1]),
                 rows = aten<"index.Tensor">(x, TensorList{aten<"nonzero">(in[2]).squeeze(1)});
    return grad({(chosen * chosen).sum() + rows.softmax(1).pow(2).sum()}, {x});
  };
  const auto inputs = [](double above) {
    const Tensor x = aten<"arange">(12, DType::f64).view({4, 3}) / 7;
    return TensorList{x, aten<"gt.Scalar">(x, above), aten<"gt.Scalar">(x.select(1, 0), above)};
  };
  const Traced t = trace(f, inputs(0.5));
  EXPECT_EQ(t.sizes.guards().size(), 0u) << t.sizes.listing();
  for (const double above : {0.5, 1.2, 9.0}) {  // some, one row, none
    const TensorList in = inputs(above);
    EXPECT_EQ(Interpreter(t.graph).run(Values(in.begin(), in.end()))[0].tensor().to_vector<double>(),
              f(in)[0].to_vector<double>())
        << above;
  }
}

TEST_F(TracedShapes, AssertionsStayAndAreBelieved) {
  const TensorFunction f = [](const TensorList& in) {
    const Int n = in[0].item().to_int();
    check_is_size(n, 3, 10);
    check(le(n.expr(), in[1].size(0).expr()), "too long");
    return TensorList{in[1].narrow(0, 0, n)};
  };
  Traced t = trace(f, {aten<"full">(Shape({}), 4, DType::i64), ones({8})}, {.open = {{1, 0, "s"}}});
  EXPECT_EQ(t.sizes.guards().size(), 0u) << t.sizes.listing() << print(t.graph);
  const auto run = [&](int64_t n) {
    return Interpreter(t.graph).run(Values{aten<"full">(Shape({}), n, DType::i64), ones({9})})[0].tensor();
  };
  EXPECT_EQ(to_text(run(9).sizes()), "[9]");
  EXPECT_EQ(error_of([&] { run(10); }), "too long");
  EXPECT_THROW(run(2), UserError);
}

TEST_F(TracedShapes, ReadingATracedValueIsACall) {
  const TensorFunction branches = [](const TensorList& in) { return TensorList{in[0].item_int() > 3 ? in[1] : in[1] + 1}; };
  const Tensor n = aten<"full">(Shape({}), 4, DType::i64);
  const std::string fake = error_of([&] { trace(branches, {n, ones({2})}); });
  EXPECT_NE(fake.find("data-dependent expression"), std::string::npos) << fake;
  EXPECT_NE(fake.find("u0 was made by aten::_local_scalar_dense"), std::string::npos) << fake;
  const std::string data = error_of([&] { trace(branches, {n, ones({2})}, {.with = TraceWith::data}); });
  EXPECT_NE(data.find("_local_scalar_dense"), std::string::npos) << data;
}

}  // namespace
}  // namespace ingot
