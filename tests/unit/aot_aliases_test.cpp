// Outputs that are views, and inputs that share memory: the dispatch specification from A062 on,
// with the graphs it lists.
#include "pass/decompose.hpp"
#include "support/aot_harness.hpp"

namespace ingot::aot {
namespace {

using AotAliases = AotHarness;

Tensor ones_of(const Shape& sizes, bool rg) { return rg ? ones(sizes).requires_grad_() : ones(sizes); }

TEST_F(AotAliases, A062_OneOfSeveralViewsOfAnInputCannotBeWritten) {
  const auto f = [](const TensorList& in) { return in[0].unbind(0); };
  const auto refused = [](const auto& action) {
    EXPECT_NE(error_of(action).find("Such functions do not allow the output views"), std::string::npos) << error_of(action);
  };
  const AotFunction compiled = aot_function(f);
  const auto call = [&](const Tensor& x) { return compiled(TensorList{x}); };
  const Tensor x1 = ones_of({3, 3}, true).clone(), x2 = ones_of({3, 3}, true).clone(), x3 = ones_of({3, 3}, true).clone();
  refused([&, out = call(x1)] { Tensor(out[0]).mul_(2); });
  refused([&, out = call(x2)] {
    Tensor(x2).mul_(2);
    out[0].grad_fn_name();
  });
  refused([&, out = call(x3)] {
    out[0].detach().mul_(2);
    out[0].grad_fn_name();
  });
}

TEST_F(AotAliases, A063_SeveralViewsOfAnInput) {
  const auto f = [](const TensorList& in) { return in[0].unbind(0); };
  const Tensor x = ones_of({3, 3}, true), y = ones_of({3, 3}, true);
  const TensorList want = f({x}), found = aot_function(f)(TensorList{y});
  for (const Tensor& t : found) EXPECT_EQ(t.grad_fn_name(), "CompiledFunctionBackward");
  (want[0] + want[1] + want[2]).sum().backward();
  (found[0] + found[1] + found[2]).sum().backward();
  EXPECT_EQ(y.grad().to_vector<double>(), x.grad().to_vector<double>());

  // Those, and one that can be written.
  const auto and_another = [&](const TensorList& in) {
    TensorList l = f(in);
    l.push_back(in[0].view(in[0].sizes()));
    return l;
  };
  std::vector<double> gradients[2];
  for (const bool compile : {false, true}) {
    const Tensor leaf = ones_of({3, 3}, true), given = leaf.clone();
    const TensorList out = compile ? aot_function(and_another)(TensorList{given}) : and_another({given});
    ASSERT_EQ(out.size(), 4u);
    for (std::size_t k = 0; k < 3; k++) EXPECT_EQ(out[k].grad_fn_name(), "UnbindBackward0") << k;
    Tensor(out[3]).mul_(2);
    given.view({-1}).mul_(3);
    (leaf + out[3]).sum().backward();
    gradients[compile] = leaf.grad().to_vector<double>();
    EXPECT_EQ(detached(out[3]).to_vector<double>(), std::vector<double>(9, 6)) << "the write to the input reaches the view";
  }
  EXPECT_EQ(gradients[1], gradients[0]);
}

TEST_F(AotAliases, A064_SeveralViewsOfAnIntermediate) {
  const auto views = [](bool base, bool again) {
    return [base, again](const TensorList& in) {
      const Tensor o = in[0] * 3;
      TensorList l = o.unbind(0);
      if (base) l.push_back(o);
      if (again) l.push_back(o.view(o.sizes()));
      return l;
    };
  };
  const auto gradient = [](const TensorList& out, const Tensor& x, bool write) {
    if (write) Tensor(out.back()).mul_(2);
    Tensor sum = out.back().sum();
    for (std::size_t k = 0; !write && k + 1 < out.size(); k++) sum = sum + out[k].sum();
    if (write && out.size() == 5) sum = sum + out[3].sum();
    sum.backward();
    return x.grad().to_vector<double>();
  };
  for (const auto& [base, again] :
       {std::pair{false, false}, std::pair{true, false}, std::pair{false, true}, std::pair{true, true}}) {
    const auto f = views(base, again);
    const Tensor x = ones_of({3, 3}, true), y = ones_of({3, 3}, true);
    const TensorList want = f({x}), found = aot_function(f)(TensorList{y});
    for (std::size_t k = 0; !(base && again) && k < found.size(); k++)
      EXPECT_EQ(found[k].grad_fn_name(), "CompiledFunctionBackward");
    EXPECT_EQ(gradient(found, y, base || again), gradient(want, x, base || again)) << base << again;
  }
}

// The table of the code generator makes a view of _unsafe_view, whose result the function returns:
// it can be written all the same.
TEST_F(AotAliases, A065_AViewOfAnIntermediateCanBeWritten) {
  const auto expect_writable = [](const TensorFunction& f, const std::string& want_graph) {
    std::string graph;
    const AotFunction compiled = aot_function(f, {.forward = capture(graph), .decompositions = &core_decompositions()});
    Tensor want = f({ones_of({3, 3}, true)})[0], found = compiled(TensorList{ones_of({3, 3}, true)})[0];
    EXPECT_EQ(graph, want_graph);
    want.mul_(2);
    found.mul_(2);
    EXPECT_EQ(detached(found).to_vector<double>(), detached(want).to_vector<double>());
  };
  const TensorFunction viewed = [](const TensorList& in) { return TensorList{(in[0] + 1).view({-1})}; };
  expect_writable(viewed, R"(def forward(self, primals_1):
    add = torch.ops.aten.add.Tensor(primals_1, 1);  primals_1 = None
    view = torch.ops.aten.view.default(add, [-1]);  add = None
    return [view]
)");
  const TensorFunction copied = [](const TensorList& in) { return TensorList{(in[0] + 1).t().reshape({-1})}; };
  const std::string before = R"(def forward(self, primals_1):
    add = torch.ops.aten.add.Tensor(primals_1, 1);  primals_1 = None
    t = torch.ops.aten.t.default(add);  add = None
    clone = torch.ops.aten.clone.default(t, memory_format = torch.contiguous_format);  t = None
)";
  expect_writable(copied, before + R"(    view = torch.ops.aten.view.default(clone, [9]);  clone = None
    return [view]
)");
  std::string graph;
  aot_function(copied, {.forward = capture(graph)})(TensorList{ones_of({3, 3}, true)});
  EXPECT_EQ(graph, before + R"(    _unsafe_view = torch.ops.aten._unsafe_view.default(clone, [9]);  clone = None
    return [_unsafe_view]
)") << "without the table";
}

TEST_F(AotAliases, A066_ABaseThatNeedsNoGradientIsNoOutput) {
  const auto f = [](const TensorList& in) { return TensorList{(in[0] * 3).view({-1}), in[1] + 1}; };
  verify(f, {ones({3, 3}), ones({3, 3})}, {.mut = true});
  EXPECT_EQ(verify(f, {ones({3, 3}), ones_of({3, 3}, true)}, {.mut = true}), R"(def forward(self, primals_1, primals_2):
    mul = torch.ops.aten.mul.Tensor(primals_1, 3);  primals_1 = None
    view = torch.ops.aten.view.default(mul, [-1]);  mul = None
    add = torch.ops.aten.add.Tensor(primals_2, 1);  primals_2 = None
    return [view, add]
)");
}

struct Listed {
  const char* name;
  TensorList (*f)(const TensorList&);
  Shape sizes;
  const char* graph;  // of the tracked run; null: none is listed
};

class AotListed : public AotHarness, public ::testing::WithParamInterface<Listed> {};

const Listed kIntermediates[] = {
    {"A067",
     [](const TensorList& in) {
       const Tensor o = in[0] * 3, v = o.view({-1});
       return TensorList{o, v, o};
     },
     {3, 3},
     nullptr},
    {"A068",
     [](const TensorList& in) {
       const Tensor o = in[0] * 3;
       return TensorList{o.view({-1}), o.view({-1})};
     },
     {3, 3},
     R"(def forward(self, primals_1):
    mul = torch.ops.aten.mul.Tensor(primals_1, 3);  primals_1 = None
    view = torch.ops.aten.view.default(mul, [-1])
    view_1 = torch.ops.aten.view.default(mul, [-1])
    return [view, view_1, mul]
)"},
    {"A069",
     [](const TensorList& in) {
       const Tensor o = in[0] * 3;
       return TensorList{o.view({-1}), o};
     },
     {3, 3},
     R"(def forward(self, primals_1):
    mul = torch.ops.aten.mul.Tensor(primals_1, 3);  primals_1 = None
    view = torch.ops.aten.view.default(mul, [-1])
    return [view, mul]
)"},
    {"A070",
     [](const TensorList& in) {
       const Tensor o = in[0] * 3;
       return TensorList{o, o.view({-1})};
     },
     {3, 3},
     R"(def forward(self, primals_1):
    mul = torch.ops.aten.mul.Tensor(primals_1, 3);  primals_1 = None
    view = torch.ops.aten.view.default(mul, [-1])
    return [mul, view]
)"},
    // Chains of detach are one, as G10 allows.
    {"A071",
     [](const TensorList& in) {
       const Tensor o = in[0] * 3;
       return TensorList{o.view({-1}), o, o[0].detach()};
     },
     {3, 3},
     R"(def forward(self, primals_1):
    mul = torch.ops.aten.mul.Tensor(primals_1, 3);  primals_1 = None
    view = torch.ops.aten.view.default(mul, [-1])
    select = torch.ops.aten.select.int(mul, 0, 0)
    detach = torch.ops.aten.detach.default(select);  select = None
    return [view, mul, detach]
)"},
    // The reference runs no check of A072 and A074; they hold here.
    {"A072",
     [](const TensorList& in) {
       const Tensor o = in[0] * 3;
       aten_value<"t_">(o);
       return TensorList{o};
     },
     {2, 4},
     nullptr},
    {"A074",
     [](const TensorList& in) {
       const Tensor o = in[0] * 3, v = o.unsqueeze(0);
       aten_value<"t_">(o);
       return TensorList{v, o, o.unsqueeze(0)};
     },
     {2, 4},
     nullptr},
    {"A073",
     [](const TensorList& in) {
       Tensor o = in[0] * 3;
       aten_value<"t_">(o);
       o.detach_();
       return TensorList{o, in[0] + 1};
     },
     {2, 4},
     R"(def forward(self, primals_1):
    mul = torch.ops.aten.mul.Tensor(primals_1, 3)
    t = torch.ops.aten.t.default(mul);  mul = None
    add = torch.ops.aten.add.Tensor(primals_1, 1);  primals_1 = None
    return [t, add]
)"},
    {"A075",
     [](const TensorList& in) {
       const Tensor o1 = in[0] * 3, o2 = in[0] * 4;
       return TensorList{o1.view({-1}), o2.transpose(1, 0), o1.transpose(1, 0)};
     },
     {3, 3},
     R"(def forward(self, primals_1):
    mul = torch.ops.aten.mul.Tensor(primals_1, 3)
    mul_1 = torch.ops.aten.mul.Tensor(primals_1, 4);  primals_1 = None
    view = torch.ops.aten.view.default(mul, [-1])
    transpose = torch.ops.aten.transpose.int(mul_1, 1, 0);  mul_1 = None
    transpose_1 = torch.ops.aten.transpose.int(mul, 1, 0)
    return [view, transpose, transpose_1, mul]
)"},
    {"A078",
     [](const TensorList& in) {
       aten_value<"t_">(in[0]);
       in[0][0].mul_(2);
       return TensorList{in[0].view(in[0].sizes())};
     },
     {3, 3},
     R"(def forward(self, primals_1):
    clone = torch.ops.aten.clone.default(primals_1);  primals_1 = None
    t = torch.ops.aten.t.default(clone)
    select = torch.ops.aten.select.int(t, 0, 0);  t = None
    mul = torch.ops.aten.mul.Tensor(select, 2);  select = None
    t_1 = torch.ops.aten.t.default(clone);  clone = None
    select_scatter = torch.ops.aten.select_scatter.default(t_1, mul, 0, 0);  t_1 = mul = None
    t_2 = torch.ops.aten.t.default(select_scatter);  select_scatter = None
    t_4 = torch.ops.aten.t.default(t_2)
    t_6 = torch.ops.aten.t.default(t_2);  t_2 = None
    view_1 = torch.ops.aten.view.default(t_6, [3, 3]);  t_6 = None
    return [t_4, view_1]
)"},
    {"A080",
     [](const TensorList& in) {
       const Tensor d = in[0].detach();
       Tensor(in[0]).mul_(2);
       return TensorList{in[0], d};
     },
     {3, 3},
     nullptr},
};

TEST_P(AotListed, HoldsAndHasTheGraphThatIsListed) {
  const Listed& c = GetParam();
  verify(c.f, {ones(c.sizes)}, {.mut = true});
  const std::string graph = verify(c.f, {ones_of(c.sizes, true)}, {.mut = true});
  if (c.graph) {
    EXPECT_EQ(graph, c.graph);
  }
}
INSTANTIATE_TEST_SUITE_P(Intermediates, AotListed, ::testing::ValuesIn(kIntermediates),
                         [](const auto& i) { return std::string(i.param.name); });

TEST_F(AotAliases, A076_EveryKindOfAlias) {
  const auto f = [](const TensorList& in) {
    aten_value<"transpose_">(in[0], 1, 0);
    const Tensor t = in[0] * 2;
    return TensorList{t.squeeze(), t.transpose(1, 0), in[0].unsqueeze(0)};
  };
  const auto factory = [](bool rg) -> Factory {
    return [rg] {
      const Tensor x = ones_of({1, 2, 4}, rg).clone();
      return Made{{x}, {x}};
    };
  };
  verify(f, factory(false), {.mut = true});
  EXPECT_EQ(verify(f, factory(true), {.mut = true}), R"(def forward(self, primals_1):
    view = torch.ops.aten.view.default(primals_1, [1, 2, 4]);  primals_1 = None
    transpose = torch.ops.aten.transpose.int(view, 1, 0);  view = None
    mul = torch.ops.aten.mul.Tensor(transpose, 2)
    squeeze = torch.ops.aten.squeeze.default(mul)
    transpose_1 = torch.ops.aten.transpose.int(mul, 1, 0)
    unsqueeze = torch.ops.aten.unsqueeze.default(transpose, 0)
    return [transpose, squeeze, transpose_1, unsqueeze, mul]
)");
}

TEST_F(AotAliases, A079_AViewAndAnInPlaceView) {
  const auto f = [](const TensorList& in) {
    aten_value<"t_">(in[0]);
    return TensorList{in[1].view(in[1].sizes()), in[0].view(in[0].sizes())};
  };
  verify(f, {ones({3, 3}), ones({3, 3})}, {.mut = true});
  EXPECT_EQ(verify(f, {ones_of({3, 3}, true), ones_of({3, 3}, true)}, {.mut = true}), R"(def forward(self, primals_1, primals_2):
    view = torch.ops.aten.view.default(primals_1, [3, 3]);  primals_1 = None
    t = torch.ops.aten.t.default(view);  view = None
    view_1 = torch.ops.aten.view.default(primals_2, [3, 3]);  primals_2 = None
    view_2 = torch.ops.aten.view.default(t, [3, 3])
    return [t, view_1, view_2]
)");
}

// ---- inputs that share memory

struct Shared {
  const char* name;
  TensorList (*f)(const TensorList&);
  TensorList (*inputs)(const TensorList& x);  // of base + 1, two of them
  Shape base;
  const char* graph;
};

class AotShared : public AotHarness, public ::testing::WithParamInterface<Shared> {
 protected:
  static Factory factory(const Shared& c, bool rg) {
    return [&c, rg] {
      const TensorList bases{ones_of(c.base, rg), ones_of(c.base, rg)};
      return Made{bases, c.inputs({bases[0] + 1, bases[1] + 1})};
    };
  }
};

TensorList add_to_first(const TensorList& in) {
  Tensor(in[0]).add_(1);
  return {in[0] + in[1]};
}

const Shared kShared[] = {
    {"A082",
     [](const TensorList& in) {
       Tensor(in[0]).mul_(2);
       aten_value<"t_">(in[1]);
       return TensorList{in[0] * in[1]};
     },
     [](const TensorList& x) { return TensorList{x[0][0], x[0][0]}; },
     {2, 2},
     nullptr},
    {"A083",
     [](const TensorList& in) {
       Tensor(in[0]).mul_(2);
       return TensorList{in[0] + 1};
     },
     [](const TensorList& x) { return TensorList{x[0].select(1, 0)}; },
     {2, 2},
     nullptr},
    {"A091",
     [](const TensorList& in) { return TensorList{in[0].view(in[0].sizes()), in[1].view(in[1].sizes())}; },
     [](const TensorList& x) { return TensorList{x[0].view({-1}), x[0][0]}; },
     {2, 2},
     nullptr},
    {"A092",
     add_to_first,
     [](const TensorList& x) { return TensorList{x[0][0], x[0][0]}; },
     {4, 2},
     R"(def forward(self, primals_1):
    clone = torch.ops.aten.clone.default(primals_1);  primals_1 = None
    as_strided = torch.ops.aten.as_strided.default(clone, [2], [1], 0)
    add = torch.ops.aten.add.Tensor(as_strided, 1);  as_strided = None
    as_strided_scatter = torch.ops.aten.as_strided_scatter.default(clone, add, [2], [1], 0);  clone = add = None
    as_strided_2 = torch.ops.aten.as_strided.default(as_strided_scatter, [2], [1], 0)
    as_strided_5 = torch.ops.aten.as_strided.default(as_strided_scatter, [2], [1], 0)
    add_1 = torch.ops.aten.add.Tensor(as_strided_2, as_strided_5);  as_strided_2 = as_strided_5 = None
    return [as_strided_scatter, add_1]
)"},
    {"A093",
     add_to_first,
     [](const TensorList& x) { return TensorList{x[0][0], x[0]}; },
     {2, 2},
     R"(def forward(self, primals_1):
    clone = torch.ops.aten.clone.default(primals_1);  primals_1 = None
    as_strided = torch.ops.aten.as_strided.default(clone, [2], [1], 0)
    add = torch.ops.aten.add.Tensor(as_strided, 1);  as_strided = None
    as_strided_scatter = torch.ops.aten.as_strided_scatter.default(clone, add, [2], [1], 0);  clone = add = None
    as_strided_2 = torch.ops.aten.as_strided.default(as_strided_scatter, [2], [1], 0)
    as_strided_5 = torch.ops.aten.as_strided.default(as_strided_scatter, [2, 2], [2, 1], 0)
    add_1 = torch.ops.aten.add.Tensor(as_strided_2, as_strided_5);  as_strided_2 = as_strided_5 = None
    return [as_strided_scatter, add_1]
)"},
    {"A094",
     [](const TensorList& in) {
       Tensor(in[0]).add_(1);
       return TensorList{in[1].view(in[1].sizes())};
     },
     [](const TensorList& x) { return TensorList{x[0].view({-1}), x[0].view({-1})}; },
     {2, 2},
     R"(def forward(self, primals_1):
    clone = torch.ops.aten.clone.default(primals_1);  primals_1 = None
    as_strided = torch.ops.aten.as_strided.default(clone, [4], [1], 0)
    add = torch.ops.aten.add.Tensor(as_strided, 1);  as_strided = None
    as_strided_scatter = torch.ops.aten.as_strided_scatter.default(clone, add, [4], [1], 0);  clone = add = None
    as_strided_8 = torch.ops.aten.as_strided.default(as_strided_scatter, [4], [1], 0)
    view_1 = torch.ops.aten.view.default(as_strided_8, [4]);  as_strided_8 = None
    return [as_strided_scatter, view_1]
)"},
    {"A095",
     [](const TensorList& in) {
       Tensor(in[2]).mul_(2);
       return TensorList{in[1] + 1, in[2].view({-1})};
     },
     [](const TensorList& x) { return TensorList{x[0].view({-1}), x[1], x[0].view({-1})}; },
     {2, 2},
     R"(def forward(self, primals_1, primals_2):
    clone = torch.ops.aten.clone.default(primals_1);  primals_1 = None
    as_strided_1 = torch.ops.aten.as_strided.default(clone, [4], [1], 0)
    mul = torch.ops.aten.mul.Tensor(as_strided_1, 2);  as_strided_1 = None
    as_strided_scatter = torch.ops.aten.as_strided_scatter.default(clone, mul, [4], [1], 0);  clone = mul = None
    add = torch.ops.aten.add.Tensor(primals_2, 1);  primals_2 = None
    as_strided_7 = torch.ops.aten.as_strided.default(as_strided_scatter, [4], [1], 0)
    view_1 = torch.ops.aten.view.default(as_strided_7, [-1]);  as_strided_7 = None
    return [as_strided_scatter, add, view_1]
)"},
    {"A096",
     [](const TensorList& in) {
       aten_value<"t_">(in[0]);
       return TensorList{in[0] + in[1]};
     },
     [](const TensorList& x) { return TensorList{x[0].view({-1}), x[0].view({-1})}; },
     {2, 2},
     R"(def forward(self, primals_1, primals_2):
    t = torch.ops.aten.t.default(primals_1);  primals_1 = None
    add = torch.ops.aten.add.Tensor(t, primals_2);  t = primals_2 = None
    return [add]
)"},
    {"A098",
     [](const TensorList& in) {
       Tensor(in[1]).add_(1);
       aten_value<"unsqueeze_">(in[3], 0);
       return TensorList{in[0] + in[2] + in[3], in[1].view({-1})};
     },
     [](const TensorList& x) { return TensorList{x[0].view({-1}), x[1].view({-1}), x[0].view({-1}), x[1].view({-1})}; },
     {2, 2},
     R"(def forward(self, primals_1, primals_2, primals_3):
    clone = torch.ops.aten.clone.default(primals_1);  primals_1 = None
    as_strided = torch.ops.aten.as_strided.default(clone, [4], [1], 0)
    add = torch.ops.aten.add.Tensor(as_strided, 1);  as_strided = None
    as_strided_scatter = torch.ops.aten.as_strided_scatter.default(clone, add, [4], [1], 0);  clone = add = None
    add_1 = torch.ops.aten.add.Tensor(primals_2, primals_3);  primals_2 = primals_3 = None
    as_strided_5 = torch.ops.aten.as_strided.default(as_strided_scatter, [4], [1], 0)
    unsqueeze_1 = torch.ops.aten.unsqueeze.default(as_strided_5, 0);  as_strided_5 = None
    add_2 = torch.ops.aten.add.Tensor(add_1, unsqueeze_1);  add_1 = None
    as_strided_14 = torch.ops.aten.as_strided.default(as_strided_scatter, [4], [1], 0)
    view_2 = torch.ops.aten.view.default(as_strided_14, [-1]);  as_strided_14 = None
    return [as_strided_scatter, add_2, view_2, unsqueeze_1]
)"},
};

TEST_P(AotShared, HoldsAndHasTheGraphThatIsListed) {
  const Shared& c = GetParam();
  verify(c.f, factory(c, false), {.mut = true});
  const std::string graph = verify(c.f, factory(c, true), {.mut = true});
  if (c.graph) {
    EXPECT_EQ(graph, c.graph);
  }
}
INSTANTIATE_TEST_SUITE_P(Inputs, AotShared, ::testing::ValuesIn(kShared),
                         [](const auto& i) { return std::string(i.param.name); });

TEST_F(AotAliases, A099_SharedInputsThatAutogradKnowsNoBaseOf) {
  const auto factory = [] {
    const Tensor base = ones({4, 4});
    return Made{{base}, {base[0].detach(), base[1].detach()}};
  };
  verify(add_to_first, factory, {.mut = true});
}

TEST_F(AotAliases, R075_R076_R078_OneTensorTwice) {
  const auto multiply = [](const TensorList& in) { return TensorList{in[0] * in[1]}; };
  const Tensor x = randn({3}).requires_grad_();
  verify(multiply, {x, x});
  const auto write = [](const TensorList& in) {
    Tensor(in[0]).add_(1);
    return TensorList{in[0] * in[1]};
  };
  verify(write, {x, x}, {.mut = true});
  const AotFunction compiled = aot_function(write, {.guards = false});
  const Tensor y = randn({3}), z = randn({3});
  compiled(TensorList{y, y});
  EXPECT_NE(error_of([&] {
              compiled(TensorList{y, z});
            }).find("would be a duplicate of input 0, but at runtime this was not the case.  This indicates"),
            std::string::npos);
}

// A write to an argument that is part of a storage, and then a view that refers to the storage.
TEST_F(AotAliases, R052_TheStorageAroundAWrittenArgument) {
  const auto f = [](const TensorList& in) {
    Tensor(in[0]).mul_(2);
    const Tensor rest = in[0].detach();
    return TensorList{aten<"as_strided">(rest, Shape{2}, Shape{2}, 0), aten<"as_strided">(rest, Shape{3}, Shape{1}, 1)};
  };
  for (const bool spaced : {false, true}) {
    verify(f,
           [&] {
             const Tensor leaf = tensor({1., 2, 3, 4}).requires_grad_(), whole = leaf + 1;
             return Made{{leaf}, {spaced ? aten<"slice.Tensor">(whole, 0, 0, 4, 2) : aten<"slice.Tensor">(whole, 0, 0, 2, 1)}};
           },
           {});
  }
}

}  // namespace
}  // namespace ingot::aot
