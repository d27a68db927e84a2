// Calls as text with holes: what compiled code hands to ingot_eager_call.
#include <gtest/gtest.h>

#include <limits>

#include "ingot/expr.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "op/call_text.hpp"
#include "support/error_text.hpp"
#include "support/graph_fixture.hpp"

namespace ingot {
namespace {

// All arguments, the defaults too, as a rule would see them.
CallText written(std::string_view op_name, Values args) {
  const Op& o = op(op_name);
  for (std::size_t i = args.size(); i < o.schema.args.size(); i++) args.push_back(o.schema.args[i].default_value);
  return text_of({o, args});
}
Values read_back(const CallText& t, const std::vector<int64_t>& integers = {}) {
  return ParsedCall(t.text, find_op).arguments(t.tensors, integers);
}

TEST(CallText, TensorsAndOpenSizesAreHoles) {
  const Int s0(Expr::symbol("s0", 2, 1000));
  const Tensor x = fake({s0, 4});
  const CallText t = written("topk", {x, s0, -1, true, true});
  EXPECT_EQ(t.text, "aten.topk.default(%0, #0)");
  EXPECT_TRUE(t.tensors.at(0).is_same(x));
  EXPECT_TRUE(t.integers.at(0).same(Value(s0)));
  const Values args = read_back(t, {17});
  ASSERT_EQ(args.size(), 5u);
  EXPECT_EQ(args[1].to_int64(), 17);
  EXPECT_EQ(args[2].to_int64(), -1);

  const CallText view = written("view", {x, Shape{s0 * 2, 2, s0, s0 * 2}});
  EXPECT_EQ(view.text, "aten.view.default(%0, [#0, 2, #1, #0])");
  EXPECT_EQ(to_text(read_back(view, {10, 5})[1]), "[10, 2, 5, 10]");
}

TEST(CallText, OneTensorIsOneHole) {
  const Tensor x = fake({2}), y = fake({2});
  const CallText t = written("cat", {TensorList{x, y, x}, 0});
  EXPECT_EQ(t.text, "aten.cat.default([%0, %1, %0])");
  EXPECT_EQ(t.tensors.size(), 2u);
  EXPECT_TRUE(read_back(t)[0].tensors().at(2).is_same(x));
}

TEST(CallText, EveryKindOfConstantReadsBack) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor x = fake({2, 3});
  const std::pair<const char*, Values> calls[] = {
      {"index.Tensor", {x, TensorList{Tensor(), fake({2}, int64)}}},
      {"full", {Shape{2, 3}, -inf, DType::bf16, Layout::strided, Device{}, false}},
      {"full", {Shape{}, std::complex<double>(inf, -0.5), DType::c64}},
      {"full", {Shape{}, std::numeric_limits<double>::quiet_NaN()}},
      {"clone", {x, MemoryFormat::channels_last}},
      {"div.Tensor_mode", {x, x, "floor"}},
      {"upsample_bilinear2d.vec", {x, Value(), true, std::vector<double>{1.5, 2}}},
      {"convolution_backward",
       {x, x, x, Value(), Shape{1}, Shape{0}, Shape{1}, false, Shape{0}, 1, std::vector<bool>{true, false, true}}},
      {"mul.Scalar", {x, std::complex<double>(1, -2.5)}},
      {"slice.Tensor", {x, 1, Value(), std::numeric_limits<int64_t>::max(), 1}},
      {"einsum", {"ij,jk->ik", TensorList{x, x}}},
  };
  for (const auto& [name, args] : calls) {
    const CallText t = written(name, args);
    const ParsedCall parsed(t.text, find_op);
    EXPECT_EQ(&parsed.op(), &op(name)) << t.text;
    const Values back = read_back(t);
    for (std::size_t i = 0; i < args.size(); i++) {
      const bool tensors = args[i].is_tensors() || args[i].is_tensor();
      EXPECT_TRUE(tensors ? to_text(back[i]) == to_text(args[i]) : back[i].same(args[i])) << t.text << ": " << to_text(back[i]);
    }
  }
}

TEST(CallText, WhatFollowsTheArgumentsOfTheSchema) {
  const Int s0(Expr::symbol("s0", 2, 1000));
  const Tensor x = fake({s0, 4}), y = fake({2});
  const CallText t = written("higher_order::auto_functionalized_v2",
                             {"mine::bump", Values{"by", "_x_base_index", "_all_bases"}, s0, Value(), TensorList{x, y}});
  EXPECT_EQ(
      t.text,
      "higher_order.auto_functionalized_v2.default('mine::bump', ['by', '_x_base_index', '_all_bases'], #0, None, [%0, %1])");
  const Values args = read_back(t, {17});
  ASSERT_EQ(args.size(), 5u);
  EXPECT_EQ(args[0].string(), "mine::bump");
  EXPECT_EQ(list_elements(args[1]).at(2).string(), "_all_bases");
  EXPECT_EQ(args[2].to_int64(), 17);
  EXPECT_TRUE(args[3].is_none());
  EXPECT_TRUE(args[4].tensors().at(1).is_same(y));
}

TEST(CallText, WritesAreCallsOfTheFunctionalOp) {
  const Tensor x = fake({2}), y = fake({2});
  EXPECT_EQ(written("add_.Tensor", {x, y, 2}).text, "aten.add.Tensor(%0, %1, alpha = 2)");
  const Op& out = op("add.out");
  const Values args{x, y, 1, fake({2})};
  const CallText t = text_of({out, args});
  EXPECT_EQ(t.text, "aten.add.Tensor(%0, %1)");
  EXPECT_EQ(t.op, &op("add.Tensor"));
  EXPECT_EQ(t.tensors.size(), 2u);
}

TEST(CallText, WhatIsNoCallIsRefused) {
  const auto refusal = [](const char* text) { return error_of([&] { ParsedCall(text, find_op); }); };
  EXPECT_NE(refusal("").find("there is no op ''"), std::string::npos);
  EXPECT_NE(refusal("aten.no_such.default()").find("there is no op 'aten.no_such.default' here"), std::string::npos);
  EXPECT_NE(refusal("aten.mm.default(%0, %1").find("expected ',' or ')'"), std::string::npos);
  EXPECT_NE(refusal("aten.mm.default(%0)").find("argument 'mat2' is missing"), std::string::npos);
  EXPECT_NE(refusal("aten.mm.default(%0, %1, %2)").find("an argument too many"), std::string::npos);
  EXPECT_NE(refusal("aten.mm.default(%0, mat3 = %1)").find("there is no such argument"), std::string::npos);
  EXPECT_NE(refusal("aten.mm.default(%0, %x)").find("expected a number"), std::string::npos);
  EXPECT_NE(refusal("aten.mm.default(%0, %-1)").find("expected the number of a tensor"), std::string::npos);
  EXPECT_NE(refusal("aten.mm.default(%0, %1) # more\n, x").find("no error"), std::string::npos);
  EXPECT_NE(refusal("aten.mm.default(%0, %1), 3").find("expected the end of the line"), std::string::npos);
  EXPECT_NE(refusal("aten.cat.default([[[[[[[[[[%0]]]]]]]]]])").find("nest deeper"), std::string::npos);
}

}  // namespace
}  // namespace ingot
