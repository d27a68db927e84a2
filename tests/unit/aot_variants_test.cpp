// Variants of a compiled function: modules, what breaks nothing, how many there are, threads,
// traces and maps around a call, and the entry that compiles at once.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <new>
#include <thread>
#include <utility>

#include "unit/aot_guards_harness.hpp"
#include "ingot/transforms.hpp"
#include "support/memory_store.hpp"
#include "support/test_folder.hpp"

namespace ingot::aot {
namespace {

using AotVariants = AotGuards;

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

TEST_F(AotVariants, AModuleIsWhatItIsAtTheCall) {
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
      {"a parameter replaced", [](Net& n) { n.linear.bias = tracked(full({3}, 5.0)); }, nullptr},
      {"a buffer replaced", [](Net& n) { n.norm.running_mean = full({3}, 2.0); }, nullptr},
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

// Asks for its own flag, and has others below it that do or do not.
struct Doubles : nn::Layer {
  nn::Linear linear{3, 3};
  nn::Dropout dropout{0.5};
  Doubles() {
    add("linear", linear);
    add("dropout", dropout);
  }
  Tensor forward(const Tensor& x) override { return dropout(x) * (is_training() ? 2 : 1); }
};

std::vector<double> called(const AotFunction& f) { return f(Tree::tuple({ones({3})})).leaf().tensor().to_vector<double>(); }

// Nobody names the modules: the function brings them along, and the trace sees which flags are
// read.
TEST_F(AotVariants, AModuleThatAFunctionBringsAlongIsWhatItIsAtTheCall) {
  Doubles module;
  const AotFunction f = aot_function([&](const Tree& a) { return Tree(module(at(a, 0))); });
  const std::vector<double> evaluated(3, 1.0);
  EXPECT_NE(called(f), evaluated);
  const std::string log = log_of([&] {
    module.eval();
    EXPECT_EQ(called(f), evaluated);
  });
  EXPECT_NE(log.find("training flag of module 0: expected training, found evaluating"), std::string::npos) << log;
  EXPECT_EQ(f.variants(), 2);
  module.dropout.train();
  for (const double x : called(f)) EXPECT_TRUE(x == 0 || x == 2) << x;
  EXPECT_EQ(f.variants(), 3);
  // Each variant is there for its flags, and a flag that nobody read is not looked at.
  module.linear.train();
  called(f);
  module.eval();
  EXPECT_EQ(called(f), evaluated);
  module.train();
  EXPECT_NE(called(f), evaluated);
  EXPECT_EQ(f.variants(), 3);
}

TEST_F(AotVariants, AFlagThatTheFunctionSetsItselfBreaksNothing) {
  nn::Dropout dropout(0.5);
  const AotFunction f = aot_function([&](const Tree& a) {
    dropout.eval();
    const Tensor y = dropout(at(a, 0));
    dropout.train();
    return Tree(y);
  });
  for (int k = 0; k < 3; k++) EXPECT_EQ(called(f), std::vector<double>(3, 1.0));
  EXPECT_EQ(f.variants(), 1);
}

TEST_F(AotVariants, ModulesOfFunctionsThatAFunctionCalls) {
  nn::Dropout dropout(0.5);
  const AotFunction inner = aot_function([&](const Tree& a) { return Tree(dropout(at(a, 0))); });
  const AotFunction taken_in = aot_function([&](const Tree& a) { return Tree(inner(a).leaf().tensor() + 1); });
  // What the inner one is called with is no argument of the outer one: it is run where the outer
  // one is traced, compiled or not.
  const Tensor fixed = ones({3});
  const AotFunction beside =
      aot_function([&](const Tree& a) { return Tree(at(a, 0) + inner(Tree::tuple({fixed})).leaf().tensor()); });
  for (const bool compiled_before : {false, true}) {
    if (compiled_before) called(inner);
    EXPECT_NE(called(taken_in), std::vector<double>(3, 2.0));
    called(beside);
    dropout.eval();
    EXPECT_EQ(called(taken_in), std::vector<double>(3, 2.0));
    EXPECT_EQ(called(beside), std::vector<double>(3, 2.0));
    dropout.train();
  }
}

// A module that lives in the function is of nobody's concern; one that lived outside is not read,
// nor is the function run that would.
TEST_F(AotVariants, AModuleThatIsGone) {
  const AotFunction own = aot_function([](const Tree& a) {
    nn::Dropout dropout(0.5);
    dropout.eval();
    return Tree(dropout(at(a, 0)));
  });
  for (int k = 0; k < 2; k++) EXPECT_EQ(called(own), std::vector<double>(3, 1.0));
  EXPECT_EQ(own.variants(), 1);

  auto dropout = std::make_unique<nn::Dropout>(0.5);
  int runs = 0;
  const AotFunction f = aot_function([&](const Tree& a) {
    runs++;
    return Tree((*dropout)(at(a, 0)));
  });
  called(f);
  const int before = runs;
  dropout.reset();
  const std::string message = error_of([&] { called(f); });
  EXPECT_NE(message.find("training flag of module 0: expected training, found a module that is gone"), std::string::npos)
      << message;
  EXPECT_NE(message.find("Keep the modules that a function reads as long as the function"), std::string::npos) << message;
  EXPECT_EQ(runs, before);
  EXPECT_EQ(f.variants(), 1);
}

// The code is for what the function read, whatever another thread makes of it meanwhile.
TEST_F(AotVariants, AFlagThatChangesWhileTheFunctionIsCompiled) {
  Doubles module;
  module.dropout.eval();
  bool changes = true;
  const Compiler slow = [&](std::shared_ptr<const Graph> g, const Values& examples) {
    if (std::exchange(changes, false)) std::thread([&] { module.eval(); }).join();
    return nop(std::move(g), examples);
  };
  const AotFunction f = aot_function([&](const Tree& a) { return Tree(module(at(a, 0))); }, {.forward = slow});
  EXPECT_EQ(called(f), std::vector<double>(3, 2.0));
  EXPECT_EQ(called(f), std::vector<double>(3, 1.0));
  EXPECT_EQ(f.variants(), 2);
}

// Nor are those looked at that somebody named, and that are gone when the function is compiled
// again.
TEST_F(AotVariants, ANamedModuleThatIsGone) {
  alignas(nn::Linear) std::byte memory[sizeof(nn::Linear)];
  auto* linear = new (memory) nn::Linear(3, 3);
  const AotFunction f = aot_function(twice(), {.modules = linear->modules()});
  called(f);
  linear->~Linear();
  std::ranges::fill(memory, std::byte{0xff});
  EXPECT_EQ(f(Tree::tuple({ones({2})})).leaf().tensor().to_vector<double>(), std::vector<double>(2, 2.0));
  EXPECT_EQ(f.variants(), 2);
}

TEST_F(AotVariants, AFunctionMaySayWhichModulesItRuns) {
  nn::Linear linear(3, 3);  // whose flag nothing reads
  const TreeFunction f = [&](const Tree& a) { return Tree(at(a, 0) * 2); };
  const AotFunction compiled = aot_function(f, {.modules = linear.modules()});
  called(compiled);
  linear.eval();
  EXPECT_EQ(called(compiled), std::vector<double>(3, 2.0));
  EXPECT_EQ(compiled.variants(), 2);
}

// ---- what is no break

TEST_F(AotVariants, NothingIsCompiledAgainWhereNothingBroke) {
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
TEST_F(AotVariants, WithoutGradientsTheGraphWithThemIsRight) {
  const AotFunction f = aot_function(product());
  f(Tree::tuple({tracked(counted({3})), counted({3})}));
  const Tensor out = f(Tree::tuple({counted({3}), counted({3})})).leaf().tensor();
  EXPECT_FALSE(out.requires_grad());
  EXPECT_EQ(out.to_vector<double>(), (std::vector<double>{1, 4, 9}));
  EXPECT_EQ(f.variants(), 1);
}

TEST_F(AotVariants, ACallThatEagerRefusesIsRefused) {
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

TEST_F(AotVariants, AlternatingVariantsAreFound) {
  const AotFunction f = aot_function(twice());
  for (int k = 0; k < 20; k++) {
    for (const int64_t n : {2, 3, 4})
      EXPECT_EQ(f(Tree::tuple({counted({n})})).leaf().tensor().to_vector<double>().back(), 2.0 * static_cast<double>(n));
    EXPECT_EQ(f.variants(), 3);
  }
}

TEST_F(AotVariants, PastTheMostVariantsTheFunctionIsRunAsItIs) {
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

// The reference leaves its argument as it was (A081 asks for the graph alone), and who
// differentiates with respect to it gets nothing.
TEST_F(AotVariants, AnArgumentThatBeginsToRequireGradDoesSo) {
  const auto f = [](const TensorList& in) {
    const Tensor before = in[0] * 2;
    Tensor(in[0]).requires_grad_();
    return TensorList{before, in[0] * 3};
  };
  const AotFunction compiled = aot_function(TensorFunction(f));
  std::string log;
  for (int round = 0; round < 2; round++) {
    const Tensor x = ones({2});
    TensorList out;
    log = log_of([&] { out = compiled(TensorList{x}); });
    EXPECT_TRUE(x.requires_grad());
    EXPECT_FALSE(out[0].requires_grad());
    out[1].sum().backward();
    ASSERT_TRUE(x.grad().defined());
    EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{3, 3}));
  }
  EXPECT_EQ(log, text("[guards] function ", compiled.id(),
                      " is run as it is: it lets an argument begin or cease to require grad, which no graph has a form for; "
                      "call requires_grad_() outside of it\n"));

  const AotFunction stops = aot_function(TensorFunction([](const TensorList& in) {
    Tensor(in[0]).requires_grad_(false);
    return TensorList{in[0] * in[1]};
  }));
  const Tensor x = tracked(ones({2})), y = tracked(ones({2}));
  EXPECT_TRUE(stops(TensorList{x, y})[0].requires_grad());
  EXPECT_FALSE(x.requires_grad());

  const FlatFunction flat = [](const Values& in) {
    Tensor(in[0].tensor()).requires_grad_();
    return Values{in[0].tensor() * 3};
  };
  const Tensor z = ones({2});
  const FlatCallable once = aot_module_simplified(flat, {}, {z}, {});
  EXPECT_NE(error_of([&] { once({ones({2})}); }).find("lets an argument begin or cease to require grad"), std::string::npos);
}

TEST_F(AotVariants, TheListAndTheTreeOfItAreOneCall) {
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

TEST_F(AotVariants, AVariantThatCannotBeCompiledLeavesTheOthers) {
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

TEST_F(AotVariants, ThreadsCallWhileOthersCompile) {
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

TEST_F(AotVariants, UnderVmapTheFunctionIsRunAsItIs) {
  const TensorFunction f = [](const TensorList& in) { return TensorList{in[0] * in[1].sum()}; };
  const AotFunction compiled = aot_function(f);
  const Tensor x = counted({2, 3}), y = counted({3});
  compiled(TensorList{x[0], y});
  const TensorFunction mapped = vmap([&](const TensorList& in) { return compiled(in); }, {.in_dims = {0, std::nullopt}});
  EXPECT_EQ(mapped({x, y})[0].to_vector<double>(), (x * y.sum()).to_vector<double>());
  EXPECT_EQ(compiled.variants(), 1);
}

TEST_F(AotVariants, ATraceAroundTheCallUsesTheVariant) {
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

TEST_F(AotVariants, R006_WhatWasCompiledAtOnceRefusesOtherCalls) {
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

TEST_F(AotVariants, R006_OpenSizesOfFakesAreGuards) {
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
TEST_F(AotVariants, R191_VariantsOfACacheAreGuarded) {
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

// Where there is a cache, the function is captured, and its graph compiled or found.
TEST_F(AotVariants, R191_ModulesBesideTheOneThatIsCompiled) {
  Stateless none;
  nn::Dropout beside(0.5);
  const TreeFunction f = [&](const Tree& a) { return Tree::tuple({beside(at(a, 0))}); };
  const testing::TestFolder folder;
  const auto store = std::make_shared<testing::MemoryStore>();
  AotOptions cached{.forward = store->compiler()};
  cached.cache = std::make_shared<AotCache>(AotCache::Options{.folder = folder.file("cache"), .artifacts = store});
  for (const AotOptions& o : {AotOptions{}, cached, cached}) {
    const FlatCallable g = aot_module_simplified(none, f, {ones({3})}, o);
    g({ones({3})});
    beside.eval();
    const std::string message = error_of([&] { g({ones({3})}); });
    EXPECT_NE(message.find("training flag of module 1: expected training, found evaluating"), std::string::npos) << message;
    beside.train();
  }
  EXPECT_EQ(cached.cache->counters().hit, 1);
}

TEST_F(AotVariants, R001_WithoutGuardsNothingIsAsked) {
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
