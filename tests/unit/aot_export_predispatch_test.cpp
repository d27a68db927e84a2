// Export above autograd: composites whole, switches of the grad mode as nodes. What an expression
// reads first has a name of its own: C++ leaves the order of operands open, and listings do not.
#include "aot/aot.hpp"
#include "graph/dead_code.hpp"
#include "graph/same.hpp"
#include "ingot/decompositions.hpp"
#include "unit/aot_export_harness.hpp"

namespace ingot::aot {
namespace {

TEST_F(AotExport, A138_R059_NothingWritesWhatDropoutMade) {
  const Function f = [](const TensorList& in) {
    Tensor y = dropout(in[1], 0.1, false);
    y.add_(Scalar(1));
    return TensorList{y};
  };
  const std::string e = error_of([&] { listing(f, {randn({2, 2})}, kPreDispatch); });
  EXPECT_NE(e.find("cannot mutate tensors with frozen storage"), std::string::npos) << e;
  const std::string kClone = R"(def forward(self, arg0_1, arg1_1):
    clone = torch.ops.aten.clone.default(arg1_1);  arg1_1 = None
    add = torch.ops.aten.add.Tensor(clone, 1);  clone = None
    return (add,)
)";
  EXPECT_EQ(listing(f, {randn({2, 2})}), kClone);
  std::string graph;
  const Compiler capture = [&](std::shared_ptr<const Graph> g, const Values& examples) {
    graph = print(*g);
    return nop(std::move(g), examples);
  };
  const Tensor in = randn({2, 2});
  aot_function(
      over_tuple(f),
      {.forward = capture, .partition = partition_default, .decompositions = &default_decompositions(), .dynamic = true})(
      tuple_of({in[0], in[1]}));
  EXPECT_EQ(graph, kClone);
}

// The first rule: what comes apart everywhere else (AotRefusals) is a node of the exported graph.
TEST_F(AotExport, R058_DropoutStaysWhole) {
  const Function f = [](const TensorList& in) {
    const Tensor sum = in[0] + in[1], dropped = dropout(sum, 0.5, true);
    return TensorList{dropout(dropped, 0.25, false)};
  };
  EXPECT_EQ(listing(f, {randn({2})}, kPreDispatch), R"(def forward(self, arg0_1, arg1_1):
    add = torch.ops.aten.add.Tensor(arg0_1, arg1_1);  arg0_1 = arg1_1 = None
    dropout = torch.ops.aten.dropout.default(add, 0.5, True);  add = None
    dropout_1 = torch.ops.aten.dropout.default(dropout, 0.25, False);  dropout = None
    return (dropout_1,)
)");
}

TEST_F(AotExport, R059_ConversionsCopyAndTakeNoWrites) {
  for (const bool pre_dispatch : {false, true}) {
    const ExportOptions o{.pre_dispatch = pre_dispatch};
    const std::string copied = listing([](const TensorList& in) { return TensorList{in[1].to(float32)}; }, {randn({2})}, o);
    EXPECT_NE(copied.find("torch.ops.aten._to_copy.default(arg1_1, dtype = torch.float32"), std::string::npos) << copied;
    const std::string e = error_of([&] {
      listing(
          [](const TensorList& in) {
            Tensor y = in[1].to(float64);
            y.add_(Scalar(1));
            return TensorList{y};
          },
          {randn({2})}, o);
    });
    EXPECT_NE(e.find("cannot mutate tensors with frozen storage"), std::string::npos) << e;
  }
}

TEST_F(AotExport, A139_R177_R178_SwitchesOfTheGradModeAreNodes) {
  const NoGrad ambient;
  const Function f = [](const TensorList& in) {
    Tensor y = in[1] + 2;
    {
      const NoGrad inner;
      y.add_(Scalar(2));
    }
    return TensorList{in[1] * 2 + y};
  };
  TestMod m(f);
  const Exported e = exported(m, m.forward(), {randn({2, 2})}, kPreDispatch);
  EXPECT_EQ(print(e.graph), R"(def forward(self, arg0_1, arg1_1):
    add = torch.ops.aten.add.Tensor(arg1_1, 2)
    _set_grad_enabled = torch._C._set_grad_enabled(False)
    add_1 = torch.ops.aten.add.Tensor(add, 2);  add = None
    _set_grad_enabled_1 = torch._C._set_grad_enabled(False)
    mul = torch.ops.aten.mul.Tensor(arg1_1, 2);  arg1_1 = None
    add_2 = torch.ops.aten.add.Tensor(mul, add_1);  mul = add_1 = None
    return (add_2,)
)");
  // Printed and read again, and without its dead code, the graph still has them.
  EXPECT_EQ(difference(e.graph, parse_graph(print(e.graph))), "");
  EXPECT_EQ(difference(e.graph, without_dead_code(e.graph)), "");
}

TEST_F(AotExport, A140_R178_CompositesStayWhole) {
  const NoGrad ambient;
  const Function f = [](const TensorList& in) {
    Tensor y;
    {
      const EnableGrad inner;
      y = matmul(in[1], in[1]);
    }
    y.add_(Scalar(2));
    const Tensor a = in[1].sum();
    return TensorList{a + y.sum()};
  };
  EXPECT_EQ(listing(f, {randn({2, 2})}, kPreDispatch), R"(def forward(self, arg0_1, arg1_1):
    _set_grad_enabled = torch._C._set_grad_enabled(True)
    matmul = torch.ops.aten.matmul.default(arg1_1, arg1_1)
    _set_grad_enabled_1 = torch._C._set_grad_enabled(False)
    add = torch.ops.aten.add.Tensor(matmul, 2);  matmul = None
    sum_1 = torch.ops.aten.sum.default(arg1_1);  arg1_1 = None
    sum_2 = torch.ops.aten.sum.default(add);  add = None
    add_1 = torch.ops.aten.add.Tensor(sum_1, sum_2);  sum_1 = sum_2 = None
    return (add_1,)
)");
}

TEST_F(AotExport, A141_CompositesThatWriteComeApart) {
  const Function f = [](const TensorList& in) {
    Tensor y = in[0].clone();
    aten_value<"absolute_">(y);
    return TensorList{y};
  };
  EXPECT_EQ(listing(f, {randn({2, 2})}, kPreDispatch), R"(def forward(self, arg0_1, arg1_1):
    clone = torch.ops.aten.clone.default(arg0_1);  arg0_1 = None
    abs_1 = torch.ops.aten.abs.default(clone);  clone = None
    return (abs_1,)
)");
}

TEST_F(AotExport, A142_R178_LinearStaysWholeThoughItsWeightsRequireGrad) {
  nn::Linear m(2, 2);
  const Exported e =
      exported(m, over_tuple([&](const TensorList& in) { return TensorList{m(in[0])}; }), {randn({2, 2})}, kPreDispatch);
  EXPECT_EQ(print(e.graph), R"(def forward(self, arg0_1, arg1_1, arg2_1):
    linear = torch.ops.aten.linear.default(arg2_1, arg0_1, arg1_1);  arg2_1 = arg0_1 = arg1_1 = None
    return (linear,)
)");
  const Tensor x = randn({2, 2});
  expect_equal({m(x)}, run(e.graph, {m.weight, m.bias, x}));
}

TEST_F(AotExport, A144_ViewsOfWhatWasWritten) {
  const Function f = [](const TensorList& in) {
    Tensor y = matmul(in[1], in[1]);
    y.add_(Scalar(2));
    const Tensor a = in[1].sum();
    return TensorList{a + y.view({1, 4}).sum()};
  };
  EXPECT_EQ(listing(f, {randn({2, 2})}, kPreDispatch), R"(def forward(self, arg0_1, arg1_1):
    matmul = torch.ops.aten.matmul.default(arg1_1, arg1_1)
    add = torch.ops.aten.add.Tensor(matmul, 2);  matmul = None
    sum_1 = torch.ops.aten.sum.default(arg1_1);  arg1_1 = None
    view_1 = torch.ops.aten.view.default(add, [1, 4]);  add = None
    sum_2 = torch.ops.aten.sum.default(view_1);  view_1 = None
    add_1 = torch.ops.aten.add.Tensor(sum_1, sum_2);  sum_1 = sum_2 = None
    return (add_1,)
)");
}

TEST_F(AotExport, A145_R181_ABufferIsGivenBack) {
  struct Counting : nn::Module {
    Tensor foo;
    Counting() { add_buffer("foo", foo, zeros({2, 2})); }
  } m;
  const TreeFunction forward = over_tuple([&](const TensorList& in) {
    m.foo.add_(Scalar(4));
    const Tensor a = in[0].sum();
    return TensorList{a + m.foo.sum()};
  });
  const Tensor x = randn({2, 2});
  const Exported e = exported(m, forward, {x}, kPreDispatch);
  EXPECT_EQ(print(e.graph), R"(def forward(self, arg0_1, arg1_1):
    add = torch.ops.aten.add.Tensor(arg0_1, 4);  arg0_1 = None
    sum_1 = torch.ops.aten.sum.default(arg1_1);  arg1_1 = None
    sum_2 = torch.ops.aten.sum.default(add)
    add_1 = torch.ops.aten.add.Tensor(sum_1, sum_2);  sum_1 = sum_2 = None
    return (add, add_1)
)");
  const TensorList first = run(e.graph, {zeros({2, 2}), x}), second = run(e.graph, {first[0], x});
  expect_equal(tensors_of(forward(tuple_of({x}))), {first[1]});
  expect_equal({m.foo}, {first[0]});
  expect_equal(tensors_of(forward(tuple_of({x}))), {second[1]});
  expect_equal({m.foo}, {second[0]});
  EXPECT_EQ(to_text(e.signature.buffers), "['foo']");
  ASSERT_TRUE(e.signature.inputs_to_buffers.find("arg0_1"));
  EXPECT_EQ(*e.signature.inputs_to_buffers.find("arg0_1"), "foo");
  EXPECT_EQ(to_text(e.signature.buffers_to_mutate), "{'add': 'foo'}");
}

TEST_F(AotExport, A146_AFunctionUnderEnableGrad) {
  const NoGrad ambient;
  const Function f = [](const TensorList& in) {
    const EnableGrad inner;
    Tensor y = in[1] + 5;
    y.add_(Scalar(5));
    y.add_(Scalar(7));
    const Tensor a = in[1].cos();
    return TensorList{a + y.sin()};
  };
  TestMod m(f);
  const Exported e = exported(m, m.forward(), {randn({2, 2})}, kPreDispatch);
  EXPECT_EQ(print(e.graph), R"(def forward(self, arg0_1, arg1_1):
    _set_grad_enabled = torch._C._set_grad_enabled(True)
    add = torch.ops.aten.add.Tensor(arg1_1, 5)
    add_1 = torch.ops.aten.add.Tensor(add, 5);  add = None
    add_2 = torch.ops.aten.add.Tensor(add_1, 7);  add_1 = None
    cos = torch.ops.aten.cos.default(arg1_1);  arg1_1 = None
    sin = torch.ops.aten.sin.default(add_2);  add_2 = None
    add_3 = torch.ops.aten.add.Tensor(cos, sin);  cos = sin = None
    _set_grad_enabled_1 = torch._C._set_grad_enabled(False)
    return (add_3,)
)");
  // Run, it has the gradients that the program has.
  const Tensor x = randn({2, 2}).requires_grad_();
  const TensorList want = f({m.p, x}), found = run(e.graph, {m.p, x});
  expect_equal(want, found);
  ASSERT_TRUE(found[0].requires_grad());
  const TensorList ones_of{ones({2, 2})};
  expect_equal(grad(want, {x}, ones_of), grad(found, {x}, ones_of));
  // Exported once more it is the same: what a graph switches is recorded like what a program does.
  EXPECT_EQ(print(stateless([&](const TensorList& in) { return run(e.graph, in); }, {m.p, x}, kPreDispatch).graph),
            print(e.graph));
}

TEST_F(AotExport, R177_WithoutPreDispatchThereAreNoSwitchesAndNoGradients) {
  const Function f = [](const TensorList& in) {
    const EnableGrad inner;
    return TensorList{in[0] * in[1]};
  };
  const std::string graph = listing(f, {randn({2})});
  EXPECT_EQ(graph.find("_set_grad_enabled"), std::string::npos) << graph;
  bool enabled = true;
  listing(
      [&](const TensorList& in) {
        enabled = is_grad_enabled();
        return TensorList{in[0] * in[1]};
      },
      {randn({2})});
  EXPECT_FALSE(enabled) << "without gradients the program runs under no_grad";
  listing(
      [&](const TensorList& in) {
        enabled = is_grad_enabled();
        return TensorList{in[0] * in[1]};
      },
      {randn({2})}, kPreDispatch);
  EXPECT_TRUE(enabled) << "above autograd it runs in the mode around it";
}

TEST_F(AotExport, A151_R178_ConvolutionAndBatchNorm) {
  struct Net : nn::Module {
    nn::Conv2d conv{1, 3, {1, 1}};
    nn::BatchNorm2d bn{3};
    Net() {
      add("conv", conv);
      add("bn", bn);
    }
  } m;
  const Exported e = exported(m, over_tuple([&](const TensorList& in) { return TensorList{m.bn(m.conv(in[0]))}; }),
                              {randn({1, 1, 3, 3})}, kPreDispatch);
  EXPECT_EQ(print(e.graph), R"(def forward(self, arg0_1, arg1_1, arg2_1, arg3_1, arg4_1, arg5_1, arg6_1, arg7_1):
    conv2d = torch.ops.aten.conv2d.default(arg7_1, arg0_1, arg1_1);  arg7_1 = arg0_1 = arg1_1 = None
    add = torch.ops.aten.add.Tensor(arg6_1, 1);  arg6_1 = None
    _native_batch_norm_legit_functional = torch.ops.aten._native_batch_norm_legit_functional.default(conv2d, arg2_1, arg3_1, arg4_1, arg5_1, True, 0.1, 1e-05);  conv2d = arg2_1 = arg3_1 = arg4_1 = arg5_1 = None
    getitem = _native_batch_norm_legit_functional[0]
    getitem_3 = _native_batch_norm_legit_functional[3]
    getitem_4 = _native_batch_norm_legit_functional[4];  _native_batch_norm_legit_functional = None
    return (getitem_3, getitem_4, add, getitem)
)");
}

TEST_F(AotExport, A152_ReshapeComesApart) {
  EXPECT_EQ(
      print(stateless([](const TensorList& in) { return TensorList{in[0].reshape({4, 4}).sum()}; }, {randn({2, 8})}, kPreDispatch)
                .graph),
      R"(def forward(self, arg0_1):
    view = torch.ops.aten.view.default(arg0_1, [4, 4]);  arg0_1 = None
    sum_1 = torch.ops.aten.sum.default(view);  view = None
    return (sum_1,)
)");
}

TEST_F(AotExport, A153_WhatIsContiguousStaysAsItIs) {
  EXPECT_EQ(
      print(stateless([](const TensorList& in) { return TensorList{in[0].contiguous().sum()}; }, {randn({2, 8})}, kPreDispatch)
                .graph),
      R"(def forward(self, arg0_1):
    sum_1 = torch.ops.aten.sum.default(arg0_1);  arg0_1 = None
    return (sum_1,)
)");
}

}  // namespace
}  // namespace ingot::aot
