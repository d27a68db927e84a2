// Functions compiled with their gradients by Ingot's own code generation: what callers see is what
// eager gives them.
#include <gtest/gtest.h>

#include "aot/capture.hpp"
#include "aot/inputs.hpp"
#include "aot/min_cut.hpp"
#include "aot/module.hpp"
#include "compiler/aot_compiler.hpp"
#include "e2e/compiled_model.hpp"
#include "graph/interpret.hpp"
#include "graph/text.hpp"
#include "ingot/autograd.hpp"
#include "ingot/decompositions.hpp"
#include "ingot/ingot.hpp"
#include "ingot/nn.hpp"
#include "ingot/transforms.hpp"
#include "op/call.hpp"
#include "pass/pass.hpp"
#include "support/agreement_counts.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"
#include "support/resnet18.hpp"
#include "support/sanitized.hpp"
#include "support/tracked.hpp"

namespace ingot::aot {
namespace {

using AotCompiler = NoLeaks;

// Compiles the text of a graph for inputs like these, and runs it on them.
Values run(const std::string& text, Values inputs) {
  const Graph parsed = parse_graph(text);
  ShapeEnv sizes;
  const Values examples = make_fakes(inputs, {}, sizes), traced = make_fakes(inputs, {}, sizes);
  std::vector<std::string> names;
  for (const Node* n : parsed.inputs()) names.push_back(n->name);
  const auto graph =
      std::make_shared<const Graph>(record([&](const Values& in) { return Interpreter(parsed).run(in); }, traced, names, sizes));
  return ingot_compiler()(graph, examples)(inputs);
}

TensorFunction as_function(const AotFunction& f) {
  return [f](const TensorList& in) { return f(in); };
}

// Results and gradients of the function on copies of the leaves, as elements of the dtype.
TensorList differentiate(const TensorFunction& f, const TensorList& leaves, DType dtype) {
  TensorList in, all;
  for (const Tensor& t : leaves) {
    const Tensor copy = t.detach().to(dtype).clone();
    in.push_back(t.requires_grad() ? tracked(copy) : copy);
  }
  manual_seed(3);
  all = f(in);
  Tensor loss;
  for (const Tensor& t : all)
    if (t.requires_grad()) loss = loss.defined() ? loss + (t * t).sum() : (t * t).sum();
  if (loss.defined()) loss.backward();
  for (const Tensor& t : in) all.push_back(t.grad());
  all.push_back(randn({3}));  // the random stream goes on from the same place
  return all;
}

// The function equals its compiled form. A sum that cancels is as wrong as its terms are large, so
// float32 is held to the largest element; that every element is right, the small ones too, is seen
// in float64, where rounding hides nothing.
void expect_as_eager(const TensorFunction& f, const TensorList& leaves) {
  for (const DType dtype : {float32, float64}) {
    const TensorList want = differentiate(f, leaves, dtype),
                     found = differentiate(as_function(memory_efficient_fusion(f)), leaves, dtype);
    ASSERT_EQ(want.size(), found.size());
    for (std::size_t k = 0; k < want.size(); k++) {
      SCOPED_TRACE(text(dtype, " value ", k));
      ASSERT_EQ(want[k].defined(), found[k].defined());
      if (!want[k].defined()) continue;
      expect_close({want[k]}, {found[k]});
      if (dtype == float64) {
        EXPECT_TRUE(allclose(want[k], found[k], 1e-12, 1e-12));
      }
    }
  }
}

TEST_F(AotCompiler, R007_MemoryEfficientFusionEqualsEager) {
  const TensorFunction layer = [](const TensorList& in) {
    const Tensor h = gelu(in[0].matmul(in[1]) + in[2]), n = aten<"layer_norm">(h, Shape{16}, in[3], in[4], 1e-5);
    return TensorList{n.softmax(-1), h.sum()};
  };
  manual_seed(1);
  const TensorList leaves{tracked(randn({4, 8})), tracked(randn({8, 16})), tracked(randn({16})), tracked(randn({16})),
                          tracked(randn({16}))};
  expect_as_eager(layer, leaves);
  // The same function over trees.
  const AotFunction over_trees =
      memory_efficient_fusion([](const Tree& a) { return Tree::tuple({Tree(a[0].leaf().tensor() * a[1].leaf().tensor())}); });
  EXPECT_TRUE(equal(over_trees(Tree::tuple({full({2}, 3.0), full({2}, 4.0)}))[0].leaf().tensor(), full({2}, 12.0)));
}

// Parameters get their gradients, and running statistics their new values.
// Whoever compiles sees every rewrite on the way, AOT's and the compiler's.
TEST_F(AotCompiler, PassesAreSeenFromTheJointGraphToTheLibrary) {
  std::vector<std::string> seen;
  const PassScope scope({.after = [&](const PassDone& d) { seen.emplace_back(d.name); }});
  memory_efficient_fusion(TensorFunction([](const TensorList& in) { return TensorList{in[0].sin()}; }))(
      TensorList{tracked(ones({2}))});
  const std::vector<std::string> of_aot{"dead_code", "dead_code", "merge_equal", "forward_part", "backward_part", "reorder"},
      of_part{"computed_outputs", "dead_code", "taken_inputs", "decompose"}, of_library{"dead_code", "merge_equal"};
  std::vector<std::string> want = of_aot;
  for (const auto* passes : {&of_part, &of_part, &of_library, &of_library})
    want.insert(want.end(), passes->begin(), passes->end());
  EXPECT_EQ(seen, want);
}

TEST_F(AotCompiler, R007_MemoryEfficientFusionOfAModule) {
  const auto train = [](bool compiled) {
    manual_seed(1);
    nn::Sequential net{nn::make<nn::Linear>(6, 5), nn::make<nn::BatchNorm1d>(5), nn::make<nn::ReLU>(),
                       nn::make<nn::Linear>(5, 2)};
    const Tensor x = randn({8, 6}), y = compiled ? memory_efficient_fusion(net)(x) : net(x);
    (y * y).sum().backward();
    TensorList all{y};
    for (const auto& [name, t] : net.named_parameters()) all.push_back(t.grad());
    for (const auto& [name, t] : net.named_buffers()) all.push_back(t);
    return all;
  };
  const TensorList want = train(false), found = train(true);
  ASSERT_EQ(want.size(), found.size());
  for (std::size_t k = 0; k < want.size(); k++) EXPECT_TRUE(allclose(want[k], found[k], 1e-5, 1e-6)) << "value " << k;
}

// Small functions by the compiler itself: a tensor, one without dims, containers, a kernel, and
// what is passed through.
TEST_F(AotCompiler, A009_A010_A011_A012_A013_SmallFunctions) {
  const AotOptions both{.forward = ingot_compiler(), .backward = ingot_compiler()};
  const auto at = [](const Tree& in, std::size_t k) { return in[k].leaf().tensor(); };
  manual_seed(1);
  const TreeFunction sine = [&](const Tree& in) { return Tree(at(in, 0).sin()); };
  for (const Shape& size : {Shape{3}, Shape{}}) {
    const Tensor x = randn(size);
    EXPECT_TRUE(allclose(aot_function(sine, both)(Tree::tuple({x})).leaf().tensor(), x.sin()));
  }
  const Tensor x = randn({3}), y = randn({3}), m = randn({3, 3});
  const Tree list =
      aot_function([&](const Tree& in) { return Tree::list({at(in[0], 0).sin()}); }, both)(Tree::tuple({Tree::list({x})}));
  EXPECT_EQ(list.type(), tree_types::kList);
  EXPECT_TRUE(allclose(list[0].leaf().tensor(), x.sin()));
  const TreeFunction product = [&](const Tree& in) { return Tree(aten<"mv">(at(in, 0), at(in, 1))); };
  EXPECT_TRUE(allclose(aot_function(product, both)(Tree::tuple({m, x})).leaf().tensor(), aten<"mv">(m, x)));
  const Tree pair =
      aot_function([&](const Tree& in) { return Tree::tuple({at(in, 0) + at(in, 1), in[1]}); }, both)(Tree::tuple({x, y}));
  EXPECT_TRUE(allclose(pair[0].leaf().tensor(), x + y));
  EXPECT_TRUE(pair[1].leaf().tensor().is_same(y));
  const std::vector<double> before = x.to_vector<double>();
  const Tree dict = aot_function(
      [&](const Tree& in) {
        return Tree::dict({{Value("a"), Tree(in[0].at("a").leaf().tensor() * 2)}, {Value("b"), in[0].at("b")}});
      },
      both)(Tree::tuple({Tree::dict({{Value("a"), Tree(x)}, {Value("b"), Tree(y)}})}));
  EXPECT_TRUE(allclose(dict.at("a").leaf().tensor(), x * 2));
  EXPECT_TRUE(dict.at("b").leaf().tensor().is_same(y));
  EXPECT_EQ(x.to_vector<double>(), before) << "the tensor under the key is as it was";
}

// Through the front end and the whole back end, with open sizes: a view by numbers of the call has
// no steps to take again.
TEST_F(AotCompiler, A137_R159_AViewByNumbersOfTheCall) {
  const FlatFunction f = [](const Values& in) {
    const Tensor& x = in[0].tensor();
    return Values{x.view(Shape{in[1].to_int()}), x.view({-1})};
  };
  const Values arguments{tracked(ones({2, 2})), 4};
  AotOptions options{.forward = ingot_compiler(), .backward = ingot_compiler(), .sizes = std::make_shared<ShapeEnv>()};
  const Values fakes = fake_inputs(arguments, every_size_open(arguments), *options.sizes);
  Captured captured = capture(f, fake_inputs(fakes, {}, *options.sizes), *options.sizes);
  EXPECT_NE(print(captured.graph).find("torch.ops.aten.view.default(arg0_1, [arg1_1])"), std::string::npos)
      << print(captured.graph);
  const FlatCallable compiled = aot_module_simplified(function_of(std::move(captured)), {}, fakes, options);
  const Values out = compiled(arguments);
  EXPECT_EQ(out[0].tensor().grad_fn_name(), "AsStridedBackward0");
  EXPECT_EQ(out[1].tensor().grad_fn_name(), "ViewBackward0");
  for (const Value& v : out) {
    EXPECT_TRUE(equal(v.tensor().detach(), ones({4})));
    EXPECT_EQ(v.tensor()->storage, arguments[0].tensor()->storage);
  }
  (out[0].tensor() * 2 + out[1].tensor()).sum().backward();
  EXPECT_TRUE(equal(arguments[0].tensor().grad(), full({2, 2}, 3.0)));
}

// The second piece has n - (n + 1) / 2 elements, which nobody passes by themselves: four of nine,
// one of three and of two.
TEST_F(AotCompiler, ASizeMadeOfOpenOnesMayBeOne) {
  const TensorFunction f = [](const TensorList& in) { return TensorList{atens<"chunk">(in[0], 2, 1)[1].exp()}; };
  const AotFunction compiled = aot_function(f, {.forward = ingot_compiler(), .backward = ingot_compiler(), .dynamic = true});
  for (const int64_t n : {9, 3, 2, 12}) {
    const Tensor x = tracked(randn({4, n})), y = tracked(x.detach().clone());
    f({x})[0].sum().backward();
    compiled(TensorList{y})[0].sum().backward();
    expect_close({x.grad()}, {y.grad()});
  }
}

// What the forward keeps for the backward may be a number for all sizes that it is for: the one row
// of a piece of two.
TEST_F(AotCompiler, ASavedSizeThatIsAlwaysOne) {
  const Tensor index = tensor({1, 0, 1}, int64);
  const TensorFunction f = [&](const TensorList& in) {
    const Tensor picked = aten<"index_select">(in[0] + 0.75, 1, index);
    return TensorList{aten<"rsub.Scalar">(aten<"cumprod">(atens<"chunk">(picked, 2, 0)[0], 0), 1.5)};
  };
  AotOptions options{.forward = ingot_compiler(), .backward = ingot_compiler(), .dynamic = true};
  options.partition = [](const Joint& j) { return partition_min_cut(j); };
  const AotFunction compiled = aot_function(f, options);
  for (const int64_t n : {7, 2, 3, 9}) {
    const Tensor x = tracked(randn({n, n})), y = tracked(x.detach().clone());
    f({x})[0].sum().backward();
    compiled(TensorList{y})[0].sum().backward();
    expect_close({x.grad()}, {y.grad()});
  }
}

// The backward takes rows of n - 1 of n elements, as they lie in the input: at another n they lie
// otherwise.
TEST_F(AotCompiler, ASavedViewLiesOtherwiseAtOtherSizes) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor cut = aten<"slice.Tensor">(in[0], 1, 1, Value(), 1);
    return TensorList{aten<"celu">(aten<"unfold">(cut, 2, 2, 2)), atens<"sort">(cut, 1, true)[0]};
  };
  AotOptions options{.forward = ingot_compiler(), .decompositions = &default_decompositions(), .dynamic = true};
  options.partition = [](const Joint& j) { return partition_min_cut(j); };
  const AotFunction compiled = aot_function(f, options);
  for (const int64_t n : {7, 13, 3}) {
    const Tensor x = tracked(randn({n, n, 2})), y = tracked(x.detach().clone());
    f({x})[0].sum().backward();
    compiled(TensorList{y})[0].sum().backward();
    expect_close({x.grad()}, {y.grad()});
  }
}

