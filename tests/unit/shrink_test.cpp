// What is shown of a random program that differs: the smallest one that still does. "Differs"
// stands here for "calls a certain op", which can be seen at a glance.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "support/random_program.hpp"

namespace ingot::testing {
namespace {

using Fails = std::function<bool(const Program&)>;

Fails calls_op(const std::string& op) {
  return [op](const Program& p) { return std::ranges::any_of(p.body, [&](const Step& s) { return s.op == op; }); };
}

bool is_run(const Program& p) {
  try {
    manual_seed(p.seed);
    run(p, make_inputs(p).inputs);
  } catch (const UserError&) {
    return false;
  }
  return true;
}

// The number of values after the inputs, and after each call.
std::vector<int> values_after(const Program& p) {
  manual_seed(p.seed);
  TensorList pool = make_inputs(p).inputs;
  std::vector<int> after{static_cast<int>(pool.size())};
  for (const Step& s : p.body) {
    execute(s, pool);
    after.push_back(static_cast<int>(pool.size()));
  }
  return after;
}

bool reads(const Step& s, int first, int last) {
  const auto is_one = [&](int k) { return k >= first && k < last; };
  return is_one(s.out) || std::ranges::any_of(s.args, [&](const StepArg& a) {
           return std::ranges::any_of(a.tensors, is_one) ||
                  std::ranges::any_of(a.sizes, [&](const SizeArg& e) { return is_one(e.tensor); });
         });
}
// Whether a result, or a call from that place on, is made of one of the values first … last - 1.
bool is_read(const Program& p, std::size_t from, int first, int last) {
  return std::ranges::any_of(p.outputs, [&](int k) { return k >= first && k < last; }) ||
         std::any_of(p.body.begin() + static_cast<std::ptrdiff_t>(from), p.body.end(),
                     [&](const Step& s) { return reads(s, first, last); });
}
// Without call i, whose values first … last - 1 nobody reads.
Program without_unread(Program p, std::size_t i, int first, int last) {
  p.body.erase(p.body.begin() + static_cast<std::ptrdiff_t>(i));
  const auto renumber = [&](int& k) { k -= k >= last ? last - first : 0; };
  for (Step& s : p.body) {
    renumber(s.out);
    for (StepArg& a : s.args) {
      std::ranges::for_each(a.tensors, renumber);
      for (SizeArg& e : a.sizes) renumber(e.tensor);
    }
  }
  std::ranges::for_each(p.outputs, renumber);
  return p;
}

// Nothing about the inputs can be simpler, but what the program does not run without: dims of one
// element, float32, no gradients, no views, one setting of open sizes.
void expect_simple_inputs(const Program& p) {
  EXPECT_FALSE(p.wrapped);
  EXPECT_EQ(p.settings.size(), 1u);
  const auto expect_refused = [&](const std::string& what, const std::function<void(Program&)>& simplify) {
    Program q = p;
    simplify(q);
    EXPECT_FALSE(is_run(q)) << what << " could be simpler";
  };
  for (std::size_t i = 0; i < p.inputs.size(); i++) {
    if (p.inputs.size() > 1) {
      EXPECT_TRUE(is_read(p, 0, static_cast<int>(i), static_cast<int>(i) + 1)) << "input " << i << " could go";
    }
    if (!p.inputs[i].views.empty()) expect_refused(text("input ", i), [i](Program& q) { q.inputs[i].views.pop_back(); });
  }
  for (std::size_t b = 0; b < p.bases.size(); b++) {
    const Base& base = p.bases[b];
    EXPECT_FALSE(base.requires_grad) << "base " << b;
    if (is_differentiable(base.dtype) && base.dtype != DType::f32)
      expect_refused(text("the type of base ", b), [b](Program& q) { q.bases[b].dtype = DType::f32; });
    for (std::size_t d = 0; d < base.sizes.size(); d++)
      if (base.sizes[d] > 1)
        expect_refused(text("dim ", d, " of base ", b),
                       [b, d](Program& q) { q.bases[b].sizes[d] = (q.bases[b].sizes[d] + 1) / 2; });
  }
}

// cumsum of an input, as the last call of a program of any family and the first of its results:
// whatever else it does goes.
TEST(Shrink, OneCallOfOneInputIsLeft) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    Program p = wide_program(seed);
    const std::vector<int> values = values_after(p);
    p.body.push_back(Step::of("cumsum", {static_cast<int>(seed) % values[0]}, {0}));
    p.outputs.insert(p.outputs.begin(), values.back());
    ASSERT_TRUE(is_run(p)) << "seed " << seed << "\n" << to_text(p);
    const Program small = shrink(p, calls_op("cumsum"));
    SCOPED_TRACE(text("seed ", seed, "\n", to_text(small)));
    ASSERT_EQ(small.body.size(), 1u);
    EXPECT_EQ(small.body[0].op, "cumsum");
    EXPECT_EQ(small.inputs.size(), 1u);
    EXPECT_TRUE(small.inputs[0].views.empty());
    EXPECT_EQ(small.outputs, std::vector<int>{1});
    EXPECT_FALSE(small.wrapped);
    for (const Base& base : small.bases) {
      for (const int64_t n : base.sizes) EXPECT_LE(n, 1);
      EXPECT_FALSE(base.requires_grad);
      if (is_differentiable(base.dtype)) {
        EXPECT_EQ(base.dtype, DType::f32);
      }
    }
    EXPECT_EQ(values_after(small), (std::vector<int>{1, 2}));
  }
}

