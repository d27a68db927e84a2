// Modules exported with the gradients of a loss, and what a signature says of them.
#include "graph/copy.hpp"
#include "support/detach_chains.hpp"
#include "unit/aot_export_harness.hpp"

namespace ingot::aot {
namespace {

struct ConvBn : nn::Module {
  nn::Conv2d conv{1, 3, {1, 1}};
  nn::BatchNorm2d bn{3};
  ConvBn() {
    add("conv", conv);
    add("bn", bn);
  }
  TreeFunction forward() {
    return over_tuple([this](const TensorList& in) {
      const Tensor y = relu(bn(conv(in[0])));
      return TensorList{y.sum(), y.detach()};
    });
  }
};

// The reference's tape detaches a result that it saves (relu's, of A154), once when it packs it,
// which nothing reads, and once when it unpacks it. The tape here saves values as they are: without
// such detaches. `count` is how many there were.
Graph without_detaches_of_saved(const Graph& g, int& count) {
  std::vector<bool> returned(g.nodes().size());
  for_each_node(g.outputs, [&](const Node* n) { returned[static_cast<std::size_t>(n->id)] = true; });
  Graph to;
  GraphCopier copier(g, to);
  count = 0;
  for (const auto& n : g.nodes()) {
    if (n->kind != NodeKind::call || !n->op->def->grad.detaches) {
      copier.copy(*n);
    } else if (!returned[static_cast<std::size_t>(n->id)]) {
      copier.replace(*n, copier(n->args[0]));
      count++;
    } else {
      Node* one = to.call(*n->op, {copier(n->args[0])});
      one->meta = n->meta;
      copier.replace(*n, one);
    }
  }
  copier.copy_outputs();
  return to;
}
// G10: chains of detach nodes come from the reference's own layering, so that a test may collapse
// each, and renumber. This one does.
std::string comparable(const std::string& listing, int detaches_of_saved) {
  int count = 0;
  const Graph g = without_detaches_of_saved(with_short_detach_chains(parse_graph(listing)), count);
  EXPECT_EQ(count, detaches_of_saved);
  return print(g, GraphForm::readable);
}

constexpr std::string_view kJoint = R"(class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "f32[3, 1, 1, 1]", arg1_1: "f32[3]", arg2_1: "f32[3]", arg3_1: "f32[3]", arg4_1: "f32[3]", arg5_1: "f32[3]", arg6_1: "i64[]", arg7_1: "f32[1, 1, 3, 3]"):
        # No stacktrace found for following nodes
        convolution: "f32[1, 3, 3, 3]" = torch.ops.aten.convolution.default(arg7_1, arg0_1, arg1_1, [1, 1], [0, 0], [1, 1], False, [0, 0], 1);  arg1_1 = None
        add: "i64[]" = torch.ops.aten.add.Tensor(arg6_1, 1);  arg6_1 = None
        _native_batch_norm_legit_functional = torch.ops.aten._native_batch_norm_legit_functional.default(convolution, arg2_1, arg3_1, arg4_1, arg5_1, True, 0.1, 1e-05);  arg3_1 = arg4_1 = arg5_1 = None
        getitem: "f32[1, 3, 3, 3]" = _native_batch_norm_legit_functional[0]
        getitem_1: "f32[3]" = _native_batch_norm_legit_functional[1]
        getitem_2: "f32[3]" = _native_batch_norm_legit_functional[2]
        getitem_3: "f32[3]" = _native_batch_norm_legit_functional[3]
        getitem_4: "f32[3]" = _native_batch_norm_legit_functional[4];  _native_batch_norm_legit_functional = None
        relu: "f32[1, 3, 3, 3]" = torch.ops.aten.relu.default(getitem);  getitem = None
        detach: "f32[1, 3, 3, 3]" = torch.ops.aten.detach.default(relu)
        detach_1: "f32[1, 3, 3, 3]" = torch.ops.aten.detach.default(relu)
        detach_2: "f32[1, 3, 3, 3]" = torch.ops.aten.detach.default(detach_1);  detach_1 = None
        detach_3: "f32[1, 3, 3, 3]" = torch.ops.aten.detach.default(detach_2);  detach_2 = None
        detach_4: "f32[1, 3, 3, 3]" = torch.ops.aten.detach.default(detach_3);  detach_3 = None
        sum_1: "f32[]" = torch.ops.aten.sum.default(relu)
        detach_5: "f32[1, 3, 3, 3]" = torch.ops.aten.detach.default(relu);  relu = None
        detach_6: "f32[1, 3, 3, 3]" = torch.ops.aten.detach.default(detach_5);  detach_5 = None
        detach_7: "f32[1, 3, 3, 3]" = torch.ops.aten.detach.default(detach_6);  detach_6 = None
        detach_8: "f32[1, 3, 3, 3]" = torch.ops.aten.detach.default(detach_7);  detach_7 = None
        detach_9: "f32[1, 3, 3, 3]" = torch.ops.aten.detach.default(detach_8);  detach_8 = None
        detach_10: "f32[1, 3, 3, 3]" = torch.ops.aten.detach.default(detach_9);  detach_9 = None
        ones_like: "f32[]" = torch.ops.aten.ones_like.default(sum_1, pin_memory = False, memory_format = torch.preserve_format)
        expand: "f32[1, 3, 3, 3]" = torch.ops.aten.expand.default(ones_like, [1, 3, 3, 3]);  ones_like = None
        detach_11: "f32[1, 3, 3, 3]" = torch.ops.aten.detach.default(detach_4);  detach_4 = None
        detach_12: "f32[1, 3, 3, 3]" = torch.ops.aten.detach.default(detach_11);  detach_11 = None
        detach_13: "f32[1, 3, 3, 3]" = torch.ops.aten.detach.default(detach_12);  detach_12 = None
        detach_14: "f32[1, 3, 3, 3]" = torch.ops.aten.detach.default(detach_13);  detach_13 = None
        threshold_backward: "f32[1, 3, 3, 3]" = torch.ops.aten.threshold_backward.default(expand, detach_14, 0);  expand = detach_14 = None
        native_batch_norm_backward = torch.ops.aten.native_batch_norm_backward.default(threshold_backward, convolution, arg2_1, getitem_3, getitem_4, getitem_1, getitem_2, True, 1e-05, [True, True, True]);  threshold_backward = convolution = arg2_1 = getitem_1 = getitem_2 = None
        getitem_5: "f32[1, 3, 3, 3]" = native_batch_norm_backward[0]
        getitem_6: "f32[3]" = native_batch_norm_backward[1]
        getitem_7: "f32[3]" = native_batch_norm_backward[2];  native_batch_norm_backward = None
        convolution_backward = torch.ops.aten.convolution_backward.default(getitem_5, arg7_1, arg0_1, [3], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [False, True, True]);  getitem_5 = arg7_1 = arg0_1 = None
        getitem_8 = convolution_backward[0]
        getitem_9: "f32[3, 1, 1, 1]" = convolution_backward[1]
        getitem_10: "f32[3]" = convolution_backward[2];  convolution_backward = None
        return (getitem_3, getitem_4, add, sum_1, detach_10, getitem_9, getitem_10, getitem_6, getitem_7)
)";

constexpr std::string_view kInference = R"(class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "f32[3, 1, 1, 1]", arg1_1: "f32[3]", arg2_1: "f32[3]", arg3_1: "f32[3]", arg4_1: "f32[3]", arg5_1: "f32[3]", arg6_1: "i64[]", arg7_1: "f32[1, 1, 3, 3]"):
        # No stacktrace found for following nodes
        convolution: "f32[1, 3, 3, 3]" = torch.ops.aten.convolution.default(arg7_1, arg0_1, arg1_1, [1, 1], [0, 0], [1, 1], False, [0, 0], 1);  arg7_1 = arg0_1 = arg1_1 = None
        add: "i64[]" = torch.ops.aten.add.Tensor(arg6_1, 1);  arg6_1 = None
        _native_batch_norm_legit_functional = torch.ops.aten._native_batch_norm_legit_functional.default(convolution, arg2_1, arg3_1, arg4_1, arg5_1, True, 0.1, 1e-05);  convolution = arg2_1 = arg3_1 = arg4_1 = arg5_1 = None
        getitem: "f32[1, 3, 3, 3]" = _native_batch_norm_legit_functional[0]
        getitem_3: "f32[3]" = _native_batch_norm_legit_functional[3]
        getitem_4: "f32[3]" = _native_batch_norm_legit_functional[4];  _native_batch_norm_legit_functional = None
        relu: "f32[1, 3, 3, 3]" = torch.ops.aten.relu.default(getitem);  getitem = None
        sum_1: "f32[]" = torch.ops.aten.sum.default(relu)
        detach: "f32[1, 3, 3, 3]" = torch.ops.aten.detach.default(relu);  relu = None
        detach_1: "f32[1, 3, 3, 3]" = torch.ops.aten.detach.default(detach);  detach = None
        detach_2: "f32[1, 3, 3, 3]" = torch.ops.aten.detach.default(detach_1);  detach_1 = None
        return (getitem_3, getitem_4, add, sum_1, detach_2)
)";

