// Regions that the author marks (graph/save_policy.hpp), and the order of a backward (R126, R128,
// R129).
#include "aot/reorder.hpp"
#include "graph/interpret.hpp"
#include "graph/trace.hpp"
#include "graph/verify.hpp"
#include "support/aot_harness.hpp"
#include "unit/aot_joint.hpp"

namespace ingot::aot {
namespace {

class AotCheckpoint : public AotHarness {
 protected:
  static Partitioner min_cut_partition() {
    return [](const Joint& j) { return partition_min_cut(j); };
  }
  static std::string header(const std::string& graph) { return graph.substr(0, graph.find('\n')); }
};

TEST_F(AotCheckpoint, ATracerNotesWhatTheAuthorSaid) {
  const auto f = [](const TensorList& in) {
    Tensor x = in[0].sin();
    {
      const CheckpointScope region;
      x = x.cos();
      {
        const CheckpointScope kept(Keep::save);
        x = x.exp();
      }
      x = x.tanh();
    }
    const CheckpointScope next;
    const MemoryBudgetScope budget(0.5);
    return TensorList{x.neg()};
  };
  const Graph g = std::move(trace(TensorFunction(f), {rand({3})}).graph);
  const auto policy = [&](std::size_t k) { return g.nodes()[k]->saving ? *g.nodes()[k]->saving : SavePolicy{}; };
  EXPECT_EQ(policy(1).keep, Keep::unsaid);
  EXPECT_EQ(policy(2).keep, Keep::recompute);
  EXPECT_EQ(policy(3).keep, Keep::save);
  EXPECT_EQ(policy(4).keep, Keep::recompute);
  EXPECT_EQ(policy(2).region, policy(4).region);
  EXPECT_GT(policy(5).region, policy(4).region);
  EXPECT_EQ(policy(5).keep, Keep::recompute);
  EXPECT_EQ(policy(5).memory_budget, 0.5);
  EXPECT_EQ(policy(4).memory_budget, std::nullopt);
  // Tracing a graph keeps what its nodes say.
  const Graph again = std::move(
      trace(TensorFunction([&](const TensorList& in) { return TensorList{Interpreter(g).run(Values{in[0]})[0].tensor()}; }),
            {rand({3})})
          .graph);
  ASSERT_EQ(again.nodes().size(), g.nodes().size());
  EXPECT_EQ(again.nodes()[3]->saving, g.nodes()[3]->saving);
}

TEST_F(AotCheckpoint, R119_PartsOfARegionCanBeKept) {
  const auto f = [](const TensorList& in) {
    const CheckpointScope region;
    Tensor h = in[0].mm(in[1]);
    {
      const CheckpointScope kept(Keep::save);
      h = h.sin();
    }
    return TensorList{(h * h).exp()};
  };
  std::string backward;
  const AotFunction compiled = aot_function(TensorFunction(f), {.backward = capture(backward)});
  compiled(TensorList{randn({3, 3}).requires_grad_(), randn({3, 3}).requires_grad_()})[0].sum().backward();
  EXPECT_EQ(header(backward), "def forward(self, primals_1, primals_2, sin, tangents_1):") << backward;
  EXPECT_NE(backward.find("aten.exp"), std::string::npos) << backward;
  verify(f, {randn({3, 3}).requires_grad_(), randn({3, 3}).requires_grad_()}, {.partition = min_cut_partition()});
}

TEST_F(AotCheckpoint, ABudgetOfNothingKeepsRandomNumbers) {
  JointBuilder b({{8}}, {{8}});
  Node *noise = b.call("rand_like", {b.primals[0]}, {8}), *s = b.sin(noise), *out = b.mul(b.primals[0], s);
  const Parts p = partition_min_cut(b.joint({out, b.mul(b.tangents[0], s)}, 1), {.memory_budget = 0});
  EXPECT_FALSE(calls_of(p.backward).contains("rand_like"));
}

TEST_F(AotCheckpoint, R128_WhatALaterRegionReadsIsKept) {
  const auto f = [](const TensorList& in) {
    Tensor h = in[0];
    for (std::size_t k = 1; k < 3; k++) {
      const CheckpointScope region;
      h = h.mm(in[k]).sin();
    }
    return TensorList{h};
  };
  std::string backward;
  const AotFunction compiled = aot_function(TensorFunction(f), {.backward = capture(backward)});
  const auto matrix = [] { return randn({3, 3}).requires_grad_(); };
  compiled(TensorList{matrix(), matrix(), matrix()})[0].sum().backward();
  // The value between the regions is kept; what is inside of them is not.
  EXPECT_EQ(header(backward), "def forward(self, primals_1, primals_2, primals_3, sin, tangents_1):") << backward;
  verify(f, {matrix(), matrix(), matrix()}, {.partition = min_cut_partition()});
}

TEST_F(AotCheckpoint, AnInputThatTheCallWritesIsNotComputedAgainFrom) {
  const auto f = [](const TensorList& in) {
    Tensor h;
    {
      const CheckpointScope region;
      h = in[0].sin() * in[1];
    }
    Tensor(in[0]).add_(1);
    return TensorList{h.exp()};
  };
  verify(f, {randn({3}), randn({3}).requires_grad_()}, {.mut = true, .partition = min_cut_partition()});
  verify(f, {randn({3}), randn({3}).requires_grad_()}, {.mut = true});
}

TEST_F(AotCheckpoint, R126_IntegersAndTensorsAreSavedApart) {
  const AotFunction f = aot_function(
      TensorFunction([](const TensorList& in) { return TensorList{(in[0].sum({1}) * in[1]).exp()}; }),
      {.partition =
           [&](const Joint& j) {
             Parts p = partition_min_cut(j);
             EXPECT_GT(p.saved_integers, 0);
             EXPECT_GT(p.saved_tensors, 0);
             const std::size_t first = static_cast<std::size_t>(j.forward_outputs);
             for (std::size_t k = first; k < p.forward.outputs.size(); k++)
               EXPECT_EQ(p.forward.outputs[k].node()->meta.is_int(), k >= first + static_cast<std::size_t>(p.saved_tensors));
             for (std::size_t k = 0; k < p.backward.inputs().size(); k++)
               EXPECT_EQ(p.backward.inputs()[k]->meta.is_int(), k < static_cast<std::size_t>(p.saved_integers));
             return p;
           },
       .dynamic = true});
  f(TensorList{randn({3, 4}).requires_grad_(), randn({3}).requires_grad_()});
}

TEST_F(AotCheckpoint, R129_WhatIsComputedAgainComesWhereItIsNeeded) {
  JointBuilder b({{4}}, {{4}});
  Node *early = b.sin(b.primals[0]), *late = b.call("cos", {b.primals[0]}, {4}), *of_late = b.call("exp", {late}, {4});
  Node *g = b.mul(b.tangents[0], early), *h = b.mul(g, g), *end = b.mul(h, of_late), *alone = b.call("neg", {b.primals[0]}, {4});
  b.g.outputs = {end, alone};
  const Graph ordered = computed_when_needed(b.g);
  ingot::verify(ordered);
  std::vector<std::string> names;
  for (const auto& n : ordered.nodes()) names.push_back(n->name);
  EXPECT_EQ(names, std::vector<std::string>({"primals_1", "tangents_1", "sin", "mul", "mul_1", "cos", "exp", "mul_2", "neg"}));
  EXPECT_EQ(names_of(ordered.outputs), std::vector<std::string>({end->name, alone->name}));
}

TEST_F(AotCheckpoint, R129_NothingMovesPastAnEffect) {
  JointBuilder b({{4}}, {{4}});
  Node *s = b.sin(b.primals[0]), *g = b.mul(b.tangents[0], b.tangents[0]), *write = b.call("copy_", {b.primals[0], g}, {4}),
       *end = b.mul(g, s);
  b.g.outputs = {end};
  std::vector<std::string> names;
  const Graph ordered = computed_when_needed(b.g);
  for (const auto& n : ordered.nodes()) names.push_back(n->name);
  EXPECT_EQ(names, std::vector<std::string>({"primals_1", "tangents_1", "mul", "sin", write->name, end->name}));
  EXPECT_EQ(s->name, "sin");
}

TEST_F(AotCheckpoint, R129_ABackwardIsInThatOrder) {
  const auto f = [](const TensorList& in) { return TensorList{in[0].sin().exp().cos()}; };
  std::string backward;
  const AotFunction compiled = aot_function(TensorFunction(f), {.backward = capture(backward), .partition = min_cut_partition()});
  compiled(TensorList{randn({3}).requires_grad_()})[0].sum().backward();
  // sin and exp, of the forward, before the first gradient that needs them; cos, of sin's gradient,
  // after it.
  const auto place = [&](const char* what) { return backward.find(what); };
  EXPECT_LT(place("aten.exp"), place("aten.mul")) << backward;
  EXPECT_LT(place("aten.mul"), place("aten.cos")) << backward;
}

}  // namespace
}  // namespace ingot::aot
