// A193, A194 on operators that take functions: the reference's samples of map, simple, nested and
// nested twice, and of cond and while_loop, which have gradients here, and scan; PyTorch's programs
// with flex_attention.
#include <gtest/gtest.h>

#include <tuple>

#include "exhaustive/exhaustive_check.hpp"
#include "ingot/control_flow.hpp"
#include "op/call.hpp"
#include "support/flex_cases.hpp"

namespace ingot::aot {
namespace {

TensorList over_row(const TensorList& in) {
  return {in[0].cos().add_(1.0) * in[2], aten<"cos_">(in[1] + in[3].sin()).view(in[1].sizes())};
}
// A map over the rows of rows, `depth` deep. Arguments: two tensors to map over and two that every
// call gets.
TensorFunction nested_map(int depth) {
  return
      [depth](const TensorList& in) { return map(depth > 1 ? nested_map(depth - 1) : over_row, {in[0], in[1]}, {in[2], in[3]}); };
}
TensorList simple_cond(const TensorList& in) {
  return cond(
      in[0].sum() > 0, [](const TensorList& o) { return TensorList{o[0].cos() * o[1]}; },
      [](const TensorList& o) { return TensorList{o[0].sin() + o[1]}; }, in);
}
TensorList simple_scan(const TensorList& in) {
  const Scanned s = scan(
      [](const TensorList& row) {
        const Tensor next = row[0].sin() * row[1] + row[2];
        return TensorList{next, next * row[1]};
      },
      {in[0]}, {in[1]}, {in[2]});
  return {s.carried[0], s.stacked[0]};
}
TensorList simple_loop(const TensorList& in) {
  return while_loop([](const TensorList& c) { return TensorList{c[0].sum() < 100}; },
                    [](const TensorList& c) { return TensorList{c[0] * 2}; }, {in[0]});
}
// A bias for each head, of which the gradient is asked as well, and a causal mask.
TensorList simple_flex(const TensorList& in) {
  FlexOptions o;
  o.score_mod = [bias = in[3]](const Tensor& score, const Tensor&, const Tensor& head, const Tensor&, const Tensor&) {
    return score + aten<"index.Tensor">(bias, TensorList{head});
  };
  o.mask_mod = [](const Tensor&, const Tensor&, const Tensor& row, const Tensor& column) {
    return aten<"ge.Tensor">(row, column);
  };
  const FlexResult r = flex_attention(in[0], in[1], in[2], o);
  return {r.output, r.logsumexp};
}

CheckResult check(const TensorFunction& f, const std::vector<Shape>& sizes, const AotOptions& options) {
  const ExhaustiveSample sample{.f = f, .arguments = [&] {
                                  manual_seed(2);
                                  TensorList l;
                                  for (const Shape& s : sizes) l.push_back((rand(s) + 0.1).detach().requires_grad_());
                                  return l;
                                }};
  return ExhaustiveCheck(sample, options).run();
}

void check_higher_order(const AotOptions& options) {
  for (const int depth : {1, 2, 3})
    EXPECT_EQ(check(nested_map(depth), {{2, 3, 2, 2}, {2, 3, 2, 2}, {1}, {1}}, options).message, "")
        << "map " << depth << " deep";
  EXPECT_EQ(check(simple_cond, {{2, 2}, {2, 2}}, options).message, "");
  EXPECT_EQ(check(simple_scan, {{2}, {3, 2}, {1}}, options).message, "");
  EXPECT_EQ(check(simple_flex, {{2, 4, 5, 3}, {2, 2, 6, 3}, {2, 2, 6, 3}, {4}}, options).message, "");
  EXPECT_EQ(check(simple_loop, {{2, 2}}, options).message, "");
}

TEST(ExhaustiveHigherOrder, A193_X01_X06_Static) { check_higher_order(static_min_cut()); }
TEST(ExhaustiveHigherOrder, A194_X01_X06_Dynamic) { check_higher_order(dynamic_min_cut()); }

// Each program with respect to what PyTorch differentiates it for; X05 is asked of all of them.
void check_flex_attention(const AotOptions& options) {
  int compared = 0;
  for (const testing::FlexCase& c : testing::flex_cases(std::string(INGOT_TEST_DATA) + "/flex_attention")) {
    const Graph graph = c.graph();
    const ExhaustiveSample sample{.f = testing::interpreted(graph), .arguments = [&] {
                                    TensorList l;
                                    for (std::size_t k = 0; k < c.inputs.size(); k++)
                                      l.push_back(c.inputs[k].clone().requires_grad_(c.gradients[k].defined()));
                                    return l;
                                  }};
    const CheckResult r = ExhaustiveCheck(sample, options).run();
    EXPECT_EQ(r.message, "") << c.name;
    EXPECT_EQ(r.partly, "") << c.name;
    compared += r.outcome == CheckResult::Outcome::passed;
  }
  EXPECT_EQ(compared, 19);
}

TEST(ExhaustiveHigherOrder, A193_X01_X06_FlexAttentionStatic) { check_flex_attention(static_min_cut()); }
TEST(ExhaustiveHigherOrder, A194_X01_X06_FlexAttentionDynamic) { check_flex_attention(dynamic_min_cut()); }

// With open sizes one compilation is for all lengths and batches. Those of the first call differ
// from each other: of equal ones the compilation assumes that they stay equal.
TEST(ExhaustiveHigherOrder, A194_X01_FlexAttentionOfOtherSizes) {
  AotOptions options = dynamic_min_cut();
  options.debug_assert = false;  // which is in the place of guards
  const AotFunction compiled = aot_function(TensorFunction(simple_flex), options);
  const auto results = [](const TensorFunction& f, int64_t batch, int64_t rows, int64_t columns) {
    manual_seed(3);
    TensorList in;
    for (const Shape& size : {Shape{batch, 4, rows, 7}, Shape{batch, 2, columns, 7}, Shape{batch, 2, columns, 7}, Shape{4}})
      in.push_back(randn(size).requires_grad_());
    TensorList all = f(in);
    for (const Tensor& g : grad({all[0].sum() + all[1].sum()}, in)) all.push_back(g);
    return all;
  };
  for (const auto& [batch, rows, columns] : {std::tuple{3, 5, 6}, std::tuple{2, 8, 7}, std::tuple{4, 2, 9}}) {
    const TensorList want = results(simple_flex, batch, rows, columns),
                     found = results([&](const TensorList& in) { return compiled(in); }, batch, rows, columns);
    ASSERT_EQ(found.size(), want.size());
    for (std::size_t k = 0; k < want.size(); k++)
      EXPECT_EQ(compare(found[k].detach(), want[k].detach(), tolerance_for(DType::f32, false, {}, {})).message, "")
          << k << " of " << batch << ", " << rows << ", " << columns;
  }
  EXPECT_EQ(compiled.variants(), 1);
}

}  // namespace
}  // namespace ingot::aot
