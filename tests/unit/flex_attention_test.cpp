// flex_attention: attention whose scores functions change and mask.
#include <gtest/gtest.h>

#include <cmath>

#include "aot/aot.hpp"
#include "aot/min_cut.hpp"
#include "graph/dead_code.hpp"
#include "graph/same.hpp"
#include "graph/trace.hpp"
#include "graph/verify.hpp"
#include "format/pt2/write.hpp"
#include "ingot/control_flow.hpp"
#include "ingot/transforms.hpp"
#include "op/call.hpp"
#include "op/function.hpp"
#include "support/error_text.hpp"
#include "support/flex_cases.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

using testing::FlexCase;

const std::vector<FlexCase>& cases() {
  static const std::vector<FlexCase> all = testing::flex_cases(std::string(INGOT_TEST_DATA) + "/flex_attention");
  return all;
}

TEST(FlexAttention, G07_ListingsOfPyTorchAreGraphs) {
  EXPECT_EQ(cases().size(), 19u);
  for (const FlexCase& c : cases()) {
    const Graph g = c.graph();
    EXPECT_EQ(find_fault(g), "") << c.name;
    for (const GraphForm form : {GraphForm::readable, GraphForm::full})
      EXPECT_EQ(difference(parse_graph(print(g, form)), g), "") << c.name;
    EXPECT_EQ(difference(parse_graph(print(g), {.attributes = &g.attributes}), g), "") << c.name;
  }
}

TEST(FlexAttention, P172_ResultsAndGradientsArePyTorchs) {
  for (const FlexCase& c : cases()) {
    const Graph g = c.graph();
    EXPECT_EQ(testing::difference_from_pytorch(c, testing::interpreted(g)), "") << c.name;
  }
}

// The tape keeps what goes in, and no scores.
TEST(FlexAttention, X04_CompiledWithItsGradients) {
  for (const FlexCase& c : cases()) {
    const Graph g = c.graph();
    for (const bool min_cut : {false, true}) {
      aot::AotOptions options;
      if (min_cut) options.partition = [](const aot::Joint& j) { return aot::partition_min_cut(j); };
      std::shared_ptr<const Graph> forward;
      options.forward = [&](const std::shared_ptr<const Graph>& graph, const Values& examples) {
        if (!forward) forward = graph;
        return aot::nop(graph, examples);
      };
      const aot::AotFunction f = aot::aot_function(testing::interpreted(g), options);
      EXPECT_EQ(testing::difference_from_pytorch(c, [&](const TensorList& in) { return f(in); }), "") << c.name;
      // The backward gets what went in, and no scores.
      EXPECT_NE(print(*forward).find("torch.ops.higher_order.flex_attention("), std::string::npos) << print(*forward);
      const Tensor &q = c.inputs[c.inputs.size() - 3], &k = c.inputs[c.inputs.size() - 2];
      const Shape scores{q.size(0), q.size(1), q.size(2), k.size(2)};
      for (const Argument& a : forward->outputs) {
        const bool is_input = a.is_node() && a.node()->kind == NodeKind::placeholder;
        if (is_input || !a.is_node() || !a.node()->meta.is_tensor()) continue;
        EXPECT_NE(a.node()->meta.tensor().sizes(), scores) << c.name;
      }
    }
  }
}

// Backward graphs of PyTorch, in which the gradient is an op of its own.
TEST(FlexAttention, X04_BackwardGraphsOfPyTorch) {
  const std::vector<FlexCase> all = testing::flex_cases(std::string(INGOT_TEST_DATA) + "/flex_attention_backward");
  EXPECT_EQ(all.size(), 3u);
  for (const FlexCase& c : all) {
    const Graph g = c.graph();
    EXPECT_EQ(find_fault(g), "") << c.name;
    EXPECT_EQ(difference(parse_graph(print(g, GraphForm::full)), g), "") << c.name;
    const TensorFunction f = [&](const TensorList& in) {
      TensorList out;
      for (const Value& v : Interpreter(g).run(Values(in.begin(), in.end())))
        if (v.is_tensor()) out.push_back(v.tensor());
      return out;
    };
    EXPECT_EQ(testing::difference_from_pytorch(c, f), "") << c.name;
    // The same recorded: the call is whole, its functions are graphs.
    const Traced t = trace(functionalize(f), c.inputs);
    EXPECT_EQ(find_fault(t.graph), "") << c.name;
    EXPECT_NE(print(t.graph).find("torch.ops.higher_order.flex_attention_backward("), std::string::npos) << print(t.graph);
    EXPECT_EQ(testing::difference_from_pytorch(c, testing::interpreted(t.graph)), "") << c.name;
  }
}