// The reference runs this on a GPU.
TEST_F(AotCompiler, A177_ResNet18UnderAutocast) {
  manual_seed(0);
  testing::ResNet18 net;
  const AotModule compiled = memory_efficient_fusion(net);
  const Tensor x = randn({kSanitized ? 2 : 16, 3, 32, 32});
  const AutocastGuard on;
  const Tensor out = compiled(x);
  EXPECT_EQ(out.dtype(), bfloat16);
  out.sum().backward();
  for (const auto& [name, p] : net.named_parameters()) EXPECT_TRUE(p.grad().defined()) << name;
}

// Without an argument that requires grad there is one graph, and it is compiled as well.
TEST_F(AotCompiler, Inference) {
  const TensorFunction f = [](const TensorList& in) { return TensorList{(in[0] + 1).relu(), in[0].t()}; };
  manual_seed(1);
  expect_as_eager(f, {randn({3, 2})});
}

TEST_F(AotCompiler, RandomNumbersAreEagers) {
  const TensorFunction f = [](const TensorList& in) { return TensorList{dropout(in[0], 0.4) * 2, in[0] + rand({5, 7})}; };
  manual_seed(1);
  expect_as_eager(f, {tracked(randn({5, 7}))});
}

// Out of the type's range too, where C++ and processors differ.
TEST_F(AotCompiler, FloatsAsIntegers) {
  constexpr DType kIntegers[] = {int8, int16, int32, int64, uint8, uint16, uint32, uint64};
  const TensorFunction f = [&](const TensorList& in) {
    TensorList out;
    for (const Tensor& x : in)
      for (const DType t : kIntegers) out.push_back(x.to(t));
    return out;
  };
  // More than one vector of each, and some that are left over.
  std::vector<double> values{NAN, INFINITY, -INFINITY, 1e30, -1e30};
  for (const double v : {0.0, 0.7, 1.9, 127.9, 128.0, 255.5, 256.0, 300.7, 32768.0, 65535.0, 65536.5, 3e9, 5e9, 9.3e18, 1.9e19})
    values.insert(values.end(), {v, -v});
  const TensorList in{tensor(values), tensor(values, float64), tensor(values, float16), tensor(values, bfloat16)};
  const TensorList want = f(in), found = memory_efficient_fusion(f)(in);
  ASSERT_EQ(want.size(), found.size());
  for (std::size_t k = 0; k < want.size(); k++)
    EXPECT_EQ(want[k].to_vector<int64_t>(), found[k].to_vector<int64_t>())
        << text(in[k / std::size(kIntegers)].dtype(), " as ", kIntegers[k % std::size(kIntegers)]);
}

