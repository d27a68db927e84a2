// The functions that the build makes of the table of schemas (src/generate): there is one for every
// op, it is the op, and calls find the overload that PyTorch's would.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "ingot/ops.hpp"
#include "op/call.hpp"

namespace ingot {
namespace {

// What became of each schema: the function, and the method.
std::map<std::string, std::pair<std::string, std::string>> outcomes() {
  std::ifstream in(INGOT_FUNCTIONS_TSV);
  std::map<std::string, std::pair<std::string, std::string>> all;
  for (std::string line; std::getline(in, line);) {
    std::istringstream cells(line);
    std::string op, function, method;
    std::getline(cells, op, '\t');
    std::getline(cells, function, '\t');
    std::getline(cells, method, '\t');
    all[op] = {function, method};
  }
  return all;
}

std::string kind_of(const std::string& why) {
  for (const char* start : {"by hand", "the same call as", "a number of another", "no word for the type", "takes a"})
    if (why.starts_with(start)) return start;
  return why;
}

TEST(GeneratedOps, AreCounted) {
  std::map<std::string, int> functions, methods;
  for (const auto& [op, what] : outcomes()) functions[kind_of(what.first)]++, methods[kind_of(what.second)]++;
  const std::map<std::string, int> expected = {
      {"yes", 2992},
      {"by hand", 76},            // ingot.hpp has the same call, or one that says more
      {"the same call as", 39},   // another schema with the same arguments in C++
      {"a number of another", 1}, // argsort.stable: argsort(x, 1) would be ambiguous
      {"a name that C++ keeps for itself", 38},
      {"named dims", 111},
      {"no tensor or dtype among its arguments and results", 555},
      {"a conversion of TorchScript's", 15},
      {"any number of arguments", 1},
      {"no word for the type", 23},
      {"takes a", 1},
      {"not one of ATen's", 131},
  };
  EXPECT_EQ(functions, expected);
  const std::map<std::string, int> expected_methods = {
      {"yes", 958}, {"by hand", 48}, {"the same call as", 18}, {"a number of another", 1}, {"none", 2958}};
  EXPECT_EQ(methods, expected_methods);
}

// Ops with rules whose schemas are in the table all can be called as functions, but these.
TEST(GeneratedOps, EveryOpOfIngotHasAFunction) {
  const auto all = outcomes();
  std::map<std::string, std::string> without;
  int with = 0;
  for (const Op* o : all_ops()) {
    const auto it = all.find(o->qualified());
    if (it == all.end() || o->schema.ns != "aten") continue;
    const std::string why = kind_of(it->second.first);
    if (why == "yes" || why == "by hand" || why == "the same call as") with++;
    else without[o->name] = it->second.first;
  }
  EXPECT_GT(with, 1000);
  const std::string kept = "a name that C++ keeps for itself";
  const std::string no_tensor = "no tensor or dtype among its arguments and results";
  std::map<std::string, std::string> expected = {
      {"_assert_scalar", no_tensor},
      {"_print", no_tensor},
      {"argsort.stable", "a number of another argsort's would be its bool"},
      {"sym_constrain_range", no_tensor},
      {"sym_constrain_range_for_size", no_tensor},
      {"sym_is_contiguous", "no word for the type of its result"},
  };
  for (const char* op : {"and", "or", "xor", "lshift", "rshift"})
    for (const char* overload : {"Scalar", "Tensor"}) expected["__" + std::string(op) + "__." + overload] = kept;
  EXPECT_EQ(without, expected);
}

Tensor count(const Shape& sizes) { return arange(sizes.product()).to(float32).view(sizes); }
std::string text(const Tensor& t) { return t.to_string(); }

// The same numbers as the op called by name, over kinds of arguments and results.
TEST(GeneratedOps, AreCallsOfTheirOps) {
  const Tensor x = count({2, 3}), y = x + 1, square = count({2, 2}) + eye(2);
  const auto same = [](const Tensor& a, const Value& b) { EXPECT_EQ(text(a), text(b.tensor())); };
  same(addcmul(x, y, y, 0.5), aten_value<"addcmul">(x, y, y, 0.5));
  same(x.addcmul(y, y, 2), aten_value<"addcmul">(x, y, y, 2));
  same(logit(x / 6, 0.1), aten_value<"logit">(x / 6, 0.1));
  same(logit(x / 6 + 0.01), aten_value<"logit">(x / 6 + 0.01));
  same(nan_to_num(x / 0, 7.0), aten_value<"nan_to_num">(x / 0, 7.0));
  same(div(x, y, "floor"), aten_value<"div.Tensor_mode">(x, y, "floor"));
  same(x.div(2, "trunc"), aten_value<"div.Scalar_mode">(x, 2, "trunc"));
  same(std(x), aten_value<"std.correction">(x));
  same(std(x, 1), aten_value<"std.correction">(x, Shape{1}));
  same(std(x, {0, 1}, 0, true), aten_value<"std.correction">(x, Shape{0, 1}, 0, true));
  same(x.sum(0, false, float64), aten_value<"sum.dim_IntList">(x, Shape{0}, false, float64));
  same(roll(x, {1}, {0}), aten_value<"roll">(x, Shape{1}, Shape{0}));
  same(x.flip(1), aten_value<"flip">(x, Shape{1}));
  same(upsample_nearest2d(count({1, 1, 2, 2}), {4, 4}), aten_value<"upsample_nearest2d">(count({1, 1, 2, 2}), Shape{4, 4}));
  same(bucketize(x, tensor({1.0, 3.0})), aten_value<"bucketize.Tensor">(x, tensor({1.0, 3.0})));
  same(linalg_det(square), aten_value<"linalg_det">(square));
  same(square.inverse(), aten_value<"inverse">(square));
  same(cdist(x, y), aten_value<"cdist">(x, y));
  same(kl_div(x, y), aten_value<"kl_div">(x, y));
  same(unfold(x, 1, 2, 1), aten_value<"unfold">(x, 1, 2, 1));
  same(searchsorted(tensor({1.0, 3.0}), 2.0), aten_value<"searchsorted.Scalar">(tensor({1.0, 3.0}), 2.0));
  same(histc(x, 3), aten_value<"histc">(x, 3));
  same(x.to(float64, false, true), aten_value<"to.dtype">(x, float64, false, true));
  same(_softmax(x, 1, false), aten_value<"_softmax">(x, 1, false));

  const auto [values, indices] = x.max(1);
  EXPECT_EQ(text(values), text(atens<"max.dim">(x, 1)[0]));
  EXPECT_EQ(text(indices), text(atens<"max.dim">(x, 1)[1]));
  const auto [u, s, v] = svd(x);
  EXPECT_EQ(text(s), text(atens<"svd">(x)[1]));
  const auto [norm, mean, rstd] = native_layer_norm(x, {3}, {}, {}, 1e-5);
  EXPECT_EQ(text(mean), text(atens<"native_layer_norm">(x, Shape{3}, Value(), Value(), 1e-5)[1]));
  EXPECT_EQ(tensor_split(x, 3, 1).size(), 3u);
  EXPECT_EQ(tensor_split(x, {1, 2}, 1).size(), 3u);
  EXPECT_EQ(meshgrid({x[0], x[1]}).size(), 2u);
  EXPECT_TRUE(is_same_size(x, y));

  Tensor into = zeros({2, 3});
  EXPECT_TRUE(mul_out(into, x, y).is_same(into));
  EXPECT_EQ(text(into), text(x * y));
  EXPECT_TRUE(into.sigmoid_().is_same(into));
  EXPECT_TRUE(relu_(into).is_same(into));
}

// One call, one overload: by the type of what is given.
TEST(GeneratedOps, OverloadsAreFound) {
  const Tensor x = count({2, 3});
  const Tensor mask = x > 2;
  EXPECT_EQ(text(add(x, 1)), text(x + 1));
  EXPECT_EQ(text(add(x, x)), text(x * 2));
  EXPECT_EQ(text(x.add(1.5, 2)), text(x + 3));
  EXPECT_EQ(text(pow(x, 2)), text(x * x));
  EXPECT_EQ(text(pow(x, x * 0 + 2)), text(x * x));
  EXPECT_EQ(text(pow(2, x)), text(exp2(x)));
  EXPECT_EQ(text(clamp(x, tensor({1.0}), tensor({2.0}))), text(clamp(x, 1, 2)));
  EXPECT_EQ(text(clamp(x, {}, 2)), text(clamp_max(x, 2)));
  EXPECT_EQ(text(where(mask, 1, 0)), text(mask.to(int64)));
  EXPECT_EQ(text(x.masked_fill(mask, 0)), text(x.masked_fill(mask, tensor(0.0))));
  EXPECT_EQ(text(x.squeeze({0, 1})), text(x));
  EXPECT_EQ(text(any(mask, 0)), text(any(mask, {0}, false)));
  EXPECT_EQ(text(norm(x)), text(norm(x, 2, {0, 1})));
  EXPECT_EQ(text(x.eq(2)), text(x.eq(x * 0 + 2)));
  EXPECT_EQ(text(x.var(0)), text(x.var(0, 1)));
  EXPECT_EQ(text(var(x)), text(x.var()));
  EXPECT_EQ(text(normal(1.0, 0.0, {2})), text(ones(2)));
  EXPECT_EQ(text(x.view(int32).view(float32)), text(x));
  EXPECT_EQ(text(repeat_interleave(x[0], 2)), text(x[0].repeat_interleave(tensor({2, 2, 2}))));
  EXPECT_EQ(text(zeros({2}, int64)), text(zeros({2}, {.dtype = int64})));
}

TEST(GeneratedOps, WhatIngotHasNoRulesForSaysSo) {
  EXPECT_THROW(
      try { (void)_cudnn_init_dropout_state(0.5, true, 1); } catch (const std::exception& e) {
        EXPECT_NE(std::string(e.what()).find("unknown op '_cudnn_init_dropout_state'"), std::string::npos) << e.what();
        throw;
      },
      std::exception);
}

}  // namespace
}  // namespace ingot
