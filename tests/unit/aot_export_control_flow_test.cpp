// Programs with cond and map, exported: both branches are kept, whatever is known of the predicate.
// What an expression reads first has a name of its own: C++ leaves the order of operands open, and
// listings do not.
#include "ingot/control_flow.hpp"
#include "unit/aot_export_harness.hpp"

namespace ingot::aot {
namespace {

constexpr std::string_view kOuter = R"(def forward(self, arg0_1):
    true_graph_0 = self.true_graph_0
    false_graph_0 = self.false_graph_0
    conditional = torch.ops.higher_order.cond(False, true_graph_0, false_graph_0, [arg0_1]);  true_graph_0 = false_graph_0 = arg0_1 = None
    getitem = conditional[0];  conditional = None
    add = torch.ops.aten.add.Tensor(getitem, 3)
    add_1 = torch.ops.aten.add.Tensor(getitem, 4);  getitem = None
    return (add, add_1)
)";

Tensor sine(const Tensor& t) { return t.sin(); }
Tensor cosine(const Tensor& t) { return t.cos(); }

Function chosen(const TensorFunction& if_true, const TensorFunction& if_false) {
  return [=](const TensorList& in) {
    const Tensor a = cond(in[0].size(0) > 4, if_true, if_false, in)[0];
    return TensorList{a + 3, a + 4};
  };
}

const TensorFunction kFalse = [](const TensorList& o) {
  Tensor z = o[0].cos();
  z.add_(Scalar(int64_t{6}));
  return TensorList{z.sin()};
};

TEST_F(AotExport, A147_NestedBranches) {
  const TensorFunction if_true = [](const TensorList& o) {
    Tensor y = o[0].sin();
    y.add_(Scalar(int64_t{5}));
    const bool is_long = y.cos().size(0) > 5;
    return cond(
        is_long,
        [](const TensorList& p) {
          Tensor z = p[0].sin();
          z.add_(Scalar(int64_t{7}));
          return TensorList{z.sin()};
        },
        [](const TensorList& p) { return TensorList{p[0].cos()}; }, {y.cos()});
  };
  const Function f = chosen(if_true, kFalse);
  const Exported e = stateless(f, {randn({2, 2})}, kPreDispatch);
  EXPECT_EQ(print(e.graph), kOuter);
  const Graph& taken = subgraph(e.graph, "true_graph_0");
  EXPECT_EQ(print(taken), R"(def forward(self, arg0_1):
    sin = torch.ops.aten.sin.default(arg0_1);  arg0_1 = None
    add = torch.ops.aten.add.Tensor(sin, 5);  sin = None
    cos = torch.ops.aten.cos.default(add)
    cos_1 = torch.ops.aten.cos.default(add);  add = None
    true_graph_0 = self.true_graph_0
    false_graph_0 = self.false_graph_0
    conditional = torch.ops.higher_order.cond(False, true_graph_0, false_graph_0, [cos_1]);  true_graph_0 = false_graph_0 = cos_1 = None
    getitem = conditional[0];  conditional = None
    return (getitem,)
)");
  EXPECT_EQ(print(subgraph(taken, "true_graph_0")), R"(def forward(self, arg0_1):
    sin = torch.ops.aten.sin.default(arg0_1);  arg0_1 = None
    add = torch.ops.aten.add.Tensor(sin, 7);  sin = None
    sin_1 = torch.ops.aten.sin.default(add);  add = None
    return (sin_1,)
)");
  const Tensor x = randn({2, 2});
  expect_equal(f({x}), run(e.graph, {x}));
}

const TensorFunction kBody = [](const TensorList& o) {
  Tensor a = o[0].cos();
  a.add_(Scalar(int64_t{5}));
  return TensorList{a + o[1]};
};

TEST_F(AotExport, A148_MapsInABranch) {
  const TensorFunction if_true = [](const TensorList& o) {
    Tensor y = o[0].sin();
    y.add_(Scalar(int64_t{5}));
    const Tensor a = y.cos();
    return TensorList{a + o[1].sum()};
  };
  const TensorFunction if_false = [](const TensorList& o) {
    const Tensor z = o[0].cos();
    const auto mapped = [&] { return map(kBody, {z}, {o[1]})[0].sum(); };
    const Tensor once = z + mapped();
    return TensorList{once + mapped()};
  };
  const Function f = chosen(if_true, if_false);
  const Exported e = stateless(f, {randn({2, 2}), ones({2})}, kPreDispatch);
  EXPECT_EQ(print(e.graph), R"(def forward(self, arg0_1, arg1_1):
    true_graph_0 = self.true_graph_0
    false_graph_0 = self.false_graph_0
    conditional = torch.ops.higher_order.cond(False, true_graph_0, false_graph_0, [arg0_1, arg1_1]);  true_graph_0 = false_graph_0 = arg0_1 = arg1_1 = None
    getitem = conditional[0];  conditional = None
    add = torch.ops.aten.add.Tensor(getitem, 3)
    add_1 = torch.ops.aten.add.Tensor(getitem, 4);  getitem = None
    return (add, add_1)
)");
  EXPECT_EQ(print(subgraph(e.graph, "true_graph_0")), R"(def forward(self, arg0_1, arg1_1):
    sin = torch.ops.aten.sin.default(arg0_1);  arg0_1 = None
    add = torch.ops.aten.add.Tensor(sin, 5);  sin = None
    cos = torch.ops.aten.cos.default(add);  add = None
    sum_1 = torch.ops.aten.sum.default(arg1_1);  arg1_1 = None
    add_1 = torch.ops.aten.add.Tensor(cos, sum_1);  cos = sum_1 = None
    return (add_1,)
)");
  const Graph& otherwise = subgraph(e.graph, "false_graph_0");
  EXPECT_EQ(print(otherwise), R"(def forward(self, arg0_1, arg1_1):
    cos = torch.ops.aten.cos.default(arg0_1);  arg0_1 = None
    select = torch.ops.aten.select.int(cos, 0, 0)
    body_graph_0 = self.body_graph_0
    map_impl = torch.ops.higher_order.map_impl(body_graph_0, [cos], [arg1_1]);  body_graph_0 = None
    getitem = map_impl[0];  map_impl = None
    sum_1 = torch.ops.aten.sum.default(getitem);  getitem = None
    add = torch.ops.aten.add.Tensor(cos, sum_1);  sum_1 = None
    select_1 = torch.ops.aten.select.int(cos, 0, 0)
    body_graph_1 = self.body_graph_1
    map_impl_1 = torch.ops.higher_order.map_impl(body_graph_1, [cos], [arg1_1]);  body_graph_1 = cos = arg1_1 = None
    getitem_1 = map_impl_1[0];  map_impl_1 = None
    sum_2 = torch.ops.aten.sum.default(getitem_1);  getitem_1 = None
    add_1 = torch.ops.aten.add.Tensor(add, sum_2);  add = sum_2 = None
    return (add_1,)
)");
  for (const std::string name : {"body_graph_0", "body_graph_1"})
    EXPECT_EQ(print(subgraph(otherwise, name)), R"(def forward(self, arg0_1, arg1_1):
    cos = torch.ops.aten.cos.default(arg0_1);  arg0_1 = None
    add = torch.ops.aten.add.Tensor(cos, 5);  cos = None
    add_1 = torch.ops.aten.add.Tensor(add, arg1_1);  add = arg1_1 = None
    return (add_1,)
)");
  const TensorList in{randn({2, 2}), ones({2})};
  expect_equal(f(in), run(e.graph, in));
}

TEST_F(AotExport, A149_AMap) {
  const Function f = [](const TensorList& in) {
    const Tensor z = in[0].cos();
    return TensorList{z + map(kBody, {z}, {in[1]})[0].sum()};
  };
  const Exported e = stateless(f, {randn({2, 2}), ones({2})}, kPreDispatch);
  EXPECT_EQ(print(e.graph), R"(def forward(self, arg0_1, arg1_1):
    cos = torch.ops.aten.cos.default(arg0_1);  arg0_1 = None
    body_graph_0 = self.body_graph_0
    map_impl = torch.ops.higher_order.map_impl(body_graph_0, [cos], [arg1_1]);  body_graph_0 = arg1_1 = None
    getitem = map_impl[0];  map_impl = None
    sum_1 = torch.ops.aten.sum.default(getitem);  getitem = None
    add = torch.ops.aten.add.Tensor(cos, sum_1);  cos = sum_1 = None
    return (add,)
)");
  EXPECT_EQ(print(subgraph(e.graph, "body_graph_0")), R"(def forward(self, arg0_1, arg1_1):
    cos = torch.ops.aten.cos.default(arg0_1);  arg0_1 = None
    add = torch.ops.aten.add.Tensor(cos, 5);  cos = None
    add_1 = torch.ops.aten.add.Tensor(add, arg1_1);  add = arg1_1 = None
    return [add_1]
)");
  const TensorList in{randn({2, 2}), ones({2})};
  expect_equal(f(in), run(e.graph, in));
}

TEST_F(AotExport, A150_CompositesStayWholeInBranches) {
  const TensorFunction if_true = [](const TensorList& o) {
    const Tensor y = o[0].sin();
    // Python's randn hands the default device and no pinned memory on, and leaves the dtype open.
    Tensor z = aten<"linear">(y, aten<"randn">(Shape{2, 2}, Value(), Value(), Device{}, false));
    z.add_(Scalar(int64_t{5}));
    return TensorList{z.cos()};
  };
  const Exported e = stateless(chosen(if_true, kFalse), {randn({2, 2})}, kPreDispatch);
  EXPECT_EQ(print(e.graph), kOuter);
  EXPECT_EQ(print(subgraph(e.graph, "true_graph_0")), R"(def forward(self, arg0_1):
    sin = torch.ops.aten.sin.default(arg0_1);  arg0_1 = None
    randn = torch.ops.aten.randn.default([2, 2], device = device(type='cpu'), pin_memory = False)
    linear = torch.ops.aten.linear.default(sin, randn);  sin = randn = None
    add = torch.ops.aten.add.Tensor(linear, 5);  linear = None
    cos = torch.ops.aten.cos.default(add);  add = None
    return (cos,)
)");
}

TEST_F(AotExport, A164_BranchesKeepTheirDeadCode) {
  const auto branch = [](int64_t first, int64_t second, Tensor (*result)(const Tensor&)) {
    return [=](const TensorList& o) {
      Tensor y = o[0] + Scalar(first);
      y.add_(Scalar(second));
      return TensorList{result(o[0])};
    };
  };
  const Function f = chosen(branch(4, 5, cosine), branch(5, 6, sine));
  const Exported e = stateless(f, {randn({3, 4})});
  EXPECT_EQ(print(e.graph), kOuter);
  EXPECT_EQ(print(subgraph(e.graph, "true_graph_0")), R"(def forward(self, arg0_1):
    add = torch.ops.aten.add.Tensor(arg0_1, 4)
    add_1 = torch.ops.aten.add.Tensor(add, 5);  add = None
    cos = torch.ops.aten.cos.default(arg0_1);  arg0_1 = None
    return (cos,)
)");
  EXPECT_EQ(print(subgraph(e.graph, "false_graph_0")), R"(def forward(self, arg0_1):
    add = torch.ops.aten.add.Tensor(arg0_1, 5)
    add_1 = torch.ops.aten.add.Tensor(add, 6);  add = None
    sin = torch.ops.aten.sin.default(arg0_1);  arg0_1 = None
    return (sin,)
)");
  const Tensor x = randn({3, 4}), large = randn({5, 4});
  expect_equal(f({x}), run(e.graph, {x}));
  const Exported larger = stateless(f, {large});
  EXPECT_NE(print(larger.graph).find("higher_order.cond(True, "), std::string::npos) << print(larger.graph);
  expect_equal(f({large}), run(larger.graph, {large}));
}

TEST_F(AotExport, R178_BranchesThatDataChooses) {
  const Function f = [](const TensorList& in) {
    return cond(in[0].sum() > 0, [](const TensorList& o) { return TensorList{o[0].sin() * 2}; }, kFalse, in);
  };
  const Tensor x = ones({2, 2}), y = x.neg();
  for (const bool pre_dispatch : {false, true}) {
    const Exported e = stateless(f, {x}, {.pre_dispatch = pre_dispatch});
    for (const Tensor& t : {x, y}) expect_equal(f({t}), run(e.graph, {t}));
  }
  const Function loss = [&](const TensorList& in) { return TensorList{f(in)[0].sum()}; };
  const Tensor variable = x.clone().requires_grad_();
  const Exported joint = stateless(loss, {variable}, {.trace_joint = true, .output_loss_index = 0});
  for (const Tensor& t : {x, y}) {
    const Tensor v = t.clone().requires_grad_();
    const Tensor l = loss({v})[0];
    expect_equal({l, grad({l}, {v})[0]}, run(joint.graph, {t}));
  }
}

}  // namespace
}  // namespace ingot::aot