// Outputs: an input, views of inputs and of what is computed, the same value twice, a constant,
// nothing.
TEST_F(AotCompiler, OutputsAreWhatTheGraphSays) {
  const Tensor x = arange(6).to(float32).view({2, 3});
  const Values out = run(R"(def forward(self, arg0_1):
    t = torch.ops.aten.t.default(arg0_1)
    mul = torch.ops.aten.mul.Tensor(arg0_1, 2)
    view = torch.ops.aten.view.default(mul, [6])
    split = torch.ops.aten.split.Tensor(mul, 1)
    getitem = split[0]
    getitem_1 = split[1];  split = None
    return (arg0_1, t, mul, view, getitem_1, mul, 7, None)
)",
                         {x});
  ASSERT_EQ(out.size(), 8u);
  EXPECT_TRUE(out[0].tensor().is_same(x));
  EXPECT_EQ(out[1].tensor().data_ptr(), x.data_ptr());
  EXPECT_EQ(to_text(out[1].tensor().strides()), "[1, 3]");
  EXPECT_TRUE(equal(out[2].tensor(), x * 2));
  EXPECT_EQ(out[3].tensor().data_ptr(), out[2].tensor().data_ptr());
  EXPECT_EQ(to_text(out[3].tensor().sizes()), "[6]");
  EXPECT_TRUE(equal(out[4].tensor(), x.narrow(0, 1, 1) * 2));
  EXPECT_TRUE(out[5].tensor().is_same(out[2].tensor()));
  EXPECT_EQ(out[6].to_int64(), 7);
  EXPECT_TRUE(out[7].is_none());
}

