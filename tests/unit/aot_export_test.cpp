// Export without pre-dispatch: graphs, signatures, and what is refused (sections 3.3 of the
// dispatch specification and 13 of the requirements).
#include "aot/partition.hpp"
#include "unit/aot_export_harness.hpp"
#include "support/wrappers.hpp"

namespace ingot::aot {
namespace {

using testing::two_tensor;

TEST_F(AotExport, A155_R009_R183_SimpleGraphsAreCalledAsTheFunctionIs) {
  const Function f = [](const TensorList& in) { return TensorList{in[0] * in[1], in[1] * in[1].detach()}; };
  const Tensor x = randn({2}).requires_grad_(), y = randn({2}).requires_grad_();
  const Graph alone = aot_export_joint_simple(over_tuple(f), tuple_of({x, y}));
  expect_equal(f({x, y}), run(alone, {x, y}));

  const Graph joint = aot_export_joint_simple(over_tuple(f), tuple_of({x, y}), {.trace_joint = true});
  const Parts parts = partition_default({joint, 2, {}});
  EXPECT_EQ(parts.forward.inputs().size(), 2u) << "the user's own signature";
  TensorList out = run(parts.forward, {x, y});
  const TensorList want = f({x, y});
  expect_equal(want, {out[0], out[1]});
  TensorList given(out.begin() + 2, out.end());
  for (const Tensor& t : want) given.push_back(ones(t.sizes()));
  expect_equal(grad(want, {x, y}, {ones({2}), ones({2})}), run(parts.backward, given));
}

TEST_F(AotExport, A156_R170_ChangesOfLooks) {
  const Function f = [](const TensorList& in) {
    aten_value<"t_">(in[1]);
    return TensorList{in[1] * 2};
  };
  const std::string words =
      "Found an input that received a metadata mutation, through e.g. a call to `.resize_()` or `.transpose_()`.\n"
      "This is currently banned in the aot_export workflow. If you need this functionality, please file a github issue.\n\nfw_metadata=";
  expect_three_errors(words, f, [] { return TensorList{randn({2, 4})}; });
}

// A buffer, and a program of it and the arguments.
struct WithBuffer : nn::Module {
  Tensor buffer1;
  WithBuffer() { add_buffer("buffer1", buffer1, ones({6, 4})); }
};

TEST_F(AotExport, A157_R181_AWrittenInputIsAnOutput) {
  WithBuffer m;
  const TreeFunction forward = over_tuple([&](const TensorList& in) {
    Tensor(in[0]).add_(Scalar(4));
    const Tensor a = in[0].cos().sum();  // first: C++ leaves the order of operands open
    return TensorList{a + m.buffer1.sum()};
  });
  const Exported e = exported(m, forward, {ones({6, 4})});
  EXPECT_EQ(print(e.graph), R"(def forward(self, arg0_1, arg1_1):
    add = torch.ops.aten.add.Tensor(arg1_1, 4);  arg1_1 = None
    cos = torch.ops.aten.cos.default(add)
    sum_1 = torch.ops.aten.sum.default(cos);  cos = None
    sum_2 = torch.ops.aten.sum.default(arg0_1);  arg0_1 = None
    add_1 = torch.ops.aten.add.Tensor(sum_1, sum_2);  sum_1 = sum_2 = None
    return (add, add_1)
)");
  EXPECT_EQ(to_text(e.signature.user_inputs_to_mutate), "{'add': 'arg1_1'}");
  EXPECT_EQ(to_text(e.signature.buffers_to_mutate), "{}");
  EXPECT_EQ(to_text(e.signature.parameters), "[]");
  EXPECT_EQ(to_text(e.signature.buffers), "['buffer1']");
  EXPECT_EQ(to_text(e.signature.inputs_to_buffers), "{'arg0_1': 'buffer1'}");
  EXPECT_EQ(to_text(e.signature.inputs_to_parameters), "{}");
  EXPECT_EQ(to_text(e.signature.user_inputs), "['arg1_1']");
  EXPECT_EQ(to_text(e.signature.user_outputs), "['add_1']");
  EXPECT_EQ(e.signature.in_spec.leaves(), 1u);
  EXPECT_EQ(e.signature.out_spec.type, tree_types::kTuple);
  EXPECT_FALSE(e.signature.backward_signature);
  EXPECT_TRUE(e.signature.input_tokens.empty() && e.signature.output_tokens.empty());
}

TEST_F(AotExport, A158_R008_BuffersAreWrittenBeforeInputs) {
  WithBuffer m;
  const TreeFunction forward = over_tuple([&](const TensorList& in) {
    Tensor(in[1]).add_(Scalar(4));
    m.buffer1.add_(Scalar(5));
    const Tensor a = in[0].cos().sum();
    return TensorList{a + in[1].sin().sum(), m.buffer1.sum()};
  });
  const Exported e = exported(m, forward, {ones({6, 4}), zeros({6, 4})});
  EXPECT_EQ(print(e.graph), R"(def forward(self, arg0_1, arg1_1, arg2_1):
    add = torch.ops.aten.add.Tensor(arg2_1, 4);  arg2_1 = None
    add_1 = torch.ops.aten.add.Tensor(arg0_1, 5);  arg0_1 = None
    cos = torch.ops.aten.cos.default(arg1_1);  arg1_1 = None
    sum_1 = torch.ops.aten.sum.default(cos);  cos = None
    sin = torch.ops.aten.sin.default(add)
    sum_2 = torch.ops.aten.sum.default(sin);  sin = None
    add_2 = torch.ops.aten.add.Tensor(sum_1, sum_2);  sum_1 = sum_2 = None
    sum_3 = torch.ops.aten.sum.default(add_1)
    return (add_1, add, add_2, sum_3)
)");
  EXPECT_EQ(to_text(e.signature.user_inputs_to_mutate), "{'add': 'arg2_1'}");
  EXPECT_EQ(to_text(e.signature.buffers_to_mutate), "{'add_1': 'buffer1'}");
  EXPECT_EQ(m.buffer1.to_vector<double>(), std::vector<double>(24, 1)) << "the module is as it was";
}

const std::string kMutatedVariable =
    "Found a graph input that requires gradients, and received a mutation.\n"
    "This is currently banned in the aot_export workflow. If you need this functionality, please file a github issue.\n\nfw_metadata=";

TEST_F(AotExport, A159_R171_WritesToInputsThatRequireGrad) {
  const Function f = [](const TensorList& in) {
    Tensor(in[0]).add_(Scalar(4));
    return TensorList{in[0]};
  };
  const std::string e = error_of([&] { stateless(f, {randn({2}).requires_grad_()}); });
  EXPECT_NE(e.find(kMutatedVariable), std::string::npos) << e;
}

TEST_F(AotExport, A160_R171_WritesToParameters) {
  const Function f = [](const TensorList& in) {
    Tensor(in[0]).mul_(Scalar(2));
    return TensorList{in[0] + in[1]};
  };
  expect_three_errors(kMutatedVariable, f, [] { return TensorList{randn({2})}; });
}

const Function kWritesTheFirst = [](const TensorList& in) {
  Tensor(in[1]).mul_(Scalar(2));
  return TensorList{in[1] + in[2]};
};

TEST_F(AotExport, A161_R174_InputsThatOverlap) {
  const auto inputs = [] {
    const Tensor x = randn({2});
    return TensorList{x, x.view({-1})};
  };
  for (const std::string& e : three_errors(kWritesTheFirst, inputs)) {
    EXPECT_NE(e.find("Encountered aliased inputs that are mutated in the graph you are trying to export."), std::string::npos)
        << e;
    EXPECT_NE(e.find("synthetic_base_info=one base for the inputs 1, 2"), std::string::npos) << e;
    EXPECT_NE(e.find("fw_metadata="), std::string::npos) << e;
  }
}

TEST_F(AotExport, A162_R174_OneTensorTwice) {
  const auto inputs = [] {
    const Tensor x = randn({2});
    return TensorList{x, x};
  };
  for (const std::string& e : three_errors(kWritesTheFirst, inputs)) {
    EXPECT_NE(e.find("Encountered duplicated inputs that are mutated in the graph you are trying to export."), std::string::npos)
        << e;
    EXPECT_NE(e.find("fw_metadata="), std::string::npos) << e;
  }
  // Without a write nothing is in the way: an input each.
  const Exported e = stateless([](const TensorList& in) { return TensorList{in[0] + in[1]}; }, inputs());
  EXPECT_EQ(e.graph.inputs().size(), 2u);
}

TEST_F(AotExport, A165_R183_SimpleGraphsTakeAndReturnNoContainers) {
  const auto message = [](const TreeFunction& f, const Tree& in) { return error_of([&] { aot_export_joint_simple(f, in); }); };
  const Tensor a = randn({2}), b = randn({2});
  const TreeFunction nested = [](const Tree& in) { return Tree::tuple({in[0][0].leaf().tensor() + in[0][1].leaf().tensor()}); };
  EXPECT_EQ(
      message(nested, Tree::list({Tree::list({a, b})})),
      "aot_export_joint_simple requires individual inputs not to be pytrees. in_spec=TreeSpec(list, None, [TreeSpec(list, None, [*, *])])");
  EXPECT_EQ(message([](const Tree& in) { return Tree::tuple({in.leaf().tensor() + 1}); }, Tree(a)),
            "aot_export_joint_simple requires inputs to be a single list/tuple. in_spec=*");
  EXPECT_EQ(message([](const Tree& in) { return Tree(in[0].leaf().tensor() + 1); }, tuple_of({a})),
            "aot_export_joint_simple requires outputs to be a single list/tuple. out_spec=*");
  EXPECT_EQ(
      message([](const Tree& in) { return Tree::tuple({Tree::dict({{Value("x"), in[0].leaf().tensor() + 1}})}); }, tuple_of({a})),
      "aot_export_joint_simple requires individual outputs not to be pytrees. out_spec=TreeSpec(tuple, None, [TreeSpec(dict, ['x'], [*])])");
}

TEST_F(AotExport, R183_SimpleGraphsHaveNoEffectsAndNoViews) {
  const std::string written = error_of([] {
    aot_export_joint_simple(over_tuple([](const TensorList& in) {
                              Tensor(in[0]).add_(Scalar(1));
                              return TensorList{in[0] * 2};
                            }),
                            tuple_of({ones({2})}));
  });
  EXPECT_EQ(written.find("aot_export_joint_simple does not support input mutations. "), 0u) << written;
  const std::string viewed = error_of([] {
    aot_export_joint_simple(over_tuple([](const TensorList& in) { return TensorList{in[0].view({-1})}; }), tuple_of({ones({2})}));
  });
  EXPECT_EQ(viewed.find("aot_export_joint_simple does not support outputs that alias inputs. "), 0u) << viewed;
  EXPECT_NE(error_of([] {
              aot_export_joint_simple(over_tuple([](const TensorList& in) { return in; }), tuple_of({}), {.pre_dispatch = true});
            }).find("are for modules"),
            std::string::npos);
}

TEST_F(AotExport, A166_R173_FunctionalizedRandomNumbers) {
  const Function f = [](const TensorList& in) { return TensorList{in[0] + in[1]}; };
  for (const std::string& e : three_errors(f, [] { return TensorList{randn({2})}; }, true))
    EXPECT_EQ(e,
              "Functionalized RNG is not currently supported in the aot_export workflow. Please file a github issue,\n"
              "or otherwise set torch._functorch.config.functionalize_rng_ops = False.");
}

TEST_F(AotExport, R172_R175_ChecksAreInOrder) {
  const auto message = [](const Function& f, const TensorList& in) {
    return error_of([&] { stateless(f, in, {.functionalize_rng_ops = true}); });
  };
  const auto starts = [](const std::string& s, const std::string& with) { EXPECT_EQ(s.substr(0, with.size()), with); };
  const Tensor x = randn({2, 2}), wrapped = two_tensor(randn({2, 2}), randn({2, 2}));
  const auto variable = [&] { return randn({2, 2}).requires_grad_(); };
  // Each has everything that comes after it.
  starts(message(
             [](const TensorList& in) {
               aten_value<"t_">(in[0]);
               Tensor(in[1]).add_(Scalar(1));
               return TensorList{in[2] + 1};
             },
             {x, variable(), wrapped}),
         "Found an input that received a metadata mutation");
  starts(message(
             [](const TensorList& in) {
               Tensor(in[1]).add_(Scalar(1));
               Tensor(in[0]).add_(Scalar(1));
               return TensorList{in[2] + in[3]};
             },
             {x, variable(), wrapped, x}),
         "Found a graph input that requires gradients");
  EXPECT_EQ(
      message(
          [](const TensorList& in) {
            Tensor(in[0]).add_(Scalar(1));
            return TensorList{in[1] + in[2]};
          },
          {x, wrapped, x}),
      "aot_export is not currently supported with traceable tensor subclass.\nIf you need this feature, please comment on <CREATE_ISSUE_LINK>");
  starts(message(
             [](const TensorList& in) {
               Tensor(in[0]).add_(Scalar(1));
               return TensorList{in[0] + in[1]};
             },
             {x, x}),
         "Functionalized RNG is not currently supported");
  // A written tensor that is there twice, and that another argument overlaps.
  const Tensor memory = ones({4}), part = memory.slice(0, 0, 3);
  starts(error_of([&] {
           stateless(
               [](const TensorList& in) {
                 Tensor(in[0]).add_(Scalar(1));
                 return TensorList{in[0] + in[1] + in[2]};
               },
               {part, part, memory.slice(0, 1, 4)}, {});
         }),
         "Encountered duplicated inputs that are mutated in the graph you are trying to export.");
}

}  // namespace
}  // namespace ingot::aot
