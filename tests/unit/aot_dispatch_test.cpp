// Functions compiled with gradients: the first part of the dispatch specification, with the graphs
// it lists.
#include "support/aot_harness.hpp"
#include "support/tracked.hpp"

namespace ingot::aot {
namespace {

using AotDispatch = AotHarness;

TensorList tracked(const TensorList& l) {
  TensorList r;
  for (const Tensor& t : l) r.push_back(tracked(t));
  return r;
}

TEST_F(AotDispatch, A015_NumbersAndNonePassThrough) {
  const TreeFunction f = [](const Tree& a) { return Tree(a[2].leaf().tensor() * a[0].leaf().to_scalar()); };
  verify_tree(f, {2, Value(), tracked(ones({3, 3}))});
  verify_tree(f, {2, Value(), ones({3, 3})});
}

TEST_F(AotDispatch, A016_OneOutput) {
  const TreeFunction f = [](const Tree& a) { return Tree(a[0].leaf().tensor() + a[1].leaf().tensor()); };
  verify_tree(f, {tracked(randn({3, 3})), randn({3, 3})});
  verify_tree(f, {randn({3, 3}), randn({3, 3})});
}

TEST_F(AotDispatch, A017_SeveralOutputs) {
  const auto f = [](const TensorList& in) { return TensorList{in[0] + in[1], in[0] - in[1]}; };
  verify(f, {tracked(randn({3, 3})), randn({3, 3})});
  verify(f, {randn({3, 3}), randn({3, 3})});
}

TEST_F(AotDispatch, A018_AListOfOutputs) {
  const TreeFunction f = [](const Tree& a) {
    const Tensor x = a[0].leaf().tensor(), y = a[1].leaf().tensor();
    return Tree::list({x + y, x - y});
  };
  verify_tree(f, {tracked(randn({3, 3})), randn({3, 3})});
  verify_tree(f, {randn({3, 3}), randn({3, 3})});
  EXPECT_EQ(aot_function(f)(Tree::tuple({randn({2}), randn({2})})).type(), tree_types::kList);
}

TEST_F(AotDispatch, A019_AWriteToASqueezedClone) {
  const auto f = [](const TensorList& in) {
    Tensor b = in[0].clone().squeeze(-1);
    b.add_(1.0);
    return TensorList{in[0] + b};
  };
  verify(f, {tracked(randn({3, 1}))}, {.dynamic = true});
  verify(f, {randn({3, 1})}, {.dynamic = true});
}

TEST_F(AotDispatch, A022_AWriteToAnInput) {
  const auto f = [](const TensorList& in) {
    Tensor(in[0]).mul_(2);
    return TensorList{in[0] * 3};
  };
  EXPECT_EQ(verify(f, {tracked(ones({3, 3}))}, {.mut = true}), R"(def forward(self, primals_1):
    clone = torch.ops.aten.clone.default(primals_1);  primals_1 = None
    mul = torch.ops.aten.mul.Tensor(clone, 2);  clone = None
    mul_1 = torch.ops.aten.mul.Tensor(mul, 3)
    return [mul, mul_1]
)");
  verify(f, {ones({3, 3})}, {.mut = true});
}

TEST_F(AotDispatch, A029_OneCompilationForTrackedAndUntrackedInputs) {
  const AotFunction f = aot_function([](const Tree& a) { return Tree(a[0].leaf().tensor() * a[2].leaf().to_scalar()); });
  for (const bool rg : {true, false}) {
    const Tensor x = rg ? tracked(ones({3, 3})) : ones({3, 3});
    EXPECT_EQ(f(Tree::tuple({x, Value(), Value(3)})).leaf().tensor().to_vector<double>(), (x * 3).to_vector<double>());
  }
}

TEST_F(AotDispatch, A030_AWriteReachesTheStorageOfAStridedInput) {
  const auto f = [](const TensorList& in) {
    Tensor(in[0]).add_(1);
    return TensorList{};
  };
  const Tensor want = tracked(ones({4})) + 0, found = tracked(ones({4})) + 0;
  f({want.slice(0, 0, {}, 2)});
  EXPECT_TRUE(aot_function(f)(TensorList{found.slice(0, 0, {}, 2)}).empty());
  EXPECT_EQ(detached(found).to_vector<double>(), detached(want).to_vector<double>());
}

TEST_F(AotDispatch, A038_OutputsThatAliasEachOther) {
  const auto f = [](const TensorList& in) {
    const Tensor b = in[0] * 2;
    return TensorList{b, b.view({-1})};
  };
  const AotFunction compiled = aot_function(f);
  for (const bool rg : {true, false}) {
    const Tensor x = rg ? tracked(ones({3})) : ones({3});
    const TensorList want = f({x}), found = compiled(TensorList{x});
    for (const TensorList* l : {&want, &found}) Tensor((*l)[0]).mul_(3);
    for (std::size_t k = 0; k < 2; k++) EXPECT_EQ(detached(found[k]).to_vector<double>(), detached(want[k]).to_vector<double>());
  }
}

TEST_F(AotDispatch, A039_AWrittenInputIsTheOutput) {
  const auto f = [](const TensorList& in) {
    Tensor(in[0]).mul_(2);
    return TensorList{in[0]};
  };
  EXPECT_EQ(verify(f, {tracked(ones({3, 3}))}, {.mut = true}), R"(def forward(self, primals_1):
    clone = torch.ops.aten.clone.default(primals_1);  primals_1 = None
    mul = torch.ops.aten.mul.Tensor(clone, 2);  clone = None
    return [mul, mul]
)");
  verify(f, {ones({3, 3})}, {.mut = true});
}

TEST_F(AotDispatch, A040_SeveralWrittenInputs) {
  const auto f = [](const TensorList& in) {
    Tensor(in[0]).mul_(2);
    Tensor(in[2]).mul_(2);
    return TensorList{in[0] + in[1] + in[2]};
  };
  const TensorList x{ones({3, 3}), ones({3, 3}), ones({3, 3})};
  verify(f, x, {.mut = true});
  EXPECT_EQ(verify(f, tracked(x), {.mut = true}), R"(def forward(self, primals_1, primals_2, primals_3):
    clone = torch.ops.aten.clone.default(primals_1);  primals_1 = None
    clone_1 = torch.ops.aten.clone.default(primals_3);  primals_3 = None
    mul = torch.ops.aten.mul.Tensor(clone, 2);  clone = None
    mul_1 = torch.ops.aten.mul.Tensor(clone_1, 2);  clone_1 = None
    add = torch.ops.aten.add.Tensor(mul, primals_2);  primals_2 = None
    add_1 = torch.ops.aten.add.Tensor(add, mul_1);  add = None
    return [mul, mul_1, add_1]
)");
}

TEST_F(AotDispatch, A041_AnOutArgumentIsReturned) {
  const auto f = [](const TensorList& in) { return TensorList{aten<"sin.out">(in[0], in[1])}; };
  EXPECT_EQ(verify(f, {randn({3, 3}), ones({3, 3})}, {.mut = true, .keep = true}), R"(def forward(self, arg0_1, arg1_1):
    sin = torch.ops.aten.sin.default(arg0_1);  arg0_1 = None
    copy_ = torch.ops.aten.copy_.default(arg1_1, sin);  arg1_1 = sin = None
    return (copy_,)
)");
}

TEST_F(AotDispatch, A042_AnInputThatIsTransposedInPlace) {
  const auto f = [](const TensorList& in) {
    aten_value<"transpose_">(in[0], 1, 0);
    return TensorList{in[0] + in[1]};
  };
  verify(f, tracked({ones({3, 3}), ones({3, 3})}), {.mut = true});
  verify(f, {ones({3, 3}), ones({3, 3})}, {.mut = true});
}

TEST_F(AotDispatch, A047_ACustomFunctionThatReturnsItsInput) {
  const auto f = [](const TensorList& in) {
    return custom_function(
        "Foo", {in[0]}, [](FunctionContext&, const TensorList& x) { return x; },
        [](FunctionContext&, const TensorList& g) { return TensorList{g[0] * 0.5}; });
  };
  verify(f, {tracked(ones({2, 2}))});
}

TEST_F(AotDispatch, A048_AWriteThroughADetachedInput) {
  const auto f = [](const TensorList& in) {
    in[0].detach().mul_(2);
    return TensorList{in[0] + 3};
  };
  verify(f, {tracked(ones({4}))});
  verify(f, {tracked(ones({4}))}, {.mut = true});
}

TEST_F(AotDispatch, A049_AWriteToAViewThatAutogradDoesNotSee) {
  const auto f = [](const TensorList& in) {
    Tensor v = in[0].view({-1});
    {
      const NoGrad scope;
      v.mul_(2);
    }
    return TensorList{in[0] + 1};
  };
  EXPECT_EQ(verify(f, {tracked(ones({4}))}, {.mut = true, .keep = true}), R"(def forward(self, primals_1):
    view = torch.ops.aten.view.default(primals_1, [-1])
    mul = torch.ops.aten.mul.Tensor(view, 2);  view = None
    view_1 = torch.ops.aten.view.default(mul, [4]);  mul = None
    add = torch.ops.aten.add.Tensor(view_1, 1)
    copy_ = torch.ops.aten.copy_.default(primals_1, view_1);  primals_1 = view_1 = None
    return [add]
)");
}

TEST_F(AotDispatch, A050_AWriteUnderNoGrad) {
  const auto f = [](const TensorList& in) {
    {
      const NoGrad scope;
      Tensor(in[0]).mul_(2);
    }
    return TensorList{in[0] + 3};
  };
  EXPECT_EQ(verify(f, {tracked(ones({4}))}, {.mut = true, .keep = true}), R"(def forward(self, primals_1):
    mul = torch.ops.aten.mul.Tensor(primals_1, 2)
    add = torch.ops.aten.add.Tensor(mul, 3)
    copy_ = torch.ops.aten.copy_.default(primals_1, mul);  primals_1 = mul = None
    return [add]
)");
}

TEST_F(AotDispatch, A051_NothingToDifferentiateIsInference) {
  const auto f = [](const TensorList& in) {
    const NoGrad scope;
    Tensor(in[0]).mul_(2);
    return TensorList{in[0] + 3};
  };
  EXPECT_EQ(verify(f, {tracked(ones({4}))}, {.mut = true, .keep = true}), R"(def forward(self, arg0_1):
    mul = torch.ops.aten.mul.Tensor(arg0_1, 2)
    add = torch.ops.aten.add.Tensor(mul, 3)
    copy_ = torch.ops.aten.copy_.default(arg0_1, mul);  arg0_1 = mul = None
    return (add,)
)");
}

TEST_F(AotDispatch, A052_WritesThatAutogradSeesAndThoseItDoesNot) {
  const auto f = [](const TensorList& in) {
    in[0].detach().mul_(2);
    Tensor(in[0]).mul_(3);
    {
      const NoGrad scope;
      Tensor(in[0]).mul_(4);
    }
    return TensorList{in[0] + 5};
  };
  verify(f, {tracked(ones({4}))}, {.mut = true});
}

TEST_F(AotDispatch, A053_AnInputThatIsTransposedAndWritten) {
  const auto f = [](const TensorList& in) {
    aten_value<"transpose_">(in[0], 1, 0);
    Tensor(in[0]).mul_(2);
    return TensorList{in[0] + 1};
  };
  verify(f, {tracked(ones({3, 3}))}, {.mut = true});
  verify(f, {ones({3, 3})}, {.mut = true});
}

TEST_F(AotDispatch, A056_AViewOfAnInputIsMadeAgain) {
  const auto f = [](const TensorList& in) { return TensorList{in[0].view({-1})}; };
  verify(f, {ones({2, 2}) + 1}, {.mut = true});
  EXPECT_EQ(verify(f, {tracked(ones({2, 2})) + 1}, {.mut = true}), R"(def forward(self, primals_1):
    view = torch.ops.aten.view.default(primals_1, [-1]);  primals_1 = None
    return [view]
)");
}

TEST_F(AotDispatch, A057_ViewsOfWrittenInputs) {
  const auto f = [](const TensorList& in) {
    Tensor(in[0]).mul_(2);
    Tensor(in[2]).mul_(3);
    return TensorList{in[1].view({2, 2}), in[2].view({2, 2})};
  };
  const auto inputs = [](bool rg) {
    TensorList l;
    for (int k = 0; k < 3; k++) l.push_back((rg ? tracked(ones({2, 2})) : ones({2, 2})) + 1);
    return l;
  };
  verify(f, inputs(false), {.mut = true});
  EXPECT_EQ(verify(f, inputs(true), {.mut = true}), R"(def forward(self, primals_1, primals_2, primals_3):
    clone = torch.ops.aten.clone.default(primals_1);  primals_1 = None
    clone_1 = torch.ops.aten.clone.default(primals_3);  primals_3 = None
    mul = torch.ops.aten.mul.Tensor(clone, 2);  clone = None
    mul_1 = torch.ops.aten.mul.Tensor(clone_1, 3);  clone_1 = None
    view = torch.ops.aten.view.default(primals_2, [2, 2]);  primals_2 = None
    view_2 = torch.ops.aten.view.default(mul_1, [2, 2])
    return [mul, mul_1, view, view_2]
)");
}

TEST_F(AotDispatch, A058_ViewsOfInputsThatAreWrittenOrTransposed) {
  const auto f = [](const TensorList& in) {
    Tensor(in[1]).mul_(3);
    aten_value<"t_">(in[2]);
    return TensorList{in[0].view({2, 2}), in[1].view({2, 2}), in[2].view({2, 2})};
  };
  const auto inputs = [](bool rg) {
    TensorList l;
    for (int k = 0; k < 3; k++) l.push_back((rg ? tracked(ones({2, 2})) : ones({2, 2})) + 1);
    return l;
  };
  verify(f, inputs(false), {.mut = true});
  EXPECT_EQ(verify(f, inputs(true), {.mut = true}), R"(def forward(self, primals_1, primals_2, primals_3):
    clone = torch.ops.aten.clone.default(primals_2);  primals_2 = None
    view = torch.ops.aten.view.default(primals_3, [2, 2]);  primals_3 = None
    mul = torch.ops.aten.mul.Tensor(clone, 3);  clone = None
    t = torch.ops.aten.t.default(view);  view = None
    view_1 = torch.ops.aten.view.default(primals_1, [2, 2]);  primals_1 = None
    view_3 = torch.ops.aten.view.default(t, [2, 2])
    view_4 = torch.ops.aten.view.default(mul, [2, 2])
    return [mul, t, view_1, view_4, view_3]
)");
}

TEST_F(AotDispatch, A059_AWriteAndAView) {
  const auto f = [](const TensorList& in) {
    Tensor(in[0]).add_(1);
    return TensorList{in[0].view({-1})};
  };
  verify(f, {ones({2, 2}) + 1}, {.mut = true});
  EXPECT_EQ(verify(f, {tracked(ones({2, 2})) + 1}, {.mut = true}), R"(def forward(self, primals_1):
    clone = torch.ops.aten.clone.default(primals_1);  primals_1 = None
    add = torch.ops.aten.add.Tensor(clone, 1);  clone = None
    view_1 = torch.ops.aten.view.default(add, [-1])
    return [add, view_1]
)");
}

TEST_F(AotDispatch, A060_WritesTransposesAndViews) {
  const auto f = [](const TensorList& in) {
    aten_value<"transpose_">(in[1], 1, 0);
    Tensor(in[2]).add_(1);
    return TensorList{in[3] + 1, in[1].diagonal(), in[0] + in[2]};
  };
  const auto inputs = [] {
    return TensorList{arange(4).to(float32).view({2, 2}) + 1, arange(4).to(float32).view({2, 2}) + 1, ones({2, 2}) + 1,
                      ones({2, 2}) + 1};
  };
  verify(f, inputs(), {.mut = true});
  EXPECT_EQ(verify(f, tracked(inputs()), {.mut = true}), R"(def forward(self, primals_1, primals_2, primals_3, primals_4):
    view = torch.ops.aten.view.default(primals_2, [2, 2]);  primals_2 = None
    clone = torch.ops.aten.clone.default(primals_3);  primals_3 = None
    transpose = torch.ops.aten.transpose.int(view, 1, 0);  view = None
    add = torch.ops.aten.add.Tensor(clone, 1);  clone = None
    add_1 = torch.ops.aten.add.Tensor(primals_4, 1);  primals_4 = None
    diagonal = torch.ops.aten.diagonal.default(transpose)
    add_2 = torch.ops.aten.add.Tensor(primals_1, add);  primals_1 = None
    return [transpose, add, add_1, diagonal, add_2]
)");
}

TEST_F(AotDispatch, A061_OneViewOfAnIntermediate) {
  const auto f = [](const TensorList& in) { return TensorList{(in[0] * 3).view({-1})}; };
  verify(f, {ones({3, 3})}, {.mut = true});
  EXPECT_EQ(verify(f, {tracked(ones({3, 3}))}, {.mut = true}), R"(def forward(self, primals_1):
    mul = torch.ops.aten.mul.Tensor(primals_1, 3);  primals_1 = None
    view = torch.ops.aten.view.default(mul, [-1]);  mul = None
    return [view]
)");
}

}  // namespace
}  // namespace ingot::aot