// In C++: a window of two keys, heads of the query sharing those of the key, a bias that a function
// brings along.
TEST(FlexAttention, InCxx) {
  const Tensor q = randn({2, 4, 5, 3}), k = randn({1, 2, 5, 3}), v = randn({1, 2, 5, 3});
  Tensor bias = randn({4}).requires_grad_();
  FlexOptions options;
  options.score_mod = [&](const Tensor& s, const Tensor&, const Tensor& h, const Tensor&, const Tensor&) {
    return s + aten<"index.Tensor">(bias, TensorList{h}) * s;
  };
  options.mask_mod = [](const Tensor&, const Tensor&, const Tensor& i, const Tensor& j) {
    const Tensor back = i - j;
    return aten<"logical_and">(aten<"ge.Scalar">(back, 0), aten<"lt.Scalar">(back, 2));
  };
  const FlexResult r = flex_attention(q, k, v, options);
  const auto heads = [](const Tensor& t) { return aten<"repeat_interleave.self_int">(t, 2, 1); };
  const Tensor scores = matmul(q, heads(k).transpose(-2, -1)) * (1 / std::sqrt(3.0)) * (bias.view({4, 1, 1}) + 1);
  const Tensor near = aten<"triu">(aten<"tril">(ones({5, 5})), -1);
  const Tensor masked = aten<"where.ScalarOther">(near.to(DType::b8), scores, -HUGE_VAL);
  const Tensor want = matmul(aten<"softmax.int">(masked, -1), heads(v));
  const auto expect_near = [](const Tensor& a, const Tensor& b) {
    EXPECT_EQ(compare(a.detach(), b.detach(), {1e-5, 1e-5}).message, "");
  };
  expect_near(r.output, want);
  expect_near(r.logsumexp, aten<"logsumexp">(masked, Shape{-1}));
  expect_near(r.max_scores, aten<"amax">(masked, Shape{-1}));
  const Tensor got = grad({r.output.sum() + r.logsumexp.sum()}, {bias})[0];
  expect_near(got, grad({want.sum() + aten<"logsumexp">(masked, Shape{-1}).sum()}, {bias})[0]);
}

// Gradients of gradients, against attention written out.
TEST(FlexAttention, GradientsOfGradients) {
  manual_seed(1);
  TensorList start;
  for (const Shape& size : {Shape{1, 2, 3, 2}, Shape{1, 2, 3, 2}, Shape{1, 2, 3, 2}, Shape{2}})
    start.push_back(randn(size).to(DType::f64));
  const TensorFunction flex = [](const TensorList& in) {
    FlexOptions o;
    o.scale = 0.7;
    o.score_mod = [b = in[3]](const Tensor& s, const Tensor&, const Tensor& h, const Tensor&, const Tensor&) {
      return aten<"tanh">(s * aten<"index.Tensor">(b, TensorList{h}));
    };
    o.mask_mod = [](const Tensor&, const Tensor&, const Tensor& i, const Tensor& j) { return aten<"ge.Tensor">(i, j); };
    const FlexResult r = flex_attention(in[0], in[1], in[2], o);
    return TensorList{r.output.sin().sum() + r.logsumexp.cos().sum()};
  };
  const TensorFunction written_out = [](const TensorList& in) {
    const Tensor scores = aten<"tanh">(matmul(in[0], in[1].transpose(-2, -1)) * 0.7 * in[3].view({2, 1, 1}));
    const Tensor mask = aten<"tril">(ones({3, 3})).to(DType::b8);
    const Tensor masked = aten<"where.ScalarOther">(mask, scores, -HUGE_VAL);
    const Tensor out = matmul(aten<"softmax.int">(masked, -1), in[2]);
    return TensorList{out.sin().sum() + aten<"logsumexp">(masked, Shape{-1}).cos().sum()};
  };
  const auto second = [&](const TensorFunction& f) {
    TensorList in, all;
    for (const Tensor& t : start) in.push_back(Tensor(t.clone()).requires_grad_());
    const TensorList first = grad(f(in), in, {}, {.create_graph = true});
    Tensor sum;
    for (const Tensor& g : first) sum = sum.defined() ? sum + (g * g).sum() : (g * g).sum();
    all = first;
    for (const Tensor& g : grad({sum}, in)) all.push_back(g);
    return all;
  };
  const TensorList got = second(flex), want = second(written_out);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); i++)
    EXPECT_EQ(compare(got[i].detach(), want[i].detach(), {1e-10, 1e-10}).message, "") << i;
}

Tensor element(const Value& v) { return v.tensor(); }
Value noop_mask() {
  return make_function([](Args a) { return Values{aten<"ones">(Shape{}, DType::b8, Value(), element(a[0]).device())}; });
}
Value block_mask(Value mask) { return Values{1, 1, Value(), std::move(mask)}; }

