// Budgets for what is kept between forward and backward (R125): a ratio of what the rules would
// keep, or bytes.
#include <chrono>

#include "aot/budget.hpp"
#include "support/sanitized.hpp"
#include "support/aot_harness.hpp"
#include "unit/aot_joint.hpp"

namespace ingot::aot {
namespace {

class AotBudget : public AotHarness {
 protected:
  // Two layers and a loss.
  static TensorList mlp(const TensorList& in) {
    const Tensor h = (in[0].mm(in[1])).tanh(), k = h.mm(in[2]).sin();
    return TensorList{aten<"gelu">(k.mm(in[3])).sum()};
  }
  static TensorList mlp_inputs() {
    return {randn({16, 24}).requires_grad_(), randn({24, 32}).requires_grad_(), randn({32, 20}).requires_grad_(),
            randn({20, 8}).requires_grad_()};
  }
  // One head of attention, a residual and a gated layer.
  static TensorList transformer(const TensorList& in) {
    const Tensor &x = in[0], q = x.mm(in[1]), k = x.mm(in[2]), v = x.mm(in[3]);
    const Tensor a = aten<"softmax.int">(q.mm(k.t()) * 0.25, -1).mm(v) + x;
    const Tensor n = aten<"layer_norm">(a, Shape{16});
    return TensorList{aten<"gelu">(n.mm(in[4])).mm(in[5]) + a};
  }
  static TensorList transformer_inputs() {
    TensorList l{randn({12, 16})};
    for (int k = 0; k < 3; k++) l.push_back(randn({16, 16}));
    l.push_back(randn({16, 64}));
    l.push_back(randn({64, 16}));
    for (Tensor& t : l) t = (t * 0.3).detach().requires_grad_();
    return l;
  }
  // The joint graph of a function, as the partitioner is given it.
  static void with_joint(const Function& f, const TensorList& inputs, const std::function<void(const Joint&)>& look) {
    const AotFunction compiled = aot_function(TensorFunction(f), {.partition = [&](const Joint& j) {
                                                look(j);
                                                return partition_default(j);
                                              }});
    compiled(inputs);
  }
  static SavePlan plan(const Joint& j, const MinCutOptions& o) { return partition_min_cut(j, o).plan; }
};

// The sum over bytes is what the values say, each of which the backward takes.
void expect_consistent(const Parts& p) {
  int64_t sum = 0;
  ASSERT_EQ(p.plan.values.size(), static_cast<std::size_t>(p.saved_tensors));
  for (std::size_t k = 0; k < p.plan.values.size(); k++) {
    sum += p.plan.values[k].bytes;
    EXPECT_EQ(p.plan.values[k].name, p.backward.inputs()[static_cast<std::size_t>(p.saved_integers) + k]->name);
  }
  EXPECT_EQ(sum, p.plan.bytes);
}

TEST_F(AotBudget, R125_KnapsacksAreTheBestOfAllOn1000RandomOnes) {
  std::mt19937 random(5);
  for (int round = 0; round < 1000; round++) {
    const std::size_t n = 1 + random() % 9;
    std::vector<int64_t> sizes(n);
    std::vector<double> values(n);
    for (int64_t& s : sizes) s = static_cast<int64_t>(random() % 40);
    for (double& v : values) v = static_cast<double>(1 + random() % 100);
    const int64_t largest = 100, capacity = static_cast<int64_t>(random() % 101);
    const Knapsack knapsack(sizes, values, largest, 100);
    const auto worth = [&](const auto& has) {
      double value = 0;
      int64_t size = 0;
      for (std::size_t k = 0; k < n; k++) {
        if (!has(k)) continue;
        value += values[k];
        size += sizes[k];
      }
      return size <= capacity ? value : -1;
    };
    const std::vector<bool> chosen = knapsack.best(capacity);
    double best = 0;
    for (unsigned set = 0; set < 1u << n; set++) best = std::max(best, worth([&](std::size_t k) { return set >> k & 1; }));
    ASSERT_EQ(worth([&](std::size_t k) { return chosen[k]; }), best) << "round " << round;
  }
}

TEST_F(AotBudget, R125_SizesAreRoundedUpSoThatWhatIsChosenFits) {
  const std::vector<int64_t> sizes(10, 101);
  const std::vector<bool> chosen = Knapsack(sizes, std::vector<double>(10, 1.0), 1000, 16).best(1000);
  EXPECT_EQ(std::count(chosen.begin(), chosen.end(), true), 8);  // two sixteenths each
}

TEST_F(AotBudget, R125_ARatioIsBetweenZeroAndOne) {
  JointBuilder b({{4}}, {{4}});
  Node* s = b.sin(b.primals[0]);
  const Joint joint = b.joint({s, b.mul(b.tangents[0], s)}, 1);
  EXPECT_EQ(error_of([&] { partition_min_cut(joint, {.memory_budget = 1.5}); }),
            "The valid ranges for memory budget are 0 <= m <= 1. The provided value is 1.5");
  EXPECT_EQ(error_of([&] { partition_min_cut(joint, {.memory_budget = -0.5}); }),
            "The valid ranges for memory budget are 0 <= m <= 1. The provided value is -0.5");
  EXPECT_EQ(error_of([&] { partition_min_cut(joint, {.activation_bytes = -1}); }),
            "a budget for activations should be bytes, found -1");
}

TEST_F(AotBudget, R125_NothingAndEverything) {
  with_joint(mlp, mlp_inputs(), [](const Joint& j) {
    const Parts none = partition_min_cut(j, {.memory_budget = 0}), all = partition_min_cut(j, {.memory_budget = 1}),
                plain = partition_min_cut(j);
    EXPECT_EQ(none.plan.bytes, 0);
    for (const Node* n : none.backward.inputs())
      EXPECT_TRUE(n->name.starts_with("primals_") || n->name.starts_with("tangents_")) << n->name;
    EXPECT_EQ(print(all.backward), print(plain.backward));
    EXPECT_GT(all.plan.bytes, 0);
  });
}

TEST_F(AotBudget, R125_TheRulesGiveWayOneAfterTheOther) {
  // Only the rule about values that the backward needs in memory keeps the tanh beside the product
  // it is made of.
  JointBuilder b({{64, 64}}, {{64, 64}});
  Node *m = b.mm(b.primals[0], b.primals[0]), *wide = b.call("tanh", {m}, {64, 64}), *out = b.mm(wide, b.primals[0]);
  Node *g = b.mm(b.tangents[0], wide), *h = b.mul(g, m);
  const Joint joint = b.joint({out, h}, 1);
  EXPECT_EQ(plan(joint, {}).values.size(), 2u);
  const SavePlan half = plan(joint, {.memory_budget = 0.9});
  ASSERT_EQ(half.values.size(), 1u);
  EXPECT_EQ(half.values[0].name, "mm");
  EXPECT_EQ(half.bytes, 64 * 64 * 4);
}

TEST_F(AotBudget, R125_TheAuthorsBudgetIsTheOneThatCounts) {
  const Function f = [](const TensorList& in) {
    const MemoryBudgetScope none(0);
    return mlp(in);
  };
  with_joint(f, mlp_inputs(), [](const Joint& j) { EXPECT_EQ(plan(j, {.memory_budget = 1}).bytes, 0); });
}

TEST_F(AotBudget, R125_WhatTakesLongestIsKept) {
  // Two products of equal results: one of them is made of far more.
  JointBuilder b({{32, 4096}, {4096, 32}, {32, 2}, {2, 32}}, {{32, 32}});
  Node *dear = b.call("mm", {b.primals[0], b.primals[1]}, {32, 32}),
       *cheap = b.call("mm", {b.primals[2], b.primals[3]}, {32, 32});
  Node *end = b.mul(b.sin(dear), b.sin(cheap)), *g = b.mul(b.mul(b.tangents[0], b.sin(dear)), b.sin(cheap));
  const Joint joint = b.joint({end, g}, 1);
  const SavePlan p = plan(joint, {.activation_bytes = 32 * 32 * 4});
  EXPECT_TRUE(p.fits);
  EXPECT_EQ(p.bytes, 32 * 32 * 4);
  const Parts parts = partition_min_cut(joint, {.activation_bytes = 32 * 32 * 4});
  EXPECT_FALSE(calls_of(parts.backward).contains(dear->name)) << print(parts.backward);
  EXPECT_TRUE(calls_of(parts.backward).contains(cheap->name)) << print(parts.backward);
}

TEST_F(AotBudget, APlanSaysWhatItCannotDo) {
  JointBuilder b({{64}}, {{64}});
  Node *noise = b.call("rand_like", {b.primals[0]}, {64}), *out = b.mul(b.primals[0], noise);
  const SavePlan p = plan(b.joint({out, b.mul(b.tangents[0], noise)}, 1), {.activation_bytes = 100});
  EXPECT_FALSE(p.fits);  // random numbers are kept whatever it costs
  ASSERT_EQ(p.values.size(), 1u);
  EXPECT_EQ(p.values[0].name, "rand_like");
  EXPECT_EQ(p.bytes, 256);
}

TEST_F(AotBudget, ViewsCostWhatTheyLookAtOnce) {
  JointBuilder b({{8, 8}}, {{8, 8}});
  Node *m = b.mm(b.primals[0], b.primals[0]), *view = b.call("t", {m}, {8, 8}), *input_view = b.call("t", {b.primals[0]}, {8, 8});
  const SavePlan p = plan_of({m, view, input_view, b.primals[0]});
  EXPECT_EQ(p.values[0].bytes, 256);
  EXPECT_EQ(p.values[1].bytes + p.values[2].bytes + p.values[3].bytes, 0);
}

// ---- properties

TEST_F(AotBudget, R125_LessMemoryNeverMeansMoreOn300RandomGraphs) {
  std::mt19937 random(19);
  for (int round = 0; round < 300; round++) {
    const Graph g = random_joint(random, 2 + static_cast<int>(random() % 30), 1 + static_cast<int>(random() % 15));
    const Joint joint{g, 1};
    const int64_t most = plan(joint, {}).bytes;
    int64_t last = most;
    for (int64_t budget = most + 8; budget >= 0; budget -= std::max<int64_t>(1, most / 12)) {
      const Parts p = partition_min_cut(joint, {.activation_bytes = budget});
      expect_consistent(p);
      ASSERT_LE(p.plan.bytes, last) << "round " << round << " budget " << budget << "\n" << print(g);
      ASSERT_EQ(p.plan.fits, p.plan.bytes <= budget) << "round " << round << " budget " << budget;
      last = p.plan.bytes;
    }
    ASSERT_EQ(plan(joint, {.activation_bytes = 0}).bytes, 0)
        << "round " << round;  // nothing here is random: the inputs are enough
    int64_t size = std::numeric_limits<int64_t>::max();  // a ratio counts the inputs too
    for (const double ratio : {1.0, 0.8, 0.6, 0.4, 0.2, 0.05}) {
      int64_t found = 0;
      const Parts p = partition_min_cut(joint, {.memory_budget = ratio});
      for (const Node* n : p.backward.inputs()) found += is_tangent(*n) ? 0 : bytes_of(n->meta);
      ASSERT_LE(found, size) << "round " << round << " ratio " << ratio;
      size = found;
    }
  }
}

TEST_F(AotBudget, R125_ProgramsKeepNoMoreForLessAndGradientsStay) {
  const std::pair<Function, TensorList> programs[] = {{mlp, mlp_inputs()}, {transformer, transformer_inputs()}};
  for (const auto& [f, inputs] : programs) {
    int64_t most = 0;
    with_joint(f, inputs, [&](const Joint& j) { most = plan(j, {}).bytes; });
    ASSERT_GT(most, 0);
    int64_t last = most;
    std::set<int64_t> different;
    for (int k = 10; k >= 0; k--) {
      SavePlan found;
      const int64_t budget = most * k / 10;
      verify(f, inputs, {.partition = [&](const Joint& j) {
               Parts p = partition_min_cut(j, {.activation_bytes = budget});
               found = p.plan;
               return p;
             }});
      EXPECT_LE(found.bytes, last) << "budget " << budget;
      EXPECT_TRUE(found.fits && found.bytes <= budget) << "budget " << budget << ", kept " << found.bytes;
      last = found.bytes;
      different.insert(found.bytes);
      verify(f, inputs, {.partition = [&](const Joint& j) { return partition_min_cut(j, {.memory_budget = k / 10.0}); }});
    }
    EXPECT_GE(different.size(), 4u);  // there is something between all and nothing
    EXPECT_EQ(last, 0);
  }
}

TEST_F(AotBudget, ABudgetForAJointGraphOf20000NodesIsKeptInTime) {
  std::mt19937 random(3);
  const Graph g = random_joint(random, 10000, 10000, true);
  const int64_t most = plan({g, 1}, {}).bytes;
  const auto start = std::chrono::steady_clock::now();
  const SavePlan p = plan({g, 1}, {.activation_bytes = most / 8});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_TRUE(p.fits);
  if (!kSanitized) {
    EXPECT_LE(seconds, 20.0);
  }
}

// What the plan says is what is in memory between forward and backward.
TEST_F(AotBudget, PredictedBytesAreThoseThatAreThere) {
  const std::pair<Function, TensorList> programs[] = {{mlp, mlp_inputs()}, {transformer, transformer_inputs()}};
  for (const auto& [f, inputs] : programs)
    for (const double ratio : {1.0, 0.7, 0.3, 0.0}) {
      SavePlan plan;
      const AotFunction compiled = aot_function(TensorFunction(f), {.partition = [&](const Joint& j) {
                                                  Parts p = partition_min_cut(j, {.memory_budget = ratio});
                                                  plan = p.plan;
                                                  return p;
                                                }});
      compiled(inputs);  // compiles
      const int64_t before = Storage::live_bytes();
      const Tensor out = compiled(inputs)[0];
      EXPECT_EQ(Storage::live_bytes() - before, plan.bytes + bytes_of(out)) << "ratio " << ratio;
    }
}

}  // namespace
}  // namespace ingot::aot