// A result that keeps the gaps of its argument has them when it is compiled, and views of it are
// views of it.
TEST_F(AotCompiler, ResultsWithGaps) {
  const Tensor x = randn({2, 6});
  const Values out = run(R"(
def forward(self, arg0_1):
    slice_1 = torch.ops.aten.slice.Tensor(arg0_1, 1, 0, 3)
    slice_scatter = torch.ops.aten.slice_scatter.default(slice_1, slice_1, 1, 0, 3)
    t = torch.ops.aten.t.default(slice_scatter)
    return (slice_scatter, t)
)",
                         {x});
  EXPECT_TRUE(equal(out[0].tensor(), x.narrow(1, 0, 3)));
  EXPECT_EQ(to_text(out[0].tensor().strides()), "[6, 1]");
  EXPECT_NE(out[0].tensor().data_ptr(), x.data_ptr());
  EXPECT_EQ(out[1].tensor().data_ptr(), out[0].tensor().data_ptr());
  EXPECT_EQ(to_text(out[1].tensor().strides()), "[1, 6]");
}

// Views of a result are views of it where sizes are open, too.
TEST_F(AotCompiler, ViewsOfResultsWithOpenSizes) {
  AotOptions options;
  options.forward = ingot_compiler();
  options.dynamic = true;
  const AotFunction f = aot_function(TensorFunction([](const TensorList& in) {
                                       const Tensor y = in[0] * 2;
                                       const Tensor part = in[0].narrow(1, 0, 2);  // slice_scatter keeps its gaps
                                       return TensorList{y, y.narrow(1, 0, 2), y.t(), aten<"slice_scatter">(part, part, 1, 0, 2)};
                                     }),
                                     options);
  for (const int64_t n : {5, 9}) {
    const Tensor x = randn({3, n});
    const TensorList out = f(TensorList{x});
    EXPECT_TRUE(equal(out[1], x.narrow(1, 0, 2) * 2));
    EXPECT_EQ(to_text(out[1].strides()), to_text(Shape{n, 1}));
    EXPECT_EQ(to_text(out[2].strides()), to_text(Shape{1, n}));
    EXPECT_EQ(to_text(out[3].strides()), to_text(Shape{n, 1}));
    EXPECT_EQ(out[1].data_ptr(), out[0].data_ptr());
    EXPECT_EQ(out[2].data_ptr(), out[0].data_ptr());
  }
}