TEST_F(AotExport, A154_R008_R066_R180_R181_R182_AModuleWithTheGradientsOfItsLoss) {
  ConvBn m;
  const Tensor x = randn({1, 1, 3, 3});
  const Exported joint = exported(m, m.forward(), {x}, {.trace_joint = true, .output_loss_index = 0});
  EXPECT_EQ(print(joint.graph, GraphForm::readable), comparable(std::string(kJoint), 2));
  const GraphSignature& s = joint.signature;
  EXPECT_EQ(to_text(s.parameters), "['conv.weight', 'conv.bias', 'bn.weight', 'bn.bias']");
  EXPECT_EQ(to_text(s.buffers), "['bn.running_mean', 'bn.running_var', 'bn.num_batches_tracked']");
  EXPECT_EQ(to_text(s.user_inputs), "['arg7_1']");
  EXPECT_EQ(to_text(s.inputs_to_parameters),
            "{'arg0_1': 'conv.weight', 'arg1_1': 'conv.bias', 'arg2_1': 'bn.weight', 'arg3_1': 'bn.bias'}");
  EXPECT_EQ(to_text(s.inputs_to_buffers),
            "{'arg4_1': 'bn.running_mean', 'arg5_1': 'bn.running_var', 'arg6_1': 'bn.num_batches_tracked'}");
  EXPECT_EQ(to_text(s.buffers_to_mutate),
            "{'getitem_3': 'bn.running_mean', 'getitem_4': 'bn.running_var', 'add': 'bn.num_batches_tracked'}");
  ASSERT_TRUE(s.backward_signature);
  EXPECT_EQ(to_text(s.backward_signature->gradients_to_parameters),
            "{'getitem_9': 'conv.weight', 'getitem_10': 'conv.bias', 'getitem_6': 'bn.weight', 'getitem_7': 'bn.bias'}");
  EXPECT_EQ(to_text(s.backward_signature->gradients_to_user_inputs), "{}");
  EXPECT_EQ(s.backward_signature->loss_output, "getitem_3");

  const Exported inference = exported(m, m.forward(), {x});
  EXPECT_EQ(print(inference.graph, GraphForm::readable), comparable(std::string(kInference), 0));
  EXPECT_FALSE(inference.signature.backward_signature);

  // Both compute what the module does, and the first its gradients too.
  TensorList state;
  for (const auto& [name, t] : m.state()) state.push_back(t.detach().clone());
  state.push_back(x);
  const TensorList found = run(joint.graph, state), without = run(inference.graph, state);
  const TensorList want = tensors_of(m.forward()(tuple_of({x})));
  const TensorList gradients = grad({want[0]}, m.parameters());
  TensorList all{m.bn.running_mean, m.bn.running_var, m.bn.num_batches_tracked, want[0], want[1]};
  expect_equal(all, without);
  all.insert(all.end(), gradients.begin(), gradients.end());
  expect_equal(all, found);
}

