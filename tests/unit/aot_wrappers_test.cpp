// Compiled functions of wrapper tensors: A178 to A185 of the dispatch specification, and the
// entries that run on wrappers as well.
#include "aot/capture.hpp"
#include "aot/min_cut.hpp"
#include "support/tracked.hpp"
#include "transform/functional.hpp"
#include "op/wrapper_layout.hpp"
#include "support/aot_harness.hpp"

namespace ingot::aot {
namespace {

using testing::a;
using testing::b;
using testing::is_two_tensor;
using testing::two_tensor;

class AotWrappers : public AotHarness {
 protected:
  std::string forward, backward;
  TensorFunction compiled(const TensorFunction& f) {
    const AotFunction c =
        aot_function(f, {.forward = capture(forward), .backward = capture(backward), .partition = [](const Joint& j) {
                           return partition_min_cut(j);
                         }});
    return [c](const TensorList& in) { return c(in); };
  }
  static void expect_error(const std::function<void()>& action, const std::string& text) {
    const std::string error = error_of(action);
    EXPECT_NE(error.find(text), std::string::npos) << error;
  }
  // The same calls for the function as it is and compiled; what they return is compared.
  void expect_same_twice(const TensorFunction& f, const std::function<TensorList(const TensorFunction&)>& use) {
    expect_same_twice(f, compiled(f), use);
  }
  static void expect_same_twice(const TensorFunction& f, const TensorFunction& compiled,
                                const std::function<TensorList(const TensorFunction&)>& use) {
    const TensorList want = use(f), found = use(compiled);
    ASSERT_EQ(want.size(), found.size());
    for (std::size_t k = 0; k < want.size(); k++) expect_same(want[k], found[k], text("tensor ", k));
  }

