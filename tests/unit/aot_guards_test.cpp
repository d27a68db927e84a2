// Guards of a compiled function: what a call can break, and that it then gets what eager would give it.
#include "aot/guards.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "aot/log.hpp"
#include "ingot/state.hpp"
#include "ingot/transforms.hpp"
#include "support/aot_harness.hpp"
#include "support/memory_store.hpp"
#include "support/test_folder.hpp"

namespace ingot::aot {
namespace {

Tensor at(const Tree& a, std::size_t k) { return a[k].leaf().tensor(); }
Tensor tracked(const Tensor& t) { return Tensor(t).requires_grad_(); }
// One to n, and so on.
Tensor counted(const Shape& sizes, DType dtype = float32) { return arange(1, sizes.product() + 1).to(dtype).view(sizes); }

// What the call writes to stderr with INGOT_LOG=guards.
std::string log_of(const std::function<void()>& f) {
  ::setenv("INGOT_LOG", "guards", 1);
  ::testing::internal::CaptureStderr();
  try {
    f();
  } catch (...) {
    ::unsetenv("INGOT_LOG");
    ::testing::internal::GetCapturedStderr();
    throw;
  }
  ::unsetenv("INGOT_LOG");
  return ::testing::internal::GetCapturedStderr();
}

// ---- one call, as a caller sees it

struct Arguments {
  Tree arguments;
  TensorList leaves = {};  // whose gradients are looked at, beside the arguments
};
using Make = std::function<Arguments()>;
using Around = std::function<void(const std::function<void()>&)>;

struct Seen {
  Values arguments, outputs;
  TensorList grads;
};

Seen seen_of(const TreeFunction& f, const Make& make, const Around& around) {
  Seen s;
  const Arguments made = make();
  s.arguments = flatten(made.arguments).leaves;
  const auto run = [&] {
    s.outputs = flatten(f(made.arguments)).leaves;
    for (const Value& v : s.outputs)
      if (v.is_tensor() && requires_grad(v.tensor()) && !is_leaf(v.tensor())) backward({v.tensor().sum()}, {}, true);
  };
  if (around) around(run);
  else run();
  TensorList leaves = made.leaves;
  for (const Value& v : s.arguments)
    if (v.is_tensor() && is_leaf(v.tensor())) leaves.push_back(v.tensor());
  for (const Tensor& t : leaves) s.grads.push_back(t.grad());
  return s;
}

class AotGuards : public AotHarness {
 protected:
  static void expect_same_value(const Value& want, const Value& found, const std::string& what) {
    ASSERT_EQ(want.kind_name(), found.kind_name()) << what;
    if (!want.is_tensor()) {
      EXPECT_EQ(to_text(want), to_text(found)) << what;
      return;
    }
    const Tensor &w = want.tensor(), &g = found.tensor();
    EXPECT_EQ(requires_grad(w), requires_grad(g)) << what;
    EXPECT_EQ(is_leaf(w), is_leaf(g)) << what;
    EXPECT_EQ(to_text(w.strides()), to_text(g.strides())) << what;
    EXPECT_EQ(w.dtype(), g.dtype()) << what;
    expect_same(w, g, what);
  }

  static void expect_same_call(const Seen& want, const Seen& found, const std::string& what) {
    ASSERT_EQ(want.outputs.size(), found.outputs.size()) << what;
    for (std::size_t k = 0; k < want.outputs.size(); k++) {
      expect_same_value(want.outputs[k], found.outputs[k], text(what, ": output ", k));
      for (std::size_t i = 0; i < want.arguments.size() && want.outputs[k].is_tensor(); i++) {
        if (!want.arguments[i].is_tensor()) continue;
        const auto related = [&](const Seen& s) {
          const Tensor &o = s.outputs[k].tensor(), &a = s.arguments[i].tensor();
          return text(o.is_same(a), o->storage == a->storage);
        };
        EXPECT_EQ(related(want), related(found)) << what << ": output " << k << " and argument " << i;
      }
    }
    ASSERT_EQ(want.arguments.size(), found.arguments.size()) << what;
    for (std::size_t k = 0; k < want.arguments.size(); k++)
      expect_same_value(want.arguments[k], found.arguments[k], text(what, ": argument ", k));
    ASSERT_EQ(want.grads.size(), found.grads.size()) << what;
    for (std::size_t k = 0; k < want.grads.size(); k++) expect_same(want.grads[k], found.grads[k], text(what, ": gradient ", k));
  }

