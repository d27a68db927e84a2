// Recurrent networks are loops over the steps: whatever their length, the step is compiled once.
#include "compiler/aot_compiler.hpp"
#include "e2e/compiled_model.hpp"
#include "ingot/autograd.hpp"
#include "ingot/control_flow.hpp"
#include "support/error_text.hpp"

namespace ingot {
namespace {

struct Network {
  std::string_view op;
  int64_t layers = 1;
  bool bidirectional = false, biases = true, batch_first = false;
  int64_t projected = 0;

  int64_t gates() const { return op == "lstm.input" ? 4 : op == "gru.input" ? 3 : 1; }
  bool has_cell() const { return op == "lstm.input"; }
  std::string name() const {
    return text(op, " of ", layers, " layers", bidirectional ? ", bidirectional" : "", biases ? "" : ", without biases",
                batch_first ? ", batch first" : "", projected > 0 ? ", projected" : "");
  }
};

constexpr int64_t kFeatures = 9, kHidden = 16;

// Input, states, weights.
TensorList inputs_of(const Network& n, int64_t steps, int64_t batch, DType dtype = float32) {
  manual_seed(static_cast<uint64_t>(steps * 10 + batch));
  const int64_t directions = n.bidirectional ? 2 : 1, out = n.projected > 0 ? n.projected : kHidden;
  TensorList in{n.batch_first ? randn({batch, steps, kFeatures}) : randn({steps, batch, kFeatures}),
                randn({n.layers * directions, batch, out})};
  if (n.has_cell()) in.push_back(randn({n.layers * directions, batch, kHidden}));
  for (int64_t layer = 0; layer < n.layers; layer++)
    for (int64_t d = 0; d < directions; d++) {
      const int64_t rows = n.gates() * kHidden;
      in.push_back(randn({rows, layer == 0 ? kFeatures : out * directions}) * 0.3);
      in.push_back(randn({rows, out}) * 0.3);
      if (n.biases) in.insert(in.end(), {randn({rows}), randn({rows})});
      if (n.projected > 0) in.push_back(randn({n.projected, kHidden}) * 0.3);
    }
  for (Tensor& t : in) t = t.to(dtype);
  return in;
}

TensorFunction function_of(const Network& n) {
  return [n](const TensorList& in) {
    const auto first_weight = in.begin() + (n.has_cell() ? 3 : 2);
    const Value state = n.has_cell() ? Value(TensorList{in[1], in[2]}) : Value(in[1]);
    return call(op(n.op), {in[0], state, TensorList(first_weight, in.end()), n.biases, n.layers, 0.0, false, n.bidirectional,
                           n.batch_first})
        .tensors();
  };
}

const std::vector<Network> kNetworks{
    {"lstm.input"},
    {"lstm.input", 2, true},
    {"lstm.input", 2, false, false, true},
    {.op = "lstm.input", .bidirectional = true, .projected = 8},
    {"gru.input"},
    {"gru.input", 2, true, true, true},
    {"rnn_tanh.input"},
    {"rnn_tanh.input", 2, true, false},
    {"rnn_relu.input", 1, true, true, true},
};

class CompiledRecurrence : public CompiledModel {
 protected:
  std::string compiled(const Network& n, const TensorList& in, const std::vector<OpenSize>& open = {}) {
    return aot_compile(function_of(n), in, path(text("f", next_++, ".so")), {}, open);
  }
  std::string assembly(const Network& n, const TensorList& in) {
    std::string assembly;
    aot_compile(function_of(n), in, path(text("f", next_++, ".so")),
                {.code = [&](const std::string&, const CodeText& t) { assembly += t.assembly; }});
    return assembly;
  }

  // As close to the network in double as eager is, but for a few roundings: a network carries these
  // on from step to step, so that how far two orders of the same sums come apart says little.
  static void expect_accurate(const Network& n, const TensorList& in, const TensorList& found) {
    TensorList wide;
    for (const Tensor& t : in) wide.push_back(t.to(float64));
    const TensorList exact = function_of(n)(wide), eager = function_of(n)(in);
    ASSERT_EQ(found.size(), exact.size());
    for (std::size_t k = 0; k < exact.size(); k++) {
      ASSERT_EQ(to_text(found[k].sizes()), to_text(exact[k].sizes())) << "output " << k;
      ASSERT_EQ(found[k].dtype(), float32) << "output " << k;
      const auto off = [&](const Tensor& t) { return (t.to(float64) - exact[k]).abs().max().item_double(); };
      const double largest = std::max(1.0, exact[k].abs().max().item_double());
      EXPECT_LE(off(found[k]), 2 * off(eager[k]) + 3e-7 * largest) << "output " << k;
    }
  }

