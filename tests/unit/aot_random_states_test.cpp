// Random calls that a backward makes again have the numbers that they had in the forward (R127).
#include "aot/min_cut.hpp"
#include "graph/save_policy.hpp"
#include "ingot/state.hpp"
#include "support/aot_harness.hpp"
#include "tensor/random.hpp"

namespace ingot::aot {
namespace {

class AotRandomStates : public AotHarness {
 protected:
  std::string forward, backward;

  AotFunction compiled(const TensorFunction& f, bool dynamic = false) {
    return aot_function(f, {.forward = capture(forward), .backward = capture(backward), .dynamic = dynamic});
  }
  static TensorList matrices() { return {ones({4, 4}).requires_grad_(), (ones({4, 4}) * 0.1).detach().requires_grad_()}; }
  // Results, gradients, and what the stream gives afterwards. Between the passes others draw.
  static std::vector<std::vector<double>> run(const TensorFunction& f) {
    const TensorList in = matrices();
    manual_seed(3);
    const Tensor y = f(in)[0];
    rand({7});
    y.sum().backward();
    return {detached(y).to_vector<double>(), in[0].grad().to_vector<double>(), in[1].grad().to_vector<double>(),
            rand({3}).to_vector<double>()};
  }
};

TEST_F(AotRandomStates, R127_TheForwardSavesTheStateAndTheBackwardRunsWithIt) {
  const TensorFunction f = [](const TensorList& in) {
    const CheckpointScope region;
    const Tensor h = aten_value<"native_dropout">(in[0].mm(in[1]), 0.5, true).tensors()[0].sin();
    return TensorList{(aten<"rand_like">(h) * h).exp()};
  };
  const std::vector<std::vector<double>> want = run(f), found = run([g = compiled(f)](const TensorList& in) { return g(in); });
  EXPECT_EQ(found, want);
  EXPECT_EQ(forward, R"(def forward(self, primals_1, primals_2):
    mm = torch.ops.aten.mm.default(primals_1, primals_2)
    run_and_save_rng_state = torch.ops.higher_order.run_and_save_rng_state(torch.ops.aten.native_dropout.default, mm, 0.5, True);  mm = None
    rng_state_output_0 = run_and_save_rng_state[0]
    native_dropout = run_and_save_rng_state[1];  run_and_save_rng_state = None
    getitem = native_dropout[0];  native_dropout = None
    sin = torch.ops.aten.sin.default(getitem);  getitem = None
    run_and_save_rng_state_1 = torch.ops.higher_order.run_and_save_rng_state(torch.ops.aten.rand_like.default, sin, None, None, None, None, None)
    rng_state_output_1 = run_and_save_rng_state_1[0]
    rand_like = run_and_save_rng_state_1[1];  run_and_save_rng_state_1 = None
    mul = torch.ops.aten.mul.Tensor(rand_like, sin);  rand_like = sin = None
    exp = torch.ops.aten.exp.default(mul);  mul = None
    return [exp, primals_1, primals_2, rng_state_output_0, rng_state_output_1]
)");
  EXPECT_TRUE(
      backward.starts_with("def forward(self, primals_1, primals_2, rng_state_output_0, rng_state_output_1, tangents_1):\n"))
      << backward;
  for (const char* call :
       {"run_with_rng_state(rng_state_output_0, torch.ops.aten.native_dropout.default, mm, 0.5, True)",
        "run_with_rng_state(rng_state_output_1, torch.ops.aten.rand_like.default, sin,", "aten.mm.default(primals_1, primals_2)"})
    EXPECT_NE(backward.find(call), std::string::npos) << call << " in\n" << backward;
}

TEST_F(AotRandomStates, R127_StatesComeBeforeSavedSizes) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor rows = in[0].sum({1});
    const CheckpointScope region;
    return TensorList{(rows * in[1].sum({0}) * aten<"rand_like">(rows)).exp()};
  };
  const std::vector<std::vector<double>> want = run(f),
                                         found = run([g = compiled(f, true)](const TensorList& in) { return g(in); });
  EXPECT_EQ(found, want);
  const std::string first = backward.substr(0, backward.find('\n'));
  EXPECT_NE(first.find(", rng_state_output_0, tangents_1):"), std::string::npos) << first;
  EXPECT_NE(first.find("(self, sym_size"), std::string::npos) << first;
  EXPECT_NE(forward.find(", rng_state_output_0, sym_size"), std::string::npos) << "the state, then sizes:\n" << forward;
}

// Nothing is done again that the author did not mark, and a call that names a generator has numbers
// of its own.
TEST_F(AotRandomStates, R127_OtherRandomNumbersAreKept) {
  const auto generator = make_ref<Generator>(7);
  const TensorFunction f = [&](const TensorList& in) {
    const Tensor outside = aten<"rand_like">(in[0]) * in[0];
    const CheckpointScope region;
    const Tensor own = aten<"rand.generator">(Shape{4, 4}, generator);
    return TensorList{(outside.mm(in[1]) * own).exp()};
  };
  const auto from_seven = [&](const TensorFunction& g) {
    generator->manual_seed(7);
    return run(g);
  };
  const std::vector<std::vector<double>> want = from_seven(f),
                                         found = from_seven([g = compiled(f)](const TensorList& in) { return g(in); });
  EXPECT_EQ(found, want);
  for (const char* op : {"rng_state", "aten.rand"}) EXPECT_EQ(backward.find(op), std::string::npos) << backward;
}

TEST_F(AotRandomStates, R127_ACallThatFailsLeavesTheStreamAsItWas) {
  manual_seed(3);
  const Tensor state = get_rng_state();
  rand({2});
  const std::vector<double> next = [] {
    const ForkRng fork;
    return rand({3}).to_vector<double>();
  }();
  const auto with_state = [&](const Tensor& s, Shape sizes) {
    return aten_value<"higher_order::run_with_rng_state">(s, "aten::rand", std::move(sizes), Value(), Value(), Value(), Value());
  };
  EXPECT_EQ(with_state(state, {2}).tensor().to_vector<double>(), [] {
    const ForkRng fork;
    manual_seed(3);
    return rand({2}).to_vector<double>();
  }());
  EXPECT_NE(error_of([&] { with_state(state, {-1}); }).find("negative dimension"), std::string::npos);
  EXPECT_NE(error_of([&] { with_state(ones({2}), {2}); }).find("the state of a random stream is 16 bytes"), std::string::npos);
  EXPECT_EQ(rand({3}).to_vector<double>(), next);
}

}  // namespace
}  // namespace ingot::aot
