// What is known of a compilation: leaves, settings and their defaults, decompositions, the state
// around a trace, boxed functions (R004,
// R010 to R012, R015, R084, R130).
#include <random>
#include <thread>

#include "aot/boxed.hpp"
#include "aot/budget.hpp"
#include "aot/export.hpp"
#include "aot/loop_form.hpp"
#include "aot/measured_time.hpp"
#include "aot/min_cut.hpp"
#include "aot/tracing_context.hpp"
#include "ingot/aot/cache.hpp"
#include "ingot/state.hpp"
#include "op/function.hpp"
#include "support/aot_harness.hpp"
#include "support/tracked.hpp"
#include "tensor/random.hpp"
#include "unit/aot_joint.hpp"

namespace ingot::aot {
namespace {

using AotSettings = AotHarness;

std::vector<double> values(const Tensor& t) { return detached(t).to_vector<double>(); }

// ---- leaves

TEST_F(AotSettings, R004_LeavesOfEveryKnownTypeGoInAndComeOut) {
  const Ref<Generator> stream = make_ref<Generator>(5);
  const Value function = make_function([](Args args) { return Values(args.begin(), args.end()); });
  const AotFunction f = aot_function([](const Tree& a) {
    const Tensor sum = a[0].leaf().tensor() + a[1].leaf().to_scalar() + a[2].leaf().to_scalar();
    return Tree::tuple({sum, a[1], a[2], a[3], a[4], a[5], a[6], a[7]});
  });
  for (int call = 0; call < 2; call++) {
    const Tree out = f(Tree::tuple({ones({2}), Tree(Value(2)), Tree(Value(0.5)), Tree(Value(true)), Tree(Value("name")), Tree(),
                                    Tree(Value(stream)), Tree(function)}));
    EXPECT_EQ(values(out[0].leaf().tensor()), (std::vector<double>{3.5, 3.5}));
    EXPECT_TRUE(out[1].leaf().is_int() && out[2].leaf().is_float() && out[3].leaf().is_bool() && out[4].leaf().is_string() &&
                out[5].leaf().is_none() && out[6].leaf().is_generator() && out[7].leaf().is_function());
  }
}

TEST_F(AotSettings, R004_SymbolicNumbersAreLeaves) {
  const AotFunction f = aot_function(
      [](const Tree& a) {
        const Tensor& x = a[0].leaf().tensor();
        return Tree::tuple({x * 2, Tree(Value(x.size(0) * a[1].leaf().to_int()))});
      },
      {.dynamic = true});
  EXPECT_EQ(f(Tree::tuple({ones({3}), Tree(Value(5))}))[1].leaf().to_int64(), 15);
  EXPECT_EQ(f(Tree::tuple({ones({4}), Tree(Value(7))}))[1].leaf().to_int64(), 28) << "of this call";
}

TEST_F(AotSettings, R004_OtherLeavesAreErrors) {
  const auto returning = [](const Value& v) {
    return error_of([&] { aot_function([v](const Tree& a) { return Tree::tuple({a[0], Tree(v)}); })(Tree::tuple({ones({1})})); });
  };
  const auto given = [](const Value& v) {
    return error_of([&] { aot_function([](const Tree& a) { return a[0]; })(Tree::tuple({ones({1}), Tree(v)})); });
  };
  const std::vector<std::pair<Value, std::string>> unknown{{Value(std::complex<double>(1, 2)), "complex"},
                                                           {Value(float32), ""},
                                                           {Value(Device()), ""},
                                                           {Value(Shape{1, 2}), "int[]"},
                                                           {Value(TensorList{ones({1})}), "Tensor[]"}};
  for (const auto& [v, name] : unknown) {
    const std::string out = returning(v), in = given(v);
    EXPECT_TRUE(out.starts_with("Found " + name)) << out;
    EXPECT_NE(
        out.find(" in output, which is not a known type. If this type holds tensors, you need to register a pytree for it."),
        std::string::npos)
        << out;
    EXPECT_TRUE(in.starts_with("Found " + name)) << in;
    EXPECT_NE(in.find(" in input 1, which is not a known type."), std::string::npos) << in;
  }
}

// ---- settings

template <class T>
concept HasPreDispatch = requires(T options) { options.pre_dispatch; };

// The fields of the reference's record, by where they are here. What only an export has is a
// setting of exports, so that one that is for exports alone cannot be asked of a compilation.
TEST_F(AotSettings, R010_WhatACompilationIsTold) {
  const AotOptions o;
  EXPECT_TRUE(o.forward && o.partition);
  EXPECT_FALSE(o.backward || o.inference) << "as the forward";
  EXPECT_EQ(o.decompositions, nullptr);
  EXPECT_EQ(o.params_and_buffers, 0);
  EXPECT_FALSE(o.keep_inference_input_mutations || o.dynamic);
  EXPECT_TRUE(o.enable_log);
  EXPECT_FALSE(o.context) << "nobody knows where arguments come from";
  EXPECT_TRUE(TracingContext().argument_sources.empty());
  EXPECT_FALSE(o.cache) << "so there is no key";
  EXPECT_GE(aot_function(TensorFunction([](const TensorList& in) { return in; })).id(), 0);
  const ExportOptions e;
  EXPECT_FALSE(e.pre_dispatch || e.trace_joint || e.output_loss_index || e.kwargs);
  static_assert(HasPreDispatch<ExportOptions> && !HasPreDispatch<AotOptions>, "Can only have pre_dispatch IR for export.");
  EXPECT_NE(error_of([] {
              aot_export_joint_simple([](const Tree& t) { return t; }, Tree::tuple({ones({1})}), {.pre_dispatch = true});
            }).find("pre_dispatch"),
            std::string::npos);
}

TEST_F(AotSettings, R011_WhatHoldsWhereNobodySaysOtherwise) {
  const AotOptions o;
  EXPECT_FALSE(o.functionalize_rng_ops || o.debug_assert || o.unlift_effect_tokens);
  EXPECT_TRUE(o.static_weight_shapes && o.view_replay_for_aliased_outputs);
  EXPECT_EQ(o.most_sharing_with_open_sizes, 5);
  const MinCutOptions cut;
  EXPECT_TRUE(cut.cse && cut.ban_used_far_apart && cut.ban_long_fusible_chains && cut.ban_materialized &&
              cut.ban_not_in_allowlist && cut.ban_reductions);
  EXPECT_FALSE(cut.recompute_views || cut.aggressive_recomputation || cut.activation_bytes);
  EXPECT_EQ(cut.max_distance, 1000);
  EXPECT_EQ(cut.memory_budget, 1.0);
  EXPECT_EQ(cut.estimator, RuntimeEstimator::flops);
  EXPECT_EQ(cut.solver, KnapsackSolver::dp);
  EXPECT_FALSE(AotCache::Options{.folder = "none"}.strict);
}

TEST_F(AotSettings, R011_R125_SolversAndEstimators) {
  // By worth for a byte the first is best, and leaves no room; the other two together are worth
  // more.
  const std::vector<int64_t> sizes{4, 3, 3};
  const std::vector<double> worth{5, 3, 3};
  EXPECT_EQ(greedy_knapsack(sizes, worth, 6), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(Knapsack(sizes, worth, 6, 6).best(6), (std::vector<bool>{false, true, true}));
  EXPECT_EQ(greedy_knapsack(sizes, worth, 3), (std::vector<bool>{false, true, false})) << "what does not fit is passed over";
  EXPECT_EQ(exact_knapsack(sizes, worth, 6), (std::vector<bool>{false, true, true}));
  EXPECT_EQ(exact_knapsack(sizes, worth, 2), std::vector<bool>(3)) << "nothing fits";
  EXPECT_TRUE(exact_knapsack({}, {}, 5).empty());
  // Two of them fill the room to the byte, which sizes in 4096 parts of it cannot say.
  const std::vector<int64_t> large{500000003, 499999997, 1000000001};
  EXPECT_EQ(exact_knapsack(large, {1, 1, 1.5}, 1000000000), (std::vector<bool>{true, true, false}));
  EXPECT_NE(Knapsack(large, {1, 1, 1.5}, 1000000000).best(1000000000), (std::vector<bool>{true, true, false}));
  // Against every choice there is.
  std::mt19937 rng(3);
  for (int round = 0; round < 50; round++) {
    std::vector<int64_t> bytes;
    std::vector<double> time;
    for (int k = 0; k < 10; k++) bytes.push_back(1 + rng() % 40), time.push_back(static_cast<double>(1 + rng() % 30));
    const auto sum = [&](const auto& of, const std::vector<bool>& chosen) {
      double s = 0;
      for (std::size_t k = 0; k < chosen.size(); k++) s += chosen[k] ? static_cast<double>(of[k]) : 0;
      return s;
    };
    const int64_t room = rng() % 150;
    double best = 0;
    for (unsigned set = 0; set < 1024; set++) {
      std::vector<bool> chosen;
      for (unsigned k = 0; k < 10; k++) chosen.push_back(set >> k & 1);
      if (sum(bytes, chosen) <= static_cast<double>(room)) best = std::max(best, sum(time, chosen));
    }
    const std::vector<bool> found = exact_knapsack(bytes, time, room);
    EXPECT_LE(sum(bytes, found), static_cast<double>(room));
    EXPECT_EQ(sum(time, found), best);
  }
  // A product that takes long, and two quick ones that are as large together.
  JointBuilder b({{32, 8}, {8, 32}, {16, 2}, {2, 32}}, {{32, 32}});
  Node* dear = b.call("mm", {b.primals[0], b.primals[1]}, {32, 32});
  Node *quick = b.call("mm", {b.primals[2], b.primals[3]}, {16, 32}),
       *other = b.call("mm", {b.primals[2], b.primals[3]}, {16, 32});
  const auto product = [&](Node* first) { return b.mul(b.mul(b.mul(first, b.sin(dear)), b.sin(quick)), b.sin(other)); };
  const Joint joint = b.joint({product(b.sin(dear)), product(b.tangents[0])}, 1);
  const auto made_again = [&](RuntimeEstimator estimator, KnapsackSolver solver) {
    const MinCutOptions o{.cse = false, .estimator = estimator, .solver = solver, .activation_bytes = 32 * 32 * 4};
    const Parts p = partition_min_cut(joint, o);
    EXPECT_TRUE(p.plan.fits);
    return std::vector<bool>{calls_of(p.backward).contains(dear->name), calls_of(p.backward).contains(quick->name),
                             calls_of(p.backward).contains(other->name)};
  };
  for (const KnapsackSolver solver : {KnapsackSolver::dp, KnapsackSolver::greedy, KnapsackSolver::ilp}) {
    EXPECT_EQ(made_again(RuntimeEstimator::flops, solver), (std::vector<bool>{false, true, true}));
    EXPECT_EQ(made_again(RuntimeEstimator::testing, solver), (std::vector<bool>{true, false, false}))
        << "two count more than one";
  }
}

// The third estimator asks the machine.
TEST_F(AotSettings, R011_TimesThatAreMeasured) {
  JointBuilder b({{400, 400}, {2, 2}}, {{400, 400}});
  Node* dear = b.call("mm", {b.primals[0], b.primals[0]}, {400, 400});
  Node* quick = b.call("mm", {b.primals[1], b.primals[1]}, {2, 2});
  EXPECT_GT(measured_nanoseconds(*dear), 10 * measured_nanoseconds(*quick)) << "8e6 times the steps";
  EXPECT_GT(measured_nanoseconds(*quick), 0);
  EXPECT_EQ(measured_nanoseconds(*b.primals[0]), 0) << "no call";
  Node* refused = b.call("cholesky", {b.primals[1], Argument(Value(false))}, {2, 2});  // of zeros
  EXPECT_EQ(measured_nanoseconds(*refused), estimated_steps(*refused));
  const Joint joint = b.joint({b.sin(dear), b.mul(b.tangents[0], b.sin(b.sin(dear)))}, 1);
  const MinCutOptions o{.estimator = RuntimeEstimator::profile, .activation_bytes = 0};
  EXPECT_TRUE(calls_of(partition_min_cut(joint, o).backward).contains(dear->name));
}

TEST_F(AotSettings, R011_R084_HowManyMayShareAStorage) {
  const TensorFunction f = [](const TensorList& in) {
    Tensor(in[0]).add_(1);
    return TensorList{in[0] + in[1]};
  };
  const Tensor memory = ones({8});
  TensorList views;
  for (int k = 0; k < 3; k++) views.push_back(memory.slice(0, 0, 8));
  const auto message = [&](int most) {
    return error_of([&] { aot_function(f, {.dynamic = true, .most_sharing_with_open_sizes = most})(views); });
  };
  EXPECT_EQ(message(3), "no error");
  const std::string refused = message(2);
  EXPECT_NE(refused.find("- 3 graph inputs all share the same storage (input indices: [0, 1, 2])"), std::string::npos) << refused;
  EXPECT_NE(refused.find("Current limit: 2\nKillswitch enabled: False"), std::string::npos) << refused;
  EXPECT_NE(refused.find("give parameters as such: their sizes stay as they are"), std::string::npos) << refused;
}

// ---- preparation

TEST_F(AotSettings, R012_NoTableIsAnEmptyOneAndTheCallersEntriesCount) {
  const auto graph_with = [&](const Decompositions* d) {
    std::string graph;
    aot_function([](const TensorList& in) { return TensorList{aten<"silu">(in[0]).sin()}; },
                 {.forward = capture(graph), .decompositions = d})(TensorList{randn({3})});
    return graph;
  };
  const Decompositions none, own{{&op("silu"), [](const Call& c) { return Value(c.tensor(0) * c.tensor(0).sigmoid()); }}};
  EXPECT_EQ(graph_with(nullptr), graph_with(&none));
  EXPECT_NE(graph_with(nullptr).find("aten.silu.default"), std::string::npos) << "the layer has none of its own";
  const std::string apart = graph_with(&own);
  EXPECT_EQ(apart.find("aten.silu"), std::string::npos) << apart;
  EXPECT_NE(apart.find("aten.sin.default"), std::string::npos) << "what it does not name stays\n" << apart;
}

TEST_F(AotSettings, R015_NothingThatCompilesDraws) {
  const auto random = [](const TensorList& in) {
    const Tensor x = in[0] * aten<"rand_like">(in[0]), y = dropout(x, 0.5) + randn({3}) * rand({3});
    return TensorList{y + aten<"bernoulli">(full({3}, 0.5)) + aten<"randperm">(3)};
  };
  const Compiler fails = [](std::shared_ptr<const Graph>, const Values&) -> Boxed { throw_user_error("that is all"); };
  const auto expect_same_stream = [&](const std::function<void()>& compile) {
    manual_seed(4);
    const Tensor before = get_rng_state();
    EXPECT_EQ(error_of(compile), "that is all");
    EXPECT_TRUE(equal(get_rng_state(), before));
  };
  for (const bool dynamic : {false, true})
    for (const bool rg : {false, true})
      expect_same_stream([&] {
        aot_function(TensorFunction(random),
                     {.forward = fails, .dynamic = dynamic})(TensorList{rg ? tracked(ones({3})) : ones({3})});
      });
  struct None : nn::Module {
  } none;
  expect_same_stream([&] {
    aot_export_module(
        none, [&](const Tree& a) { return Tree::tuple({random({a[0].leaf().tensor()})[0]}); }, Tree::tuple({ones({3})}));
    throw_user_error("that is all");
  });
  // A compiler that draws leaves the stream where it was, also where it fails.
  const auto draws = [](bool fail) -> Compiler {
    return [fail](std::shared_ptr<const Graph> g, const Values& examples) {
      rand({5});
      manual_seed(77);
      if (fail) throw_user_error("that is all");
      return nop(std::move(g), examples);
    };
  };
  expect_same_stream([&] { aot_function(TensorFunction(random), {.forward = draws(true)})(TensorList{ones({3})}); });
  const auto plain = [](const TensorList& in) { return TensorList{in[0] * 2}; };
  for (const bool rg : {false, true})
    expect_same_stream([&] {
      aot_function(TensorFunction(plain), {.forward = draws(false)})(TensorList{rg ? tracked(ones({3})) : ones({3})});
      throw_user_error("that is all");
    });
  // And other threads go on drawing from it meanwhile.
  const Compiler waits = [](std::shared_ptr<const Graph> g, const Values& examples) {
    rand({5});
    std::thread([] { rand({3}); }).join();
    return nop(std::move(g), examples);
  };
  manual_seed(4);
  rand({3});
  const std::vector<double> next = rand({3}).to_vector<double>();
  manual_seed(4);
  aot_function(TensorFunction(plain), {.forward = waits})(TensorList{ones({3})});
  EXPECT_EQ(rand({3}).to_vector<double>(), next) << "one draw was the other thread's";
  // Hooks on gradients are the user's, and run when gradients come.
  int hooked = 0;
  const Tensor leaf = tracked(ones({3}));
  register_hook(leaf, [&](const Tensor& g) {
    hooked++;
    return g;
  });
  const Tensor out = aot_function(TensorFunction(random))(TensorList{leaf})[0];
  EXPECT_EQ(hooked, 0);
  out.sum().backward();
  EXPECT_EQ(hooked, 1);
}

// ---- boxed functions

TEST_F(AotSettings, R130_FunctionsThatLeaveTheirArgumentsAloneAreBoxed) {
  const Boxed several = make_boxed([](const Values& v) { return Values{v[0].tensor() * 2, v[1]}; });
  const Boxed one = make_boxed([](const Values& v) { return v[0].tensor() * 3; });
  Values arguments{ones({2}), ones({2})};
  EXPECT_EQ(several(arguments).size(), 2u);
  EXPECT_TRUE(arguments.empty()) << "the list was the callee's";
  arguments = {ones({2})};
  const Values results = one(arguments);
  ASSERT_EQ(results.size(), 1u) << "one value is a list of one";
  EXPECT_EQ(values(results[0].tensor()), (std::vector<double>{3, 3}));
  EXPECT_TRUE(arguments.empty());
  // What it was given lives no longer than the call.
  arguments = {ones({1000})};
  const int64_t before = Storage::live_bytes();
  one(arguments);
  EXPECT_EQ(before - Storage::live_bytes(), 4000);
  // A compiler may return either kind.
  const TensorFunction f = [](const TensorList& in) { return TensorList{in[0] * 3}; };
  for (const Compiler& c : {Compiler([&](std::shared_ptr<const Graph>, const Values&) { return one; }),
                            Compiler([](std::shared_ptr<const Graph>, const Values&) -> Boxed {
                              return [](const Values& v) { return Values{v[0].tensor() * 3}; };
                            })})
    EXPECT_EQ(values(aot_function(f, {.forward = c})(TensorList{ones({2})})[0]), (std::vector<double>{3, 3}));
}

}  // namespace
}  // namespace ingot::aot
