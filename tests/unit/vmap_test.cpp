// vmap: what a function sees, what it may do, and what it is refused.
#include <gtest/gtest.h>

#include <cmath>

#include "graph/interpret.hpp"
#include "graph/trace.hpp"
#include "ingot/ingot.hpp"
#include "ingot/transforms.hpp"
#include "op/call.hpp"
#include "ops/batch/rules.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"
#include "transform/batched.hpp"
#include "transform/functional_graph.hpp"

namespace ingot {
namespace {

class Vmap : public NoLeaks {};

Tensor counting(const Shape& sizes, DType dtype = DType::f64) {
  return aten<"reshape">(aten<"arange">(sizes.product(), dtype), sizes);
}
std::vector<double> numbers(const Tensor& t) { return t.to_vector<double>(); }
// The loop that vmap stands for, along dim 0.
Tensor looped(const TensorFunction& f, const TensorList& batches) {
  TensorList l;
  for (int64_t b = 0; b < batches[0].size(0).value(); b++) {
    TensorList members;
    for (const Tensor& t : batches) members.push_back(t.select(0, b));
    l.push_back(f(members)[0]);
  }
  return aten<"stack">(l, 0);
}
void expect_same(const Tensor& got, const Tensor& want) {
  EXPECT_EQ(to_text(got.sizes()), to_text(want.sizes()));
  EXPECT_EQ(got.dtype(), want.dtype());
  const std::vector<double> a = numbers(got), b = numbers(want);
  for (std::size_t i = 0; i < a.size(); i++) EXPECT_NEAR(a[i], b[i], 1e-12) << "element " << i;
}

// ---- what the function sees

TEST_F(Vmap, FunctionSeesOneMember) {
  std::string seen;
  vmap([&](const TensorList& in) {
    seen = to_text(in[0].sizes());
    return in;
  })({counting({4, 2, 3})});
  EXPECT_EQ(seen, "[2, 3]");
}

TEST_F(Vmap, InDimsMoveTheMappedDimAndOutDimsPutItBack) {
  const Tensor x = counting({2, 5, 3}), y = counting({3, 2});
  const TensorFunction f =
      vmap([](const TensorList& in) { return TensorList{in[0] * in[1].unsqueeze(-1)}; }, {.in_dims = {-1, 0}, .out_dims = {1}});
  const Tensor r = f({x, y})[0];
  EXPECT_EQ(to_text(r.sizes()), "[2, 3, 5]");
  for (int64_t b = 0; b < 3; b++) expect_same(r.select(1, b), x.select(2, b) * y.select(0, b).unsqueeze(-1));
}

TEST_F(Vmap, ArgumentWithoutDimIsSeenWhole) {
  const Tensor x = counting({4, 3}), w = counting({3});
  const Tensor r =
      vmap([](const TensorList& in) { return TensorList{(in[0] * in[1]).sum()}; }, {.in_dims = {0, std::nullopt}})({x, w})[0];
  expect_same(r, (x * w).sum({1}));
}

TEST_F(Vmap, ResultThatDoesNotDependOnTheBatchIsRepeated) {
  const Tensor w = counting({2});
  const TensorFunction f = [&](const TensorList&) { return TensorList{w * w}; };
  EXPECT_EQ(to_text(vmap(f)({counting({4})})[0].sizes()), "[4, 2]");
  EXPECT_EQ(to_text(vmap(f, {.out_dims = {std::nullopt}})({counting({4})})[0].sizes()), "[2]");
}

TEST_F(Vmap, SeveralResultsEachWithItsDim) {
  const TensorList r = vmap([](const TensorList& in) { return TensorList{in[0], in[0].t(), in[0].sum()}; },
                            {.out_dims = {0, -1, 0}})({counting({4, 2, 3})});
  EXPECT_EQ(to_text(r[0].sizes()) + to_text(r[1].sizes()) + to_text(r[2].sizes()), "[4, 2, 3][3, 2, 4][4]");
}

// ---- nesting

TEST_F(Vmap, NestedVmapsAreLoopsInLoops) {
  const Tensor x = counting({2, 3, 4}), y = counting({5, 4});
  // every row of every x with every y
  const TensorFunction dot = [](const TensorList& in) { return TensorList{aten<"dot">(in[0], in[1])}; };
  const TensorFunction over_y = vmap(dot, {.in_dims = {std::nullopt, 0}});
  const TensorFunction over_rows = vmap(over_y, {.in_dims = {0, std::nullopt}});
  const Tensor r = vmap(over_rows, {.in_dims = {0, std::nullopt}})({x, y})[0];
  expect_same(r, aten<"matmul">(x, y.t()));
}

TEST_F(Vmap, InnerFunctionMayUseTensorsOfTheOuterVmap) {
  const Tensor x = counting({2, 3}), y = counting({4, 3});
  const Tensor r = vmap([&](const TensorList& outer) {
    return vmap([&](const TensorList& inner) { return TensorList{inner[0] + outer[0].sin()}; })({y});
  })({x})[0];
  expect_same(r, y + x.sin().unsqueeze(1));
}

TEST_F(Vmap, NestedVmapWithOtherDims) {
  const Tensor x = counting({2, 3, 4});
  const TensorFunction inner =
      vmap([](const TensorList& in) { return TensorList{aten<"cumsum">(in[0], 0)}; }, {.in_dims = {1}, .out_dims = {1}});
  expect_same(vmap(inner, {.in_dims = {1}, .out_dims = {1}})({x})[0], aten<"cumsum">(x, 0));
}

// ---- types

TEST_F(Vmap, ZeroDimMemberCountsAsZeroDimInPromotion) {
  const Tensor s = counting({3}, DType::f64), x = counting({3, 2}, DType::f32), whole = counting({2}, DType::f32),
               number = counting({}, DType::f64);
  const TensorFunction add = [](const TensorList& in) { return TensorList{in[0] + in[1]}; };
  EXPECT_EQ(vmap(add)({s, x})[0].dtype(), DType::f32);                                          // 0-dim f64 with f32[2]
  EXPECT_EQ(vmap(add, {.in_dims = {0, std::nullopt}})({s, whole})[0].dtype(), DType::f32);
  EXPECT_EQ(vmap(add, {.in_dims = {0, std::nullopt}})({counting({3}, DType::f32), number})[0].dtype(), DType::f64);  // both 0-dim
  EXPECT_EQ(vmap(add)({counting({3}, DType::f64), counting({3, 2}, DType::i64)})[0].dtype(), DType::f64);
}

// ---- writes and views

TEST_F(Vmap, WriteIntoMappedArgumentIsSeenByTheCaller) {
  const Tensor x = counting({2, 3}), y = counting({2, 1});
  const Tensor before = x.clone();
  vmap([](const TensorList& in) {
    Tensor t = in[0];
    t.add_(in[1]);
    return TensorList{t};
  })({x, y});
  expect_same(x, before + y);
}

TEST_F(Vmap, WriteThroughViewReachesItsBase) {
  const Tensor x = counting({2, 2, 3});
  const Tensor r = vmap([](const TensorList& in) {
    Tensor t = in[0].clone();
    t.select(0, 1).mul_(10);
    t.t().select(0, 0).zero_();
    t.unsqueeze(0).select(0, 0).select(1, 2).copy_(in[0].select(1, 1));
    return TensorList{t};
  })({x})[0];
  expect_same(r, looped(
                     [](const TensorList& in) {
                       Tensor t = in[0].clone();
                       t.select(0, 1).mul_(10);
                       t.t().select(0, 0).zero_();
                       t.select(1, 2).copy_(in[0].select(1, 1));
                       return TensorList{t};
                     },
                     {x}));
}

TEST_F(Vmap, InPlaceViewChangesWhatTheFunctionSeesAlone) {
  const Tensor x = counting({2, 1, 3});
  std::string seen;
  const Tensor r = vmap([&](const TensorList& in) {
    aten_value<"t_">(in[0]);
    aten_value<"squeeze_">(in[0]);
    seen = to_text(in[0].sizes());
    return TensorList{in[0]};
  })({x})[0];
  EXPECT_EQ(seen, "[3]");
  EXPECT_EQ(to_text(x.sizes()), "[2, 1, 3]");
  expect_same(r, x.squeeze(1));
}

TEST_F(Vmap, InPlaceOpWithoutFormulaAndOutVariant) {
  const Tensor x = counting({2, 3, 3});
  const Tensor r = vmap([](const TensorList& in) {
    const Tensor t = in[0].clone();
    aten_value<"tril_">(t);
    aten_value<"cumsum_">(t, 1);
    aten_value<"add.out">(t, t, 1, t);
    return TensorList{t};
  })({x})[0];
  expect_same(r, aten<"cumsum">(aten<"tril">(x), 2) * 2.0);
}

TEST_F(Vmap, MappedValueCannotBeWrittenIntoSharedTensor) {
  const Tensor x = counting({2, 3}), shared = counting({3});
  const auto run = [&] {
    vmap([&](const TensorList& in) {
      Tensor t = shared;
      return TensorList{t.add_(in[0])};
    })({x});
  };
  EXPECT_EQ(
      error_of(run),
      "vmap: aten::add_(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more elements than `self`. "
      "This happened due to `other` being vmapped over but `self` not being vmapped over in a vmap. Please try to use out-of-place operators instead of "
      "aten::add_. If said operator is being called inside the PyTorch framework, please file a bug report instead.");
  expect_same(shared, counting({3}));
}

// ---- refusals

TEST_F(Vmap, ReadingAMemberAsANumberIsRefused) {
  const auto run = [] {
    vmap([](const TensorList& in) { return TensorList{in[0] * in[0].sum().item_double()}; })({counting({2, 3})});
  };
  EXPECT_EQ(
      error_of(run),
      "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, please try to rewrite what you're "
      "doing with other operations. If error is occurring somewhere inside PyTorch internals, please file a bug report.");
}

TEST_F(Vmap, ResultsWhoseSizeDependsOnDataAreRefused) {
  const auto over = [](const char* name) {
    return error_of(
        [&] { vmap([&](const TensorList& in) { return TensorList{call(op(name), {in[0]}).tensor()}; })({counting({2, 3})}); });
  };
  EXPECT_EQ(
      over("nonzero"),
      "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::nonzero. Please voice your support in "
      "https://github.com/pytorch/functorch/issues/256");
  const auto select = [] {
    vmap([](const TensorList& in) { return TensorList{aten<"masked_select">(in[0], in[0] > 1)}; })({counting({2, 3})});
  };
  EXPECT_NE(error_of(select).find("Attempted to vmap over aten::masked_select"), std::string::npos);
}

TEST_F(Vmap, StorageOfAMemberCannotBeChanged) {
  const auto run = [] {
    vmap([](const TensorList& in) {
      aten_value<"resize_">(in[0], Shape{7});
      return in;
    })({counting({2, 3})});
  };
  EXPECT_NE(error_of(run).find("vmap: resize_ of a tensor that is vmapped over is not supported"), std::string::npos)
      << error_of(run);
}

TEST_F(Vmap, BadDimsAreRefused) {
  const TensorFunction same = [](const TensorList& in) { return in; };
  EXPECT_EQ(
      error_of([&] { vmap(same, {.in_dims = {2}})({counting({2, 3})}); }),
      "vmap(f, in_dims=2, ...)(<inputs>): Got in_dim=2 for an input, but the input is of dimensionality 2 so expected in_dim to satisfy -2 <= in_dim < 2.");
  EXPECT_EQ(
      error_of([&] { vmap(same)({counting({2}), counting({3})}); }),
      "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes [2, 3] for the mapped dimension");
  EXPECT_EQ(
      error_of([&] { vmap(same)({}); }),
      "vmap(f, in_dims=0, ...)(<inputs>): Got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function with no inputs. The latter "
      "is unsupported.");
  EXPECT_EQ(error_of([&] { vmap(same, {.in_dims = {0, 1}})({counting({2})}); }),
            "vmap: in_dims=(0, 1) has 2 entries, but there are 1 arguments. Give one entry for each, or one for all.");
  EXPECT_EQ(error_of([&] { vmap(same, {.in_dims = {std::nullopt}})({counting({2})}); }),
            "vmap(f, in_dims=None, ...)(<inputs>): in_dims maps over no argument; give at least one argument a dim");
  EXPECT_EQ(error_of([&] { vmap(same, {.out_dims = {std::nullopt}})({counting({2})}); }),
            "vmap(f, ...): `f` can not return a BatchedTensor when out_dim is None");
}

TEST_F(Vmap, EscapedTensorIsRefused) {
  Tensor kept;
  vmap([&](const TensorList& in) {
    kept = in[0];
    return in;
  })({counting({2, 3})});
  EXPECT_NE(error_of([&] { kept + 1.0; }).find("escaped from the vmap it belongs to"), std::string::npos);
  EXPECT_NE(
      error_of([&] { vmap([&](const TensorList& in) { return TensorList{in[0] + kept}; })({counting({2, 3})}); }).find("escaped"),
      std::string::npos);
}

TEST_F(Vmap, ErrorLeavesTheThreadAsItWas) {
  error_of([] { vmap([](const TensorList& in) { return TensorList{in[0].view({7})}; })({counting({2, 3})}); });
  EXPECT_TRUE(vmap_levels().empty());
  EXPECT_EQ(thread_state().active & layer_bit(Layer::transform), 0);
}

// ---- random ops

TEST_F(Vmap, RandomOpsFollowTheRandomness) {
  const TensorFunction draw = [](const TensorList& in) { return TensorList{in[0] + rand({4}, {.dtype = DType::f64})}; };
  const Tensor zeros = aten<"zeros">(Shape{3, 4}, DType::f64);
  EXPECT_EQ(
      error_of([&] { vmap(draw)({zeros}); }),
      "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness flags on vmap or perform the "
      "randomness operation out of vmap");
  manual_seed(1);
  const Tensor different = vmap(draw, {.randomness = Randomness::different})({zeros})[0];
  manual_seed(1);
  expect_same(different, rand({3, 4}, {.dtype = DType::f64}));
  manual_seed(1);
  const Tensor same = vmap(draw, {.randomness = Randomness::same})({zeros})[0];
  manual_seed(1);
  expect_same(same, rand({4}, {.dtype = DType::f64}).expand({3, 4}));
}

TEST_F(Vmap, RandomInPlaceAndLike) {
  const Tensor x = aten<"zeros">(Shape{3, 50}, DType::f64);
  const TensorFunction like = [](const TensorList& in) { return TensorList{aten<"rand_like">(in[0])}; };
  const TensorFunction in_place = [](const TensorList& in) {
    Tensor t = in[0].clone();
    aten_value<"uniform_">(t);
    return TensorList{t};
  };
  for (const TensorFunction& f : {like, in_place}) {
    const Tensor d = vmap(f, {.randomness = Randomness::different})({x})[0],
                 s = vmap(f, {.randomness = Randomness::same})({x})[0];
    EXPECT_NE(numbers(d.select(0, 0)), numbers(d.select(0, 1)));
    EXPECT_EQ(numbers(s.select(0, 0)), numbers(s.select(0, 1)));
  }
  const Tensor shared = counting({4});
  EXPECT_EQ(
      error_of([&] {
        vmap(
            [&](const TensorList& in) {
              aten_value<"uniform_">(shared);
              return in;
            },
            {.randomness = Randomness::different})({x});
      }),
      "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. Write to a "
      "batched tensor, or ask for same randomness.");
  EXPECT_EQ(error_of([&] {
              vmap([](const TensorList& in) { return TensorList{aten<"bernoulli">(in[0])}; },
                   {.randomness = Randomness::same})({x});
            }),
            "Vmap does not currently support same randomness with a batched tensor input. Ask for different "
            "randomness, or draw from a tensor that is not batched");
}

TEST_F(Vmap, NestedRandomness) {
  const TensorFunction draw = [](const TensorList& in) { return TensorList{in[0] + rand({}, {.dtype = DType::f64})}; };
  const Tensor x = aten<"zeros">(Shape{2, 3}, DType::f64);
  const Tensor r = vmap(vmap(draw, {.randomness = Randomness::same}), {.randomness = Randomness::different})({x})[0];
  EXPECT_EQ(numbers(r)[0], numbers(r)[1]);
  EXPECT_NE(numbers(r)[0], numbers(r)[3]);
}

TEST_F(Vmap, DropoutDrawsOneMaskOrMany) {
  const Tensor ones = aten<"ones">(Shape{3, 64}, DType::f64);
  const TensorFunction f = [](const TensorList& in) { return TensorList{dropout(in[0], 0.5)}; };
  const Tensor d = vmap(f, {.randomness = Randomness::different})({ones})[0],
               s = vmap(f, {.randomness = Randomness::same})({ones})[0];
  EXPECT_NE(numbers(d.select(0, 0)), numbers(d.select(0, 1)));
  EXPECT_EQ(numbers(s.select(0, 0)), numbers(s.select(0, 1)));
  EXPECT_NE(numbers(s), numbers(ones));
}

TEST_F(Vmap, PermutationsDiffer) {
  const TensorFunction f = [](const TensorList& in) { return TensorList{in[0] + randperm(40)}; };
  const Tensor zeros = aten<"zeros">(Shape{2, 40}, DType::i64);
  const Tensor d = vmap(f, {.randomness = Randomness::different})({zeros})[0];
  EXPECT_NE(numbers(d.select(0, 0)), numbers(d.select(0, 1)));
}

// ---- autocast

TEST_F(Vmap, AutocastPoliciesHoldInside) {
  const Tensor a = counting({2, 3, 3}, DType::f32), b = counting({2, 3, 3}, DType::f32);
  const AutocastGuard autocast(DType::bf16);
  const TensorFunction f = [](const TensorList& in) {
    const Tensor product = aten<"mm">(in[0], in[1]);
    return TensorList{product, aten<"softmax.int">(product, 0), aten<"mse_loss">(product, in[1]),
                      aten<"cat">(TensorList{product, in[0]}, 0)};
  };
  const TensorList got = vmap(f)({a, b}), want = f({a.select(0, 0), b.select(0, 0)});
  EXPECT_EQ(got[0].dtype(), DType::bf16);
  for (std::size_t k = 0; k < got.size(); k++) EXPECT_EQ(got[k].dtype(), want[k].dtype()) << "result " << k;
}

// ---- gradients

TEST_F(Vmap, FunctionSeesWhetherGradientsAreWanted) {
  const Tensor x = counting({2, 3}).requires_grad_(), y = counting({2, 3});
  vmap([](const TensorList& in) {
    EXPECT_TRUE(in[0].requires_grad());
    EXPECT_FALSE(in[1].requires_grad());
    Tensor t = in[1].clone();
    t.add_(in[0]);
    EXPECT_TRUE(t.requires_grad());
    return in;
  })({x, y});
}

TEST_F(Vmap, GradientsFlowThrough) {
  const Tensor x = counting({3, 4}).requires_grad_(), w = counting({4}).requires_grad_();
  const TensorFunction f = [](const TensorList& in) { return TensorList{aten<"softmax.int">(in[0].sin() * in[1], 0)}; };
  const Tensor weights = counting({3, 4}).cos();
  const TensorList got = grad({(vmap(f, {.in_dims = {0, std::nullopt}})({x, w})[0] * weights).sum()}, {x, w});
  TensorList rows;
  for (int64_t b = 0; b < 3; b++) rows.push_back(f({x.select(0, b), w})[0]);
  const TensorList want = grad({(aten<"stack">(rows, 0) * weights).sum()}, {x, w});
  expect_same(got[0], want[0]);
  expect_same(got[1], want[1]);
}

TEST_F(Vmap, GradientsFlowThroughWritesAndViews) {
  const Tensor x = counting({3, 4}).requires_grad_();
  const TensorFunction f = [](const TensorList& in) {
    Tensor t = in[0] * 2.0;
    t.slice(0, 1, 3).mul_(in[0].select(0, 0));
    t.select(0, 3).copy_(in[0].sum());
    return TensorList{t * t};
  };
  const Tensor got = grad({vmap(f)({x})[0].sum()}, {x})[0], want = grad({looped(f, {x}).sum()}, {x})[0];
  expect_same(got, want);
}

// Row r of a Jacobian is the gradient for the r-th unit vector: the backward runs on a batch of
// cotangents.
TEST_F(Vmap, BackwardRunsOnBatchedCotangents) {
  const Tensor x = counting({4}).cos().requires_grad_(), w = counting({3, 4}).sin();
  const Tensor y = aten<"tanh">(aten<"mv">(w, x.exp()));
  const Tensor jacobian =
      vmap([&](const TensorList& v) { return grad({y}, {x}, {v[0]}, {.retain_graph = true}); })({aten<"eye">(3, DType::f64)})[0];
  for (int64_t r = 0; r < 3; r++)
    expect_same(jacobian.select(0, r), grad({y}, {x}, {aten<"eye">(3, DType::f64).select(0, r)}, {.retain_graph = true})[0]);
}

// ---- tracing

// A004: the traced graph of a vmapped function is the function, in physical ops.
TEST_F(Vmap, A004_TraceOfVmapHasPhysicalOpsOnly) {
  const TensorFunction f = vmap([](const TensorList& in) { return TensorList{in[0].sin()}; });
  const Traced t = trace(f, {randn({5, 3})});
  ASSERT_EQ(t.graph.nodes().size(), 2u);
  EXPECT_EQ(to_text(t.graph.nodes()[1]->meta.tensor().sizes()), "[5, 3]");
  const Tensor fresh = randn({5, 3});
  const Tensor got = Interpreter(t.graph).run(Values{fresh})[0].tensor();
  EXPECT_EQ(numbers(got), numbers(f({fresh})[0]));
}

TEST_F(Vmap, TraceWithOpenBatchRunsAtOtherSizes) {
  const TensorFunction f = vmap([](const TensorList& in) { return TensorList{aten<"softmax.int">(in[0] * 2.0, -1).sum()}; });
  const Traced t = trace(f, {counting({5, 3})}, {.open = {{.input = 0, .dim = 0, .name = "b"}}});
  for (const int64_t b : {2, 7}) {
    const Tensor fresh = counting({b, 3}).cos();
    expect_same(Interpreter(t.graph).run(Values{fresh})[0].tensor(), f({fresh})[0]);
  }
}

TEST_F(Vmap, FunctionalizedVmapEqualsVmap) {
  const TensorFunction f = vmap([](const TensorList& in) {
    Tensor t = in[0].clone();
    t.select(0, 0).add_(1.0);
    return TensorList{t};
  });
  const Tensor x = counting({2, 3});
  expect_same(functionalize(f)({x})[0], f({x})[0]);
}

TEST_F(Vmap, FunctionalizeInsideDoesTheSame) {
  const TensorFunction f = [](const TensorList& in) {
    Tensor x = in[0], y = x * 2.0, part = x.slice(0, 1, 3);
    y.select(0, 0).add_(in[1]);
    part.mul_(3.0);
    return TensorList{y, x.slice(0, 0, 2), x};
  };
  const Tensor w = counting({2});
  Tensor a = counting({2, 3}), b = counting({2, 3});
  const TensorList want = vmap(f)({a, w}), got = vmap(functionalize(f))({b, w});
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t k = 0; k < want.size(); k++) expect_same(got[k], want[k]);
  expect_same(b, a);
  Tensor(got[1]).fill_(7.0);
  EXPECT_EQ(numbers(b.select(0, 1)), (std::vector<double>{7, 7, 15})) << "a view of an argument is one again";
  EXPECT_EQ(require_functional(trace(vmap(functionalize(f)), {a, w}).graph), 1);
  for (const TensorFunction& nested : {functionalize(vmap(functionalize(f))), vmap(functionalize(functionalize(f)))}) {
    Tensor c = counting({2, 3});
    expect_same(nested({c, w})[0], want[0]);
    expect_same(c, a);
  }
}

TEST_F(Vmap, FunctionalizeInsideOfTwoVmapsAndWithGradients) {
  const TensorFunction f = [](const TensorList& in) {
    Tensor y = in[0].clone();
    y.select(0, 1).mul_(in[1].select(0, 0));
    aten_value<"unsqueeze_">(y, 0);
    return TensorList{(y * y).sum()};
  };
  const auto twice = [](const TensorFunction& g) { return vmap(vmap(g, {.in_dims = {0, std::nullopt}}), {.in_dims = {0, 0}}); };
  const Tensor x = counting({2, 3, 4}), w = counting({2, 2});
  expect_same(twice(functionalize(f))({x, w})[0], twice(f)({x, w})[0]);
  expect_same(twice(grad(functionalize(f), {1}))({x, w})[0], twice(grad(f, {1}))({x, w})[0]);
  expect_same(jacrev(functionalize(f), 1)({x.select(0, 0).select(0, 1), w.select(0, 1)})[0],
              jacrev(f, 1)({x.select(0, 0).select(0, 1), w.select(0, 1)})[0]);
  expect_same(hessian(functionalize(f))({x.select(0, 0).select(0, 1), w.select(0, 1)})[0],
              hessian(f)({x.select(0, 0).select(0, 1), w.select(0, 1)})[0]);
}

TEST_F(Vmap, AnInPlaceViewInsideOfFunctionalizeChangesWhatTheFunctionSees) {
  const auto with = [](const TensorFunction& turn) {
    return [turn](const TensorList& in) {
      turn({in[0]});
      return TensorList{in[0] + 0.0};
    };
  };
  const TensorFunction turn = [](const TensorList& in) {
    aten_value<"t_">(in[0]);
    Tensor(in[0]).select(0, 0).add_(10.0);
    return TensorList{};
  };
  const Tensor a = counting({2, 2, 3}), b = counting({2, 2, 3});
  expect_same(vmap(with(functionalize(turn)))({b})[0], vmap(with(turn))({a})[0]);
  expect_same(b, a);
}

// ---- the loop

std::string last_warning;

TEST_F(Vmap, OpWithoutRuleLoopsAndSaysSoOnce) {
  const BatchWarningSink before = set_batch_warning_sink([](const std::string& text) { last_warning = text; });
  last_warning.clear();
  const Tensor x = counting({3, 4}).requires_grad_();
  const TensorFunction f = vmap([](const TensorList& in) { return TensorList{aten<"histc">(in[0], 4)}; });
  EXPECT_EQ(to_text(f({x})[0].sizes()), "[3, 4]");
  EXPECT_EQ(last_warning,
            "There is a performance drop because we have not yet implemented the batching rule for aten::histc: it runs once "
            "for each member of the batch. A rule for the op (OpDef::batch) makes it one call.");
  last_warning.clear();
  f({x});
  EXPECT_EQ(last_warning, "");
  EXPECT_EQ(error_of([&] { f({counting({0, 4})}); }),
            "Batching rule not implemented for aten::histc. The fallback path doesn't support vmap over dims of size 0.");
  set_batch_warning_sink(before);
}

TEST_F(Vmap, EmptyBatch) {
  const Tensor r = vmap([](const TensorList& in) { return TensorList{aten<"mv">(in[0], in[1]).exp().sum({0})}; })(
      {counting({0, 2, 3}), counting({0, 3})})[0];
  EXPECT_EQ(to_text(r.sizes()), "[0]");
}

}  // namespace
}  // namespace ingot
