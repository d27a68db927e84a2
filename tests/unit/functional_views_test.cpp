// Views in a functional program: how a write comes back through each, in-place views, and storages
// that grow (R051, R053, R056).
#include <gtest/gtest.h>

#include "graph/dead_code.hpp"
#include "graph/text.hpp"
#include "graph/trace.hpp"
#include "ingot/autograd.hpp"
#include "ingot/ingot.hpp"
#include "ingot/transforms.hpp"
#include "op/call.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"
#include "transform/functional.hpp"

namespace ingot::testing {
namespace {

class FunctionalViews : public NoLeaks {};

Tensor counted(const Shape& sizes) { return arange(sizes.product()).to(float32).view(sizes).clone(); }

std::string listing(const TensorFunction& f, const TensorList& examples) {
  Traced t = trace(functionalize(f), examples);
  return print(without_dead_code(t.graph));
}

TEST_F(FunctionalViews, R051_WhatAWriteThroughEachViewBecomes) {
  struct Case {
    std::string back;  // what puts the written view into its base
    std::function<Tensor(const Tensor&)> take;
    bool in_place = true;
  };
  const std::vector<Case> cases{
      {"select_scatter", [](const Tensor& t) { return t.select(1, 2); }},
      {"slice_scatter", [](const Tensor& t) { return t.slice(2, 1, 4, 2); }},
      {"diagonal_scatter", [](const Tensor& t) { return t.diagonal(1, 1, 2); }},
      {"as_strided_scatter", [](const Tensor& t) { return t.as_strided({2, 2}, {4, 1}, 3); }},
      {"slice_scatter", [](const Tensor& t) { return t.split(2, 2)[1]; }},
      {"slice_scatter", [](const Tensor& t) { return t.chunk(2, 0)[1]; }},
      {"select_scatter", [](const Tensor& t) { return t.unbind(1)[2]; }},
      {"view.default(mul, [2, 3, 4])", [](const Tensor& t) { return t.view({6, 4}); }},
      {"transpose.int(mul, 0, 2)", [](const Tensor& t) { return t.transpose(0, 2); }},
      {"permute.default(mul, [1, 2, 0])", [](const Tensor& t) { return t.permute({2, 0, 1}); }},
      {"unsqueeze.default(mul", [](const Tensor& t) { return t.select(0, 0).unsqueeze(0).squeeze(0); }},
      {"squeeze.dim(mul, 1)", [](const Tensor& t) { return t.unsqueeze(1); }},
      {"t.default(mul", [](const Tensor& t) { return t.select(0, 1).t(); }},
      {"mul", [](const Tensor& t) { return t.detach(); }},
      {"mul", [](const Tensor& t) { return aten<"alias">(t); }},
  };
  for (const Case& c : cases) {
    const TensorFunction f = [&](const TensorList& in) {
      Tensor v = c.take(in[0]);
      v.mul_(Scalar(3));
      return TensorList{in[0] + 1, v + 1};
    };
    const std::string graph = listing(f, {counted({2, 3, 4})});
    EXPECT_NE(graph.find(c.back), std::string::npos) << c.back << " in\n" << graph;
    const Tensor a = counted({2, 3, 4}), b = counted({2, 3, 4});
    const TensorList want = f({a}), found = functionalize(f)({b});
    for (std::size_t k = 0; k < want.size(); k++) EXPECT_EQ(found[k].to_vector<double>(), want[k].to_vector<double>()) << graph;
    EXPECT_EQ(b.to_vector<double>(), a.to_vector<double>()) << graph;
  }
  const TensorFunction complex = [](const TensorList& in) {
    Tensor v = aten<"view_as_real">(aten<"view_as_complex">(in[0]));
    v.mul_(Scalar(3));
    return TensorList{in[0] + 1};
  };
  const std::string graph = listing(complex, {counted({3, 2})});
  EXPECT_NE(graph.find("view_as_complex.default(mul)"), std::string::npos) << graph;
}

// An expand that repeats nothing is a view like any other; one that does takes no writes, as it
// takes none without functionalization.
TEST_F(FunctionalViews, R051_WritesThroughExpand) {
  const auto through = [](const Shape& sizes) {
    return TensorFunction([sizes](const TensorList& in) {
      Tensor v = in[0].expand(sizes);
      v.mul_(Scalar(3));
      return TensorList{in[0] + 1};
    });
  };
  const Tensor a = counted({1, 3}), b = counted({1, 3});
  const TensorList want = through({1, 3})({a}), found = functionalize(through({1, 3}))({b});
  EXPECT_EQ(found[0].to_vector<double>(), want[0].to_vector<double>());
  EXPECT_EQ(b.to_vector<double>(), a.to_vector<double>());
  const std::string refusal = error_of([&] { through({2, 3})({counted({1, 3})}); });
  EXPECT_NE(refusal.find("more than one element of the written-to tensor refers to a single memory location"), std::string::npos);
  EXPECT_EQ(error_of([&] { functionalize(through({2, 3}))({counted({1, 3})}); }), refusal);
}

TEST_F(FunctionalViews, R053_EveryInPlaceView) {
  struct Case {
    std::string name;
    std::function<void(const Tensor&)> turn;
    Shape sizes, strides;
  };
  const std::vector<Case> cases{
      {"t_", [](const Tensor& t) { aten_value<"t_">(t); }, {3, 2}, {1, 3}},
      {"transpose_", [](const Tensor& t) { aten_value<"transpose_">(t, 0, 1); }, {3, 2}, {1, 3}},
      {"unsqueeze_", [](const Tensor& t) { aten_value<"unsqueeze_">(t, 0); }, {1, 2, 3}, {6, 3, 1}},
      {"squeeze_", [](const Tensor& t) { aten_value<"unsqueeze_">(t, 0), aten_value<"squeeze_">(t); }, {2, 3}, {3, 1}},
      {"as_strided_", [](const Tensor& t) { aten_value<"as_strided_">(t, Shape{2, 2}, Shape{1, 2}, 1); }, {2, 2}, {1, 2}},
  };
  for (const Case& c : cases) {
    const Tensor x = to_functional(counted({2, 3}));
    c.turn(x);
    const FunctionalState& f = *functional_state(x);
    EXPECT_TRUE(f.metadata_mutated) << c.name;
    EXPECT_EQ(f.chain.size(), c.name == "squeeze_" ? 2u : 1u) << c.name << ": the view is one of the tensor's own";
    EXPECT_EQ(f.storage->mutations, 0u) << c.name;
    EXPECT_EQ(x.sizes(), c.sizes) << c.name;
    EXPECT_EQ(x.strides(), c.strides) << c.name;
    const TensorFunction g = [&](const TensorList& in) {
      c.turn(in[0]);
      Tensor(in[0]).select(0, 0).add_(Scalar(5));
      return TensorList{in[0] * 2};
    };
    const Tensor a = counted({2, 3}), b = counted({2, 3});
    const TensorList want = g({a}), found = functionalize(g)({b});
    EXPECT_EQ(found[0].to_vector<double>(), want[0].to_vector<double>()) << c.name;
    EXPECT_EQ(b.sizes(), a.sizes()) << c.name;
    EXPECT_EQ(b.to_vector<double>(), a.to_vector<double>()) << c.name;
  }
  const TensorFunction detaches = [](const TensorList& in) {
    Tensor y = in[0] * 2;
    aten_value<"detach_">(y);
    y.add_(Scalar(1));
    return TensorList{y};
  };
  const Tensor x = counted({3}).requires_grad_();
  EXPECT_FALSE(functionalize(detaches)({x})[0].requires_grad());
}

// A storage that grows under a view would leave the view with elements that nobody writes any more.
TEST_F(FunctionalViews, R056_NothingThatHasViewsGrows) {
  const std::string words =
      "Attempted to resize a view tensor to a larger size. This is not allowed in the functionalization pass";
  const auto grow = [](const TensorList& in) {
    const Tensor view = in[0].view({2});
    aten_value<"resize_">(in[0], Shape{4});
    Tensor(in[0]).fill_(7);
    return TensorList{view + 0};
  };
  EXPECT_EQ(error_of([&] { functionalize(grow)({counted({2})}); }), words);
  EXPECT_EQ(error_of([&] {
              functionalize([](const TensorList& in) {
                aten_value<"resize_">(in[0].view({2}), Shape{4});
                return TensorList{};
              })({counted({2})});
            }),
            words);
  // A view that is gone, or that nothing grows under, is in nobody's way.
  const auto gone = [](const TensorList& in) {
    const Tensor sum = in[0].view({2}) + 1;
    aten_value<"resize_">(in[0], Shape{4});
    Tensor(in[0]).fill_(7);
    return TensorList{sum};
  };
  const Tensor x = counted({2});
  EXPECT_EQ(functionalize(gone)({x})[0].to_vector<double>(), (std::vector<double>{1, 2}));
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{7, 7, 7, 7}));
  const auto shrink = [](const TensorList& in) {
    const Tensor view = in[0].view({4});
    aten_value<"resize_">(in[0], Shape{2});
    Tensor(in[0]).fill_(7);
    return TensorList{view + 0};
  };
  EXPECT_EQ(functionalize(shrink)({counted({4})})[0].to_vector<double>(), (std::vector<double>{7, 7, 2, 3}));
  // The storage's own size changes without a trace in the program, and is known afterwards.
  const Tensor c = to_functional(counted({2}));
  aten_value<"inductor::resize_storage_bytes_">(c, 0);
  EXPECT_EQ(functional_state(c)->storage->bytes->number(), 0);
  EXPECT_EQ(functional_state(c)->storage->mutations, 0u);
}

}  // namespace
}  // namespace ingot::testing
