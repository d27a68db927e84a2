// What a call of a compiled function can break, and that it then gets what eager would give it:
// each row is compiled for again.
#include <memory>
#include <optional>
#include <utility>

#include "unit/aot_guards_harness.hpp"
#include "ingot/nn.hpp"
#include "ingot/state.hpp"

namespace ingot::aot {
namespace {

TEST_F(AotGuards, AliasingThatDiffersIsCompiledFor) {
  const auto apart = tensors([] { return TensorList{counted({3}), counted({3})}; });
  const auto one = tensors([] {
    const Tensor x = counted({3});
    return TensorList{x, x};
  });
  const auto slices = [](int64_t first, int64_t second) {
    return tensors([=] {
      const Tensor x = counted({8});
      return TensorList{x.slice(0, first, first + 3), x.slice(0, second, second + 3)};
    });
  };
  const TreeFunction looks = [](const Tree& a) {
    aten_value<"unsqueeze_">(at(a, 0), 0);
    aten_value<"unsqueeze_">(at(a, 1), 0);
    return Tree(at(a, 0) + at(a, 1));
  };
  const TreeFunction writes_second = [](const Tree& a) {
    const Tensor before = at(a, 0) * 2;
    Tensor(at(a, 1)).mul_(3);
    return Tree::tuple({before, at(a, 0) + 1});
  };
  const auto views_of = [](const Shape& base) {
    return [base] {
      const Tensor leaf = tracked(counted(base)), whole = (leaf * 1).view({6});
      return Arguments{Tree::tuple({whole.slice(0, 0, 3), whole.slice(0, 1, 4)}), {leaf}};
    };
  };
  expect_recompiled({"two tensors, then one twice",
                     adds_to_first(),
                     apart,
                     one,
                     {"same tensor: expected two that lie apart, found one tensor"}});
  expect_recompiled({"one tensor twice, then two",
                     adds_to_first(),
                     one,
                     apart,
                     {"input 0 and input 1", "same tensor: expected one tensor, found two that lie apart"}});
  expect_recompiled({"two tensors, then parts that overlap",
                     adds_to_first(),
                     apart,
                     slices(0, 1),
                     {"shared memory: expected two that lie apart, found two that overlap"}});
  expect_recompiled({"parts that overlap, then two tensors",
                     adds_to_first(),
                     slices(0, 1),
                     apart,
                     {"shared memory: expected two that overlap, found two that lie apart"}});
  expect_recompiled({"parts that overlap otherwise",
                     adds_to_first(),
                     slices(0, 1),
                     slices(0, 2),
                     {"input 1: storage offset: expected 1, found 2"}});
  expect_recompiled({"parts apart, then overlapping", adds_to_first(), slices(0, 4), slices(0, 2), {"shared memory"}});
  expect_recompiled(
      {"the second is written", writes_second, apart, slices(1, 0), {"shared memory", "the function writes input 1"}});
  expect_recompiled({"looks that change, of one tensor twice", looks, apart, one, {"same tensor"}});
  expect_recompiled({"views of another base", adds_to_first(), views_of({6}), views_of({2, 3}), {"what it is a view of"}});
  expect_recompiled({"the backward writes",
                     [](const Tree& a) {
                       const Tensor x = at(a, 0), y = at(a, 1);
                       const auto forward = [](FunctionContext&, const TensorList& in) { return TensorList{in[0] * 2}; };
                       const auto back = [y](FunctionContext&, const TensorList& g) {
                         Tensor(y).add_(1);
                         return TensorList{g[0] * 2};
                       };
                       return Tree(custom_function("Writes", {x}, forward, back)[0] + at(a, 2));
                     },
                     tensors([] { return TensorList{tracked(counted({2})), counted({2}), counted({2})}; }),
                     tensors([] {
                       const Tensor y = counted({2});
                       return TensorList{tracked(counted({2})), y, y};
                     }),
                     {"same tensor", "input 1 and input 2"}});
}

TEST_F(AotGuards, BytesUnderTwoStoragesAreNoGraphs) {
  const auto two_storages = tensors([] {
    auto memory = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3, 4});
    const auto over = [&](std::size_t first) {
      return Tensor(
          make_ref<TensorImpl>(Storage::wrap(memory->data() + first, 12, [memory] {}), Geometry::contiguous({3}, float32)));
    };
    return TensorList{over(0), over(1)};
  });
  const auto apart = tensors([] { return TensorList{counted({3}), counted({3})}; });
  const TreeFunction f = adds_to_first();
  for (const bool first : {false, true}) {
    const AotFunction compiled = aot_function(f);
    const TreeFunction g = [&](const Tree& a) { return compiled(a); };
    if (!first) seen_of(g, apart, {});
    for (int k = 0; k < 3; k++) expect_same_call(seen_of(f, two_storages, {}), seen_of(g, two_storages, {}), "over each other");
    expect_same_call(seen_of(f, apart, {}), seen_of(g, apart, {}), "apart");
    EXPECT_EQ(compiled.variants(), 2);
  }
}