// A view of a result whose own strides are spelled by a size that is one: it lies as eager's does,
// at every size.
TEST_F(AotCompiler, WrittenRealPartsKeepTheirGaps) {
  AotOptions options;
  options.forward = ingot_compiler();
  options.dynamic = true;
  const TensorFunction eager = [](const TensorList& in) {
    const Tensor real = aten<"real">(aten<"atanh">(atens<"chunk">(in[0], 2, 1)[1]));
    aten_value<"neg_">(real);
    return TensorList{real};
  };
  const AotFunction f = aot_function(eager, options);
  for (const int64_t n : {7, 6, 2, 3}) {
    const Tensor x = aten<"complex">(rand({8, n}) * 0.5, rand({8, n}) * 0.5), want = eager({x})[0], got = f(TensorList{x})[0];
    EXPECT_LT((want - got).abs().max().item_double(), 1e-5) << n;
    EXPECT_EQ(to_text(got.strides()), to_text(want.strides())) << n;
  }
}

// Nothing is computed: no library is needed.
TEST_F(AotCompiler, AGraphOfViewsAlone) {
  const Tensor x = ones({2, 3});
  const Values out = run("def forward(self, arg0_1):\n    t = torch.ops.aten.t.default(arg0_1)\n    return (t, None)\n", {x});
  EXPECT_EQ(out[0].tensor().data_ptr(), x.data_ptr());
}

