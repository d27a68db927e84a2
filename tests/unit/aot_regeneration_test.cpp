// Outputs that are views, taken again of their bases, and what the tape takes them for (R143, R157
// to R159).
#include <cmath>
#include <cstring>

#include "support/aot_harness.hpp"
#include "support/tracked.hpp"

namespace ingot::aot {
namespace {

using AotRegeneration = AotHarness;

// (3) of R157: where steps depend on sizes of the call, the geometry of the example has to do, in
// elements of its own type.
class AotByGeometry : public AotHarness {
 protected:
  // The function of x and an open size n, eager and compiled; the output is a view of x's memory.
  static void expect_view(const std::function<Tensor(const Tensor&, const Int&)>& f, const Tensor& x, int64_t n, bool rg,
                          const std::string& history) {
    const AotFunction g = aot_function(
        [&](const Tree& a) { return Tree::tuple({f(a[0].leaf().tensor(), a[1].leaf().to_int())}); }, {.dynamic = true});
    const Tensor leaf = rg ? tracked(x.clone()) : x.clone();
    const Tensor want = f(leaf, n), found = g(Tree::tuple({leaf, Tree(Value(n))}))[0].leaf().tensor();
    EXPECT_EQ(found.dtype(), want.dtype());
    EXPECT_EQ(found.sizes(), want.sizes());
    EXPECT_EQ(found.strides(), want.strides());
    EXPECT_EQ(found.storage_offset(), want.storage_offset());
    EXPECT_EQ(found->storage, leaf->storage);
    EXPECT_EQ(found.requires_grad(), want.requires_grad());
    EXPECT_EQ(to_text(detached(found)), to_text(detached(want)));
    const Tensor seen = detached(found).contiguous(), expected = detached(want).contiguous();
    EXPECT_EQ(std::memcmp(seen.data_ptr(), expected.data_ptr(), static_cast<std::size_t>(want.numel().value() * want.itemsize())),
              0);
    if (rg) {
      EXPECT_EQ(found.grad_fn_name(), history);
    }
    if (!rg || is_complex(want.dtype())) return;
    const Tensor weights = arange(1, want.numel().value() + 1).to(want.dtype()).view(want.sizes());
    const auto gradient = [&](const Tensor& t) {
      return aten<"view_as_real">(grad({(t * weights).sum()}, {leaf}, {}, {.retain_graph = true})[0].to(complex64))
          .to_vector<double>();
    };
    EXPECT_EQ(gradient(found), gradient(want));
  }
};

TEST_F(AotByGeometry, R157_ComplexAndRealElements) {
  const Tensor complex = aten<"view_as_complex">(arange(12).to(float32).view({2, 3, 2})),
               real = arange(12).to(float32).view({2, 3, 2});
  for (const bool rg : {false, true}) {
    expect_view([](const Tensor& x, const Int& n) { return aten<"view_as_real">(x).view({n}); }, complex, 12, rg,
                "AsStridedBackward0");
    expect_view([](const Tensor& x, const Int& n) { return aten<"view_as_real">(x.select(0, 1)).view({n}); }, complex, 6, rg,
                "AsStridedBackward0");
    expect_view([](const Tensor& x, const Int& n) { return aten<"view_as_complex">(x).view({n}); }, real, 6, rg,
                "AsStridedBackward0");
    expect_view([](const Tensor& x, const Int& n) { return aten<"view_as_complex">(x.view({6, 2})).view({n, 3}); }, real, 2, rg,
                "AsStridedBackward0");
    expect_view([](const Tensor& x, const Int& n) { return x.view({n}); }, complex, 6, rg, "AsStridedBackward0");
  }
}

// PyTorch gives these the base's type, or an error.
TEST_F(AotByGeometry, R157_OtherTypes) {
  const Tensor x = arange(8).to(float32).view({2, 4});
  expect_view([](const Tensor& t, const Int& n) { return t.view(DType::i32).view({n}); }, x, 8, false, "");
  expect_view([](const Tensor& t, const Int& n) { return t.view(DType::i16).view({n}); }, x, 16, false, "");
  expect_view([](const Tensor& t, const Int& n) { return t.view(DType::f64).view({n}); }, x, 4, false, "");
  expect_view([](const Tensor& t, const Int& n) { return t.select(0, 1).view(DType::i16).view({n}); }, x, 8, false, "");
}

TEST_F(AotRegeneration, R157_R159_StepsOrGeometry) {
  for (const bool replay : {true, false}) {
    const AotFunction f = aot_function(TensorFunction([](const TensorList& in) {
                                         return TensorList{in[0].view({-1}), in[0].t(), in[0].select(0, 1).unsqueeze(0)};
                                       }),
                                       {.view_replay_for_aliased_outputs = replay});
    const Tensor x = tracked(ones({2, 3}));
    const TensorList out = f(TensorList{x});
    const std::vector<std::string> names{out[0].grad_fn_name(), out[1].grad_fn_name(), out[2].grad_fn_name()};
    EXPECT_EQ(names, replay ? (std::vector<std::string>{"ViewBackward0", "TBackward0", "UnsqueezeBackward0"})
                            : std::vector<std::string>(3, "AsStridedBackward0"));
    for (const Tensor& t : out) EXPECT_EQ(t->storage, x->storage);
    EXPECT_EQ(out[1].strides(), (Shape{1, 3}));
    EXPECT_EQ(out[2].sizes(), (Shape{1, 3}));
    (out[0].sum() + out[1].sum() + out[2].sum()).backward();
    EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{2, 2, 2, 3, 3, 3}));
  }
}