// Nor do graphs have a form for wrappers whose tensors are one another's.
TEST_F(AotGuards, WrappersOverOneTensorAreNoGraphs) {
  const auto pair = [](bool is_shared) {
    return tensors([=] {
      const Tensor a = counted({3}), b = counted({3}) * 2;
      return TensorList{testing::two_tensor(a, b),
                        is_shared ? testing::two_tensor(a, counted({3})) : testing::two_tensor(counted({3}), b * 1)};
    });
  };
  const TreeFunction f = adds_to_first();
  const AotFunction compiled = aot_function(f);
  const TreeFunction g = [&](const Tree& a) { return compiled(a); };
  for (const bool is_shared : {false, true, true, false})
    expect_same_call(seen_of(f, pair(is_shared), {}), seen_of(g, pair(is_shared), {}), is_shared ? "shared" : "apart");
  EXPECT_EQ(compiled.variants(), 2);
}

TEST_F(AotGuards, LooksThatDifferAreCompiledFor) {
  const auto plain = tensors([] { return TensorList{counted({2, 3})}; });
  const TreeFunction from_storage = [](const Tree& a) { return Tree(aten<"as_strided">(at(a, 0), Shape{2}, Shape{1}, 1) * 2); };
  const TreeFunction writes_storage = [](const Tree& a) {
    aten<"as_strided">(at(a, 0), Shape{2}, Shape{1}, 2).fill_(7);
    return Tree(at(a, 0) * 1);
  };
  const auto part = [](int64_t first, int64_t size) {
    return tensors([=] { return TensorList{counted({size}).slice(0, first, first + 3)}; });
  };
  const auto one = [](const std::function<Tensor()>& make) { return tensors([=] { return TensorList{make()}; }); };
  expect_recompiled(
      {"a size", view_and_sum(), plain, one([] { return counted({2, 4}); }), {"input 0: size of dim 1: expected 3, found 4"}});
  expect_recompiled({"a size that broadcasts",
                     product(),
                     tensors([] { return TensorList{counted({2, 3}), counted({2, 3})}; }),
                     tensors([] { return TensorList{counted({2, 3}), counted({1, 3})}; }),
                     {"input 1: size of dim 0: expected 2, found 1"}});
  expect_recompiled(
      {"no elements", view_and_sum(), plain, one([] { return counted({0, 3}); }), {"size of dim 0: expected 2, found 0"}});
  expect_recompiled(
      {"a dim more", view_and_sum(), plain, one([] { return counted({1, 2, 3}); }), {"number of dims: expected 2, found 3"}});
  expect_recompiled({"no dims", twice(), plain, one([] { return counted({}); }), {"number of dims: expected 2, found 0"}});
  expect_recompiled({"another float type",
                     twice(),
                     plain,
                     one([] { return counted({2, 3}, float64); }),
                     {"dtype: expected float32, found float64"}});
  expect_recompiled(
      {"integers", twice(), plain, one([] { return counted({2, 3}, int64); }), {"dtype: expected float32, found int64"}});
  expect_recompiled({"other strides",
                     view_and_sum(),
                     plain,
                     one([] { return counted({3, 2}).t(); }),
                     {"stride of dim 0: expected 3, found 1"}});
  expect_recompiled({"one row for all",
                     twice(),
                     plain,
                     one([] { return counted({3}).expand({2, 3}); }),
                     {"stride of dim 0: expected 3, found 0"}});
  expect_recompiled({"elsewhere in its storage", from_storage, part(0, 6), part(2, 6), {"storage offset: expected 0, found 2"}});
  expect_recompiled({"a larger storage", from_storage, part(0, 6), part(0, 7), {"bytes of the storage: expected 24, found 28"}});
  expect_recompiled({"written elsewhere", writes_storage, part(1, 6), part(2, 6), {"storage offset: expected 1, found 2"}});
}