TensorList flex(const Tensor& q, const Tensor& k, const Tensor& v, const Value& score_mod, const Value& mask, double scale = 1,
                const TensorList& buffers = {}) {
  return call(op("higher_order::flex_attention"), {q, k, v, score_mod, block_mask(mask), scale, Values(), buffers, TensorList()})
      .tensors();
}
Value identity() {
  return make_function([](Args a) { return Values{a[0]}; });
}

// By hand: softmax over what takes part.
TEST(FlexAttention, P172_ResultsAreOutputLogsumexpAndMaximum) {
  const Tensor q = tensor({1.0, 2.0}, {1, 1, 2, 1}, DType::f64), k = tensor({1.0, 3.0}, {1, 1, 2, 1}, DType::f64),
               v = tensor({10.0, 20.0}, {1, 1, 2, 1}, DType::f64);
  const Value causal = make_function([](Args a) { return Values{aten<"ge.Tensor">(a[2], a[3])}; });
  const TensorList r = flex(q, k, v, identity(), causal, 0.5);
  const double e0 = std::exp(1.0), e1 = std::exp(3.0);
  EXPECT_NEAR(r[0].to_vector<double>()[0], 10, 1e-12);
  EXPECT_NEAR(r[0].to_vector<double>()[1], (10 * e0 + 20 * e1) / (e0 + e1), 1e-12);
  EXPECT_NEAR(r[1].to_vector<double>()[0], 0.5 / std::log(2), 1e-12);
  EXPECT_NEAR(r[1].to_vector<double>()[1], std::log(e0 + e1) / std::log(2), 1e-12);
  EXPECT_NEAR(r[2].to_vector<double>()[1], 3 / std::log(2), 1e-12);
  // A row in which nothing takes part.
  const Value nothing = make_function([](Args a) { return Values{aten<"lt.Tensor">(a[2], a[2])}; });
  const TensorList none = flex(q, k, v, identity(), nothing);
  EXPECT_EQ(none[0].to_vector<double>(), (std::vector<double>{0, 0}));
  for (const int k : {1, 2}) EXPECT_EQ(none[k].to_vector<double>(), std::vector<double>(2, -HUGE_VAL));
  // The output lies as the query does.
  const Tensor inside = randn({2, 6, 4, 8}).transpose(1, 2);
  EXPECT_EQ(flex(inside, inside, inside, identity(), noop_mask())[0].strides(), (Shape{192, 8, 32, 1}));
}

// Recorded it is one call, as PyTorch prints it, with the functions as graphs of elements.
TEST(FlexAttention, G07_ATraceKeepsTheCall) {
  const Tensor bias = randn({2});
  const TensorFunction f = [&](const TensorList& in) {
    const Value alibi = make_function([b = in[3]](Args a) {  // brings the bias along
      const Tensor slope = aten<"index.Tensor">(b, TensorList{element(a[2])});
      return Values{aten<"add.Tensor">(a[0], aten<"mul.Tensor">(slope, aten<"sub.Tensor">(a[3], a[4])))};
    });
    return TensorList{flex(in[0], in[1], in[2], alibi, noop_mask())[0]};
  };
  const TensorList in{randn({1, 2, 3, 4}), randn({1, 2, 3, 4}), randn({1, 2, 3, 4}), bias};
  const Traced t = trace(functionalize(f), in);
  EXPECT_EQ(find_fault(t.graph), "");
  EXPECT_EQ(print(without_dead_code(t.graph), GraphForm::readable), R"(class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "f32[1, 2, 3, 4]", arg1_1: "f32[1, 2, 3, 4]", arg2_1: "f32[1, 2, 3, 4]", arg3_1: "f32[2]"):
        # No stacktrace found for following nodes
        sdpa_score_0 = self.sdpa_score_0
        sdpa_mask_0 = self.sdpa_mask_0
        flex_attention = torch.ops.higher_order.flex_attention(arg0_1, arg1_1, arg2_1, sdpa_score_0, [1, 1, None, sdpa_mask_0], 1.0, [], [arg3_1], []);  arg0_1 = arg1_1 = arg2_1 = sdpa_score_0 = sdpa_mask_0 = arg3_1 = None
        getitem: "f32[1, 2, 3, 4]" = flex_attention[0];  flex_attention = None
        return (getitem,)

    class sdpa_score_0(torch.nn.Module):
        def forward(self, arg0_1: "f32[]", arg1_1: "i32[]", arg2_1: "i32[]", arg3_1: "i32[]", arg4_1: "i32[]", arg5_1: "f32[2]"):
            # No stacktrace found for following nodes
            index: "f32[]" = torch.ops.aten.index.Tensor(arg5_1, [arg2_1]);  arg5_1 = arg2_1 = None
            sub: "i32[]" = torch.ops.aten.sub.Tensor(arg3_1, arg4_1);  arg3_1 = arg4_1 = None
            mul: "f32[]" = torch.ops.aten.mul.Tensor(index, sub);  index = sub = None
            add: "f32[]" = torch.ops.aten.add.Tensor(arg0_1, mul);  arg0_1 = mul = None
            return add

    class sdpa_mask_0(torch.nn.Module):
        def forward(self, arg0_1: "i32[]", arg1_1: "i32[]", arg2_1: "i32[]", arg3_1: "i32[]"):
            # No stacktrace found for following nodes
            ones: "b8[]" = torch.ops.aten.ones.default([], dtype = torch.bool, device = device(type='cpu'))
            return ones
)");
  const auto numbers = [](const TensorList& l) { return l[0].to_vector<float>(); };
  const TensorList want = f(in);
  EXPECT_EQ(numbers(testing::interpreted(t.graph)(in)), numbers(want));
  EXPECT_EQ(numbers(functionalize(f)(in)), numbers(want));
  // The tensor that a function brings along has a gradient, also through the tape alone.
  TensorList leaves;
  for (const Tensor& x : in) leaves.push_back(Tensor(x.detach().clone()).requires_grad_());
  f(leaves)[0].sum().backward();
  TensorList given;
  for (const Tensor& x : in) given.push_back(Tensor(x.detach().clone()).requires_grad_());
  testing::interpreted(t.graph)(given)[0].sum().backward();
  for (std::size_t i = 0; i < in.size(); i++) {
    ASSERT_TRUE(leaves[i].grad().defined()) << i;
    EXPECT_EQ(leaves[i].grad().to_vector<float>(), given[i].grad().to_vector<float>()) << i;
  }
}