TEST_F(AotCompiler, WritesToInputsInTheGraph) {
  const Tensor x = ones({2, 3}), y = ones({3, 2}).t();
  const uint64_t before = x->storage->version();
  const Values out = run(R"(def forward(self, arg0_1, arg1_1):
    add = torch.ops.aten.add.Tensor(arg0_1, arg1_1)
    mul = torch.ops.aten.mul.Tensor(add, 3)
    copy_ = torch.ops.aten.copy_.default(arg0_1, add)
    copy__1 = torch.ops.aten.copy_.default(arg1_1, mul)
    return (mul, copy_)
)",
                         {x, y});
  EXPECT_TRUE(equal(x, full({2, 3}, 2.0)));
  EXPECT_TRUE(equal(y, full({2, 3}, 6.0)));
  EXPECT_TRUE(equal(out[0].tensor(), full({2, 3}, 6.0)));
  EXPECT_EQ(out[1].tensor().data_ptr(), x.data_ptr());
  EXPECT_GT(x->storage->version(), before);
}

TEST_F(AotCompiler, KeptMutationsOfInference) {
  const AotFunction f = aot_function(TensorFunction([](const TensorList& in) {
                                       Tensor(in[0]).mul_(2);
                                       return TensorList{in[0] + 1};
                                     }),
                                     {.forward = ingot_compiler(), .keep_inference_input_mutations = true});
  const Tensor x = ones({4});
  EXPECT_TRUE(equal(f(TensorList{x})[0], full({4}, 3.0)));
  EXPECT_TRUE(equal(x, full({4}, 2.0)));
  EXPECT_TRUE(equal(f(TensorList{x})[0], full({4}, 5.0)));
}

TEST_F(AotCompiler, OtherWritesAreRefused) {
  const std::string error = error_of([] {
    run("def forward(self, arg0_1):\n    resize_ = torch.ops.aten.resize_.default(arg0_1, [7])\n    return (resize_,)\n",
        {ones({2})});
  });
  EXPECT_NE(error.find("no compiled form"), std::string::npos) << error;
}

// The function and its compiled form on rows of several numbers: results, numbers among them, and
// gradients.
void expect_as_eager_for_every_size(const TreeFunction& f, const std::function<TensorList(int64_t)>& inputs_for) {
  const AotFunction compiled = aot_function(f, {.forward = ingot_compiler(), .dynamic = true});
  manual_seed(1);
  for (const int64_t n : {5, 9, 6}) {
    const TensorList in = inputs_for(n);
    const auto differentiate = [&](const TreeFunction& g) {
      const Tree out = g(Tree::list({in.begin(), in.end()}));
      const Tensor y = out[0].leaf().tensor();
      TensorList all = grad({(y * y).sum()}, in);
      all.push_back(y);
      all.push_back(scalar_tensor(out[1].leaf().to_scalar()));
      return all;
    };
    const TensorList want = differentiate(f), found = differentiate([&](const Tree& t) { return compiled(t); });
    for (std::size_t k = 0; k < want.size(); k++)
      EXPECT_TRUE(allclose(want[k], found[k], 1e-5, 1e-6)) << n << " rows, value " << k;
  }
}