TEST_F(AotGuards, GradientsThatDifferAreCompiledFor) {
  const auto one = [](const std::function<Tensor()>& make) { return tensors([=] { return TensorList{make()}; }); };
  const auto both = [](bool first, bool second) {
    return tensors([=] { return TensorList{counted({3}).requires_grad_(first), counted({3}).requires_grad_(second)}; });
  };
  const TreeFunction separately = [](const Tree& a) { return Tree::tuple({at(a, 0) * 2, at(a, 1) * 3}); };
  const TreeFunction writes_hidden = [](const Tree& a) {
    {
      const NoGrad scope;
      Tensor(at(a, 0)).mul_(2);
    }
    return Tree(at(a, 0) * 3);
  };
  const auto inner = [] {
    const Tensor leaf = tracked(counted({3}));
    return Arguments{Tree::tuple({leaf * 1}), {leaf}};
  };
  expect_recompiled({"requires_grad turned on",
                     twice(),
                     one([] { return counted({3}); }),
                     one([] { return tracked(counted({3})); }),
                     {"requires_grad: expected False, found True"}});
  expect_recompiled({"requires_grad of the other", product(), both(true, false), both(false, true), {"requires_grad"}});
  expect_recompiled(
      {"of one of two", separately, both(true, true), both(true, false), {"input 1: requires_grad: expected True, found False"}});
  expect_recompiled({"turned off, of a view",
                     [](const Tree& a) { return Tree(at(a, 0).view({3, 1})); },
                     one([] { return tracked(counted({3})); }),
                     one([] { return counted({3}); }),
                     {"requires_grad: expected True, found False"}});
  expect_recompiled({"turned off, of what is written",
                     writes_hidden,
                     one([] { return tracked(counted({3})); }),
                     one([] { return counted({3}); }),
                     {"requires_grad: expected True, found False"}});
  expect_recompiled({"no leaf any more",
                     writes_hidden,
                     one([] { return tracked(counted({3})); }),
                     inner,
                     {"is_leaf: expected True, found False"}});
}

TEST_F(AotGuards, ValuesThatDifferAreCompiledFor) {
  const double nothing = std::nan("");
  expect_recompiled({"an int", by_number(), value(2), value(3), {"input 1: value: expected 2, found 3"}});
  expect_recompiled({"a float", by_number(), value(0.5), value(0.25), {"value: expected 0.5, found 0.25"}});
  expect_recompiled({"the sign of zero", by_number(), value(0.0), value(-0.0), {"value: expected 0"}});
  expect_recompiled({"a float that is none", by_number(), value(0.5), value(nothing), {"value: expected 0.5, found nan"}});
  expect_recompiled({"a flag", by_number(), value(true), value(false), {"value: expected True, found False"}});
  expect_recompiled({"a text", by_number(), value("sin"), value("cos"), {"value: expected 'sin', found 'cos'"}});
  expect_recompiled(
      {"an int, then the float", by_number(), value(2), value(2.0), {"value: expected 2 (int), found 2", "(float)"}});
  expect_recompiled(
      {"an int, then the flag", by_number(), value(1), value(true), {"value: expected 1 (int), found True (bool)"}});
  expect_recompiled({"a number, then none", by_number(), value(2), value({}), {"value: expected 2 (int), found None"}});
  expect_recompiled(
      {"a number, then a tensor", by_number(), value(2), value(counted({3})), {"kind: expected int, found Tensor"}});
  expect_recompiled(
      {"a tensor, then a number", by_number(), value(counted({3})), value(2), {"kind: expected Tensor, found int"}});
}