  // What the front end captured, compiled by the simplified entry for the arguments of the first
  // call, as the back end aot_eager has it (2.1). `captured` is the graph's text.
  std::string captured;
  TensorFunction through_front_end(const TensorFunction& f) {
    const auto made = std::make_shared<FlatCallable>();
    return [this, f, made](const TensorList& in) {
      const Values arguments(in.begin(), in.end());
      if (!*made) {
        const FlatFunction flat = [f](const Values& v) {
          TensorList l;
          for (const Value& x : v) l.push_back(x.tensor());
          const TensorList r = f(l);
          return Values(r.begin(), r.end());
        };
        ShapeEnv sizes;
        Captured graph = aot::capture(flat, fake_inputs(arguments, {}, sizes), sizes, Wrappers::whole);
        captured = print(graph.graph);
        *made = aot_module_simplified(function_of(std::move(graph)), {}, arguments,
                                      {.partition = [](const Joint& j) { return partition_min_cut(j); },
                                       .keep_inference_input_mutations = true,
                                       .debug_assert = true});
      }
      TensorList out;
      for (const Value& v : (*made)(arguments)) out.push_back(v.tensor());
      return out;
    };
  }
};

Tensor two_ones(const Shape& sizes, bool rg) {
  const Tensor t = two_tensor(ones(sizes), ones(sizes) * 2);
  return rg ? tracked(t) : t;
}
TensorList product_and_half(const TensorList& in) {
  const Tensor product = in[0] * 6, half = in[1] / 2;
  return {product + half};
}

TEST_F(AotWrappers, A178_R161_R163_GraphsAreOfTheInnerTensors) {
  expect_same_twice(product_and_half, [](const TensorFunction& f) {
    const Tensor x = two_ones({3, 3}, true), y = tracked(ones({3, 3}));
    const Tensor out = f({x, y})[0];
    EXPECT_TRUE(is_two_tensor(out));
    out.sum().backward();
    EXPECT_TRUE(is_two_tensor(x.grad()) && is_two_tensor(y.grad()));
    return TensorList{out, x.grad(), y.grad()};
  });
  EXPECT_EQ(forward, R"(def forward(self, primals_1, primals_2, primals_3):
    mul = torch.ops.aten.mul.Tensor(primals_1, 6);  primals_1 = None
    mul_1 = torch.ops.aten.mul.Tensor(primals_2, 6);  primals_2 = None
    div = torch.ops.aten.div.Tensor(primals_3, 2);  primals_3 = None
    add = torch.ops.aten.add.Tensor(mul, div);  mul = None
    add_1 = torch.ops.aten.add.Tensor(mul_1, div);  mul_1 = div = None
    return [add, add_1]
)");
  EXPECT_EQ(backward, R"(def forward(self, tangents_1, tangents_2):
    div_1 = torch.ops.aten.div.Tensor(tangents_1, 2)
    div_2 = torch.ops.aten.div.Tensor(tangents_2, 2)
    mul_2 = torch.ops.aten.mul.Tensor(tangents_1, 6);  tangents_1 = None
    mul_3 = torch.ops.aten.mul.Tensor(tangents_2, 6);  tangents_2 = None
    return [mul_2, mul_3, div_1, div_2]
)");
}

TEST_F(AotWrappers, R164_TheFunctionSeesWhatRequiresGrad) {
  std::vector<bool> seen;
  const TensorFunction f = compiled([&](const TensorList& in) {
    seen = {requires_grad(in[0]), requires_grad(in[1])};
    return TensorList{in[0] + in[1]};
  });
  f({two_ones({2}, true), two_ones({2}, false)});
  EXPECT_EQ(seen, (std::vector<bool>{true, false}));
}

// Of each value: where its plain tensors begin, how many they are, how they nest, and what the
// outer tensor looks like.
TEST_F(AotWrappers, R161_HowValuesAreMadeOfPlainOnes) {
  const Tensor two = two_tensor(ones({2, 3}), ones({2, 3})), deep = two_tensor(two, two_tensor(ones({2, 3}), ones({2, 3}))),
               extra = testing::metadata_tensor(ones({4}), 7), plain = ones({5});
  const DenseLayout l(Values{plain, deep.t(), 3, extra, two});
  EXPECT_TRUE(l.has_wrappers());
  EXPECT_EQ(l.outer_size(), 5u);
  EXPECT_EQ(l.dense_size(), 1u + 4 + 1 + 1 + 2);
  std::vector<std::size_t> first, count;
  for (std::size_t k = 0; k < l.outer_size(); k++) first.push_back(l.first_of(k)), count.push_back(l[k].leaves());
  EXPECT_EQ(first, (std::vector<std::size_t>{0, 1, 5, 6, 7}));
  EXPECT_EQ(count, (std::vector<std::size_t>{1, 4, 1, 1, 2}));
  EXPECT_FALSE(l[0].cls || l[2].cls) << "an index, and no more";
  EXPECT_EQ(to_text(l[1]), "TwoTensor(a=TwoTensor(a=Tensor, b=Tensor), b=TwoTensor(a=Tensor, b=Tensor))");
  EXPECT_EQ(l[1].sizes, Shape({3, 2}));
  EXPECT_EQ(l[1].strides, Shape({1, 3}));
  EXPECT_EQ(l[1].cls->inner_names(l[1].metadata), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(l[3].metadata.to_int64(), 7);
  EXPECT_EQ(l.dense_places([](std::size_t k) { return k == 1 || k == 3; }), (std::vector<int>{1, 2, 3, 4, 6}));
  // And back.
  Values dense = unwrapped(Values{plain, deep.t(), 3, extra, two});
  ASSERT_EQ(dense.size(), l.dense_size());
  const Values again = l.wrapped(dense);
  EXPECT_TRUE(again[0].tensor().is_same(plain));
  EXPECT_TRUE(is_two_tensor(again[1].tensor()) && is_two_tensor(testing::a(again[1].tensor())));
  EXPECT_EQ(again[2].to_int64(), 3);
  EXPECT_EQ(testing::constant_attribute(again[3].tensor()), 7);
  EXPECT_TRUE(is_two_tensor(again[4].tensor()));
}

TEST_F(AotWrappers, R165_ACompilerThatLosesAResult) {
  const auto short_of_one = [](std::shared_ptr<const Graph> g, const Values& examples) -> Boxed {
    return [run = nop(std::move(g), examples)](Values& arguments) {
      Values all = run(arguments);
      all.pop_back();
      return all;
    };
  };
  const auto expect_message = [&](const TensorFunction& f, bool rg, int found, int saved) {
    EXPECT_EQ(
        error_of([&] { aot_function(f, {.forward = short_of_one})(TensorList{two_ones({2}, rg), ones({2})}); }),
        text(
            "Expected the number actual unwrapped-subclass outputs ", found,
            " to equal the number of args calculated from subclasses (2) plus the number of additional activations saved for the "
            "backward pass (",
            saved, ")"));
  };
  for (const bool rg : {false, true}) expect_message(product_and_half, rg, 1, 0);
  expect_message([](const TensorList& in) { return TensorList{in[0] * in[1]}; }, true, 2, 1);
}

TEST_F(AotWrappers, A179_R160_WithoutGradients) {
  expect_same_twice(product_and_half, [](const TensorFunction& f) { return f({two_ones({3, 3}, false), ones({3, 3})}); });
}

TEST_F(AotWrappers, A180_R147_R166_ATangentThatTurnsOutToBeAWrapper) {
  const TensorFunction f = compiled([](const TensorList& in) { return TensorList{(in[0] * 2) / (in[1] + 3), in[1] + in[1]}; });
  const TensorList out = f({two_ones({3, 3}, true), tracked(ones({3, 3}))});
  expect_same(two_tensor(ones({3, 3}) * 0.5, ones({3, 3})), detached(out[0]), "output 0");
  expect_same(ones({3, 3}) * 2, out[1], "output 1");
  expect_error([&] { (out[0] + out[1]).sum().backward(); },
               R"(We incorrectly attempted to compile the backward with incorrect subclass metadata.
If you run into this error, please file an issue.
Expected grad_output types: [TwoTensor, Tensor]
Got grad_output types: [TwoTensor, TwoTensor])");
}

TEST_F(AotWrappers, A181_AnOutputThatIsAViewOfAWrapper) {
  expect_same_twice([](const TensorList& in) { return TensorList{in[1].view(in[1].sizes()), in[0] * in[1]}; },
                    [](const TensorFunction& f) {
                      const Tensor x = tracked(ones({3, 3})), y = two_ones({3, 3}, true);
                      const TensorList out = f({x, y});
                      (out[0] + out[1]).sum().backward();
                      EXPECT_TRUE(is_two_tensor(x.grad()) && is_two_tensor(y.grad()));
                      return TensorList{out[0], out[1], x.grad(), y.grad()};
                    });
}

TEST_F(AotWrappers, A182_R069_R162_InputsAreWritten) {
  const TensorFunction f = [](const TensorList& in) {
    Tensor(in[0]).mul_(2);
    Tensor(in[1]).mul_(3);
    return TensorList{in[0] + in[1]};
  };
  expect_same_twice(f, [](const TensorFunction& g) {
    const Tensor base_a = tracked(ones({3, 3})), base_b = two_ones({3, 3}, true), x = base_a + 1, y = base_b + 1;
    const Tensor out = g({x, y})[0];
    (y * out).sum().backward();
    EXPECT_TRUE(is_two_tensor(base_a.grad()) && is_two_tensor(base_b.grad()));
    return TensorList{out, x, y, base_a.grad(), base_b.grad()};
  });
}

Tensor counted(bool wrapper) {
  const Tensor t = aten<"arange">(9, DType::f32).reshape({3, 3});
  return tracked(wrapper ? two_tensor(t, t * 2) : t);
}
TensorFunction changes_looks(bool writes) {
  return [writes](const TensorList& in) {
    aten_value<"t_">(in[0]);
    aten_value<"unsqueeze_">(in[1], 0);
    if (writes) Tensor(in[0]).mul_(2);
    if (writes) Tensor(in[1]).mul_(3);
    return TensorList{in[0] + in[1]};
  };
}

// The reference expects these to fail.
TEST_F(AotWrappers, A183_A184_R029_LooksOfWrappersDoNotChange) {
  for (const bool writes : {false, true})
    expect_error([&] { compiled(changes_looks(writes))({counted(false) + 1, counted(true) + 1}); },
                 "Metadata mutations are currently not allowed on tensor subclasses");
}

// The write is counted before the view is made, or the view would be of something that was written
// since.
TEST_F(AotWrappers, AViewOfManyOfAWrittenInput) {
  const TensorFunction f = [](const TensorList& in) {
    Tensor x = in[0];
    {
      const NoGrad no_grad;
      aten_value<"sin_">(x);
    }
    return TensorList{atens<"unbind.int">(x, 1)[2], x};
  };
  const AotFunction keeping = aot_function(f, {.keep_inference_input_mutations = true});
  const Tensor leaf = tracked(two_tensor(ones({1, 3}), ones({1, 3}))), x = leaf * 1;
  const TensorList found = keeping(TensorList{x});
  EXPECT_EQ(found[0].grad_fn_name(), "UnbindBackward0");
  EXPECT_TRUE(allclose(a(found[0]).detach(), ones({1}).sin()));
}

TEST_F(AotWrappers, A185_AWrittenInputAndAViewOfIt) {
  const TensorFunction f = [](const TensorList& in) {
    Tensor(in[0]).mul_(2);
    Tensor(in[1]).mul_(3);
    return TensorList{in[1].view(in[1].sizes()), in[0] + in[1]};
  };
  expect_same_twice(f, [](const TensorFunction& g) {
    const Tensor base_a = counted(false), base_b = counted(true), x = base_a + 1, y = base_b + 1;
    const TensorList out = g({x, y});
    (out[0] * out[1]).sum().backward();
    return TensorList{out[0], out[1], x, y, base_a.grad()};
  });
}

// ---- wrappers in wrappers

TensorList cos_of_sin(const TensorList& in) { return {in[0].sin().cos()}; }
bool is_nested(const Tensor& t) { return is_two_tensor(t) && is_two_tensor(a(t)) && is_two_tensor(b(t)); }
Tensor nested(bool rg) {
  const Tensor t = two_tensor(two_tensor(ones({4}), ones({4}) * 2), two_tensor(ones({4}) * 3, ones({4}) * 4));
  return rg ? tracked(t) : t;
}

// The entries that the reference runs through its front end do so here, and without it.
class AotWrappersInFrontEnd : public AotWrappers, public ::testing::WithParamInterface<bool> {
 protected:
  TensorFunction compiled_here(const TensorFunction& f) { return GetParam() ? through_front_end(f) : compiled(f); }
  void expect_captured(const std::string& graph) const {
    if (GetParam()) {
      EXPECT_EQ(captured, graph);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(, AotWrappersInFrontEnd, ::testing::Bool(),
                         [](const auto& i) { return i.param ? "ThroughTheFrontEnd" : "AsItIs"; });

constexpr const char* kCosOfSin = R"(def forward(self, arg0_1):
    sin = torch.ops.aten.sin.default(arg0_1);  arg0_1 = None
    cos = torch.ops.aten.cos.default(sin);  sin = None
    return (cos,)
)";

TEST_P(AotWrappersInFrontEnd, A032_WrappersOfWrappers) {
  expect_same_twice(cos_of_sin, compiled_here(cos_of_sin), [](const TensorFunction& f) {
    const Tensor x = nested(true), out = f({x})[0];
    EXPECT_TRUE(is_nested(out));
    out.sum().backward();
    EXPECT_TRUE(is_nested(x.grad()));
    return TensorList{out, x.grad()};
  });
  expect_captured(kCosOfSin);
}

TEST_P(AotWrappersInFrontEnd, A033_R166_ATangentThatNestsDeeper) {
  const Tensor out = compiled_here(cos_of_sin)({two_ones({4}, true)})[0], sum = (out + nested(false)).sum();
  expect_error([&] { sum.backward(); }, "The grad inputs should be same tensor subclass type as forward output");
  expect_captured(kCosOfSin);
}

Tensor elem(const Tensor& t) { return inner_tensor_of(t, "elem"); }
double attribute(const Tensor& t) { return static_cast<double>(testing::constant_attribute(from_functional(t))); }
Tensor with_attributes(bool rg) {
  const Tensor t = testing::metadata_tensor(testing::metadata_tensor(ones({4}), 6));
  return rg ? tracked(t) : t;
}
Tensor times_its_parts(const Tensor& x) {
  const Tensor e = elem(x), ee = elem(e);
  return x * e * ee * attribute(e);
}
// Classes, metadata and numbers of tensors, down to the plain ones.
std::string everything(const TensorList& tensors) {
  TensorList all;
  for (const Tensor& t : tensors) all.push_back(detached(t));
  const Flattened flat = flatten_wrappers(all);
  std::string s;
  for (const WrapperLayout& l : flat.layouts) s += to_text(l) + "\n";
  for (const Tensor& t : flat.leaves) s += to_text(t) + "\n";
  return s;
}

TEST_P(AotWrappersInFrontEnd, A034_MetadataOfAWrapper) {
  const TensorFunction f = [](const TensorList& in) { return TensorList{times_its_parts(in[0])}; };
  std::vector<std::string> found;
  for (const TensorFunction& g : {f, compiled_here(f)}) {
    const Tensor x = with_attributes(true), out = g({x})[0];
    out.sum().backward();
    EXPECT_TRUE(testing::is_metadata_tensor(x.grad()) && testing::is_metadata_tensor(inner_tensor(x.grad(), "elem")));
    found.push_back(everything({out, x.grad()}));
  }
  EXPECT_EQ(found[1], found[0]);
  expect_captured(R"(def forward(self, arg0_1):
    inner_tensor = torch.ops.ingot.inner_tensor.default(arg0_1, 'elem')
    inner_tensor_1 = torch.ops.ingot.inner_tensor.default(inner_tensor, 'elem')
    mul = torch.ops.aten.mul.Tensor(arg0_1, inner_tensor);  arg0_1 = inner_tensor = None
    mul_1 = torch.ops.aten.mul.Tensor(mul, inner_tensor_1);  mul = inner_tensor_1 = None
    mul_2 = torch.ops.aten.mul.Tensor(mul_1, 6.0);  mul_1 = None
    return (mul_2,)
)");
}

TEST_P(AotWrappersInFrontEnd, A035_InnerTensorsAreRead) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor &x = in[0], &y = in[1], sum = x + y, xa = inner_tensor_of(x, "a"), yb = inner_tensor_of(y, "b");
    const Tensor of_parts = xa + yb, first = sum.sum(), r = first + of_parts.sum();
    return TensorList{x.sin().cos() + r};
  };
  expect_same_twice(f, compiled_here(f), [](const TensorFunction& g) {
    const Tensor x = nested(true), y = nested(true), z = tracked(ones({4})), out = g({x, y, z})[0];
    EXPECT_TRUE(is_nested(out));
    out.sum().backward();
    EXPECT_TRUE(is_nested(x.grad()) && is_nested(y.grad()));
    return TensorList{out, x.grad(), y.grad()};
  });
  expect_captured(R"(def forward(self, arg0_1, arg1_1, arg2_1):
    add = torch.ops.aten.add.Tensor(arg0_1, arg1_1)
    inner_tensor = torch.ops.ingot.inner_tensor.default(arg0_1, 'a')
    inner_tensor_1 = torch.ops.ingot.inner_tensor.default(arg1_1, 'b');  arg1_1 = None
    add_1 = torch.ops.aten.add.Tensor(inner_tensor, inner_tensor_1);  inner_tensor = inner_tensor_1 = None
    sum_1 = torch.ops.aten.sum.default(add);  add = None
    sum_2 = torch.ops.aten.sum.default(add_1);  add_1 = None
    add_2 = torch.ops.aten.add.Tensor(sum_1, sum_2);  sum_1 = sum_2 = None
    sin = torch.ops.aten.sin.default(arg0_1);  arg0_1 = None
    cos = torch.ops.aten.cos.default(sin);  sin = None
    add_3 = torch.ops.aten.add.Tensor(cos, add_2);  cos = add_2 = None
    return (add_3,)
)");
}

TEST_P(AotWrappersInFrontEnd, A036_WrappersOfTwoClasses) {
  const TensorFunction f = [](const TensorList& in) { return TensorList{times_its_parts(in[1]) + in[0]}; };
  std::vector<std::string> found;
  for (const TensorFunction& g : {f, compiled_here(f)}) {
    const Tensor x = nested(true), y = with_attributes(true), out = g({x, y})[0];
    out.sum().backward();
    found.push_back(everything({out, x.grad(), y.grad()}));
  }
  EXPECT_EQ(found[1], found[0]);
  expect_captured(R"(def forward(self, arg0_1, arg1_1):
    inner_tensor = torch.ops.ingot.inner_tensor.default(arg1_1, 'elem')
    inner_tensor_1 = torch.ops.ingot.inner_tensor.default(inner_tensor, 'elem')
    mul = torch.ops.aten.mul.Tensor(arg1_1, inner_tensor);  arg1_1 = inner_tensor = None
    mul_1 = torch.ops.aten.mul.Tensor(mul, inner_tensor_1);  mul = inner_tensor_1 = None
    mul_2 = torch.ops.aten.mul.Tensor(mul_1, 6.0);  mul_1 = None
    add = torch.ops.aten.add.Tensor(mul_2, arg0_1);  mul_2 = arg0_1 = None
    return (add,)
)");
}

// ---- entries that run on wrappers as well

struct OnWrappers {
  TensorList (*f)(const TensorList&);
  TensorList (*inputs)(const TensorList& x);  // of base + 1, two of them
  Shape base;
};

class AotOnWrappers : public AotWrappers {
 protected:
  static Factory factory(const OnWrappers& c, bool rg) {
    return [c, rg] {
      const TensorList bases{rg ? tracked(ones(c.base)) : ones(c.base), rg ? tracked(ones(c.base)) : ones(c.base)};
      return Made{bases, c.inputs({bases[0] + 1, bases[1] + 1})};
    };
  }
  const V sub{.mut = true, .sub = true};
  static V refused(const std::string& words) { return {.mut = true, .sub = true, .error = words}; }
};

TEST_F(AotOnWrappers, A077_R029_LooksThatChange) {
  const OnWrappers c{[](const TensorList& in) {
                       aten_value<"transpose_">(in[0], 1, 0);
                       return TensorList{(in[0] * 2).transpose(1, 0)};
                     },
                     [](const TensorList& x) { return TensorList{x[0]}; },
                     {1, 2, 4}};
  for (const bool rg : {false, true})
    verify(c.f, factory(c, rg), refused("Metadata mutations are currently not allowed on tensor subclasses"));
}

TEST_F(AotOnWrappers, A082_R090_WrittenInputsThatOverlap) {
  const OnWrappers c{[](const TensorList& in) {
                       Tensor(in[0]).mul_(2);
                       aten_value<"t_">(in[1]);
                       return TensorList{in[0] * in[1]};
                     },
                     [](const TensorList& x) { return TensorList{x[0][0], x[0][0]}; },
                     {2, 2}};
  for (const bool rg : {false, true})
    verify(c.f, factory(c, rg), refused("Encountered aliased inputs that are mutated in the graph, but"));
}

TEST_F(AotOnWrappers, A083_R029_AWrittenInputThatIsNotContiguous) {
  const OnWrappers c{[](const TensorList& in) {
                       Tensor(in[0]).mul_(2);
                       return TensorList{in[0] + 1};
                     },
                     [](const TensorList& x) { return TensorList{x[0].select(1, 0)}; },
                     {2, 2}};
  for (const bool rg : {false, true})
    verify(c.f, factory(c, rg), refused("Mutations on non-contiguous inputs are currently not allowed on tensor subclasses"));
}

TEST_F(AotOnWrappers, A089_WrittenInputsThatDoNotOverlap) {
  const OnWrappers c{[](const TensorList& in) {
                       Tensor(in[0]).mul_(3);
                       Tensor(in[1]).mul_(2);
                       return TensorList{in[0].clone().view({-1}) + in[1].clone().view({-1})};
                     },
                     [](const TensorList& x) { return TensorList{x[0].slice(0, 0, 2), x[0].slice(0, 2, 4)}; },
                     {4, 4}};
  verify(c.f, factory(c, false), sub);
  verify(c.f, factory(c, true), refused("attempted to compile the backward with incorrect subclass metadata"));
}

TEST_F(AotOnWrappers, A091_EachViewIsOfItsOwnInput) {
  const OnWrappers c{[](const TensorList& in) { return TensorList{in[0].view(in[0].sizes()), in[1].view(in[1].sizes())}; },
                     [](const TensorList& x) { return TensorList{x[0].view({-1}), x[0][0]}; },
                     {2, 2}};
  for (const bool rg : {false, true}) verify(c.f, factory(c, rg), sub);
}

TEST_F(AotOnWrappers, A097_R077_R090_NobodyRequiresGrad) {
  const OnWrappers c{[](const TensorList& in) {
                       Tensor(in[0]).mul_(2);
                       return TensorList{in[1] + 1, in[2] + 1};
                     },
                     [](const TensorList& x) { return TensorList{x[0].view({-1}), x[0].view({-1}), x[1]}; },
                     {2, 2}};
  verify(c.f, factory(c, false), refused("is a tensor subclass. This is not supported today"));
}

TEST_F(AotOnWrappers, A098_LooksThatChangeOfAnAlias) {
  const OnWrappers c{
      [](const TensorList& in) {
        Tensor(in[1]).add_(1);
        aten_value<"unsqueeze_">(in[3], 0);
        return TensorList{in[0] + in[2] + in[3], in[1].view({-1})};
      },
      [](const TensorList& x) { return TensorList{x[0].view({-1}), x[1].view({-1}), x[0].view({-1}), x[1].view({-1})}; },
      {2, 2}};
  verify(c.f, factory(c, false), refused("Metadata mutations are currently not allowed on tensor subclasses"));
}

TEST_F(AotOnWrappers, R018_OutputsThatShareAnIntermediate) {
  const TensorFunction f = compiled([](const TensorList& in) {
    const Tensor t = in[0] * 2;
    return TensorList{t.view({-1}), t.view({-1})};
  });
  expect_error([&] { f({two_ones({2, 2}, true)}); },
               "two graph outputs that alias one another, which is currently unsupported in the subclass use case");
}

TEST_F(AotOnWrappers, R077_AWrittenInputThatIsThereTwice) {
  const TensorFunction f = compiled([](const TensorList& in) {
    Tensor(in[0]).mul_(2);
    return TensorList{in[0] + in[1]};
  });
  const Tensor x = two_ones({2, 2}, false);
  expect_error(
      [&] { f({x, x}); },
      "Encountered duplicate inputs that are mutated in the graph, but at least one input/output to the graph is a tensor subclass");
}

}  // namespace
}  // namespace ingot::aot