// One library each way for every size: symbols and integers go in and out.
TEST_F(AotCompiler, OpenSizes) {
  const auto product = [](const Tree& a) {
    const Tensor x = a[0].leaf().tensor(), w = a[1].leaf().tensor();
    return Tree::list({Tree(x.matmul(w).tanh().view({-1})), Tree(Value(x.size(0) * 2))});
  };
  expect_as_eager_for_every_size(product, [](int64_t n) { return TensorList{tracked(randn({n, 3})), tracked(randn({3, 4}))}; });
  // What is kept is twice as long as the argument, whose own size the backward is given as a
  // number.
  const auto twice = [](const Tree& a) {
    const Tensor x = a[0].leaf().tensor();
    return Tree::list({Tree(cat({x, x}).sin()), Tree(Value(x.size(0) + 1))});
  };
  expect_as_eager_for_every_size(twice, [](int64_t n) { return TensorList{tracked(randn({n}))}; });
  // Nothing that the backward is given has the argument's size.
  const auto pairs = [](const Tree& a) {
    const Tensor x = a[0].leaf().tensor(), y = cat({x, x}).sin();
    return Tree::list({Tree(y.exp() * y.detach()), Tree(Value(x.size(0)))});
  };
  expect_as_eager_for_every_size(pairs, [](int64_t n) { return TensorList{tracked(randn({n}))}; });
}

// ---- guards (aot/guards.hpp), where graphs are libraries

TEST_F(AotCompiler, ACallThatBreaksAGuardIsCompiledFor) {
  const TreeFunction f = [](const Tree& a) {
    const Tensor x = a[0].leaf().tensor(), y = a[1].leaf().tensor();
    Tensor(x).add_(1);
    return Tree(aten<"mul.Scalar">(x * y, a[2].leaf().to_scalar()));
  };
  const AotFunction compiled = memory_efficient_fusion(f);
  const auto expect = [&](const std::function<Tree()>& make, int variants) {
    const Tree a = make(), b = make();
    const Tensor want = f(a).leaf().tensor(), found = compiled(b).leaf().tensor();
    expect_close({want}, {found});
    EXPECT_EQ(want.requires_grad(), found.requires_grad());
    for (std::size_t k = 0; k < 2; k++) expect_close({a[k].leaf().tensor()}, {b[k].leaf().tensor()});
    if (want.requires_grad()) {
      want.sum().backward();
      found.sum().backward();
      expect_close({a[1].leaf().tensor().grad()}, {b[1].leaf().tensor().grad()});
    }
    EXPECT_EQ(compiled.variants(), variants);
  };
  const auto apart = [](int64_t n, int64_t by, bool rg = false) {
    return [=] { return Tree::tuple({ones({n}), full({n}, 3.0).requires_grad_(rg), Tree(Value(by))}); };
  };
  const auto twice = [] {
    const Tensor x = ones({4});
    return Tree::tuple({x, x, Tree(Value(2))});
  };
  const auto overlap = [] {
    const Tensor x = arange(6).to(float32);
    return Tree::tuple({x.slice(0, 0, 4), x.slice(0, 2, 6), Tree(Value(2))});
  };
  expect(apart(4, 2), 1);
  expect(twice, 2);
  expect(overlap, 3);
  expect(apart(4, 5), 4);
  expect(apart(5, 5), 5);
  expect(apart(5, 5, true), 6);
  for (int k = 0; k < 2; k++) {
    expect(apart(4, 2), 6);
    expect(twice, 6);
    expect(overlap, 6);
    expect(apart(5, 5, true), 6);
  }
}

