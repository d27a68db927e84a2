// A193, A194 on operators that take functions: the reference's samples of map, simple, nested and nested twice, and of cond, which has
// gradients here, and scan. while_loop has none, and says so (X06).
#include <gtest/gtest.h>

#include "exhaustive/exhaustive_check.hpp"
#include "ingot/control_flow.hpp"
#include "op/call.hpp"

namespace ingot::aot {
namespace {

TensorList over_row(const TensorList& in) {
  return {in[0].cos().add_(1.0) * in[2], aten<"cos_">(in[1] + in[3].sin()).view(in[1].sizes())};
}
// A map over the rows of rows, `depth` deep. Arguments: two tensors to map over and two that every call gets.
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
  EXPECT_EQ(check(simple_loop, {{2, 2}}, options).message, "derivative for higher_order::while_loop is not implemented");
}

TEST(ExhaustiveHigherOrder, A193_X01_X06_Static) { check_higher_order(static_min_cut()); }
TEST(ExhaustiveHigherOrder, A194_X01_X06_Dynamic) { check_higher_order(dynamic_min_cut()); }

}  // namespace
}  // namespace ingot::aot