TEST_F(AotGuards, NestingThatDiffersIsCompiledFor) {
  const TreeFunction sum = [](const Tree& a) {
    const FlatTree flat = flatten(a);
    Tensor total = flat.leaves[0].tensor();
    for (std::size_t k = 1; k < flat.leaves.size(); k++) total = total * 2 + flat.leaves[k].tensor();
    return a.type() == tree_types::kList ? Tree::list({total}) : Tree(total);
  };
  const TreeFunction by_key = [](const Tree& a) { return Tree(a.at("x").leaf().tensor() * 2 + a.at("y").leaf().tensor()); };
  const TreeFunction first_key = [](const Tree& a) { return Tree(at(a, 0) * (to_text(a.keys()[0]) == "'x'" ? 2 : 3)); };
  const Tensor x = counted({2}), y = counted({2}) * 3;
  const auto dict = [](const char* k, const Tensor& a, const char* l, const Tensor& b) {
    return given([=] { return Tree::dict({{Value(k), Tree(a)}, {Value(l), Tree(b)}}); });
  };
  const auto pair = given([=] { return Tree::tuple({x, y}); });
  expect_recompiled({"one argument more",
                     sum,
                     pair,
                     given([=] { return Tree::tuple({x, y, x}); }),
                     {"nesting: expected tuple(*, *), found tuple(*, *, *)"}});
  expect_recompiled({"one argument less", sum, pair, given([=] { return Tree::tuple({y}); }), {"found tuple(*)"}});
  expect_recompiled({"a list", sum, pair, given([=] { return Tree::list({x, y}); }), {"found list(*, *)"}});
  expect_recompiled({"deeper", sum, pair, given([=] { return Tree::tuple({x, Tree::list({y})}); }), {"found tuple(*, list(*))"}});
  expect_recompiled({"a bare tensor", sum, pair, given([=] { return Tree(x); }), {"nesting: expected tuple(*, *), found *"}});
  expect_recompiled({"keys in another order",
                     by_key,
                     dict("x", x, "y", y),
                     dict("y", y, "x", x),
                     {"expected dict('x': *, 'y': *), found dict('y': *, 'x': *)"}});
  expect_recompiled({"another key", first_key, dict("x", x, "y", y), dict("z", x, "y", y), {"found dict('z': *, 'y': *)"}});
}

class Doubled : public Mode {
  Value call(const Op& op, Args args) override { return below(op, args); }
};

TEST_F(AotGuards, ModesThatDifferAreCompiledFor) {
  const auto matrices = tensors([] { return TensorList{counted({2, 2}), counted({2, 2})}; });
  const auto leaf = tensors([] { return TensorList{tracked(counted({3})), counted({3})}; });
  const TreeFunction matmul = [](const Tree& a) { return Tree(at(a, 0).mm(at(a, 1))); };
  const TreeFunction divided = [](const Tree& a) { return Tree(aten<"div.Tensor">(at(a, 0).to(int64), at(a, 1).to(int64))); };
  const Around no_grad = [](const auto& f) {
    const NoGrad scope;
    f();
  };
  const Around inference = [](const auto& f) {
    const InferenceMode scope;
    f();
  };
  const auto autocast = [](DType to) -> Around {
    return [to](const auto& f) {
      const AutocastGuard scope(to);
      f();
    };
  };
  const Around deterministic = [](const auto& f) {
    const DeterministicGuard scope;
    f();
  };
  const Around doubles = [](const auto& f) {
    const Scoped<DType> scope(thread_state().default_dtype, float64);
    f();
  };
  Doubled mode, other;
  const auto in_mode = [](Mode& m) -> Around {
    return [&m](const auto& f) {
      const ModeScope scope(m);
      f();
    };
  };
  expect_recompiled({"gradients on", product(), leaf, leaf, {"grad mode: expected off, found on"}, no_grad, {}});
  expect_recompiled({"gradients off", product(), leaf, leaf, {"grad mode: expected on, found off"}, {}, no_grad});
  expect_recompiled({"inference mode", product(), leaf, leaf, {"inference mode: expected off, found on"}, {}, inference});
  expect_recompiled(
      {"inference mode alone", product(), leaf, leaf, {"inference mode: expected off, found on"}, no_grad, inference});
  expect_recompiled({"an inference tensor",
                     twice(),
                     tensors([] { return TensorList{counted({3})}; }),
                     tensors([] {
                       const InferenceMode scope;
                       return TensorList{counted({3})};
                     }),
                     {"inference tensor: expected False, found True"}});
  expect_recompiled(
      {"autocast on", matmul, matrices, matrices, {"autocast: expected off, found on, to bfloat16"}, {}, autocast(bfloat16)});
  expect_recompiled(
      {"autocast off", matmul, matrices, matrices, {"autocast: expected on, to bfloat16, found off"}, autocast(bfloat16), {}});
  expect_recompiled({"autocast to another type",
                     matmul,
                     matrices,
                     matrices,
                     {"autocast: expected on, to bfloat16, found on, to float16"},
                     autocast(bfloat16),
                     autocast(float16)});
  expect_recompiled({"deterministic mode",
                     product(),
                     matrices,
                     matrices,
                     {"deterministic algorithms: expected off, found on"},
                     {},
                     deterministic});
  expect_recompiled(
      {"another default type", divided, matrices, matrices, {"default dtype: expected float32, found float64"}, {}, doubles});
  expect_recompiled({"a mode", product(), matrices, matrices, {"modes: expected 0, found 1"}, {}, in_mode(mode)});
  expect_recompiled({"another mode",
                     product(),
                     matrices,
                     matrices,
                     {"modes: expected those of the compilation, found others"},
                     in_mode(mode),
                     in_mode(other)});
}