TEST_F(AotExport, A163_R179_OnlyTheLossRequiresGrad) {
  const Function two = [](const TensorList& in) {
    const Tensor o = in[0] * in[1];
    return TensorList{o, o.sum()};
  };
  const auto message = [](const Function& f, std::optional<int> loss) {
    return error_of([&] { listing(f, {randn({2})}, {.trace_joint = true, .output_loss_index = loss}); });
  };
  EXPECT_EQ(message(two, 1),
            "Found an output of the forward that requires gradients, that was not the scalar loss.\n"
            "We require all outputs to the forward that are not the scalar loss to not require gradient,\n"
            "because we will only compute a backward graph against the scalar loss.\n"
            "You can fix this by calling .detach() on each of your forward outputs that is not the loss.\n"
            "You specified that output index 1 is the loss, but we found that\nthe output at index 0 requires gradients.");
  EXPECT_EQ(message(two, {}),
            "If trace_joint=Trueit is required that one of your forward outputs must be a scalar loss.\n"
            "You must specify the which (index) output is the loss with output_loss_index.");
  EXPECT_EQ(message([](const TensorList& in) { return TensorList{in[1].sum()}; }, 0),
            "The output at index 0 was marked as the loss, but it does not require gradients");
  EXPECT_EQ(message([](const TensorList& in) { return TensorList{in[0] * in[1]}; }, 0),
            "We require the output marked as the loss (at index 0) to be a scalar, but it has shape [2]");
  EXPECT_NE(message([](const TensorList& in) { return TensorList{(in[0] * in[1]).sum()}; }, 3).find("output_loss_index is 3"),
            std::string::npos);
  TestMod m(two);
  const TreeFunction dict = [&](const Tree&) { return Tree::dict({{Value("loss"), m.p.sum()}}); };
  EXPECT_EQ(error_of([&] { aot_export_module(m, dict, Tree::tuple({}), {.trace_joint = true, .output_loss_index = 0}); }),
            "Expected forward output to be either a tensor or a list/tuple of tensors. found builtins.dict");
  // A bare tensor is a loss as well.
  const TreeFunction bare = [&](const Tree&) { return Tree(m.p.sum()); };
  EXPECT_EQ(aot_export_module(m, bare, Tree::tuple({}), {.trace_joint = true, .output_loss_index = 0}).graph.outputs.size(), 2u);
}

