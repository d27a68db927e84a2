// Small programs that random ones were made of when compiled functions differed from eager.
#include "aot/min_cut.hpp"
#include "ingot/control_flow.hpp"
#include "ingot/decompositions.hpp"
#include "ingot/transforms.hpp"
#include "support/aot_harness.hpp"

namespace ingot::aot {
namespace {

using testing::two;

class AotFound : public AotHarness {};

// The graph writes the inner tensors; the caller's wrapper was written (PyTorch counts it, too).
TEST_F(AotFound, AWriteInTheGraphIsAWriteOfTheWrapper) {
  for (const bool keep : {false, true}) {
    const AotFunction f = aot_function(TensorFunction([](const TensorList& in) {
                                         Tensor t = in[0];
                                         t.mul_(Scalar(2));
                                         return TensorList{t + 1};
                                       }),
                                       {.keep_inference_input_mutations = keep});
    const Tensor x = two({1, 2}, {2});
    const uint32_t before = x.version();
    f(TensorList{x});
    EXPECT_EQ(x.version(), before + 1) << (keep ? "keep" : "");
    expect_same(two({2, 4}, {2}), x, "input");
  }
}

// Both results are views of clones that are equal, which no schema says of _unsafe_view: merged, a
// write to one would be seen in the other.
TEST_F(AotFound, ResultsOnEqualClonesStayApart) {
  const AotFunction f = aot_function(TensorFunction([](const TensorList& in) {
                                       const Tensor x = in[0].transpose(0, 1);
                                       return TensorList{aten<"unfold">(aten<"flatten.using_ints">(x, 0, 1), 0, 2, 2),
                                                         aten<"reshape">(x, Shape{-1})};
                                     }),
                                     {.partition = [](const Joint& j) { return partition_min_cut(j); }});
  const TensorList r = f(TensorList{aten<"arange">(4, DType::f32).view({2, 2, 1}).requires_grad_()});
  const NoGrad no_grad;
  r[0].detach().add_(Scalar(10));
  EXPECT_EQ(r[1].to_vector<double>(), (std::vector<double>{0, 2, 1, 3}));
}

// … so do a view of one and what stands in for a lazy conj of the other: a write to the view would
// make that out of date.
TEST_F(AotFound, AResultOnOneOfTwoEqualsAndAConjOfTheOtherStayApart) {
  const AotFunction f = aot_function(TensorFunction([](const TensorList& in) {
                                       const Tensor one = in[0] * 2, other = in[0] * 2;
                                       return TensorList{one.view({-1}), aten<"_conj">(other)};
                                     }),
                                     {.partition = [](const Joint& j) { return partition_min_cut(j); }});
  const TensorList r = f(TensorList{aten<"ones">(Shape{1, 2}, DType::c64).requires_grad_()});
  const NoGrad no_grad;
  r[0].detach().add_(Scalar(10));
  EXPECT_EQ(aten<"real">(r[1].detach()).to_vector<double>(), (std::vector<double>{2, 2}));
}

// A result lies as it does in the program as written: what was written through an expanded view
// comes back in another order.
TEST_F(AotFound, AViewOfWhatWasReadAfterAWriteLiesAsItWasWritten) {
  const TensorFunction f = [](const TensorList& in) {
    Tensor s = in[0].expand({2, 3, 3}).select(0, 0);
    aten_value<"sin_">(s);
    Tensor n = s.neg();
    aten_value<"unsqueeze_">(n, 0);
    return TensorList{n.unbind(2)[2]};
  };
  std::string graph;
  const AotFunction compiled = aot_function(f, {.forward = capture(graph)});
  const Tensor x = aten<"arange">(9, DType::f32).view({3, 3});
  EXPECT_EQ(to_text(compiled(TensorList{x.clone().t()})[0].strides()), to_text(f({x.clone().t()})[0].strides())) << graph;
}

// A copy that keeps the strides of a part of something lies as that does, also when it was written.
TEST_F(AotFound, AWrittenResultWithGapsHasThemStill) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor part = in[0].as_strided({2}, {2}, 1), r = aten<"select_scatter">(part, part.select(0, 0), 0, 0);
    aten_value<"mul_.Scalar">(r, 3);
    return TensorList{r};
  };
  const auto seen = [](const TensorFunction& g) {
    const Tensor r = g({aten<"arange">(4, DType::f32)})[0];
    return to_text(r.strides()) + to_text(Value(r.to_vector<double>()));
  };
  EXPECT_EQ(seen([&](const TensorList& in) { return aot_function(f, {})(in); }), seen(f));
  EXPECT_EQ(seen(functionalize(f)), seen(f));
}