// A module that the function finds through a pointer, and that is there when it is called.
TEST_F(AotGuards, ModulesThatTakeThePlaceOfOthersAreCompiledFor) {
  struct Scales : nn::Layer {
    Tensor by;
    explicit Scales(double b) { add_buffer("by", by, full({3}, b)); }
    Tensor forward(const Tensor& x) override { return x * by * (is_training() ? 1 : 2); }
  };
  struct Negates : nn::Layer {  // whose flag nothing reads
    Tensor forward(const Tensor& x) override { return -x; }
  };
  const auto one = tensors([] { return TensorList{counted({3})}; });
  const auto once = [](const std::function<void()>& change) -> Around {
    return [change, is_done = std::make_shared<bool>(false)](const auto& f) {
      if (!std::exchange(*is_done, true)) change();
      f();
    };
  };
  std::shared_ptr<nn::Layer> layer;
  std::optional<Scales> held;
  const auto calls = [&](const Tree& a) { return Tree((*layer)(at(a, 0))); };
  const char* gone = "training flag of module 0: expected training, found a module that is gone";

  layer = std::make_shared<Scales>(2);
  expect_recompiled({"another", calls, one, one, {gone}, {}, once([&] { layer = std::make_shared<Scales>(3); })});
  layer = std::make_shared<Scales>(2);
  expect_recompiled({"one of another class", calls, one, one, {gone}, {}, once([&] { layer = std::make_shared<Negates>(); })});
  auto earlier = std::make_shared<Scales>(3);
  layer = std::make_shared<Scales>(2);
  expect_recompiled({"one that was there before", calls, one, one, {gone}, {}, once([&] { layer = earlier; })});
  earlier.reset();
  layer.reset();
  held.emplace(2);
  expect_recompiled(
      {"one in the same memory", [&](const Tree& a) { return Tree((*held)(at(a, 0))); }, one, one, {gone}, {}, once([&] {
         held.emplace(3);
       })});
}

TEST_F(AotGuards, WrappersThatDifferAreCompiledFor) {
  using testing::two_tensor;
  const auto one = [](const std::function<Tensor()>& make) { return tensors([=] { return TensorList{make()}; }); };
  const auto pair = one([] { return two_tensor(counted({3}), counted({3}) * 2); });
  expect_recompiled(
      {"a wrapper", twice(), one([] { return counted({3}); }), pair, {"tensor class: expected Tensor, found TwoTensor"}});
  expect_recompiled({"a plain tensor", twice(), pair, one([] { return counted({3}); }), {"tensor class: expected TwoTensor"}});
  expect_recompiled({"another class",
                     twice(),
                     pair,
                     one([] { return testing::metadata_tensor(counted({3})); }),
                     {"tensor class: expected TwoTensor"}});
  expect_recompiled({"other metadata",
                     twice(),
                     one([] { return testing::metadata_tensor(counted({3}), 4); }),
                     one([] { return testing::metadata_tensor(counted({3}), 5); }),
                     {"tensor class", "found ConstantExtraMetadataTensor"}});
  expect_recompiled({"inner tensors that lie otherwise",
                     twice(),
                     one([] { return two_tensor(counted({2, 3}), counted({2, 3})); }),
                     one([] { return two_tensor(counted({2, 3}), counted({3, 2}).t()); }),
                     {"tensor class"}});
}

