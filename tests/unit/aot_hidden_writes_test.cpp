// Writes that autograd does not hear of (R027, R057, R094), beside those under no_grad and the
// others.
#include "aot/capture.hpp"
#include "aot/inputs.hpp"
#include "aot/metadata.hpp"
#include "ingot/unseen_writes.hpp"
#include "support/aot_harness.hpp"
#include "transform/functional.hpp"

namespace ingot::aot {
namespace {

class AotHiddenWrites : public AotHarness {
 protected:
  // How the input is written, in this order.
  enum class How : uint8_t { plain, no_grad, inference, through_detach, hidden };
  static void write(const Tensor& t, How how) {
    Tensor x = t;
    if (how == How::through_detach) x = t.detach();
    std::optional<NoGrad> no_grad;
    std::optional<InferenceMode> inference;
    std::optional<UnseenWrites> unseen;
    if (how == How::no_grad) no_grad.emplace();
    if (how == How::inference) inference.emplace();
    if (how == How::hidden) unseen.emplace();
    x.mul_(Scalar(2));
  }
  static TensorFunction writing(const std::vector<How>& writes) {
    return [writes](const TensorList& in) {
      for (const How how : writes) write(in[0], how);
      return TensorList{in[0] + in[1]};
    };
  }
  static InputInfo record_of(const std::vector<How>& writes, const Tensor& x, bool keep = true) {
    ShapeEnv env;
    const GuardScope scope(env);
    const FlatFunction flat = [&](const Values& in) {
      const TensorList out = writing(writes)({in[0].tensor(), in[1].tensor()});
      return Values(out.begin(), out.end());
    };
    return collect_metadata(flat, fake_inputs({x, ones({2}).requires_grad_()}, {}, env), keep, true).inputs[0];
  }
  static std::string counts(const std::vector<How>& writes) {
    const Tensor x = to_functional(ones({2}));
    const Tensor alias = x.view({2});
    for (const How how : writes) write(x, how);
    from_functional(alias);  // is made again, which is no write
    const FunctionalStorage& s = *functional_state(x)->storage;
    return text(s.mutations, " ", s.mutations_no_grad, " ", s.mutations_hidden);
  }
};

TEST_F(AotHiddenWrites, R057_WhatEachWriteCountsAs) {
  using enum How;
  EXPECT_EQ(counts({}), "0 0 0");
  EXPECT_EQ(counts({plain}), "1 0 0");
  EXPECT_EQ(counts({no_grad}), "1 1 0");
  EXPECT_EQ(counts({inference}), "1 1 0");
  EXPECT_EQ(counts({through_detach}), "1 0 0") << "with the mode on, a write through detach() is neither";
  EXPECT_EQ(counts({hidden}), "1 0 1");
  EXPECT_EQ(counts({plain, no_grad, hidden, hidden}), "4 1 2");
}

TEST_F(AotHiddenWrites, R027_HiddenAndUnderNoGrad) {
  using enum How;
  const auto flags = [](const std::vector<How>& writes) {
    const InputInfo i = record_of(writes, ones({2}));
    return text(i.mutates_data, " ", i.hidden_from_autograd, " ", i.under_no_grad);
  };
  EXPECT_EQ(flags({}), "False True False") << "none are hidden, and nothing was written";
  EXPECT_EQ(flags({hidden}), "True True True") << "the hidden count as under no_grad, too";
  EXPECT_EQ(flags({hidden, hidden}), "True True True");
  EXPECT_EQ(flags({no_grad}), "True False True");
  EXPECT_EQ(flags({inference}), "True False True");
  EXPECT_EQ(flags({no_grad, hidden}), "True False True");
  EXPECT_EQ(flags({plain, hidden}), "True False False");
  EXPECT_EQ(flags({plain, no_grad}), "True False False");
  EXPECT_EQ(flags({through_detach}), "True False False");
  // Of what is no tensor both are false.
  const FlatFunction same = [](const Values& in) { return Values{in[1].tensor() + 1}; };
  const InputInfo number = collect_metadata(same, {7, ones({2})}, true, true).inputs[0];
  EXPECT_FALSE(number.hidden_from_autograd || number.under_no_grad || number.is_tensor);
}

TEST_F(AotHiddenWrites, R031_R094_HiddenWritesStayInTheGraphAlsoOfVariables) {
  using enum How;
  const auto leaf = [] { return ones({2}).requires_grad_(); };
  EXPECT_EQ(record_of({hidden}, leaf()).mutation(), Mutation::in_graph);
  EXPECT_EQ(record_of({no_grad}, leaf()).mutation(), Mutation::in_graph);
  EXPECT_EQ(record_of({hidden}, leaf(), false).mutation(), Mutation::out_of_graph);
}

// Values, gradients and versions are those of eager, whether the graph writes or the runtime.
TEST_F(AotHiddenWrites, R094_VersionsCountWhatAutogradHears) {
  using enum How;
  const auto versions = [](const TensorFunction& f, bool rg) {
    const Tensor x = ones({2}).requires_grad_(rg), w = ones({2}).requires_grad_();
    const Tensor out = f({x, w})[0];
    out.sum().backward();
    std::vector<double> seen = detached(x).to_vector<double>();
    for (const double v : detached(out).to_vector<double>()) seen.push_back(v);
    for (const double v : w.grad().to_vector<double>()) seen.push_back(v);
    seen.push_back(x.version());
    return seen;
  };
  for (const bool keep : {true, false})
    for (const bool rg : {true, false})
      for (const std::vector<How>& writes : {std::vector<How>{hidden}, {no_grad}, {hidden, no_grad}}) {
        const TensorFunction f = writing(writes);
        std::string graph;
        const AotFunction compiled =
            aot_function(f, {.forward = capture(graph), .backward = nop, .keep_inference_input_mutations = keep});
        const std::vector<double> want = versions(f, rg),
                                  found = versions([&](const TensorList& in) { return compiled(in); }, rg);
        EXPECT_EQ(found[0], want[0]) << "keep " << keep << " rg " << rg << " writes " << writes.size();
        EXPECT_EQ(std::vector<double>(found.begin(), found.end() - 1), std::vector<double>(want.begin(), want.end() - 1));
        // Several writes are one copy: their versions are one where any of them counts.
        EXPECT_EQ(found.back(), std::min(want.back(), 1.0)) << "keep " << keep << " rg " << rg << " writes " << writes.size();
        EXPECT_EQ(graph.find("aten.copy_.default(primals_1") != std::string::npos, keep) << graph;
      }
}

TEST_F(AotHiddenWrites, R094_OfTwoInputsOnlyTheHiddenOneHasNoVersion) {
  const TensorFunction f = [](const TensorList& in) {
    {
      const UnseenWrites unseen;
      Tensor(in[0]).add_(Scalar(1));
    }
    Tensor(in[1]).add_(Scalar(1));
    return TensorList{in[0] * in[1] * in[2]};
  };
  for (const bool rg : {false, true}) {
    const Tensor x = ones({2}), y = ones({2}), w = rg ? ones({2}).requires_grad_() : ones({2});
    aot_function(f, {.keep_inference_input_mutations = true})(TensorList{x, y, w});
    EXPECT_EQ(x.to_vector<double>(), std::vector<double>({2, 2}));
    EXPECT_EQ(y.to_vector<double>(), std::vector<double>({2, 2}));
    EXPECT_EQ(x.version(), 0u);
    EXPECT_EQ(y.version(), 1u);
  }
  const InferenceMode inference;  // whose tensors have no version to count
  const Tensor x = ones({2}), y = ones({2});
  aot_function(f, {.keep_inference_input_mutations = true})(TensorList{x, y, ones({2})});
  EXPECT_EQ(x.to_vector<double>(), std::vector<double>({2, 2}));
  EXPECT_EQ(y.to_vector<double>(), std::vector<double>({2, 2}));
}

// In the graph, in the order of inputs, whatever the program's: set_, nothing for what was resized
// alone, whose value is as it was, and for what has no bytes left, and copies.
TEST_F(AotHiddenWrites, R094_EffectsInTheOrderOfInputs) {
  std::string graph;
  const TensorFunction f = [](const TensorList& in) {
    Tensor(in[4]).add_(Scalar(2));
    Tensor(in[3]).add_(Scalar(1));
    aten_value<"inductor::resize_storage_bytes_">(in[2], 0);
    aten_value<"inductor::resize_storage_bytes_">(in[2], 8);
    {
      const NoGrad no_grad;
      aten_value<"set_.source_Tensor">(in[0], in[1] * 2);
    }
    Tensor(in[1]).add_(Scalar(3));
    aten_value<"inductor::resize_storage_bytes_">(in[1], 0);
    return TensorList{in[3] * 2};
  };
  const Tensor a = ones({2}), b = ones({2}), c = ones({2}), d = ones({2}), e = ones({2});
  aot_function(f, {.forward = capture(graph), .keep_inference_input_mutations = true})(TensorList{a, b, c, d, e});
  EXPECT_EQ(a.to_vector<double>(), std::vector<double>({2, 2}));
  EXPECT_EQ(b->storage->nbytes().number(), 0);
  EXPECT_EQ(c->storage->nbytes().number(), 8);
  EXPECT_EQ(d.to_vector<double>(), std::vector<double>({2, 2}));
  EXPECT_EQ(e.to_vector<double>(), std::vector<double>({3, 3}));
  EXPECT_EQ(graph, R"(def forward(self, arg0_1, arg1_1, arg2_1, arg3_1, arg4_1):
    add = torch.ops.aten.add.Tensor(arg4_1, 2)
    add_1 = torch.ops.aten.add.Tensor(arg3_1, 1)
    resize_storage_bytes_ = torch.ops.inductor.resize_storage_bytes_.default(arg2_1, 0)
    resize_storage_bytes__1 = torch.ops.inductor.resize_storage_bytes_.default(arg2_1, 8);  arg2_1 = None
    mul = torch.ops.aten.mul.Tensor(arg1_1, 2)
    mul_1 = torch.ops.aten.mul.Tensor(add_1, 2)
    set_ = torch.ops.aten.set_.source_Tensor(arg0_1, mul);  arg0_1 = mul = None
    resize_storage_bytes__2 = torch.ops.inductor.resize_storage_bytes_.default(arg1_1, 0);  arg1_1 = None
    copy_ = torch.ops.aten.copy_.default(arg3_1, add_1);  arg3_1 = add_1 = None
    copy__1 = torch.ops.aten.copy_.default(arg4_1, add);  arg4_1 = add = None
    return (mul_1,)
)");
  const auto halve = [](const TensorList& in) {
    aten_value<"inductor::resize_storage_bytes_">(in[0], 4);
    return TensorList{in[0] + 1};
  };
  EXPECT_NE(error_of([&] {
              aot_function(halve, {.keep_inference_input_mutations = true})(TensorList{ones({2})});
            }).find("only from or to 0 bytes"),
            std::string::npos);
}

TEST_F(AotHiddenWrites, AGraphHasNoNodeForThem) {
  EXPECT_EQ(error_of([] {
              ShapeEnv sizes;
              aot::capture(
                  [](const Values& in) {
                    const UnseenWrites unseen;
                    return in;
                  },
                  fake_inputs({ones({2})}, {}, sizes), sizes);
            }),
            "a graph has no node for writes that autograd does not hear of, which the function has");
  EXPECT_TRUE(is_grad_enabled());
}

}  // namespace
}  // namespace ingot::aot
