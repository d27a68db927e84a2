// Ordered effects: tokens of graphs (R168).
#include "aot/export.hpp"
#include "aot/min_cut.hpp"
#include "support/aot_harness.hpp"
#include "support/tracked.hpp"

namespace ingot::aot {
namespace {

using AotEffects = AotHarness;

TensorList talk(const TensorList& in) {
  aten_value<"_print">("one");
  const Tensor y = in[0] * 2;
  aten_value<"_print">("two");
  return {y};
}

TEST_F(AotEffects, R168_TokensAreTheFirstInputsAndOutputs) {
  std::string graph;
  const AotFunction f = aot_function(talk, {.forward = capture(graph)});
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(f(TensorList{ones({2})})[0].to_vector<double>(), std::vector<double>({2, 2}));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "one\ntwo\n") << "compiling is silent, a call is not";
  EXPECT_EQ(graph, R"(def forward(self, arg0_1, arg1_1):
    with_effects = torch.ops.higher_order.with_effects(arg0_1, torch.ops.aten._print.default, 'one');  arg0_1 = None
    getitem = with_effects[0];  with_effects = None
    mul = torch.ops.aten.mul.Tensor(arg1_1, 2);  arg1_1 = None
    with_effects_1 = torch.ops.higher_order.with_effects(getitem, torch.ops.aten._print.default, 'two');  getitem = None
    getitem_1 = with_effects_1[0];  with_effects_1 = None
    return (getitem_1, mul)
)");
}

TEST_F(AotEffects, R168_AlsoWithGradients) {
  for (const bool cut : {false, true}) {
    std::string graph, gradient;
    const AotFunction f = aot_function(
        talk, {.forward = capture(graph),
               .backward = capture(gradient),
               .partition = cut ? Partitioner([](const Joint& j) { return partition_min_cut(j); }) : partition_default});
    const Tensor x = tracked(ones({2}));
    ::testing::internal::CaptureStderr();
    f(TensorList{x})[0].sum().backward();
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "one\ntwo\n");
    EXPECT_EQ(x.grad().to_vector<double>(), std::vector<double>({2, 2}));
    EXPECT_EQ(graph, R"(def forward(self, primals_1, primals_2):
    with_effects = torch.ops.higher_order.with_effects(primals_1, torch.ops.aten._print.default, 'one');  primals_1 = None
    getitem = with_effects[0];  with_effects = None
    mul = torch.ops.aten.mul.Tensor(primals_2, 2);  primals_2 = None
    with_effects_1 = torch.ops.higher_order.with_effects(getitem, torch.ops.aten._print.default, 'two');  getitem = None
    getitem_1 = with_effects_1[0];  with_effects_1 = None
    return [getitem_1, mul]
)");
    EXPECT_EQ(gradient, R"(def forward(self, tangents_1):
    mul_1 = torch.ops.aten.mul.Tensor(tangents_1, 2);  tangents_1 = None
    return [None, mul_1]
)");
  }
}

TEST_F(AotEffects, R168_TokensCanBeMadeAndConsumedInTheGraph) {
  for (const bool rg : {false, true}) {
    std::string graph;
    const AotFunction f = aot_function(talk, {.forward = capture(graph), .backward = nop, .unlift_effect_tokens = true});
    const Tensor x = rg ? tracked(ones({2})) : ones({2});
    ::testing::internal::CaptureStderr();
    const Tensor y = f(TensorList{x})[0];
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "one\ntwo\n");
    EXPECT_EQ(detached(y).to_vector<double>(), std::vector<double>({2, 2}));
    if (rg) {
      y.sum().backward();
      EXPECT_EQ(x.grad().to_vector<double>(), std::vector<double>({2, 2}));
    }
    const std::string input = rg ? "primals_2" : "arg1_1";
    EXPECT_EQ(graph, "def forward(self, " + input + R"():
    _make_token = torch.ops.prims._make_token.default()
    with_effects = torch.ops.higher_order.with_effects(_make_token, torch.ops.aten._print.default, 'one');  _make_token = None
    getitem = with_effects[0];  with_effects = None
    mul = torch.ops.aten.mul.Tensor()" +
                         input + R"(, 2);  )" + input + R"( = None
    with_effects_1 = torch.ops.higher_order.with_effects(getitem, torch.ops.aten._print.default, 'two');  getitem = None
    getitem_1 = with_effects_1[0];  with_effects_1 = None
    _sink_tokens = torch.ops.prims._sink_tokens.default([getitem_1]);  getitem_1 = None
    return )" + (rg ? "[mul]" : "(mul,)") +
                         "\n");
  }
}

TEST_F(AotEffects, R168_WritesAndTokensKeepTheirPlaces) {
  verify(
      [](const TensorList& in) {
        Tensor(in[0]).mul_(2);
        aten_value<"_print">("written");
        return TensorList{in[0] * in[1], in[0].view({-1})};
      },
      {tracked(ones({2})), tracked(ones({2}))}, {.mut = true});
}

TEST_F(AotEffects, R168_ExportedGraphsNameTheirTokens) {
  struct Net : nn::Module {
    Tensor w;
    Net() { add_parameter("w", w, ones({2})); }
  } net;
  const Exported e = aot_export_module(
      net,
      [&](const Tree& a) {
        aten_value<"_print">("exported");
        return Tree::tuple({a[0].leaf().tensor() * net.w});
      },
      Tree::tuple({ones({2})}));
  EXPECT_EQ(to_text(e.signature.input_tokens), "['arg0_1']");
  EXPECT_EQ(to_text(e.signature.inputs_to_parameters), "{'arg1_1': 'w'}");
  EXPECT_EQ(to_text(e.signature.user_inputs), "['arg2_1']");
  EXPECT_EQ(to_text(e.signature.output_tokens), "['getitem']");
  EXPECT_EQ(to_text(e.signature.user_outputs), "['mul']");
}

TEST_F(AotEffects, R168_OpsOfUsersMayHaveThem) {
  static int calls = 0;
  static const OpDef def{.schema = "mine::count(Tensor self) -> Tensor",
                         .body = [](const Call& c) -> Value {
                           calls += !c.tensor(0)->is_fake();
                           return c.tensor(0) + 1;
                         },
                         .effects = {.ordered = true}};
  register_ops({&def, 1});
  std::string graph;
  const AotFunction f =
      aot_function([](const TensorList& in) { return TensorList{call(op("mine::count"), Values{in[0]}).tensor() * 2}; },
                   {.forward = capture(graph)});
  EXPECT_EQ(f(TensorList{ones({2})})[0].to_vector<double>(), std::vector<double>({4, 4}));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(graph, R"(def forward(self, arg0_1, arg1_1):
    with_effects = torch.ops.higher_order.with_effects(arg0_1, torch.ops.mine.count.default, arg1_1);  arg0_1 = arg1_1 = None
    getitem = with_effects[0]
    getitem_1 = with_effects[1];  with_effects = None
    mul = torch.ops.aten.mul.Tensor(getitem_1, 2);  getitem_1 = None
    return (getitem, mul)
)");
}

}  // namespace
}  // namespace ingot::aot
