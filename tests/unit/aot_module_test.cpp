// Modules compiled with their gradients: entries of the dispatch specification that are about
// parameters and buffers.
#include "base/dtype.hpp"
#include "ingot/nn.hpp"
#include "ingot/sparse.hpp"
#include "pass/decompose.hpp"
#include "support/aot_harness.hpp"
#include "support/tracked.hpp"

namespace ingot::aot {
namespace {

using AotModules = AotHarness;

void expect_equal(const Tensor& found, const Tensor& want, const std::string& what) {
  ASSERT_EQ(found.defined(), want.defined()) << what;
  if (!want.defined()) return;
  EXPECT_EQ(detached(found).to_vector<double>(), detached(want).to_vector<double>()) << what;
}

// Two modules alike, one eager, one compiled with both graphs captured, run with gradients.
template <class M>
struct BothGraphs {
  std::string forward, backward;
  M eager, module;

  void run(const Tensor& leaf, bool keep = true) {
    const auto capture = [](std::string& text) -> Compiler {
      return [&text](std::shared_ptr<const Graph> g, const Values& examples) {
        text = print(*g);
        return nop(std::move(g), examples);
      };
    };
    module.load_state(eager.state());
    const AotModule compiled =
        aot_module(module, {.forward = capture(forward), .backward = capture(backward), .keep_inference_input_mutations = keep});
    const Tensor a = tracked(detached(leaf).clone()), b = tracked(detached(leaf).clone());
    const Tensor want = eager(a.clone()), found = compiled(b.clone());
    expect_equal(found, want, "output");
    want.sum().backward();
    found.sum().backward();
    expect_equal(b.grad(), a.grad(), "gradient of the input");
    const nn::NamedTensors expected = eager.state(), actual = module.state();
    for (std::size_t k = 0; k < expected.size(); k++) {
      expect_equal(actual[k].second.grad(), expected[k].second.grad(), "gradient of " + expected[k].first);
      expect_equal(actual[k].second, expected[k].second, expected[k].first);
    }
  }
};

TEST_F(AotModules, A020_ComplexLinear) {
  const auto make = [] {
    auto m = std::make_unique<nn::Linear>(10, 10);
    m->to(complex64);
    return m;
  };
  verify_module(make, [](nn::Linear& m, const Tree& a) { return Tree(m(a[0].leaf().tensor()).sum().abs()); },
                {randn({1, 10, 10}, {.dtype = complex64})});
}

TEST_F(AotModules, A021_EmbeddingBagWithASparseGradient) {
  const auto make = [] { return std::make_unique<nn::EmbeddingBag>(100, 8, "mean", true); };
  const auto forward = [](nn::EmbeddingBag& m, const Tree& a) {
    return Tree(m(a[0].leaf().tensor(), a[1].leaf().tensor()).view({-1}));
  };
  for (const bool dynamic : {false, true}) verify_module(make, forward, {arange(3), arange(3)}, {.dynamic = dynamic});
}
// What V compares is sparse on both sides, and what the compiled module leaves adds up as any
// gradient does.
TEST_F(AotModules, A021_TheGradientOfTheWeightIsSparse) {
  nn::EmbeddingBag eager(100, 8, "sum", true), module(100, 8, "sum", true);
  module.load_state(eager.state());
  const AotModule compiled =
      aot_module(module, [&](const Tree& a) { return Tree(module(a[0].leaf().tensor(), a[1].leaf().tensor()).view({-1})); });
  const Tensor indices = tensor({4, 99, 4}, int64), offsets = tensor({0, 2}, int64);
  for (int step = 1; step <= 2; step++) {
    eager(indices, offsets).sum().backward();
    compiled(Tree::tuple({indices, offsets})).leaf().tensor().sum().backward();
    ASSERT_TRUE(is_sparse(module.weight.grad()));
    EXPECT_EQ(sparse_indices(module.weight.grad()).numel(), 3 * step);
    expect_equal(to_dense(module.weight.grad()), to_dense(eager.weight.grad()), "gradient");
  }
  expect_equal(to_dense(module.weight.grad())[4], full({8}, 4.0), "two rows, twice");
}

TEST_F(AotModules, A037_LinearComesApart) {
  const auto make = [] { return std::make_unique<nn::Linear>(3, 3); };
  EXPECT_EQ(verify_layer(make, {tracked(ones({3, 3}))}, {.mut = true}), R"(def forward(self, primals_1, primals_2, primals_3):
    t = torch.ops.aten.t.default(primals_1);  primals_1 = None
    addmm = torch.ops.aten.addmm.default(primals_2, primals_3, t);  primals_2 = None
    return [addmm, primals_3, t]
)");
  const InferenceMode scope;
  EXPECT_EQ(verify_layer(make, {ones({3, 3})}, {.mut = true}), R"(def forward(self, arg0_1, arg1_1, arg2_1):
    t = torch.ops.aten.t.default(arg0_1);  arg0_1 = None
    addmm = torch.ops.aten.addmm.default(arg1_1, arg2_1, t);  arg1_1 = arg2_1 = t = None
    return (addmm,)
)");
}

TEST_F(AotModules, A054_BatchNormSavesWhatItReadBeforeTheWrite) {
  const auto f = [](const TensorList& in) {
    return aten_value<"_native_batch_norm_legit">(in[0], in[1], in[2], in[3], in[4], true, 0.5, 1e-5).tensors();
  };
  Decompositions decompositions;
  for (const char* name : {"_native_batch_norm_legit_functional", "native_batch_norm_backward"}) {
    const auto found = core_decompositions().find(&op(name));
    ASSERT_NE(found, core_decompositions().end()) << name;
    decompositions.insert(*found);
  }
  for (const bool rg : {true, false}) {
    const auto maybe = [&](const Tensor& t) { return rg ? tracked(t) : t; };
    const std::string graph = verify(f, {maybe(ones({2, 5, 5, 5})), maybe(ones({5})), maybe(ones({5})), ones({5}), ones({5})},
                                     {.mut = true, .decompositions = &decompositions});
    EXPECT_EQ(graph.find("batch_norm"), std::string::npos) << graph;
  }
}

TEST_F(AotModules, A055_BatchNormThatIsNotTrainedWritesNothing) {
  nn::BatchNorm2d bn(4, 4.0);
  bn.eval();
  std::string graph;
  const NoGrad scope;
  aot_module(bn, {.forward = capture(graph), .keep_inference_input_mutations = true})(ones({4, 4, 4, 4}));
  EXPECT_NE(graph.find("batch_norm"), std::string::npos) << graph;
  EXPECT_EQ(graph.find("copy_"), std::string::npos) << graph;
}

TEST_F(AotModules, A109_AModuleWithItsGradients) {
  nn::Sequential net{nn::make<nn::Linear>(32, 32), nn::make<nn::ReLU>()};
  const AotModule compiled = aot_module(net);
  const Tensor x = randn({32, 32});
  const auto gradients = [&](const Tensor& out) {
    net.zero_grad();
    out.sum().backward();
    std::vector<std::vector<double>> g;
    for (const Tensor& p : net.parameters()) g.push_back(p.grad().to_vector<double>());
    return g;
  };
  const Tensor want = net(x), found = compiled(x);
  expect_equal(found, want, "output");
  EXPECT_EQ(gradients(found), gradients(want));
}

TEST_F(AotModules, A110_BatchNormThatIsTrained) {
  nn::BatchNorm2d bn(4);
  aot_module(bn)(ones({1, 4, 2, 2})).sum().backward();
  EXPECT_TRUE(bn.weight.grad().defined());
  EXPECT_EQ(bn.num_batches_tracked.item_double(), 1);
}

TEST_F(AotModules, A126_R200_InferenceMode) {
  nn::Linear linear(4, 4);
  const Tensor x = randn({4, 4});
  const InferenceMode scope;
  expect_equal(aot_module(linear)(x), linear(x), "output");
  bool was_inference = true;
  aot_function([&](const TensorList& in) {
    was_inference = in[0]->inference;
    return TensorList{in[0] * 2};
  })(TensorList{x});
  EXPECT_FALSE(was_inference) << "it was made outside";
}

TEST_F(AotModules, A128_ABufferIsWrittenInTheGraph) {
  struct M : nn::Layer {
    Tensor buf, w1, w2;
    M() {
      add_buffer("buf", buf, zeros({1}));
      add_parameter("w1", w1, zeros({1}));
      add_parameter("w2", w2, zeros({1}));
    }
    Tensor forward(const Tensor& x) override {
      buf.add_(1);
      const Tensor first = (w1 * x * w2).sum();
      return first + buf.sum();
    }
  };
  BothGraphs<M> both;
  both.run(ones({1}));
  EXPECT_EQ(both.forward, R"(def forward(self, primals_1, primals_2, primals_3, primals_4):
    add = torch.ops.aten.add.Tensor(primals_3, 1)
    mul = torch.ops.aten.mul.Tensor(primals_1, primals_4)
    mul_1 = torch.ops.aten.mul.Tensor(mul, primals_2)
    sum_1 = torch.ops.aten.sum.default(mul_1);  mul_1 = None
    sum_2 = torch.ops.aten.sum.default(add)
    add_1 = torch.ops.aten.add.Tensor(sum_1, sum_2);  sum_1 = sum_2 = None
    copy_ = torch.ops.aten.copy_.default(primals_3, add);  primals_3 = add = None
    return [add_1, primals_1, primals_2, primals_4, mul]
)");
}

TEST_F(AotModules, A129_ABufferOfAnotherSize) {
  struct M : nn::Layer {
    Tensor buf, w;
    M() {
      add_buffer("buf", buf, ones({4, 4}));
      add_parameter("w", w, tensor({4., 5, 1, 2, 6, 7, 8, 9}, {4, 2}));
    }
    Tensor forward(const Tensor& x) override {
      buf.add_(1);
      const Tensor first = w.matmul(x).sum();
      return first + buf.sum();
    }
  };
  BothGraphs<M> both;
  both.run(ones({2, 4}));
  EXPECT_EQ(both.forward, R"(def forward(self, primals_1, primals_2, primals_3):
    add = torch.ops.aten.add.Tensor(primals_2, 1)
    mm = torch.ops.aten.mm.default(primals_1, primals_3)
    sum_1 = torch.ops.aten.sum.default(mm);  mm = None
    sum_2 = torch.ops.aten.sum.default(add)
    add_1 = torch.ops.aten.add.Tensor(sum_1, sum_2);  sum_1 = sum_2 = None
    copy_ = torch.ops.aten.copy_.default(primals_2, add);  primals_2 = add = None
    return [add_1, primals_1, primals_3]
)");
}

TEST_F(AotModules, A130_TheGraphsOfBatchNorm) {
  struct M : nn::Layer {
    nn::BatchNorm1d m{100};
    M() { add("m", m); }
    Tensor forward(const Tensor& x) override { return m(x); }
  };
  BothGraphs<M> both;
  both.run(ones({20, 100}));
  EXPECT_EQ(both.forward, R"(def forward(self, primals_1, primals_2, primals_3, primals_4, primals_5, primals_6):
    add = torch.ops.aten.add.Tensor(primals_5, 1)
    _native_batch_norm_legit_functional = torch.ops.aten._native_batch_norm_legit_functional.default(primals_6, primals_1, primals_2, primals_3, primals_4, True, 0.1, 1e-05);  primals_2 = None
    getitem = _native_batch_norm_legit_functional[0]
    getitem_1 = _native_batch_norm_legit_functional[1]
    getitem_2 = _native_batch_norm_legit_functional[2]
    getitem_3 = _native_batch_norm_legit_functional[3]
    getitem_4 = _native_batch_norm_legit_functional[4];  _native_batch_norm_legit_functional = None
    copy_ = torch.ops.aten.copy_.default(primals_3, getitem_3);  primals_3 = None
    copy__1 = torch.ops.aten.copy_.default(primals_4, getitem_4);  primals_4 = None
    copy__2 = torch.ops.aten.copy_.default(primals_5, add);  primals_5 = add = None
    return [getitem, primals_1, primals_6, getitem_1, getitem_2, getitem_3, getitem_4]
)");
  EXPECT_EQ(both.backward, R"(def forward(self, primals_1, primals_6, getitem_1, getitem_2, getitem_3, getitem_4, tangents_1):
    native_batch_norm_backward = torch.ops.aten.native_batch_norm_backward.default(tangents_1, primals_6, primals_1, getitem_3, getitem_4, getitem_1, getitem_2, True, 1e-05, [True, True, True]);  tangents_1 = primals_6 = primals_1 = getitem_3 = getitem_4 = getitem_1 = getitem_2 = None
    getitem_5 = native_batch_norm_backward[0]
    getitem_6 = native_batch_norm_backward[1]
    getitem_7 = native_batch_norm_backward[2];  native_batch_norm_backward = None
    return [getitem_6, getitem_7, None, None, None, getitem_5]
)");
}

TEST_F(AotModules, R005_StateIsParametersThenBuffersUnderEveryName) {
  struct M : nn::Layer {
    Tensor buf, w, again;
    nn::Linear inner{2, 2};
    M() {
      add_buffer("buf", buf, ones({2}));
      add_parameter("w", w, ones({2}));
      add_parameter("again", again, w);
      add("inner", inner);
    }
    Tensor forward(const Tensor& x) override { return inner(x) * w + buf * again; }
  };
  M m;
  const ModuleFunction f = as_function(m, forward_of(m));
  EXPECT_EQ(f.parameters, (std::vector<std::string>{"w", "again", "inner.weight", "inner.bias"}));
  EXPECT_EQ(f.buffers, std::vector<std::string>{"buf"});
  ASSERT_EQ(f.state.size(), 5u);
  EXPECT_TRUE(f.state[0].is_same(f.state[1])) << "one tensor under two names";
  std::vector<Tree> other{zeros({2}), full({2}, 7.0), zeros({2, 2}), ones({2}), ones({2}), ones({1, 2})};
  EXPECT_EQ(f.f(Tree::tuple(other)).leaf().tensor().to_vector<double>(), (std::vector<double>{7, 7}))
      << "each name has the tensor given for it";
  EXPECT_EQ(m.w.to_vector<double>(), (std::vector<double>{1, 1})) << "and the module's own afterwards";

  const AotModule compiled = aot_module(m);
  const Tensor x = randn({3, 2});
  expect_equal(compiled(x), m(x), "output");
  compiled(x).sum().backward();
  const std::vector<double> found = m.w.grad().to_vector<double>();
  m.zero_grad();
  m(x).sum().backward();
  EXPECT_EQ(found, m.w.grad().to_vector<double>()) << "the gradients of both names";
}

TEST_F(AotModules, R005_FakeStateIsRefused) {
  struct M : nn::Layer {
    Tensor t;
    explicit M(bool parameter) {
      const Scoped<bool> fakes(thread_state().fake_factories, true);
      if (parameter) add_parameter("weight", t, ones({2}));
      else add_buffer("running", t, ones({2}));
    }
    Tensor forward(const Tensor& x) override { return x + t; }
  } with_parameter(true), with_buffer(false);
  EXPECT_TRUE(error_of([&] { aot_module(with_parameter); }).starts_with("Unexpected fake param weight"));
  EXPECT_TRUE(error_of([&] { aot_module(with_buffer); }).starts_with("Unexpected fake buffer running"));
}

}  // namespace
}  // namespace ingot::aot