// An op that returns row-major results lays what it writes as it was; so lies what is computed of
// it, and what views show of it.
TEST_F(AotFound, WhatIsWrittenThroughATransposedViewLiesAsItDid) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor turned = in[0].t().clone(), flat = in[0].clone(), index = aten<"arange">(3);
    aten_value<"index_add_">(turned, 0, index, in[1]);
    aten_value<"index_copy_">(flat.t(), 0, index, in[1]);
    return TensorList{turned, turned * in[1], turned.slice(0, 0, 2), flat, flat.t()};
  };
  const auto seen = [&](const TensorFunction& g) {
    std::string s;
    for (const Tensor& r : g({aten<"arange">(9, DType::f32).view({3, 3}), aten<"ones">(Shape{3, 3})}))
      s += to_text(r.strides()) + to_text(Value(r.to_vector<double>())) + "\n";
    return s;
  };
  EXPECT_EQ(seen([&](const TensorList& in) { return aot_function(f, {})(in); }), seen(f));
  EXPECT_EQ(seen(functionalize(f)), seen(f));
}

// An item of unbind is a view as any other: of an input that is written afterwards it is not kept
// for the backward.
TEST_F(AotFound, AnItemOfAWrittenInputIsNotKept) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor item = in[0].unbind(0)[1], y = in[1].clone();
    {
      const NoGrad no_grad;
      aten_value<"sin.out">(item, y);
    }
    aten_value<"sin_">(y);
    const Tensor r = y * in[1];
    aten_value<"sin_">(in[0]);
    return TensorList{r};
  };
  const auto gradient = [](const TensorFunction& g) {
    const Tensor x = tensor(std::vector<double>{0.5, 1.5}, {2, 1}, DType::f32);
    Tensor w = tensor(std::vector<double>{2}, {1}, DType::f32);
    w.requires_grad_();
    g({x, w})[0].sum().backward();
    return w.grad().to_vector<double>();
  };
  const AotFunction compiled = aot_function(f, {.partition = [](const Joint& j) { return partition_min_cut(j); }});
  EXPECT_EQ(gradient([&](const TensorList& in) { return compiled(in); }), gradient(f));
}

// … and what control flow makes of it, whose results nobody can lay out later.
TEST_F(AotFound, WhatALoopMakesOfAWrittenTensorLiesAsItDoesInEager) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor turned = in[0].t().clone();
    aten_value<"index_add_">(turned, 0, aten<"arange">(3), in[1]);
    return while_loop([](const TensorList& x) { return TensorList{aten<"lt.Scalar">(x[0], 3)}; },
                      [](const TensorList& x) { return TensorList{x[0] + 1, x[1] * 2}; },
                      {aten<"zeros">(Shape{}, DType::i64), turned * 3});
  };
  const TensorList in{aten<"arange">(9, DType::f32).view({3, 3}), aten<"ones">(Shape{3, 3})};
  const Tensor want = f(in)[1], found = functionalize(f)(in)[1];
  EXPECT_EQ(to_text(want.strides()), "[1, 3]");
  EXPECT_EQ(to_text(found.strides()), to_text(want.strides()));
  EXPECT_TRUE(equal(found, want));
}