// The last call of a program, with whatever that needs: of what is left nothing can go.
TEST(Shrink, NothingThatIsLeftCanGo) {
  for (const bool open : {false, true}) {
    for (uint64_t seed = 1; seed <= 20; seed++) {
      const Program p = wide_program(seed, {.open = open});
      if (p.body.empty()) continue;
      const std::string op = p.body.back().op;
      const Fails fails = calls_op(op);
      const Program small = shrink(p, fails);
      SCOPED_TRACE(text("seed ", seed, open ? ", open sizes, " : ", ", op, "\n", to_text(small)));
      EXPECT_TRUE(fails(small));
      EXPECT_EQ(small.outputs.size(), 1u);
      EXPECT_LE(small.body.size(), p.body.size());
      ASSERT_TRUE(is_run(small));
      const std::vector<int> values = values_after(small);
      const auto count = std::ranges::count_if(small.body, [&](const Step& s) { return s.op == op; });
      for (std::size_t i = 0; i < small.body.size(); i++) {
        const Step& s = small.body[i];
        EXPECT_FALSE(s.no_grad) << s.op;
        if ((s.op == op && count == 1) || is_read(small, i + 1, values[i], values[i + 1])) continue;
        // Nobody reads it, and it is not what is looked for, or not the only one of it: it is there
        // because the program does not run without it.
        EXPECT_FALSE(is_run(without_unread(small, i, values[i], values[i + 1]))) << "call " << i << ", " << s.op << ", could go";
      }
      expect_simple_inputs(small);
    }
  }
}

Program of_two_inputs() {
  Program p;
  p.seed = 1;
  p.grid = false;
  p.bases = {{.sizes = {8, 8}, .dtype = DType::f64, .requires_grad = true}, {.sizes = {3}}};
  p.inputs = {{0, {}}, {1, {}}};
  p.body = {Step::of("sin", {0}), Step::of("exp", {1}), Step::of("mul_.Scalar", {1}, {2}), Step::of("cumsum", {2}, {0}),
            Step::of("neg", {3})};
  p.outputs = {4, 5, 3};
  return p;
}

// Calls that make what is left stay, and are numbered anew.
TEST(Shrink, WhatIsNeededStays) {
  const Program small = shrink(of_two_inputs(), calls_op("cumsum"));
  ASSERT_EQ(small.body.size(), 2u) << to_text(small);
  EXPECT_EQ(small.body[0].op, "sin");
  EXPECT_EQ(small.body[0].args[0].tensors, std::vector<int>{0});
  EXPECT_EQ(small.body[1].op, "cumsum");
  EXPECT_EQ(small.body[1].args[0].tensors, std::vector<int>{1});
  EXPECT_EQ(small.outputs, std::vector<int>{2});
  EXPECT_EQ(small.inputs.size(), 1u);
  EXPECT_EQ(small.bases[0].sizes, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(small.bases[0].dtype, DType::f32);
  EXPECT_FALSE(small.bases[0].requires_grad);
}

// Sizes and types stay where the program would be another matter without them.
TEST(Shrink, StopsWhereItNoLongerFails) {
  const auto is_large = [](const Program& p) { return p.bases[0].sizes[0] * p.bases[0].sizes[1] >= 6; };
  const Program small = shrink(of_two_inputs(), [&](const Program& p) { return is_large(p) && p.bases[0].dtype == DType::f64; });
  EXPECT_EQ(small.bases[0].sizes, (std::vector<int64_t>{1, 8}));
  EXPECT_EQ(small.bases[0].dtype, DType::f64);
  EXPECT_FALSE(small.bases[0].requires_grad);
  EXPECT_EQ(small.bases[1].sizes, std::vector<int64_t>{1});
}

// A program that eager refuses is shown as it is: to leave calls out it has to be run.
TEST(Shrink, AProgramThatDoesNotRunStays) {
  Program p = of_two_inputs();
  p.body.push_back(Step::of("mm", {0, 1}));
  const std::string before = to_text(p);
  EXPECT_EQ(to_text(shrink(p, [](const Program&) { return true; })), before);
}

}  // namespace
}  // namespace ingot::testing
