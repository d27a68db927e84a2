// The default table of decompositions: every program of it against the kernel it stands for.
#include "graph/interpret.hpp"
#include "ingot/decompositions.hpp"
#include "support/aot_harness.hpp"

namespace ingot::aot {
namespace {

using AotDefaultDecompositions = AotHarness;

// The corners of every piece, and points between them.
Tensor points(DType dtype) {
  Tensor t = empty({13});
  const double values[] = {-4, -3, -2.5, -1, -0.5, -0.0, 0, 0.5, 1, 2.5, 3, 3.5, 6};
  for (int64_t k = 0; k < 13; k++) t[k].fill_(values[k]);
  return t.to(dtype);
}

struct Sample {
  const char* op;
  std::function<Tensor(const Tensor& g, const Tensor& x)> f;
};
const Sample kSamples[] = {
    {"detach", [](const Tensor& g, const Tensor& x) { return aten<"detach">(x) * g; }},
    {"gelu_backward", [](const Tensor& g, const Tensor& x) { return aten<"gelu_backward">(g, x); }},
    {"gelu_backward", [](const Tensor& g, const Tensor& x) { return aten<"gelu_backward">(g, x, "tanh"); }},
    {"leaky_relu_backward", [](const Tensor& g, const Tensor& x) { return aten<"leaky_relu_backward">(g, x, 0.1, false); }},
    {"sigmoid_backward", [](const Tensor& g, const Tensor& x) { return aten<"sigmoid_backward">(g, x); }},
    {"threshold_backward", [](const Tensor& g, const Tensor& x) { return aten<"threshold_backward">(g, x, 0.5); }},
    {"hardtanh_backward", [](const Tensor& g, const Tensor& x) { return aten<"hardtanh_backward">(g, x, -1, 2.5); }},
    {"hardsigmoid_backward", [](const Tensor& g, const Tensor& x) { return aten<"hardsigmoid_backward">(g, x); }},
    {"hardswish_backward", [](const Tensor& g, const Tensor& x) { return aten<"hardswish_backward">(g, x); }},
    {"tanh_backward", [](const Tensor& g, const Tensor& x) { return aten<"tanh_backward">(g, x); }},
    {"silu_backward", [](const Tensor& g, const Tensor& x) { return aten<"silu_backward">(g, x); }},
    {"elu_backward", [](const Tensor& g, const Tensor& x) { return aten<"elu_backward">(g, 1.5, 1.1, 0.7, false, x); }},
    {"elu_backward", [](const Tensor& g, const Tensor& x) { return aten<"elu_backward">(g, 1.5, 1.1, 0.7, true, x); }},
    {"masked_fill.Scalar",
     [](const Tensor& g, const Tensor& x) { return aten<"masked_fill.Scalar">(g, aten<"gt.Scalar">(x, 0), 2.5); }},
    {"masked_fill.Tensor",
     [](const Tensor& g, const Tensor& x) { return aten<"masked_fill.Tensor">(g, aten<"gt.Scalar">(x, 0), x.sum()); }},
    {"elu", [](const Tensor&, const Tensor& x) { return aten<"elu">(x, 1.5, 1.1, 0.7); }},
    {"leaky_relu", [](const Tensor&, const Tensor& x) { return aten<"leaky_relu">(x, 0.1); }},
    {"hardtanh", [](const Tensor&, const Tensor& x) { return aten<"hardtanh">(x, -1, 2.5); }},
    {"hardswish", [](const Tensor&, const Tensor& x) { return aten<"hardswish">(x); }},
    {"hardsigmoid", [](const Tensor&, const Tensor& x) { return aten<"hardsigmoid">(x); }},
};

// Those that take complex numbers: the slope is conjugated.
TEST_F(AotDefaultDecompositions, GradientsOfComplexNumbers) {
  for (const char* name : {"sigmoid_backward", "tanh_backward", "silu_backward"}) {
    const Tensor x = aten<"complex">(points(DType::f64) * 0.25, points(DType::f64) * -0.5 + 0.125), g = x * 0.5 + 1;
    const Graph graph =
        std::move(trace(TensorFunction([&](const TensorList& in) { return TensorList{call(op(name), {in[0], in[1]}).tensor()}; }),
                        {g, x}, {.decompositions = &default_decompositions()})
                      .graph);
    const Tensor found = Interpreter(graph).run(Values{g, x})[0].tensor(), want = call(op(name), {g, x}).tensor();
    EXPECT_LT(aten<"amax">(aten<"abs">(found - want)).item_double(), 1e-12) << name;
  }
}

TEST_F(AotDefaultDecompositions, R007_EveryProgramIsTheOpItStandsFor) {
  std::set<const Op*> tried;
  for (const Sample& s : kSamples) {
    tried.insert(&op(s.op));
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
      const Tensor x = points(dtype), g = (x * 0.3 + 1).to(dtype);
      const Graph graph = std::move(trace(TensorFunction([&](const TensorList& in) { return TensorList{s.f(in[0], in[1])}; }),
                                          {g, x}, {.decompositions = &default_decompositions()})
                                        .graph);
      for (const auto& n : graph.nodes()) EXPECT_NE(n->op, &op(s.op)) << print(graph);
      const Tensor found = Interpreter(graph).run(Values{g, x})[0].tensor(), want = s.f(g, x);
      ASSERT_EQ(found.dtype(), want.dtype()) << s.op;
      const std::vector<double> w = want.to_vector<double>(), f = found.to_vector<double>();
      const double tolerance = dtype == DType::f64 ? 1e-12 : dtype == DType::f32 ? 2e-6 : 1.6e-2;
      for (std::size_t k = 0; k < w.size(); k++)
        EXPECT_NEAR(w[k], f[k], tolerance * std::max(1.0, std::abs(w[k]))) << s.op << " of element " << k;
    }
  }
  for (const auto& [o, program] : default_decompositions()) EXPECT_TRUE(tried.contains(o)) << o->name;
}

TEST_F(AotDefaultDecompositions, GradientsAreTheSameWithTheTable) {
  const auto f = [](const TensorList& in) {
    const Tensor h = aten<"gelu">(in[0].mm(in[1])), k = aten<"silu">(h) + aten<"hardswish">(h.detach()) * aten<"elu">(h);
    return TensorList{aten<"leaky_relu">(k.tanh(), 0.2), aten<"masked_fill.Scalar">(k.sigmoid(), aten<"gt.Scalar">(h, 0), 0)};
  };
  verify(f, {randn({3, 4}).requires_grad_(), randn({4, 5}).requires_grad_()}, {.decompositions = &default_decompositions()});
}

}  // namespace
}  // namespace ingot::aot