// Members of a vmap are calls of their own.
TEST(FlexAttention, VmapOverBatchesAndBuffers) {
  const Tensor q = randn({3, 2, 2, 4, 4}), slopes = randn({3, 2});
  const TensorFunction one = [](const TensorList& in) {
    const Value score = make_function(
        [](Args a) { return Values{aten<"mul.Tensor">(a[0], aten<"index.Tensor">(a[5], TensorList{element(a[2])}))}; });
    return TensorList{flex(in[0], in[0], in[0], score, noop_mask(), 0.5, {in[1]})[0]};
  };
  const Tensor all = vmap(one)({q, slopes})[0];
  for (int64_t i = 0; i < 3; i++) {
    const std::vector<float> got = all.select(0, i).contiguous().to_vector<float>(),
                             want = one({q.select(0, i), slopes.select(0, i)})[0].to_vector<float>();
    for (std::size_t e = 0; e < want.size(); e++) EXPECT_NEAR(got[e], want[e], 1e-5);
  }
}

TEST(FlexAttention, BadCalls) {
  const Tensor q = randn({1, 2, 4, 2});
  const auto fault = [](const auto& f) { return error_of([&] { (void)f(); }); };
  const auto expect = [](const std::string& message, std::string_view part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect(fault([&] { return flex(q, q.select(0, 0), q, identity(), noop_mask()); }),
         "NYI: query, key, and value must be 4D tensors, found 4D, 3D and 4D");
  expect(fault([&] { return flex(q, randn({1, 2, 4, 3}), q, identity(), noop_mask()); }),
         "Expect query and key/value to have the same embedding dimension but got E=2 and E=3.");
  expect(fault([&] { return flex(randn({1, 3, 4, 2}), q, q, identity(), noop_mask()); }),
         "Expect number of query heads to be a multiple of kv heads for GQA but got Hq=3 and Hkv=2.");
  expect(fault([&] { return flex(q, randn({2, 2, 4, 2}), randn({2, 2, 4, 2}), identity(), noop_mask()); }),
         "Bq and Bkv must broadcast. Got Bq=1 and Bkv=2");
  expect(fault([&] { return flex(q, q, randn({1, 2, 3, 2}), identity(), noop_mask()); }),
         "key and value should have the same batches, heads and length");
  expect(fault([&] { return flex(q, q, q, identity(), 3); }), "the block mask should end in its function, found int");
  // No file can hold it: PyTorch cannot write it either.
  Pt2Program program;
  program.program.main().graph = cases()[0].graph();
  expect(fault([&] { return (save_pt2(::testing::TempDir() + "flex.pt2", program), 0); }),
         "exported programs have no list of values together with constants");
  const Value two = make_function([](Args a) { return Values{a[0], a[0]}; });
  expect(fault([&] { return flex(q, q, q, two, noop_mask()); }), "the score function should return one tensor, found 2 results");
}

}  // namespace
}  // namespace ingot