// … also where the write was through a view, and nothing has read the tensor since.
TEST_F(AotFound, WhatALoopMakesOfAStaleTensorLiesAsItDoesInEager) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor sum = in[0] + 1;
    aten_value<"masked_fill_.Scalar">(sum.t(), in[0][0] > 1, 0.5);
    return while_loop([](const TensorList& x) { return TensorList{aten<"lt.Scalar">(x[0], 3)}; },
                      [](const TensorList& x) { return TensorList{x[0] + 1, x[1] * 2}; },
                      {aten<"zeros">(Shape{}, DType::i64), sum});
  };
  const TensorList in{aten<"arange">(9, DType::f32).view({3, 3})};
  const Tensor want = f(in)[1];
  EXPECT_EQ(to_text(want.strides()), "[3, 1]");
  for (const Tensor& found : {functionalize(f)(in)[1], aot_function(f, {})(in)[1]}) {
    EXPECT_EQ(to_text(found.strides()), to_text(want.strides()));
    EXPECT_TRUE(equal(found, want));
  }
}

// Windows that overlap show elements twice, whatever their number.
TEST_F(AotFound, AWriteThroughWindowsOfAnOpenSize) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor t = in[0] * 2;
    aten_value<"sin_">(aten<"unfold">(t, 0, 2, 1).select(1, 0));
    return TensorList{t};
  };
  const AotFunction compiled = aot_function(f, {.dynamic = true});
  for (const int64_t n : {6, 9, 2}) {
    const Tensor x = randn({n});
    EXPECT_TRUE(equal(compiled(TensorList{x})[0], f({x})[0])) << n;
  }
}

TEST_F(AotFound, AFilledTensorIsRowMajorAlsoInParts) {
  const TensorFunction f = [](const TensorList& in) {
    return TensorList{aten<"masked_fill.Scalar">(in[0], in[0].to(DType::b8).t().unsqueeze(0), 0.5)};
  };
  const Tensor x = aten<"ones">(Shape{3, 3}).t(),
               found = aot_function(f, {.decompositions = &default_decompositions()})(TensorList{x})[0];
  EXPECT_EQ(to_text(found.strides()), "[9, 3, 1]");
  EXPECT_EQ(to_text(f({x})[0].strides()), "[9, 3, 1]");
}

// What was a wrapper stays one.
TEST_F(AotFound, PlainValuesWrittenToAWrapper) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor plain = aten<"arange">(3);
    aten_value<"add.out">(plain, plain, 1, in[0]);
    return TensorList{in[0] + plain};
  };
  const Tensor w = testing::two_tensor(aten<"zeros">(Shape{3}, DType::i64), aten<"zeros">(Shape{3}, DType::i64));
  const Tensor found = aot_function(f, {})(TensorList{w})[0];
  ASSERT_TRUE(testing::is_two_tensor(found));
  EXPECT_EQ(testing::b(found).to_vector<int64_t>(), (std::vector<int64_t>{0, 3, 6}));
  EXPECT_EQ(testing::b(w).to_vector<int64_t>(), (std::vector<int64_t>{0, 2, 4}));
}

// A scatter into a view returns a copy of what lies before the view as well; of windows of an open
// number it returns them apart.
TEST_F(AotFound, CopiesOfViewsHaveTheGapsOfTheStorage) {
  const Tensor x = aten<"arange">(8, DType::i64), part = x.slice(0, 4, 6);
  const Tensor copy = aten<"slice_scatter">(part, part + 10, 0, 0, Value(), 1);
  EXPECT_EQ(copy.as_strided({5}, {1}, 0).to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 2, 3, 14}));

  const TensorFunction f = [](const TensorList& in) {
    const Tensor windows = aten<"unfold">(in[0] * 2, 0, 2, 1);
    return TensorList{aten<"slice_scatter">(windows, windows, 1, 0, Value(), 1)};
  };
  const AotFunction compiled = aot_function(f, {.dynamic = true});
  for (const int64_t n : {6, 9, 2}) {
    const Tensor y = randn({n}), found = compiled(TensorList{y})[0], want = f({y})[0];
    EXPECT_TRUE(equal(found, want)) << n;
    EXPECT_EQ(to_text(found.strides()), to_text(want.strides())) << n;
  }
}