// What the library needs of open sizes beyond the trace is a guard of the function, too.
TEST_F(AotCompiler, OpenSizesThatBreakAGuardAreCompiledFor) {
  const TreeFunction f = [](const Tree& a) {
    const Tensor x = a[0].leaf().tensor();
    return Tree(x.size(0) > 5 ? x.sin().sum() : x.cos());
  };
  AotOptions options{.forward = ingot_compiler()};
  options.dynamic = true;
  const AotFunction compiled = aot_function(f, options);
  const std::vector<std::pair<int64_t, int>> sizes_and_variants = {{8, 1}, {6, 1}, {20, 1}, {4, 2}, {8, 2}, {4, 2}, {2, 2}};
  for (const auto& [n, variants] : sizes_and_variants) {
    const Tensor x = randn({n});
    expect_close({f(Tree::tuple({x})).leaf().tensor()}, {compiled(Tree::tuple({x})).leaf().tensor()});
    EXPECT_EQ(compiled.variants(), variants) << n;
  }
}

// In another compilation the function is taken in, op by op.
TEST_F(AotCompiler, InsideAnotherCompilation) {
  const TensorFunction f = [](const TensorList& in) { return TensorList{in[0].sin() * in[0]}; };
  const AotFunction inner = memory_efficient_fusion(f);
  const Tensor x = tracked(randn({3}));
  inner(TensorList{x});
  expect_as_eager([&](const TensorList& in) { return TensorList{inner(in)[0] + 1}; }, {x});
  EXPECT_LE(inner.variants(), 2) << "float32 and float64";
}

// A library knows nothing of vmap: the function runs op by op, and what is compiled refuses.
TEST_F(AotCompiler, UnderVmap) {
  const TensorFunction f = [](const TensorList& in) { return TensorList{in[0] * in[0] + in[1].sum()}; };
  const AotFunction compiled = memory_efficient_fusion(f);
  const Tensor x = tracked(randn({2, 3})), y = randn({3});
  const auto mapped = [&](const TensorFunction& g) { return vmap(g, {.in_dims = {0, std::nullopt}})({x, y})[0]; };
  const Tensor row = tracked(x.detach()[0].clone()), result = compiled({row, y})[0];
  expect_close({mapped(f)}, {mapped([&](const TensorList& in) { return compiled(in); })});
  EXPECT_EQ(compiled.variants(), 1);
  const TensorFunction pulled = [&](const TensorList& v) { return grad({result}, {row}, {v[0]}, {.retain_graph = true}); };
  expect_close({pulled({ones({3})})[0]}, {row * 2});
  EXPECT_NE(error_of([&] { vmap(pulled)({aten<"eye">(3)}); }).find("under vmap"), std::string::npos)
      << error_of([&] { vmap(pulled)({aten<"eye">(3)}); });
}

// Views, writes and their gradients in every combination that comes up.
TEST(AotCompilerRandom, ProgramsEqualEager) {
  ingot::testing::Found found;
  for (uint64_t seed = 1; seed <= 100; seed++) {
    const ingot::testing::Program p = ingot::testing::random_program(seed);
    const ingot::testing::Comparison c =
        ingot::testing::compare_transformed(p, [](const TensorFunction& f) { return as_function(memory_efficient_fusion(f)); });
    EXPECT_NE(c.agreement, ingot::testing::Agreement::differs) << "seed " << seed << ": " << c.what << "\n" << to_text(p);
    found.add(c);
  }
  EXPECT_EQ(found,
            (ingot::testing::Found{ingot::testing::counts(64, 7, 5, 3, 21, 0), ingot::testing::gradients(178, 100, 6, 0, 0, 0)}));
}

// A function that brings a module along, as code: what the module is at the call, forward and
// backward.
TEST_F(AotCompiler, ACapturedModuleIsWhatItIsAtTheCall) {
  nn::Dropout dropout(0.5);
  const AotFunction f = memory_efficient_fusion([&](const TensorList& in) { return TensorList{dropout(in[0] * 2).sum()}; });
  const auto gradient = [&] {
    const Tensor x = tracked(ones({64}));
    f(TensorList{x})[0].backward();
    return x.grad().to_vector<double>();
  };
  const std::vector<double> evaluated(64, 2.0);
  EXPECT_NE(gradient(), evaluated);
  dropout.eval();
  EXPECT_EQ(gradient(), evaluated);
  dropout.train();
  EXPECT_NE(gradient(), evaluated);
  EXPECT_EQ(f.variants(), 2);
}

}  // namespace
}  // namespace ingot::aot