// A compiler that returns something of another size is found out.
TEST_F(AotRegeneration, R157_TheSizeOfWhatTheGraphReturned) {
  const Compiler wrong = [](std::shared_ptr<const Graph> g, const Values& examples) -> Boxed {
    return [run = nop(std::move(g), examples)](Values& arguments) {
      Values out = run(arguments);
      out[0] = ones({5});
      return out;
    };
  };
  const AotFunction f =
      aot_function(TensorFunction([](const TensorList& in) { return TensorList{in[0].view({-1})}; }), {.forward = wrong});
  EXPECT_NE(error_of([&] {
              f(TensorList{ones({2, 3})});
            }).find("incorrect out shape after application of ViewMeta sequence: [6] (actual) vs [5] (expected)"),
            std::string::npos);
}

// What has gradients of the compiled function itself, and what is taken again of something that
// has.
TEST_F(AotRegeneration, R143_WhatTheTapeTakesForResultsOfTheFunction) {
  const TensorFunction f = [](const TensorList& in) {
    aten_value<"t_">(in[1]);  // looks alone
    const Tensor base = in[0] * 3, single = in[0] * 5;
    return TensorList{in[0].view({-1}), base.view({-1}), base.t(), single.view({-1}), in[0].sin(), in[0]};
  };
  const Tensor leaf = tracked(ones({2, 3})), x = leaf * 1, y = tracked(ones({2, 3})) * 1;
  const std::string history_of_y = y.grad_fn_name();
  const TensorList out = aot_function(f)(TensorList{x, y});
  EXPECT_EQ(y.sizes(), (Shape{3, 2}));
  EXPECT_EQ(y.grad_fn_name(), "TBackward0") << "of " << history_of_y << ", and no result of the function";
  EXPECT_EQ(out[0].grad_fn_name(), "ViewBackward0") << "a view of the input";
  EXPECT_EQ(out[1].grad_fn_name(), "ViewBackward0") << "of a base that is a result of the function";
  EXPECT_EQ(out[2].grad_fn_name(), "TBackward0");
  EXPECT_EQ(out[1]->storage, out[2]->storage);
  EXPECT_EQ(out[3].grad_fn_name(), "CompiledFunctionBackward") << "nobody sees what it is a view of";
  EXPECT_FALSE(out[3].is_view());
  EXPECT_EQ(out[4].grad_fn_name(), "CompiledFunctionBackward");
  EXPECT_TRUE(out[5].is_same(x));
  Tensor(out[3]).mul_(2);  // which a view of several could not be
  EXPECT_EQ(detached(out[3]).to_vector<double>(), std::vector<double>(6, 10));
  (out[0].sum() + out[1].sum() + out[2].sum() + out[3].sum() + out[4].sum()).backward();
  EXPECT_NEAR(leaf.grad().to_vector<double>()[0], 1 + 3 + 3 + 10 + std::cos(1.0), 1e-5);
}

}  // namespace
}  // namespace ingot::aot