// The gradients of in[0] that eager and the compiled function have, of the last result.
class GradientsOfStaleViews : public AotFound {
 protected:
  static void expect_eagers(const TensorFunction& f, const std::vector<double>& gradient, bool open = false) {
    const auto of = [&](const TensorFunction& g) {
      const Tensor leaf = tensor(std::vector<double>{1, 2, 3, 4}, {1, 2, 2}, DType::f32).requires_grad_();
      const Tensor last = g({leaf, aten<"squeeze">(leaf)}).back();
      last.backward(aten<"arange.start">(1, 1 + last.numel(), DType::f32).view(last.sizes()));
      return leaf.grad().to_vector<double>();
    };
    EXPECT_EQ(of(f), gradient) << "eager";
    EXPECT_EQ(of(aot_function(f, {.dynamic = open})), gradient) << "compiled";
  }
  // The column is as_strided of the row: while that is the column's history, gradients come to the
  // element alone that the row has, too; once the column is stale, to both. PyTorch's eager says
  // the same.
  static Tensor bottom_row(const Tensor& square) { return aten<"diagonal">(square, 1); }
  static Tensor right_column(const Tensor& t) { return aten<"as_strided">(t, Shape{2}, Shape{2}, 1); }
};

TEST_F(GradientsOfStaleViews, OfWhatAnotherArgumentOnTheStorageMadeStale) {
  const auto f = [](bool turned, bool before, bool doubled) {
    return [=](const TensorList& in) {
      if (turned && before) aten_value<"t_">(in[1]);
      const Tensor t = right_column(bottom_row(in[0]));
      if (turned && !before) aten_value<"t_">(in[1]);
      return TensorList{doubled ? t * 1 : t};
    };
  };
  for (const bool doubled : {false, true}) {
    expect_eagers(f(false, false, doubled), {0, 0, 0, 2});
    expect_eagers(f(true, true, doubled), {0, 0, 0, 2});
    expect_eagers(f(true, false, doubled), {0, 1, 0, 2});
  }
}

TEST_F(GradientsOfStaleViews, OfWhatWasTakenOfAStaleViewOfAnotherResult) {
  const auto f = [](bool before, bool doubled) {
    return [=](const TensorList& in) {
      const Tensor whole = in[0].clone(), row = bottom_row(whole);
      if (before) aten_value<"squeeze_">(whole);
      const Tensor t = right_column(row);
      if (!before) aten_value<"squeeze_">(whole);
      return TensorList{whole, doubled ? t * 1 : t};
    };
  };
  for (const bool doubled : {false, true}) {
    expect_eagers(f(true, doubled), {0, 0, 0, 2});
    expect_eagers(f(false, doubled), {0, 1, 0, 2});
  }
}

// The way to the view has sizes of the example, so that it is taken by its geometry: refused, where
// that has other gradients.
TEST_F(GradientsOfStaleViews, OfOpenSizesTheyAreRightOrRefused) {
  const auto f = [](int64_t first) {
    return [=](const TensorList& in) {
      const Tensor whole = in[0].clone(), flat = whole.view({whole.numel()});
      return TensorList{whole, aten<"as_strided">(flat.slice(0, first, first + 2), Shape{2}, Shape{1}, 1)};
    };
  };
  expect_eagers(f(1), {0, 1, 2, 0}, true);
  EXPECT_NE(error_of([&] { expect_eagers(f(2), {0, 0, 2, 0}, true); }).find("its gradients cannot be followed"),
            std::string::npos);
}

}  // namespace
}  // namespace ingot::aot
