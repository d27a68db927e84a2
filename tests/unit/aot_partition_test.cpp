// Joint graphs cut in two (R108 to R126): what is kept, and that it is the least.
#include <chrono>
#include <random>

#include "aot/max_flow.hpp"
#include "aot/min_cut.hpp"
#include "graph/verify.hpp"
#include "support/sanitized.hpp"
#include "support/aot_harness.hpp"
#include "unit/aot_joint.hpp"

namespace ingot::aot {
namespace {

using AotPartition = AotHarness;

Partitioner min_cut_partition() {
  return [](const Joint& j) { return partition_min_cut(j); };
}

TEST(AotMaxFlow, CutsCostWhatTheCheapestOfAllCutsDoes) {
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<std::size_t>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 500; round++) {
    const std::size_t nodes = 3 + below(6);
    struct Edge {
      std::size_t from, to;
      int64_t capacity;
    };
    std::vector<Edge> edges(below(20));
    FlowNetwork network(nodes);
    for (Edge& e : edges) {
      e = {below(static_cast<int>(nodes)), below(static_cast<int>(nodes)), static_cast<int64_t>(below(20))};
      network.add_edge(e.from, e.to, e.capacity);
    }
    int64_t least = FlowNetwork::kInfinite;
    for (unsigned side = 0; side < 1u << nodes; side++) {
      if (!(side & 1) || (side >> (nodes - 1) & 1)) continue;
      int64_t cost = 0;
      for (const Edge& e : edges) cost += (side >> e.from & 1) && !(side >> e.to & 1) ? e.capacity : 0;
      least = std::min(least, cost);
    }
    const std::vector<bool> side = network.min_cut(0, nodes - 1);
    int64_t cost = 0;
    for (const Edge& e : edges) cost += side[e.from] && !side[e.to] ? e.capacity : 0;
    ASSERT_EQ(network.flow(), least) << "round " << round;
    ASSERT_EQ(cost, least) << "round " << round;
  }
}

// The least that keeping enough for the backward can cost: every set of nodes is tried.
int64_t least_cost(const Graph& g, const CutProblem& p) {
  std::vector<const Node*> candidates;
  for (const auto& n : g.nodes())
    if (!p.backward[static_cast<std::size_t>(n->id)]) candidates.push_back(n.get());
  int64_t least = FlowNetwork::kInfinite;
  for (unsigned set = 0; set < 1u << candidates.size(); set++) {
    std::vector<bool> there(g.nodes().size());  // for the backward: kept, or made of what is
    int64_t cost = 0;
    bool enough = true;
    for (std::size_t c = 0; c < candidates.size(); c++) {
      const auto i = static_cast<std::size_t>(candidates[c]->id);
      if (set >> c & 1) {
        enough = enough && !p.recompute[i];
        there[i] = true;
        cost += p.weight[i];
      } else {
        bool can = !p.banned[i];
        for_each_node(candidates[c]->args, [&](const Node* a) { can = can && there[static_cast<std::size_t>(a->id)]; });
        there[i] = can;
      }
    }
    for (const auto& n : g.nodes())
      if (p.backward[static_cast<std::size_t>(n->id)])
        for_each_node(n->args, [&](const Node* a) {
          enough = enough && (p.backward[static_cast<std::size_t>(a->id)] || there[static_cast<std::size_t>(a->id)]);
        });
    if (enough) least = std::min(least, cost);
  }
  return least;
}

TEST(AotMinCut, R117_NothingCheaperIsEnoughOn2000RandomGraphs) {
  std::mt19937 random(11);
  for (int round = 0; round < 2000; round++) {
    const Graph g = random_joint(random, 1 + static_cast<int>(random() % 9), 1 + static_cast<int>(random() % 5));
    const CutProblem p = cut_problem(JointInfo({g, 1}), {});
    int64_t cost = 0;
    for (const Node* n : min_cut(g, p)) cost += p.weight[static_cast<std::size_t>(n->id)];
    ASSERT_EQ(cost, least_cost(g, p)) << "round " << round << "\n" << print(g);
    const Parts parts = partition_min_cut({g, 1});
    verify(parts.forward, GraphForm::plain);  // sizes are costs here, which follow from nothing
    verify(parts.backward, GraphForm::plain);
  }
}

TEST(AotMinCut, AJointGraphOf20000NodesIsCutInTime) {
  std::mt19937 random(3);
  const Graph g = random_joint(random, 10000, 10000, true);
  const auto start = std::chrono::steady_clock::now();
  const Parts parts = partition_min_cut({g, 1});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_GT(parts.saved_tensors, 0);
  if (!kSanitized) {
    EXPECT_LE(seconds, 2.0);
  }
}

TEST_F(AotPartition, R113_TheDefaultKeepsWhatTheBackwardReads) {
  std::string backward;
  const AotFunction f =
      aot_function([](const TensorList& in) { return TensorList{in[0].sin().cos()}; }, {.backward = capture(backward)});
  const Tensor x = randn({3}).requires_grad_();
  f(TensorList{x})[0].sum().backward();
  EXPECT_EQ(backward.substr(0, backward.find('\n')), "def forward(self, primals_1, sin, tangents_1):") << backward;
}

TEST_F(AotPartition, R117_ACheapChainIsComputedAgainFromItsInput) {
  std::string forward, backward;
  const AotFunction f =
      aot_function([](const TensorList& in) { return TensorList{in[0].sin().cos()}; },
                   {.forward = capture(forward), .backward = capture(backward), .partition = min_cut_partition()});
  const Tensor x = randn({3}).requires_grad_(), y = x.detach().requires_grad_();
  f(TensorList{x})[0].sum().backward();
  y.sin().cos().sum().backward();
  EXPECT_EQ(backward.substr(0, backward.find('\n')), "def forward(self, primals_1, tangents_1):") << backward;
  EXPECT_NE(forward.find("return [cos, primals_1]"), std::string::npos) << forward;
  EXPECT_EQ(x.grad().to_vector<double>(), y.grad().to_vector<double>());
}

TEST_F(AotPartition, R119_R124_ProductsAndRandomNumbersAreNotComputedAgain) {
  const auto f = [](const TensorList& in) { return TensorList{(in[0].mm(in[1]) * aten<"rand_like">(in[0])).sin()}; };
  std::string backward;
  const AotFunction compiled = aot_function(f, {.backward = capture(backward), .partition = min_cut_partition()});
  compiled(TensorList{randn({3, 3}).requires_grad_(), randn({3, 3}).requires_grad_()})[0].sum().backward();
  EXPECT_EQ(backward.find("aten.rand"), std::string::npos) << backward;
  EXPECT_EQ(backward.find("mm.default(primals_1, primals_2)"), std::string::npos) << backward;
}

TEST_F(AotPartition, GradientsAreTheSameWithBothPartitioners) {
  const auto f = [](const TensorList& in) {
    Tensor(in[1]).mul_(2);
    const Tensor h = (in[0].mm(in[1]) + in[2]).tanh();
    return TensorList{aten<"softmax.int">(h, -1) * h.exp(), h.t()};
  };
  for (const bool mut : {false, true})
    verify(f, {randn({3, 4}).requires_grad_(), randn({4, 5}), randn({5}).requires_grad_()},
           {.mut = mut, .partition = min_cut_partition()});
}

TEST_F(AotPartition, GradientsOfTwoInputsAreTwoTensors) {
  for (const Partitioner& partition : {Partitioner(partition_default), min_cut_partition()}) {
    const Tensor x = randn({3}).requires_grad_(), y = randn({3}).requires_grad_();
    aot_function([](const TensorList& in) { return TensorList{(in[0] + in[1]).sin()}; },
                 {.partition = partition})(TensorList{x, y})[0]
        .sum()
        .backward();
    const std::vector<double> before = y.grad().to_vector<double>();
    x.grad().add_(1);
    EXPECT_EQ(y.grad().to_vector<double>(), before);
  }
}

}  // namespace
}  // namespace ingot::aot