  struct Row {
    const char* name;
    TreeFunction f;
    Make first, second;
    std::vector<const char*> words;  // of the guard
    Around around_first = {}, around_second = {};
    AotOptions options = {};
  };

  // The second call breaks what the first one made the compilation assume, and is compiled for. Neither of them is again.
  static void expect_recompiled(const Row& row) {
    SCOPED_TRACE(row.name);
    int forwards = 0;
    AotOptions options = row.options;
    options.forward = [&](std::shared_ptr<const Graph> g, const Values& examples) {
      forwards++;
      return nop(std::move(g), examples);
    };
    options.backward = nop;
    const AotFunction compiled = aot_function(row.f, options);
    const TreeFunction g = [&](const Tree& a) { return compiled(a); };
    expect_same_call(seen_of(row.f, row.first, row.around_first), seen_of(g, row.first, row.around_first), "the first call");
    EXPECT_EQ(compiled.variants(), 1);
    EXPECT_EQ(forwards, 1);
    Seen found;
    const std::string log = log_of([&] { found = seen_of(g, row.second, row.around_second); });
    expect_same_call(seen_of(row.f, row.second, row.around_second), found, "the second call");
    EXPECT_EQ(compiled.variants(), 2);
    EXPECT_EQ(forwards, 2);
    EXPECT_NE(log.find(text("[guards] function ", compiled.id(), " is compiled again, variant 2 of at most 8\n  variant 1: ")),
              std::string::npos)
        << log;
    for (const char* word : row.words) EXPECT_NE(log.find(word), std::string::npos) << word << " in\n" << log;
    for (int k = 0; k < 2; k++) {
      const std::string more = log_of([&] {
        seen_of(g, row.first, row.around_first);
        seen_of(g, row.second, row.around_second);
      });
      EXPECT_EQ(more, "") << "nothing broke";
    }
    EXPECT_EQ(compiled.variants(), 2);
    EXPECT_EQ(forwards, 2);
  }
};

Make given(std::function<Tree()> make) {
  return [make] { return Arguments{make()}; };
}
Make tensors(std::function<TensorList()> make) {
  return [make] {
    const TensorList l = make();
    return Arguments{Tree::tuple({l.begin(), l.end()})};
  };
}
Make value(Value v) {
  return given([v] { return Tree::tuple({counted({3}), Tree(v)}); });
}

// ---- the table

TreeFunction adds_to_first() {
  return [](const Tree& a) {
    Tensor(at(a, 0)).add_(1);
    return Tree(at(a, 0) + at(a, 1));
  };
}
TreeFunction product() {
  return [](const Tree& a) { return Tree(at(a, 0) * at(a, 1)); };
}
TreeFunction twice() {
  return [](const Tree& a) { return Tree(at(a, 0) * 2); };
}
TreeFunction view_and_sum() {
  return [](const Tree& a) { return Tree::tuple({at(a, 0).reshape({-1}), at(a, 0).sum()}); };
}
TreeFunction by_number() {
  return [](const Tree& a) {
    const Value v = a[1].leaf();
    if (v.is_none()) return Tree(at(a, 0).neg());
    if (v.is_tensor()) return Tree(at(a, 0) + v.tensor());
    if (v.is_string()) return Tree(v.string() == "sin" ? at(a, 0).sin() : at(a, 0).cos());
    if (v.is_bool()) return Tree(v.to_bool() ? at(a, 0).exp() : at(a, 0).log());
    if (v.is_float() && std::isnan(v.to_double())) return Tree(at(a, 0).sqrt());
    return Tree(aten<"mul.Scalar">(at(a, 0), v.to_scalar()));
  };
}

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
  expect_recompiled(
      {"a complex number", by_number(), value(std::complex<double>(1, 2)), value(std::complex<double>(1, 3)), {"value"}});
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
  expect_recompiled({"inference mode", product(), leaf, leaf, {"mode: expected", "found"}, {}, inference});
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

// ---- modules

struct Net : nn::Layer {
  nn::Linear linear{3, 3};
  nn::BatchNorm1d norm{3};
  nn::Dropout dropout{0.5};
  Net() {
    add("linear", linear);
    add("norm", norm);
    add("dropout", dropout);
  }
  Tensor forward(const Tensor& x) override { return dropout(norm(linear(x))); }
};

TEST_F(AotGuards, AModuleIsWhatItIsAtTheCall) {
  struct Change {
    const char* name;
    void (*make)(Net&);
    const char* words;  // none: nothing is compiled
  };
  const std::vector<Change> changes = {
      {"eval", [](Net& n) { n.eval(); }, "training flag of module 0: expected training, found evaluating"},
      {"eval of one below", [](Net& n) { n.dropout.eval(); }, "training flag of module 3: expected training, found evaluating"},
      {"frozen", [](Net& n) { n.linear.weight.requires_grad_(false); },
       "parameter/buffer 0: requires_grad: expected True, found False"},
      {"converted", [](Net& n) { n.to(float64); }, "dtype: expected float32, found float64"},
      {"a parameter replaced", [](Net& n) { n.linear.bias = tracked(full({3}, 5)); }, nullptr},
      {"a buffer replaced", [](Net& n) { n.norm.running_mean = full({3}, 2); }, nullptr},
      {"a buffer converted", [](Net& n) { n.norm.num_batches_tracked = n.norm.num_batches_tracked.to(int32); },
       "dtype: expected int64, found int32"},
      {"two buffers that are one", [](Net& n) { n.norm.running_var = n.norm.running_mean; }, "same tensor"},
  };
  for (const Change& change : changes) {
    SCOPED_TRACE(change.name);
    manual_seed(0);
    Net eager, module;
    module.load_state(eager.state());
    const AotModule compiled = aot_module(module);
    const auto step = [&](Net& n, const auto& f) {
      const Tensor x = counted({4, 3}, n.linear.weight.dtype());
      manual_seed(1);
      n.zero_grad();
      const Tensor y = f(x);
      y.sum().backward();
      return y;
    };
    const auto run_eagerly = [&](const Tensor& x) { return eager(x); };
    const auto run_compiled = [&](const Tensor& x) { return compiled(x); };
    step(eager, run_eagerly);
    step(module, run_compiled);
    change.make(eager);
    change.make(module);
    const Tensor want = step(eager, run_eagerly);
    Tensor found;
    const std::string log = log_of([&] { found = step(module, run_compiled); });
    expect_same(want, found, "output");
    const nn::NamedTensors expected = eager.state(), actual = module.state();
    for (std::size_t k = 0; k < expected.size(); k++) {
      expect_same(expected[k].second, actual[k].second, expected[k].first);
      expect_same(expected[k].second.grad(), actual[k].second.grad(), "gradient of " + expected[k].first);
    }
    if (change.words) EXPECT_NE(log.find(change.words), std::string::npos) << log;
    else EXPECT_EQ(log, "");
  }
}

TEST_F(AotGuards, AFunctionSaysWhichModulesItRuns) {
  nn::Dropout dropout(0.5);
  const TreeFunction f = [&](const Tree& a) { return Tree(dropout(at(a, 0))); };
  const AotFunction compiled = aot_function(f, {.modules = dropout.modules()});
  compiled(Tree::tuple({ones({3})}));
  dropout.eval();
  EXPECT_EQ(compiled(Tree::tuple({ones({3})})).leaf().tensor().to_vector<double>(), std::vector<double>(3, 1.0));
  EXPECT_EQ(compiled.variants(), 2);
}

// ---- what is no break

TEST_F(AotGuards, NothingIsCompiledAgainWhereNothingBroke) {
  int compiled = 0;
  const Compiler counting = [&](std::shared_ptr<const Graph> g, const Values& examples) {
    compiled++;
    return nop(std::move(g), examples);
  };
  const auto fresh = [&](const TreeFunction& f, AotOptions o = {}) {
    compiled = 0;
    o.forward = counting;
    return aot_function(f, o);
  };
  const auto times = [&](const AotFunction& f, const std::vector<std::function<Tree()>>& calls) {
    for (int k = 0; k < 3; k++)
      for (const auto& make : calls) f(make());
    return compiled;
  };
  const Tensor x = counted({4}), y = counted({4}), z = counted({8});
  EXPECT_EQ(times(fresh(product()), {[&] { return Tree::tuple({x, y}); }, [&] { return Tree::tuple({x, x}); },
                                     [&] { return Tree::tuple({z.slice(0, 0, 4), z.slice(0, 1, 5)}); }}),
            1)
      << "nothing is written, so aliasing decides nothing";
  EXPECT_EQ(times(fresh(adds_to_first()),
                  {[&] { return Tree::tuple({z.slice(0, 0, 4), z.slice(0, 4, 8)}); },
                   [&] { return Tree::tuple({z.slice(0, 4, 8), z.slice(0, 0, 4)}); }, [&] { return Tree::tuple({x, y}); }}),
            1)
      << "they lie apart each time";
  const double nothing = std::nan("");
  EXPECT_EQ(times(fresh(by_number()), {[&] { return Tree::tuple({x, Tree(Value(nothing))}); }}), 1) << "NaN is itself";
  const Tensor leaf = tracked(counted({4}));
  EXPECT_EQ(times(fresh(product()), {[&] { return Tree::tuple({leaf, y}); }, [&] { return Tree::tuple({x, y}); }}), 1)
      << "without gradients the graph with them is right";
  EXPECT_EQ(times(fresh(product()), {[&] { return Tree::tuple({leaf * 1, y}); }, [&] { return Tree::tuple({leaf, y}); }}), 1)
      << "leaf or not";
}

// The graph with gradients, where nothing has one: outputs have no history.
TEST_F(AotGuards, WithoutGradientsTheGraphWithThemIsRight) {
  const AotFunction f = aot_function(product());
  f(Tree::tuple({tracked(counted({3})), counted({3})}));
  const Tensor out = f(Tree::tuple({counted({3}), counted({3})})).leaf().tensor();
  EXPECT_FALSE(out.requires_grad());
  EXPECT_EQ(out.to_vector<double>(), (std::vector<double>{1, 4, 9}));
  EXPECT_EQ(f.variants(), 1);
}

TEST_F(AotGuards, ACallThatEagerRefusesIsRefused) {
  const AotFunction f = aot_function([](const Tree& a) { return Tree(Tensor(at(a, 0)).mul_(2) + 1); });
  const Tensor leaf = tracked(counted({3}));
  f(Tree::tuple({leaf * 1}));
  EXPECT_NE(
      error_of([&] { f(Tree::tuple({leaf})); }).find("a leaf Variable that requires grad is being used in an in-place operation"),
      std::string::npos);
  EXPECT_EQ(leaf.to_vector<double>(), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(f.variants(), 1);
}

// ---- how many

TEST_F(AotGuards, AlternatingVariantsAreFound) {
  const AotFunction f = aot_function(twice());
  for (int k = 0; k < 20; k++) {
    for (const int64_t n : {2, 3, 4})
      EXPECT_EQ(f(Tree::tuple({counted({n})})).leaf().tensor().to_vector<double>().back(), 2.0 * static_cast<double>(n));
    EXPECT_EQ(f.variants(), 3);
  }
}

TEST_F(AotGuards, PastTheMostVariantsTheFunctionIsRunAsItIs) {
  int compiled = 0;
  const Compiler counting = [&](std::shared_ptr<const Graph> g, const Values& examples) {
    compiled++;
    return nop(std::move(g), examples);
  };
  const AotFunction f = aot_function(adds_to_first(), {.forward = counting, .backward = nop, .most_variants = 3});
  for (int round = 0; round < 2; round++)
    for (int64_t n = 1; n < 7; n++) {
      const Tensor x = zeros({n}), y = tracked(ones({n}));
      const Tensor out = f(Tree::tuple({x, y})).leaf().tensor();
      out.sum().backward();
      EXPECT_EQ(x.to_vector<double>(), std::vector<double>(static_cast<std::size_t>(n), 1.0));
      EXPECT_EQ(detached(out).to_vector<double>(), std::vector<double>(static_cast<std::size_t>(n), 2.0));
      EXPECT_EQ(y.grad().to_vector<double>(), std::vector<double>(static_cast<std::size_t>(n), 1.0));
    }
  EXPECT_EQ(compiled, 3);
  EXPECT_EQ(f.variants(), 3);
  const std::string log = log_of([&] { f(Tree::tuple({zeros({9}), zeros({9})})); });
  EXPECT_EQ(log, text("[guards] function ", f.id(),
                      " is run as it is: there are 3 variants, which is the most that AotOptions::most_variants allows\n"
                      "  variant 3: input 0: size of dim 0: expected 3, found 9\n"
                      "  variant 1: input 0: size of dim 0: expected 1, found 9\n"
                      "  variant 2: input 0: size of dim 0: expected 2, found 9\n"));
  const AotFunction silent = aot_function(twice(), {.enable_log = false});
  silent(Tree::tuple({zeros({2})}));
  EXPECT_EQ(log_of([&] { silent(Tree::tuple({zeros({3})})); }), "");
}

TEST_F(AotGuards, TheListAndTheTreeOfItAreOneCall) {
  const AotFunction f = aot_function(TensorFunction([](const TensorList& in) { return TensorList{in[0] * in[1]}; }));
  const Tensor x = counted({3});
  EXPECT_EQ(f(TensorList{x, x})[0].to_vector<double>(), (std::vector<double>{1, 4, 9}));
  EXPECT_EQ(at(f(Tree::list({x, x})), 0).to_vector<double>(), (std::vector<double>{1, 4, 9}));
  EXPECT_EQ(f.variants(), 1);
  EXPECT_EQ(at(f(Tree::tuple({x, x})), 0).to_vector<double>(), (std::vector<double>{1, 4, 9}));
  EXPECT_EQ(f.variants(), 2);
  EXPECT_EQ(f(TensorList{x, x, x})[0].to_vector<double>(), (std::vector<double>{1, 4, 9}));
  EXPECT_EQ(f.variants(), 3);
}

TEST_F(AotGuards, AVariantThatCannotBeCompiledLeavesTheOthers) {
  bool fails = false;
  const Compiler maybe = [&](std::shared_ptr<const Graph> g, const Values& examples) {
    if (fails) throw_user_error("not today");
    return nop(std::move(g), examples);
  };
  const AotFunction f = aot_function(twice(), {.forward = maybe});
  f(Tree::tuple({ones({2})}));
  fails = true;
  EXPECT_EQ(error_of([&] { f(Tree::tuple({ones({3})})); }), "not today");
  EXPECT_EQ(f(Tree::tuple({ones({2})})).leaf().tensor().to_vector<double>(), (std::vector<double>{2, 2}));
  EXPECT_EQ(f.variants(), 1);
  fails = false;
  EXPECT_EQ(f(Tree::tuple({ones({3})})).leaf().tensor().to_vector<double>(), (std::vector<double>{2, 2, 2}));
  EXPECT_EQ(f.variants(), 2);
}

TEST_F(AotGuards, ThreadsCallWhileOthersCompile) {
  std::atomic<int> compiled = 0;
  const Compiler counting = [&](std::shared_ptr<const Graph> g, const Values& examples) {
    compiled++;
    return nop(std::move(g), examples);
  };
  const AotFunction f = aot_function(adds_to_first(), {.forward = counting, .backward = nop, .most_variants = 4});
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; t++)
    threads.emplace_back([&, t] {
      for (int k = 0; k < 60; k++) {
        const int64_t n = 1 + (k + t) % 6;  // two of them past the most
        const Tensor x = zeros({n}), y = tracked(ones({n}));
        const Tensor out = f(Tree::tuple({x, y})).leaf().tensor();
        out.sum().backward();
        wrong += out.sizes() == Shape{n} && out.sum().item_double() == 2.0 * static_cast<double>(n) &&
                         y.grad().sum().item_double() == static_cast<double>(n) && x.sum().item_double() == static_cast<double>(n)
                     ? 0
                     : 1;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(compiled, 4);
  EXPECT_EQ(f.variants(), 4);
}

// ---- traces and maps around a call

TEST_F(AotGuards, UnderVmapTheFunctionIsRunAsItIs) {
  const TensorFunction f = [](const TensorList& in) { return TensorList{in[0] * in[1].sum()}; };
  const AotFunction compiled = aot_function(f);
  const Tensor x = counted({2, 3}), y = counted({3});
  compiled(TensorList{x[0], y});
  const TensorFunction mapped = vmap([&](const TensorList& in) { return compiled(in); }, {.in_dims = {0, std::nullopt}});
  EXPECT_EQ(mapped({x, y})[0].to_vector<double>(), (x * y.sum()).to_vector<double>());
  EXPECT_EQ(compiled.variants(), 1);
}

TEST_F(AotGuards, ATraceAroundTheCallUsesTheVariant) {
  const AotFunction inner = aot_function(twice());
  inner(Tree::tuple({ones({3})}));
  const AotFunction outer = aot_function([&](const Tree& a) { return Tree(inner(a).leaf().tensor() + 1); });
  EXPECT_EQ(outer(Tree::tuple({ones({3})})).leaf().tensor().to_vector<double>(), std::vector<double>(3, 3.0));
  EXPECT_EQ(inner.variants(), 1);
  const AotFunction open = aot_function([&](const Tree& a) { return Tree(inner(a).leaf().tensor() + 1); }, {.dynamic = true});
  for (const int64_t n : {3, 5}) {
    EXPECT_EQ(open(Tree::tuple({ones({n})})).leaf().tensor().to_vector<double>(),
              std::vector<double>(static_cast<std::size_t>(n), 3.0));
    EXPECT_EQ(inner.variants(), 1);
    EXPECT_EQ(open.variants(), 1);
  }
}

// ---- the entry that compiles at once

struct Stateless : nn::Module {};

TEST_F(AotGuards, R006_WhatWasCompiledAtOnceRefusesOtherCalls) {
  Stateless none;
  const TreeFunction f = [](const Tree& a) {
    Tensor(at(a, 0)).add_(1);
    return Tree::tuple({aten<"mul.Scalar">(at(a, 0) + at(a, 1), a[2].leaf().to_scalar())});
  };
  const auto message = [&](const FlatCallable& g, const Values& arguments) { return error_of([&] { g(arguments); }); };
  const FlatCallable g = aot_module_simplified(none, f, {counted({3}), counted({3}), 2});
  EXPECT_EQ(g({counted({3}), counted({3}), 2})[0].tensor().to_vector<double>(), (std::vector<double>{6, 10, 14}));
  const Tensor x = counted({3});
  struct {
    Values arguments;
    const char* words;
  } rows[] = {
      {{x, counted({4}), 2}, "input 1: size of dim 0: expected 3, found 4"},
      {{x, counted({3}), 3}, "input 2: value: expected 2, found 3"},
      {{x, x, 2}, "input 0 and input 1: same tensor: expected two that lie apart, found one tensor; the function writes input 0"},
      {{x, tracked(counted({3})), 2}, "input 1: requires_grad: expected False, found True"},
      {{x, counted({3}, float64), 2}, "input 1: dtype: expected float32, found float64"},
      {{x, counted({3})}, "number of arguments: expected 3, found 2"}};
  for (const auto& row : rows) {
    const std::string found = message(g, row.arguments);
    EXPECT_NE(found.find("was compiled for other calls than this one: "), std::string::npos) << found;
    EXPECT_NE(found.find(row.words), std::string::npos) << found;
    EXPECT_NE(found.find("Compile it for such arguments"), std::string::npos) << found;
  }
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{1, 2, 3})) << "a call that is refused writes nothing";
  {
    const NoGrad scope;
    EXPECT_NE(message(g, {x, counted({3}), 2}).find("grad mode: expected on, found off"), std::string::npos);
  }

  Net net;
  const FlatCallable trained =
      aot_module_simplified(net, [&](const Tree& a) { return Tree::tuple({net(at(a, 0))}); }, {counted({4, 3})});
  trained({counted({4, 3})});
  net.eval();
  EXPECT_NE(message(trained, {counted({4, 3})}).find("training flag of module 0: expected training, found evaluating"),
            std::string::npos);
  net.train();
  net.linear.weight.requires_grad_(false);
  EXPECT_NE(message(trained, {counted({4, 3})}).find("parameter/buffer 0: requires_grad: expected True, found False"),
            std::string::npos);
}

TEST_F(AotGuards, R006_OpenSizesOfFakesAreGuards) {
  Stateless none;
  const auto sizes = std::make_shared<ShapeEnv>();
  Values fakes;
  {
    const Values examples{counted({4, 3}), counted({4})};
    const GuardScope scope(*sizes);
    fakes = fake_inputs(examples, every_size_open(examples), *sizes);
  }
  const TreeFunction f = [](const Tree& a) { return Tree::tuple({at(a, 0).view({-1, 2}).sum() + at(a, 1).sum()}); };
  const FlatCallable g = aot_module_simplified(none, f, fakes, {.sizes = sizes});
  EXPECT_EQ(g({ones({6, 5}), ones({6})})[0].tensor().item_double(), 36);
  const auto message = [&](const Shape& x, const Shape& y) { return error_of([&] { g({ones(x), ones(y)}); }); };
  EXPECT_NE(message({6, 5}, {5}).find("input 1: size of dim 0: expected s0 = 6, found 5"), std::string::npos)
      << message({6, 5}, {5});
  EXPECT_NE(message({5, 5}, {5}).find("sizes: expected"), std::string::npos) << message({5, 5}, {5});
  EXPECT_NE(message({1, 4}, {1}).find("expected at least 2, found 1"), std::string::npos) << message({1, 4}, {1});
}

// What comes from a cache has the guards of what went there.
TEST_F(AotGuards, R191_VariantsOfACacheAreGuarded) {
  Stateless none;
  const TreeFunction f = [](const Tree& a) {
    Tensor(at(a, 0)).add_(1);
    return Tree::tuple({at(a, 0) + at(a, 1), aten<"as_strided">(at(a, 2), Shape{2}, Shape{1}, 1)});
  };
  const testing::TestFolder folder;
  const auto store = std::make_shared<testing::MemoryStore>();
  AotOptions o{.forward = store->compiler()};
  o.cache = std::make_shared<AotCache>(AotCache::Options{.folder = folder.file("cache"), .artifacts = store});
  const auto arguments = [](int64_t n) { return Values{counted({n}), counted({n}), counted({4})}; };
  for (int round = 0; round < 2; round++) {
    for (const int64_t n : {2, 3}) {
      const FlatCallable g = aot_module_simplified(none, f, arguments(n), o);
      EXPECT_EQ(g(arguments(n))[0].tensor().to_vector<double>().back(), 2.0 * static_cast<double>(n) + 1);
      Values same = arguments(n), moved = arguments(n);
      same[1] = same[0];
      moved[2] = counted({6}).slice(0, 1, 5);
      EXPECT_NE(error_of([&] { g(same); }).find("same tensor"), std::string::npos);
      EXPECT_NE(error_of([&] { g(moved); }).find("storage offset: expected 0, found 1"), std::string::npos);
      EXPECT_NE(error_of([&] { g(arguments(n + 1)); }).find("size of dim 0"), std::string::npos);
    }
    EXPECT_EQ(o.cache->counters().hit, 2 * round);
    EXPECT_EQ(o.cache->counters().saved, 2);
  }
}

TEST_F(AotGuards, R001_WithoutGuardsNothingIsAsked) {
  for (const bool debug : {false, true}) {
    const AotFunction f = aot_function(by_number(), {.debug_assert = debug, .guards = debug});
    const Tensor x = ones({2});
    f(Tree::tuple({x, Tree(Value(2))}));
    EXPECT_EQ(f(Tree::tuple({x, Tree(Value(3))})).leaf().tensor().to_vector<double>(), (std::vector<double>{2, 2}));
    EXPECT_EQ(f.variants(), 1);
  }
}

}  // namespace
}  // namespace ingot::aot
