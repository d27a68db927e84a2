// Inputs on one storage, and which of them overlap: A089 of the dispatch specification, and R083.
#include "aot/synthetic_base.hpp"
#include "support/aot_harness.hpp"

namespace ingot::aot {
namespace {

using AotOverlap = AotHarness;

Tensor ones_of(const Shape& sizes, bool rg) { return rg ? ones(sizes).requires_grad_() : ones(sizes); }

// A function that writes both, and the two as views of one tensor: apart they are inputs of their
// own, else one base.
TensorList scale_both(const TensorList& in) {
  Tensor(in[0]).mul_(3);
  Tensor(in[1]).mul_(2);
  const Tensor first = in[0].clone().view({-1});
  return {first + in[1].clone().view({-1})};
}
struct TwoViews {
  const char* name;
  Shape base;
  TensorList (*of)(const Tensor& x);
};
TensorList strided_by(const Tensor& x, int64_t row, int64_t offset) {
  return {x.as_strided({4, 4}, {row, 1}, 0), x.as_strided({4, 4}, {row, 1}, offset)};
}
Tensor spread(const Tensor& x) { return x.as_strided({2, 4, 3}, {110, 24, 4}, 5); }  // its last element is at 195
const TwoViews kApart[] = {
    {"rows", {4, 4}, [](const Tensor& x) { return TensorList{x.slice(0, 0, 2), x.slice(0, 2, 4)}; }},
    {"rows by 8", {256}, [](const Tensor& x) { return strided_by(x, 8, 28); }},
    {"columns", {4, 4}, [](const Tensor& x) { return TensorList{x.slice(1, 0, 2), x.slice(1, 2, 4)}; }},
    {"rows by 9, from 22", {256}, [](const Tensor& x) { return strided_by(x, 9, 22); }},
    {"rows by 9, from 23", {256}, [](const Tensor& x) { return strided_by(x, 9, 23); }},
    {"behind the last element", {256}, [](const Tensor& x) { return TensorList{spread(x), x.slice(0, 196, 196 + 24)}; }}};
const TwoViews kOverlapping[] = {
    {"rows by 9, from 24", {256}, [](const Tensor& x) { return strided_by(x, 9, 24); }},
    {"rows by 9, from 25", {256}, [](const Tensor& x) { return strided_by(x, 9, 25); }},
    {"at the last element", {256}, [](const Tensor& x) { return TensorList{spread(x), x.slice(0, 195, 195 + 24)}; }}};

TEST_F(AotOverlap, A089_WrittenViewsOfOneTensor) {
  const auto factory = [](const TwoViews& v, bool rg) -> Factory {
    return [&v, rg] {
      const Tensor base = ones_of(v.base, rg);
      return Made{{base}, v.of(base + 1)};
    };
  };
  for (const TwoViews& v : kApart) {
    SCOPED_TRACE(v.name);
    EXPECT_EQ(verify(scale_both, factory(v, false), {.mut = true}), R"(def forward(self, arg0_1, arg1_1):
    mul = torch.ops.aten.mul.Tensor(arg0_1, 3);  arg0_1 = None
    mul_1 = torch.ops.aten.mul.Tensor(arg1_1, 2);  arg1_1 = None
    clone = torch.ops.aten.clone.default(mul)
    view = torch.ops.aten.view.default(clone, [-1]);  clone = None
    clone_1 = torch.ops.aten.clone.default(mul_1)
    view_1 = torch.ops.aten.view.default(clone_1, [-1]);  clone_1 = None
    add = torch.ops.aten.add.Tensor(view, view_1);  view = view_1 = None
    return (mul, mul_1, add)
)");
    verify(scale_both, factory(v, true), {.mut = true});
  }
  for (const TwoViews& v : kOverlapping) {
    SCOPED_TRACE(v.name);
    const std::string graph = verify(scale_both, factory(v, false), {.mut = true});
    EXPECT_NE(graph.find("as_strided_scatter"), std::string::npos) << graph;
    verify(scale_both, factory(v, true), {.mut = true});
  }
}

TEST_F(AotOverlap, R083_A089_InputsThatDoNotOverlap) {
  const Tensor x = ones({256}), square = ones({4, 4});
  const auto strided = [&](const Shape& strides, int64_t offset) { return x.as_strided({4, 4}, strides, offset); };
  EXPECT_TRUE(definitely_apart(square.slice(0, 0, 2), square.slice(0, 2, 4)));
  EXPECT_TRUE(definitely_apart(square.slice(1, 0, 2), square.slice(1, 2, 4)));
  EXPECT_TRUE(definitely_apart(strided({8, 1}, 0), strided({8, 1}, 28)));
  EXPECT_TRUE(definitely_apart(strided({9, 1}, 0), strided({9, 1}, 22)));
  EXPECT_TRUE(definitely_apart(strided({9, 1}, 0), strided({9, 1}, 23)));
  EXPECT_FALSE(definitely_apart(strided({9, 1}, 0), strided({9, 1}, 24)));
  EXPECT_FALSE(definitely_apart(strided({9, 1}, 25), strided({9, 1}, 0)));
  const Tensor last = x.as_strided({2, 4, 3}, {110, 24, 4}, 5);
  EXPECT_TRUE(definitely_apart(last, x.slice(0, 196, 220)));
  EXPECT_FALSE(definitely_apart(last, x.slice(0, 195, 219)));
  EXPECT_TRUE(definitely_apart(x.slice(0, 3, 3), x)) << "it has no elements";
  EXPECT_FALSE(definitely_apart(x, x));
}

// Arguments that lie apart are values of their own, and what refers to the storage could see both.
TEST_F(AotOverlap, R083_AViewOfWhatAnotherArgumentWrites) {
  const auto f = [](const TensorList& in) {
    Tensor(in[1]).mul_(2);
    return TensorList{aten<"as_strided">(in[0], Shape{2}, Shape{1}, 1)};
  };
  const auto halves = [] {
    const Tensor whole = tensor({1., 2, 3, 4});
    return TensorList{aten<"slice.Tensor">(whole, 0, 0, 2, 1), aten<"slice.Tensor">(whole, 0, 2, 4, 1)};
  };
  EXPECT_NE(error_of([&] { aot_function(f)(halves()); }).find("another argument has them, which the function writes"),
            std::string::npos);
  const auto within = [](const TensorList& in) {
    Tensor(in[1]).mul_(2);
    return TensorList{aten<"as_strided">(in[0], Shape{1}, Shape{1}, 1)};
  };
  EXPECT_EQ(aot_function(within)(halves())[0].to_vector<double>(), std::vector<double>({2}));
}

}  // namespace
}  // namespace ingot::aot