 private:
  int next_ = 0;
};

TEST_F(CompiledRecurrence, EqualsEager) {
  for (const Network& n : kNetworks)
    for (const auto& [steps, batch] : {std::pair<int64_t, int64_t>{1, 3}, {2, 1}, {7, 5}}) {
      SCOPED_TRACE(text(n.name(), ": ", steps, " steps"));
      const TensorList in = inputs_of(n, steps, batch);
      expect_accurate(n, in, ModelContainerRunner(compiled(n, in)).run(in));
    }
}

TEST_F(CompiledRecurrence, EqualsEagerInOtherTypes) {
  for (const auto& [dtype, relative] : {std::pair{float64, 1e-13}, std::pair{DType::bf16, 2e-2}})
    for (const Network& n : {kNetworks[1], kNetworks[4]}) {
      SCOPED_TRACE(n.name());
      const TensorList in = inputs_of(n, 5, 4, dtype);
      expect_close(function_of(n)(in), ModelContainerRunner(compiled(n, in)).run(in), relative);
    }
}

TEST_F(CompiledRecurrence, TheStepIsCompiledOnce) {
  for (const Network& n : kNetworks) {
    const std::string few = assembly(n, inputs_of(n, 6, 4)), many = assembly(n, inputs_of(n, 300, 4));
    EXPECT_LT(static_cast<double>(many.size()), 1.1 * static_cast<double>(few.size())) << n.name();
  }
}

TEST_F(CompiledRecurrence, LengthAndBatchMayBeOpen) {
  for (const Network& n : kNetworks) {
    SCOPED_TRACE(n.name());
    const int time = n.batch_first ? 1 : 0, batch = 1 - time;
    std::vector<OpenSize> open{
        {.input = 0, .dim = time, .name = "t"}, {.input = 0, .dim = batch, .name = "b"}, {.input = 1, .dim = 1, .name = "b"}};
    if (n.has_cell()) open.push_back({.input = 2, .dim = 1, .name = "b"});
    ModelContainerRunner runner(compiled(n, inputs_of(n, 5, 6), open));
    for (const auto& [steps, rows] : {std::pair<int64_t, int64_t>{2, 2}, {5, 6}, {40, 3}}) {
      const TensorList in = inputs_of(n, steps, rows);
      expect_accurate(n, in, runner.run(in));
    }
  }
}

TEST_F(CompiledRecurrence, ResultsDoNotDependOnThreads) {
  const TensorList in = inputs_of(kNetworks[1], 20, 40);
  ModelContainerRunner runner(compiled(kNetworks[1], in));
  runner.set_threads(1);
  const TensorList alone = runner.run(in);
  for (const int threads : {2, 5}) {
    runner.set_threads(threads);
    const TensorList together = runner.run(in);
    for (std::size_t k = 0; k < alone.size(); k++) EXPECT_EQ(alone[k].to_vector<float>(), together[k].to_vector<float>());
  }
}

TEST_F(CompiledRecurrence, NoStepsAreRefusedAsInEager) {
  for (const Network& n : {kNetworks[0], kNetworks[4], kNetworks[6]}) {
    const TensorList in = inputs_of(n, 0, 3);
    const std::string eager = error_of([&] { function_of(n)(in); });
    EXPECT_NE(eager.find("Expected sequence length to be larger than 0 in RNN"), std::string::npos) << eager;
    EXPECT_NE(error_of([&] { compiled(n, in); }).find(eager), std::string::npos);
  }
}

// Gradients are of the steps one by one, whose kernels share their code.
TEST_F(CompiledRecurrence, GradientsEqualEager) {
  for (const Network& n : kNetworks) {
    SCOPED_TRACE(n.name());
    const TensorFunction f = function_of(n);
    const aot::AotFunction compiled_function = aot::memory_efficient_fusion(f);
    const auto differentiate = [&](const TensorFunction& g) {
      TensorList in = inputs_of(n, 4, 3, float64), all;
      for (Tensor& t : in) t.requires_grad_();
      Tensor loss;
      for (const Tensor& r : g(in)) {
        all.push_back(r.detach());
        loss = loss.defined() ? loss + (r * r).sum() : (r * r).sum();
      }
      loss.backward();
      for (const Tensor& t : in) all.push_back(t.grad());
      return all;
    };
    expect_close(differentiate(f), differentiate([&](const TensorList& in) { return compiled_function(in); }), 1e-12);
  }
}

// Both states are elements of the one and the other from before: neither may be overwritten before
// both were computed.
TEST_F(CompiledRecurrence, StatesAreHandedOnAllAtOnce) {
  const TensorFunction f = [](const TensorList& in) {
    const Scanned r = scan([](const TensorList& s) { return TensorList{s[1] * 0.5 + s[2], s[0] - s[2], s[0] * s[1]}; },
                           {in[0], in[1]}, {in[2]});
    return TensorList{r.carried[0], r.carried[1], r.stacked[0]};
  };
  manual_seed(2);
  const TensorList in{randn({6, 11}), randn({6, 11}), randn({9, 6, 11})};
  const std::string library = aot_compile(f, in, path("f.so"));
  expect_close(f(in), ModelContainerRunner(library).run(in));
  // A state that is read at other places than the one that is written has to be copied.
  const TensorFunction turned = [](const TensorList& in) {
    const Scanned r = scan(
        [](const TensorList& s) { return TensorList{aten<"flip">(s[0], Shape{1}) + s[2], s[0] * s[1], aten<"clone">(s[1])}; },
        {in[0], in[1]}, {in[2]});
    return TensorList{r.carried[0], r.carried[1], r.stacked[0]};
  };
  const std::string other = aot_compile(turned, in, path("g.so"));
  expect_close(turned(in), ModelContainerRunner(other).run(in));
}

// A weight that the caller gives is laid out for the product before the loop, not in every step.
TEST_F(CompiledRecurrence, WhatStaysTheSameIsDoneBeforeTheLoop) {
  std::string loops;
  const TensorList in = inputs_of(kNetworks[0], 6, 4);
  const std::string library = aot_compile(function_of(kNetworks[0]), in, path("f.so"), {.after = [&](const StageDone& done) {
                                            if (done.name == "schedule") loops = done.text();
                                          }});
  const std::string body = loops.substr(loops.find("  times "));
  EXPECT_EQ(body.find(".packed parallel"), std::string::npos) << loops;
  EXPECT_NE(loops.find("addmm.packed parallel"), std::string::npos) << loops;
  expect_close(function_of(kNetworks[0])(in), ModelContainerRunner(library).run(in));
}

}  // namespace
}  // namespace ingot
