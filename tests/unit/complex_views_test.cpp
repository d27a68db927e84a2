// conj() and _neg_view() are views in PyTorch, and computed here: what would differ is refused, and
// nothing else is. The cases and what PyTorch does in them were asked of PyTorch 2.14.
#include "aot/aot.hpp"
#include "aot/module.hpp"
#include "autograd/meta.hpp"
#include "ingot/aot/cache.hpp"
#include "ingot/autograd.hpp"
#include "ingot/ingot.hpp"
#include "ingot/state.hpp"
#include "ingot/transforms.hpp"
#include "ingot/unseen_writes.hpp"
#include "op/call.hpp"
#include "support/error_text.hpp"
#include "support/memory_store.hpp"
#include "support/no_leaks.hpp"
#include "support/test_folder.hpp"
#include "tensor/stand_in.hpp"

namespace ingot {
namespace {

class ComplexViews : public NoLeaks {
 protected:
  void TearDown() override {
    EXPECT_FALSE(has_stand_ins()) << "what is known of a stand-in goes with its storage";
    NoLeaks::TearDown();
  }
};
using Doubles = std::vector<double>;
using aot::aot_function, aot::AotFunction;

Tensor z() { return aten<"view_as_complex">(tensor({1, 2, 3, -1}, {2, 2}, float64)); }  // 1 + 2i, 3 - i
Tensor conj(const Tensor& t) { return aten<"conj">(t); }
Doubles parts(const Tensor& t) { return aten<"view_as_real">(t).to_vector<double>(); }
const Doubles kZ = {1, 2, 3, -1}, kConj = {1, -2, 3, 1};

template <class F>
void expect_refused_write(const F& f, std::string_view op = "_conj") {
  const std::string error = error_of(f);
  EXPECT_NE(error.find("() is computed at once here: a write to its result would not reach"), std::string::npos) << error;
  EXPECT_NE(error.find(op), std::string::npos) << error;
}
template <class F>
void expect_refused_read(const F& f) {
  const std::string error = error_of(f);
  EXPECT_NE(error.find("() is computed at once here, and the tensor that it was taken of was written since"), std::string::npos)
      << error;
}

// ---- writes to the result
TEST_F(ComplexViews, AWriteToAConjIsRefused) {
  const Tensor x = z();
  Tensor w = conj(x);
  expect_refused_write([&] { w.mul_(2); });
  expect_refused_write([&] { aten_value<"copy_">(w, x); });
  expect_refused_write([&] { aten_value<"mul.out">(x, x, w); });
  expect_refused_write([&] { aten_value<"set_.source_Tensor">(w, x); });
  {
    const NoGrad no_grad;
    expect_refused_write([&] { w.zero_(); });
    const UnseenWrites unseen;
    expect_refused_write([&] { w.zero_(); });
  }
  EXPECT_EQ(parts(x), kZ);
  EXPECT_EQ(parts(w), kConj) << "a refused write must not have written";
}

TEST_F(ComplexViews, AWriteThroughAViewOfAConjIsRefused) {
  const Tensor x = z();
  const std::pair<const char*, Tensor> views[] = {
      {"slice", conj(x).slice(0, 0, 1)},
      {"detach", conj(x).detach()},
      {"handle", detached(conj(x))},
      {"contiguous", conj(x).contiguous()},
      {"reshape", conj(x).reshape({2, 1})},
      {"expand", conj(x).unsqueeze(0)},
      {"to", conj(x).to(x.dtype())},
      {"imag", aten<"imag">(conj(x))},
      {"real", aten<"real">(conj(x))},
      {"resolved part", aten<"resolve_conj">(aten<"real">(conj(x)))},
      {"resolved twice", aten<"resolve_conj">(conj(conj(x)))},
      {"twice", conj(conj(x))},
      {"conj of a view", conj(x.slice(0, 0, 1))},
      {"mH", aten<"mH">(x.reshape({2, 1}))},
      {"adjoint", aten<"adjoint">(x.reshape({2, 1}))},
      {"matrix_H", aten<"matrix_H">(x.reshape({2, 1}))},
  };
  for (const auto& [what, view] : views) {
    SCOPED_TRACE(what);
    expect_refused_write([&, v = view] { Tensor(v).mul_(2); });
  }
  EXPECT_EQ(parts(x), kZ);
}

TEST_F(ComplexViews, ANegatedViewIsLikeAConj) {
  const Tensor x = tensor({1, 2}, float64);
  Tensor w = aten<"_neg_view">(x);
  expect_refused_write([&] { w.mul_(3); }, "_neg_view");
  Tensor resolved = aten<"resolve_neg">(w), copy = aten<"_neg_view_copy">(x);
  resolved.mul_(3);
  copy.mul_(3);
  EXPECT_EQ(resolved.to_vector<double>(), (Doubles{-3, -6}));
  EXPECT_EQ(copy.to_vector<double>(), (Doubles{-3, -6}));
  EXPECT_EQ(x.to_vector<double>(), (Doubles{1, 2}));
  EXPECT_TRUE(aten<"resolve_neg">(x).is_same(x));
  EXPECT_TRUE(aten<"resolve_conj">(w).is_same(w)) << "it has no conj bit in PyTorch";
  Tensor(x).mul_(2);
  expect_refused_read([&] { w + 1; });
}

// ---- reads of a result that is out of date
TEST_F(ComplexViews, AReadAfterAWriteToTheTensorItWasTakenOfIsRefused) {
  const auto write_and_read = [](const auto& write) {
    Tensor x = z();
    const Tensor w = conj(x), of_it = w.slice(0, 0, 1), twice = conj(w), copy = w.clone();
    write(x);
    for (const Tensor& t : {w, of_it, twice, detached(w)}) {
      expect_refused_read([&] { t + 1; });
      expect_refused_read([&] { t.clone(); });
      expect_refused_read([&] { t.data_ptr(); });
      expect_refused_read([&] { t[0].item(); });
    }
    expect_refused_read([&] { parts(w); });
    expect_refused_read([&] { aten<"add.Tensor">(x, w); });
    EXPECT_EQ(parts(copy), kConj);
    EXPECT_EQ(parts(conj(x)), parts(aten<"_conj_physical">(x))) << "taken again it is right";
  };
  write_and_read([](Tensor& x) { x.mul_(2); });
  write_and_read([](Tensor& x) { x.select(0, 1).mul_(2); });
  write_and_read([](Tensor& x) { aten<"imag">(x).zero_(); });
  write_and_read([](Tensor& x) { x.detach().mul_(2); });
  write_and_read([](Tensor& x) { aten_value<"mul.out">(x, x, x); });
  write_and_read([](Tensor& x) {
    const UnseenWrites unseen;
    x.zero_();
  });
  const Tensor w = [] {
    const Tensor x = z();
    return conj(x);
  }();
  EXPECT_EQ(parts(w), kConj) << "the tensor that it was taken of may be gone";
}

TEST_F(ComplexViews, ElementsOfAnOutdatedRealPartAreNotRead) {
  Tensor x = z();
  const Tensor re = aten<"real">(conj(x));
  x.mul_(2);
  expect_refused_read([&] { re.to_vector<double>(); });
}

TEST_F(ComplexViews, InInferenceModeToo) {
  const InferenceMode inference;
  Tensor x = z(), w = conj(x);
  expect_refused_write([&] { w.mul_(2); });
  x.mul_(2);
  expect_refused_read([&] { w + 1; });
}

// ---- what is free
TEST_F(ComplexViews, CopiesAreFree) {
  const Tensor x = z();
  Tensor copies[] = {conj(x).clone(),
                     aten<"resolve_conj">(conj(x)),
                     aten<"_conj_physical">(x),
                     aten<"_conj_copy">(x),
                     aten<"conj_physical">(x),
                     conj(x) * 1,
                     aten<"_to_copy">(conj(x), complex128)};
  for (Tensor& t : copies) {
    t.mul_(2);
    EXPECT_EQ(parts(t), (Doubles{2, -4, 6, 2}));
  }
  EXPECT_EQ(parts(x), kZ);
  EXPECT_TRUE(aten<"resolve_conj">(x).is_same(x));
  Tensor y = z();
  aten_value<"conj_physical_">(y);
  EXPECT_EQ(parts(y), kConj);
  // In-place views write no element.
  Tensor w = conj(x), kept = conj(x);
  aten_value<"unsqueeze_">(w, 0);
  aten_value<"unsqueeze_">(x, 0);
  EXPECT_EQ(parts(w), kConj);
  EXPECT_EQ(parts(kept), kConj);
}

TEST_F(ComplexViews, OfARealTensorItIsTheTensorItself) {
  Tensor x = tensor({1, 2}, float64);
  conj(x).mul_(3);
  aten<"adjoint">(x.reshape({2, 1})).mul_(2);
  EXPECT_EQ(x.to_vector<double>(), (Doubles{6, 12}));
}

// ---- gradients
TEST_F(ComplexViews, GradientsAreValues) {
  const Tensor x = z().requires_grad_(), seed = z();
  conj(x * 1).backward(seed);
  Tensor(x.grad()).mul_(2);
  EXPECT_EQ(parts(x.grad()), (Doubles{2, -4, 6, 2}));
  EXPECT_EQ(parts(seed), kZ);
  const Tensor y = z().requires_grad_();
  Tensor g = grad({conj(y)}, {y}, {seed})[0];
  g.mul_(2);
  const Tensor by_seed = z().requires_grad_();
  by_seed.backward(conj(seed));
  Tensor(by_seed.grad()).mul_(2);
  EXPECT_EQ(parts(by_seed.grad()), (Doubles{2, -4, 6, 2}));
}

TEST_F(ComplexViews, GradientsOfHooksAndCustomFunctionsAreValues) {
  const auto conj_backward = [](const Tensor& t) {
    return custom_function(
        "Conjugating", {t}, [](FunctionContext&, const TensorList& in) { return TensorList{in[0] * 1}; },
        [](FunctionContext&, const TensorList& g) { return TensorList{conj(g[0])}; })[0];
  };
  const Tensor seed = z();
  for (const bool hook : {false, true}) {
    const Tensor x = z().requires_grad_();
    if (hook) register_hook(x, [](const Tensor& g) { return conj(g); });
    Tensor of_grad = grad({hook ? x * 1 : conj_backward(x)}, {x}, {seed})[0];
    of_grad.mul_(2);
    EXPECT_EQ(parts(of_grad), (Doubles{2, -4, 6, 2}));
    (hook ? x * 1 : conj_backward(x)).backward(seed);
    Tensor(x.grad()).mul_(2);
    EXPECT_EQ(parts(x.grad()), (Doubles{2, -4, 6, 2}));
    EXPECT_EQ(parts(seed), kZ);
  }
}

TEST_F(ComplexViews, ASavedConjThatIsOutOfDateIsRefusedByTheBackward) {
  Tensor x = z();
  const Tensor y = z().requires_grad_();
  const Tensor sum = aten<"abs">(conj(x) * y).sum();
  x.mul_(2);
  expect_refused_read([&] { sum.backward(); });
}

// ---- transforms and traces
TensorList writes_a_conj(const TensorList& in) {
  Tensor y = in[0] * 1, w = conj(y);
  w.mul_(2);
  return {y};
}
TensorList reads_an_old_conj(const TensorList& in) {
  Tensor y = in[0] * 1;
  const Tensor w = conj(y);
  y.mul_(2);
  return {w + 1};
}
TensorList writes_a_copy(const TensorList& in) {
  Tensor y = in[0] * 1, w = aten<"resolve_conj">(conj(y));
  w.mul_(2);
  y.mul_(3);
  return {y, w};
}

TEST_F(ComplexViews, TransformsAndTracesRefuseTheSame) {
  const Tensor x = z();
  const std::pair<const char*, std::function<TensorList(TensorFunction)>> ways[] = {
      {"eager", [&](const TensorFunction& f) { return f({x}); }},
      {"vmap", [&](const TensorFunction& f) { return vmap(f)({x}); }},
      {"functionalize", [&](const TensorFunction& f) { return functionalize(f)({x}); }},
      {"make_fx", [&](const TensorFunction& f) { return make_fx(f, {x})({x}); }},
      {"make_fx of functionalize", [&](const TensorFunction& f) { return make_fx(functionalize(f), {x})({x}); }},
      {"vmap of functionalize", [&](const TensorFunction& f) { return vmap(functionalize(f))({x}); }},
      {"aot", [&](const TensorFunction& f) { return aot_function(f)(TensorList{x}); }},
      {"aot of what needs gradients",
       [](const TensorFunction& f) {
         const TensorList out = aot_function(f)(TensorList{z().requires_grad_()});
         TensorList plain;
         for (const Tensor& t : out) plain.push_back(t.detach());
         return plain;
       }},
  };
  for (const auto& [what, run] : ways) {
    SCOPED_TRACE(what);
    expect_refused_write([&] { run(writes_a_conj); });
    expect_refused_read([&] { run(reads_an_old_conj); });
    const TensorList free = run(writes_a_copy);
    EXPECT_EQ(parts(free.at(0)), (Doubles{3, 6, 9, -3}));
    EXPECT_EQ(parts(free.at(1)), (Doubles{2, -4, 6, 2}));
  }
}

TEST_F(ComplexViews, WhatAFunctionalizedFunctionReturnsStandsInForItsArgument) {
  const TensorFunction f = functionalize([](const TensorList& in) {
    Tensor(in[0]).mul_(1);
    return TensorList{conj(in[0])};
  });
  Tensor x = z(), w = f({x})[0];
  EXPECT_EQ(parts(w), kConj);
  expect_refused_write([&] { w.mul_(2); });
  x.mul_(2);
  expect_refused_read([&] { w + 1; });
  expect_refused_read([] {
    functionalize([](const TensorList& in) {
      const Tensor old = conj(in[0]);
      Tensor(in[0]).mul_(2);
      return TensorList{old};
    })({z()});
  });
}

TEST_F(ComplexViews, WhatACompiledFunctionReturnsStandsInForItsInput) {
  using F = TensorList (*)(const TensorList&);
  const F functions[] = {
      [](const TensorList& in) { return TensorList{conj(in[0])}; },
      [](const TensorList& in) { return TensorList{conj(in[0].slice(0, 0, 2)).unsqueeze(0)}; },
      [](const TensorList& in) {
        Tensor(in[0]).mul_(1);
        return TensorList{conj(in[0])};
      },
  };
  for (const F f : functions) {
    const AotFunction compiled = aot_function(f);
    for (int call = 0; call < 2; call++) {
      Tensor x = z(), w = compiled(TensorList{x})[0];
      EXPECT_EQ(parts(w), kConj);
      expect_refused_write([&] { w.mul_(2); });
      x.mul_(2);
      expect_refused_read([&] { w + 1; });
    }
  }
  // An output of another one.
  const AotFunction both = aot_function([](const TensorList& in) {
    const Tensor y = in[0] * 1;
    return TensorList{conj(y), y};
  });
  const TensorList out = both(TensorList{z()});
  expect_refused_write([&] { Tensor(out[0]).mul_(2); });
  Tensor(out[1]).mul_(2);
  expect_refused_read([&] { out[0] + 1; });
  // An output that a write has made old.
  expect_refused_read([&] {
    aot_function([](const TensorList& in) {
      const Tensor w = conj(in[0]);
      Tensor(in[0]).mul_(2);
      return TensorList{w};
    })(TensorList{z()});
  });
}

TEST_F(ComplexViews, ACompiledFunctionFromTheCacheKnowsItToo) {
  const testing::TestFolder folder;
  const auto store = std::make_shared<testing::MemoryStore>();
  for (const int hits : {0, 1}) {
    const auto cache =
        std::make_shared<aot::AotCache>(aot::AotCache::Options{.folder = folder.file("cache"), .artifacts = store});
    aot::AotOptions options;
    options.forward = store->compiler();
    options.cache = cache;
    const aot::FlatFunction f = [](const Values& in) { return Values{conj(in[0].tensor())}; };
    const aot::FlatCallable compiled = aot::aot_module_simplified(f, {}, {z()}, options);
    EXPECT_EQ(cache->counters().hit, hits) << to_text(cache->last());
    Tensor x = z(), w = compiled({x})[0].tensor();
    expect_refused_write([&] { w.mul_(2); });
    x.mul_(2);
    expect_refused_read([&] { w + 1; });
  }
}

TEST_F(ComplexViews, ArgumentsOfACompiledFunctionThatStandInForAnother) {
  const AotFunction writes = aot_function([](const TensorList& in) {
    Tensor(in[0]).mul_(2);
    return TensorList{in[1] + 1};
  });
  Tensor x = z(), w = conj(x);
  EXPECT_EQ(parts(writes(TensorList{z(), w})[0]), (Doubles{2, -2, 4, 1}));
  const std::string error = error_of([&] { writes(TensorList{x, w}); });
  EXPECT_NE(error.find("argument 1 is the result of _conj(), which is computed at once here, of argument 0"), std::string::npos)
      << error;
  expect_refused_write([&] { writes(TensorList{w, z()}); });
  EXPECT_EQ(parts(x), kZ);
  x.mul_(2);
  expect_refused_read([&] { writes(TensorList{z(), w}); });
}

}  // namespace
}  // namespace ingot