TEST_F(AotExport, R176_PreDispatchHasNoGradients) {
  EXPECT_EQ(error_of([] {
              listing([](const TensorList& in) { return TensorList{in[0].sum()}; }, {},
                      {.trace_joint = true, .output_loss_index = 0, .pre_dispatch = true});
            }),
            "pre_dispatch is not supported when trace_joint is True.");
}

TEST_F(AotExport, R180_EveryVariableHasAGradient) {
  const Function unused = [](const TensorList& in) { return TensorList{in[1].sum()}; };
  const std::string e =
      error_of([&] { listing(unused, {randn({2}).requires_grad_()}, {.trace_joint = true, .output_loss_index = 0}); });
  EXPECT_EQ(e.find("Found a parameter that did not receive a gradient."), 0u) << e;
  // Gradients of inputs that require grad, none for others, and no tangents.
  TestMod m([](const TensorList& in) { return TensorList{(in[0] * in[1] * in[2]).sum()}; });
  const Tensor x = randn({2}), y = randn({2}).requires_grad_();
  const Exported joint = exported(m, m.forward(), {x, y}, {.trace_joint = true, .output_loss_index = 0});
  EXPECT_EQ(joint.graph.inputs().size(), 3u);
  ASSERT_EQ(joint.graph.outputs.size(), 3u);
  expect_equal({(m.p * x * y).sum(), x * y, m.p * x}, run(joint.graph, {m.p, x, y}));
  const BackwardSignature& b = *joint.signature.backward_signature;
  ASSERT_EQ(b.gradients_to_user_inputs.size(), 1u);
  EXPECT_EQ(b.gradients_to_user_inputs.entries()[0].second, "arg2_1");
  EXPECT_EQ(b.gradients_to_user_inputs.entries()[0].first, print(joint.graph.outputs[2]));
}

TEST_F(AotExport, R180_OutputsThatNeedMoreThanTheGraph) {
  const Function f = [](const TensorList& in) {
    const Tensor sum = (in[0] * in[1]).sum();
    return TensorList{sum.view({1}), sum.detach()};
  };
  const std::string e = error_of([&] { listing(f, {randn({2})}, {.trace_joint = true, .output_loss_index = 0}); });
  EXPECT_EQ(e.find("the loss and another output are views of one tensor"), 0u) << e;
}

TEST_F(AotExport, R008_R009_Decompositions) {
  const Decompositions table{{&op("aten::sin"), [](const Call& c) { return Value(c.tensor(0).cos()); }}};
  const Function f = [](const TensorList& in) { return TensorList{in[0].sin()}; };
  for (const bool pre_dispatch : {false, true})
    EXPECT_NE(print(stateless(f, {randn({2})}, {.decompositions = &table, .pre_dispatch = pre_dispatch}).graph).find("aten.cos"),
              std::string::npos);
  for (const bool joint : {false, true})
    EXPECT_NE(print(aot_export_joint_simple(over_tuple(f), tuple_of({randn({2}).requires_grad_()}),
                                            {.decompositions = &table, .trace_joint = joint}))
                  .find("aten.cos"),
              std::string::npos);
}

TEST_F(AotExport, R181_ParametersAreNotWritten) {
  TestMod m([](const TensorList& in) {
    Tensor(in[0]).mul_(Scalar(2));
    return TensorList{in[0] + in[1]};
  });
  m.p.requires_grad_(false);
  const std::string e = error_of([&] { exported(m, m.forward(), {randn({2})}); });
  EXPECT_EQ(e.find("the parameter p is written in the forward"), 0u) << e;
}