TEST_F(AotGuards, OpenSizesHoldWhereTheirGuardsDo) {
  const AotOptions open{.dynamic = true};
  const auto one = [](const Shape& sizes) { return tensors([=] { return TensorList{counted(sizes)}; }); };
  const auto two = [](const Shape& a, const Shape& b) { return tensors([=] { return TensorList{counted(a), counted(b)}; }); };
  const TreeFunction halves = [](const Tree& a) { return Tree(at(a, 0).view({-1, 2}).sum({0})); };
  const TreeFunction branches = [](const Tree& a) { return Tree(at(a, 0).size(0) > 4 ? at(a, 0).sin() : at(a, 0).cos()); };
  expect_recompiled({"one is no size like another",
                     twice(),
                     one({3, 4}),
                     one({1, 4}),
                     {"size of dim 0 (s0): expected at least 2, found 1"},
                     {},
                     {},
                     open});
  expect_recompiled({"equal sizes that are not",
                     product(),
                     two({3}, {3}),
                     two({3}, {1}),
                     {"input 1: size of dim 0: expected s0 = 3, found 1"},
                     {},
                     {},
                     open});
  expect_recompiled({"a branch by a size", branches, one({6}), one({3}), {"sizes: expected", "found s0 = 3"}, {}, {}, open});
  expect_recompiled({"strides that follow from sizes",
                     view_and_sum(),
                     one({3, 4, 5}),
                     tensors([] { return TensorList{counted({3, 8, 5}).slice(1, 0, 4)}; }),
                     {"stride of dim 0: expected s1*s2 = 20, found 40"},
                     {},
                     {},
                     open});
  expect_recompiled({"a number that is none of many",
                     by_number(),
                     value(3),
                     value(1),
                     {"input 1: value (s1): expected at least 2, found 1"},
                     {},
                     {},
                     open});
  expect_recompiled(
      {"a number, then a float", by_number(), value(3), value(3.0), {"input 1: kind: expected int, found float"}, {}, {}, open});
  expect_recompiled({"a type, with sizes open",
                     halves,
                     one({4}),
                     tensors([] { return TensorList{counted({4}, float64)}; }),
                     {"dtype"},
                     {},
                     {},
                     open});

  const AotFunction f = aot_function(halves, {.dynamic = true});
  for (const int64_t n : {4, 6, 100, 8}) {
    EXPECT_EQ(f(Tree::tuple({ones({n})})).leaf().tensor().to_vector<double>(),
              std::vector<double>(2, static_cast<double>(n) / 2));
    EXPECT_EQ(f.variants(), 1) << n;
  }
  const AotFunction g = aot_function(by_number(), {.dynamic = true});
  for (const int64_t n : {4, 6, 2}) {
    EXPECT_EQ(g(Tree::tuple({ones({3}), Tree(Value(n))})).leaf().tensor().to_vector<double>(),
              std::vector<double>(3, static_cast<double>(n)));
    EXPECT_EQ(g.variants(), 1) << n;
  }
}

// What overlaps takes its members by numbers, so its sizes stay.
TEST_F(AotGuards, OpenSizesOfArgumentsThatOverlapAreFixed) {
  const auto views = [](int64_t size) {
    return tensors([=] {
      const Tensor x = counted({size});
      return TensorList{x.view({size}), x.view({size})};
    });
  };
  expect_recompiled(
      {"longer views", adds_to_first(), views(3), views(4), {"size of dim 0: expected 3, found 4"}, {}, {}, {.dynamic = true}});
}

}  // namespace
}  // namespace ingot::aot