TEST_F(AotExport, R169_IntegersAreConstantsOfTheGraph) {
  Stateless m;
  const TreeFunction f = [](const Tree& in) { return Tree::tuple({in[0].leaf().tensor() * in[1].leaf().to_scalar()}); };
  const Exported e = aot_export_module(m, f, Tree::tuple({randn({2}), Value(7)}));
  EXPECT_EQ(print(e.graph), R"(def forward(self, arg0_1, arg1_1):
    mul = torch.ops.aten.mul.Tensor(arg0_1, 7);  arg0_1 = None
    return (mul,)
)");
  EXPECT_EQ(to_text(e.signature.user_inputs), "['arg0_1', 'arg1_1']");
  // Also where sizes are open.
  const auto sizes = std::make_shared<ShapeEnv>();
  const Values fakes = make_fakes({randn({3})}, {{.input = 0, .dim = 0}}, *sizes);
  const Exported open = aot_export_module(m, f, Tree::tuple({fakes[0], Value(7)}), {.sizes = sizes});
  EXPECT_EQ(print(open.graph), print(e.graph));
  EXPECT_TRUE(open.graph.inputs()[0]->meta.tensor().size(0).is_symbolic());
  EXPECT_NE(error_of([&] { aot_export_module(m, f, Tree::tuple({fakes[0], Value(7)})); }).find("give ExportOptions::sizes"),
            std::string::npos);
}

TEST_F(AotExport, R008_KeywordArgumentsComeLast) {
  Stateless m;
  const TreeFunction f = [](const Tree& in) {
    return Tree::tuple({in[0].leaf().tensor() - in[1].at(Value("b")).leaf().tensor() * in[1].at(Value("a")).leaf().tensor()});
  };
  const Tensor x = randn({2}), a = randn({2}), b = randn({2});
  const Exported e = aot_export_module(m, f, tuple_of({x}), {.kwargs = Tree::dict({{Value("a"), a}, {Value("b"), b}})});
  expect_equal({x - b * a}, run(e.graph, {x, a, b}));
  EXPECT_EQ(e.signature.in_spec.children.size(), 2u);
  EXPECT_EQ(e.signature.in_spec.children[1].type, tree_types::kDict);
}

struct Assigning : nn::Module {
  Tensor buffer, first, second;
  Assigning() {
    add_buffer("buffer", buffer, zeros({2}));
    first = ones({2});
    second = ones({2});
    add_attribute("first", first);
    add_attribute("second", second);
  }
};

TEST_F(AotExport, R184_WhatAForwardAssigns) {
  Assigning m;
  const Tensor before = m.buffer, first = m.first;
  const auto message = [&](const Function& f) { return error_of([&] { exported(m, over_tuple(f), {randn({2})}); }); };
  EXPECT_EQ(
      message([&](const TensorList& in) {
        m.first = in[0] + 1;
        return TensorList{m.first * 2};
      }),
      "The tensor attribute self.first was assigned during export. Such attributes must be registered as buffers using the `register_buffer` API "
      "(nn::Module::add_buffer).");
  EXPECT_EQ(
      message([&](const TensorList& in) {
        m.first = in[0] + 1;
        m.second = in[0] + 2;
        return TensorList{m.first * 2};
      }),
      "The tensor attributes self.first, self.second were assigned during export. Such attributes must be registered as buffers using the "
      "`register_buffer` API (nn::Module::add_buffer).");
  EXPECT_TRUE(m.first.is_same(first)) << "all is as it was";

  const Exported e = exported(m, over_tuple([&](const TensorList& in) {
                                m.buffer = m.buffer + in[0];
                                return TensorList{m.buffer * 2};
                              }),
                              {randn({2})});
  EXPECT_EQ(to_text(e.signature.buffers_to_mutate), "{'copy': 'buffer'}") << print(e.graph);
  EXPECT_TRUE(m.buffer.is_same(before));
  const Tensor x = randn({2});
  expect_equal({x + 3, (x + 3) * 2}, run(e.graph, {full({2}, 3.0), x}));
}

struct Changing : nn::Module {
  Tensor first, second;
  Changing() {
    add_buffer("first", first, zeros({2}));
    add_buffer("second", second, zeros({2}));
  }
};

// Assigned, not written: everybody still has the elements from before.
TEST_F(AotExport, R184_AssignedBuffersAreWrittenAtOnce) {
  Changing m;
  const Tensor a = randn({2}), b = randn({2}), x = randn({2});
  const Exported places = exported(m, over_tuple([&](const TensorList& in) {
                                     std::swap(m.first, m.second);
                                     return TensorList{m.first + in[0]};
                                   }),
                                   {x});
  expect_equal({b, a, b + x}, run(places.graph, {a, b, x}));

  const Exported old = exported(m, over_tuple([&](const TensorList& in) {
                                  const Tensor was = m.first;
                                  m.first = was + in[0];
                                  return TensorList{was};
                                }),
                                {x});
  expect_equal({a + x, a}, run(old.graph, {a, b, x}));
}

}  // namespace
}  // namespace ingot::aot
