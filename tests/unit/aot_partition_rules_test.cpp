// What both partitioners do (R108 to R116), on joint graphs made by hand.
#include "pass/merge_equal.hpp"
#include "expr/guards.hpp"
#include "graph/copy.hpp"
#include "graph/dead_code.hpp"
#include "graph/same.hpp"
#include "graph/shape_env.hpp"
#include "graph/text.hpp"
#include "support/aot_harness.hpp"
#include "unit/aot_joint.hpp"

namespace ingot::aot {
namespace {

using AotPartitionRules = AotHarness;
using Names = std::vector<std::string>;

TEST_F(AotPartitionRules, R108_R112_OrderOfInputsAndOutputsAndNames) {
  JointBuilder b({{4}, {4}, {4}}, {{4}});  // the third primal is not used
  Node *s = b.sin(b.primals[0]), *m = b.mul(s, b.primals[1]);
  Node *ga = b.mul(b.tangents[0], b.primals[1]), *gb = b.mul(b.tangents[0], s);
  const Joint joint = b.joint({m, ga, gb, Argument()}, 1);
  for (const Parts& p : {partition_default(joint), partition_min_cut(joint)}) {
    EXPECT_EQ(names_of(p.forward.inputs()), Names({"primals_1", "primals_2", "primals_3"}));
    EXPECT_EQ(p.forward.outputs.size(), static_cast<std::size_t>(1 + p.saved_tensors + p.saved_integers));
    EXPECT_EQ(p.forward.outputs[0].node()->name, "mul");
    const Names saved = names_of(std::vector<Argument>(p.forward.outputs.begin() + 1, p.forward.outputs.end()));
    Names inputs = saved;  // no integers here
    inputs.push_back("tangents_1");
    EXPECT_EQ(names_of(p.backward.inputs()), inputs);
    EXPECT_EQ(names_of(p.backward.outputs), Names({"mul_1", "mul_2", "None"}));  // a slot without a gradient stays
    for (const Graph* g : {&p.forward, &p.backward}) {
      EXPECT_EQ(g->returns, Graph::Returns::list);
      for (const auto& n : g->nodes()) {
        const auto same = std::find_if(joint.graph.nodes().begin(), joint.graph.nodes().end(),
                                       [&](const auto& x) { return x->name == n->name; });
        ASSERT_NE(same, joint.graph.nodes().end()) << n->name;
        EXPECT_TRUE(n->kind != NodeKind::call || n->op == (*same)->op) << n->name;
      }
    }
  }
  EXPECT_EQ(names_of(partition_default(joint).backward.inputs()), Names({"primals_2", "sin", "tangents_1"}));
}

TEST_F(AotPartitionRules, R109_WhatCannotBeComputedIsAnErrorWhereItIsAnOutput) {
  JointBuilder b({{4}}, {{4}});
  Node *s = b.sin(b.primals[0]), *unused = b.sin(s), *gradient = b.mul(b.tangents[0], s);
  const Joint joint = b.joint({s, gradient}, 1);
  EXPECT_EQ(error_of([&] { split(joint, {}, {}); }), "Node mul was invalid, but is output");
  const Parts p = split(joint, {s}, {});
  EXPECT_EQ(calls_of(p.forward), std::set<std::string>({"sin"}));  // without dead code
  EXPECT_EQ(calls_of(p.backward), std::set<std::string>({"mul"}));
  EXPECT_EQ(unused->name, "sin_1");
}

TEST_F(AotPartitionRules, R110_WhatTheBackwardDoesNotUseIsDropped) {
  JointBuilder b({{4}, {4}}, {{4}});
  Node *s = b.sin(b.primals[0]), *c = b.sin(s), *gradient = b.mul(b.tangents[0], s);
  const Parts p = split(b.joint({c, gradient, Argument()}, 1), {b.primals[0], b.primals[1], s, c}, {});
  EXPECT_EQ(p.saved_tensors, 1);
  EXPECT_EQ(names_of(p.backward.inputs()), Names({"sin", "tangents_1"}));
}

TEST_F(AotPartitionRules, R112_ATangentIsOneByItsRoleAndNotByItsName) {
  JointBuilder b({}, {});
  Node* x = b.input("tangents_of_a_curve", fake_of({4}));
  Node* seed = b.tangent("seed", fake_of({4}));
  Node *sin = b.sin(x), *gradient = b.mul(seed, x);
  const Joint joint = b.joint({sin, gradient}, 1);
  for (const Parts& p : {partition_default(joint), partition_min_cut(joint)}) {
    EXPECT_EQ(names_of(p.forward.inputs()), Names({"tangents_of_a_curve"}));
    EXPECT_EQ(names_of(p.backward.inputs()), Names({"tangents_of_a_curve", "seed"}));
    EXPECT_EQ(p.backward.inputs()[1]->role, Role::tangent);
  }
}

// What the parts hand over, by the places of inputs and outputs and not by their names.
TEST_F(AotPartitionRules, R112_TheRolesOfAPair) {
  JointBuilder b({}, {});
  Node* x = b.input("tangents_of_a_curve", fake_of({4}));
  Node* seed = b.tangent("seed", fake_of({4}));
  Node *out = b.sin(x), *kept = b.sin(out), *view = b.call("view", {kept, Argument::list({Value(2), Value(2)})}, {2, 2});
  Node* flat = b.call("view", {view, Argument::list({Value(4)})}, {4});
  Node* gradient = b.mul(seed, b.mul(x, b.mul(out, flat)));
  Parts p = split(b.joint({out, gradient, seed}, 1), {x, out, view}, {});
  say_roles(p, 1);
  using Roles = std::map<std::string, Role>;
  const auto roles_of = [](const Graph& g) {
    Roles roles;
    for (const auto& n : g.nodes())
      if (n->role != Role::value) roles[n->name] = n->role;
    return roles;
  };
  // `out` is a result first; what a compiler computes of a view is what it is taken of.
  EXPECT_EQ(roles_of(p.forward), (Roles{{view->name, Role::saved}, {kept->name, Role::saved}})) << print(p.forward);
  // A tangent that is handed back stays one.
  const Roles backward{{x->name, Role::saved},
                       {out->name, Role::saved},
                       {view->name, Role::saved},
                       {"seed", Role::tangent},
                       {gradient->name, Role::gradient}};
  EXPECT_EQ(roles_of(p.backward), backward) << print(p.backward);
  for (const Graph* g : {&p.forward, &p.backward}) {
    EXPECT_EQ(roles_of(clone(*g)), roles_of(*g)) << "passes keep them";
    EXPECT_EQ(roles_of(parse_graph(print(*g, GraphForm::full))), roles_of(*g)) << print(*g, GraphForm::full);
    EXPECT_TRUE(same(parse_graph(print(*g)), *g));
  }
}

TEST_F(AotPartitionRules, R111_EverySymbolOfTheBackwardIsBound) {
  ShapeEnv env;
  const GuardScope guards(env);
  const Int s0 = env.symbol("s0", 5), s1 = env.symbol("s1", 6), s2 = env.symbol("s2", 7);
  JointBuilder b({}, {});
  Node* n1 = b.input("primals_1", s1);
  Node* n0 = b.input("primals_2", s0);
  Node* n2 = b.input("primals_3", s2);
  Node* x = b.input("primals_4", fake_of({s1, s0}));
  Node* tangent = b.tangent("tangents_1", fake_of({s1, s0}));
  Node *sin = b.sin(x), *gradient = b.mul(tangent, sin);
  Node* twice = b.g.scalar(ScalarFunction::mul, {n2, Value(2)});
  twice->meta = s2 * 2;
  Node* repeated = b.call("expand", {gradient, Argument::list({twice, Value(-1), Value(-1)})}, {s2 * 2, s1, s0});
  const Joint joint = b.joint({sin, repeated}, 1);
  // The derived number is saved, so its symbol is bound; then the symbols of the tensor, by name;
  // each once.
  const Parts p = split(joint, {sin}, {twice});
  EXPECT_EQ(names_of(p.backward.inputs()), Names({"primals_3", "primals_2", "primals_1", twice->name, "sin", "tangents_1"}));
  EXPECT_EQ(names_of(p.forward.outputs), Names({"sin", "sin", "primals_3", "primals_2", "primals_1", twice->name}));
  EXPECT_EQ(p.saved_integers, 4);
  EXPECT_EQ(n1->meta.to_int().expr()->name + n0->meta.to_int().expr()->name, "s1s0");
}

TEST_F(AotPartitionRules, R111_ASizeThatDataDecidesIsBoundByWhatReadsIt) {
  ShapeEnv env;
  const GuardScope guards(env);
  const Int u0 = env.fresh_symbol();
  JointBuilder b({{4}}, {});
  Node* tangent = b.tangent("tangents_1", fake_of({u0}));
  Node* some = b.call("masked_select", {b.primals[0], b.primals[0]}, {u0});
  Node* size = b.g.call(op("sym_size.int"), {some, Value(0)});
  size->meta = u0;
  Node *out = b.sin(some), *gradient = b.mul(tangent, some);
  const Parts p = split(b.joint({out, gradient}, 1), {some}, {});
  EXPECT_EQ(names_of(p.backward.inputs()), Names({size->name, "masked_select", "tangents_1"}));
}

TEST_F(AotPartitionRules, R113_SizesAreKeptInsteadOfTheTensorTheyAreReadFrom) {
  ShapeEnv env;
  const GuardScope guards(env);
  const Int s0 = env.symbol("s0", 5);
  JointBuilder b({}, {});
  Node* x = b.input("primals_1", fake_of({s0, 3}));
  Node* tangent = b.tangent("tangents_1", fake_of({}));
  Node* sum = b.call("sum", {x}, {});
  Node* size = b.g.call(op("sym_size.int"), {x, Value(0)});
  size->meta = s0;
  Node* gradient = b.call("expand", {tangent, Argument::list({size, Value(3)})}, {s0, 3});
  const Parts p = partition_default(b.joint({sum, gradient}, 1));
  EXPECT_EQ(p.saved_tensors, 0);
  EXPECT_EQ(names_of(p.backward.inputs()), Names({"sym_size", "tangents_1"})) << print(p.backward);
}

TEST_F(AotPartitionRules, R113_WhatTheAuthorMarkedIsCutByMinCut) {
  const auto f = [](const TensorList& in) {
    const CheckpointScope again;
    return TensorList{in[0].mm(in[1]).sin()};
  };
  std::string backward;
  const AotFunction compiled = aot_function(f, {.backward = capture(backward)});
  compiled(TensorList{randn({3, 3}).requires_grad_(), randn({3, 3}).requires_grad_()})[0].sum().backward();
  EXPECT_NE(backward.find("torch.ops.aten.mm.default(primals_1, primals_2)"), std::string::npos) << backward;
  EXPECT_EQ(backward.substr(0, backward.find('\n')), "def forward(self, primals_1, primals_2, tangents_1):");
}

TEST_F(AotPartitionRules, R114_EqualCallsAreMadeOnce) {
  JointBuilder b({{4}}, {});
  Node* x = b.primals[0];
  Node *a = b.sin(x), *same = b.sin(x), *sum = b.mul(a, same);
  Node *one = b.call("add.Scalar", {x, Value(1)}, {4}), *also_one = b.call("add.Scalar", {x, Value(1)}, {4});
  Node *real_one = b.call("add.Scalar", {x, Value(1.0)}, {4}), *truth = b.call("add.Scalar", {x, Value(true)}, {4});
  Node *random = b.call("rand_like", {x}, {4}), *other_random = b.call("rand_like", {x}, {4});
  Node *parts = b.g.call(op("split.Tensor"), {x, Value(2)}), *first = b.g.item(parts, 0), *again = b.g.item(parts, 0),
       *second = b.g.item(parts, 1);
  for (Node* n : {first, again, second}) n->meta = fake_of({2});
  parts->meta = TensorList{fake_of({2}), fake_of({2})};
  b.g.outputs = {sum, one, also_one, real_one, truth, random, other_random, first, again, second};
  const Graph merged = merge_equal_calls(b.g, 0);
  const Names expected{"mul", "add", "add", "add_2", "add_3", "rand_like", "rand_like_1", "getitem", "getitem", "getitem_2"};
  EXPECT_EQ(names_of(merged.outputs), expected);
  const Node* product = merged.outputs[0].node();
  EXPECT_EQ(product->args[0].node(), product->args[1].node());
}

TEST_F(AotPartitionRules, R114_RandomCallsAreNeverEqual) {
  JointBuilder b({{4}}, {});
  Node* x = b.primals[0];
  const Argument half = Value(0.5), shape = Value(Shape{4}), four = Value(4);
  const std::vector<std::pair<const char*, std::vector<Argument>>> calls{{"dropout", {x, half, Value(true)}},
                                                                         {"_fused_dropout", {x, half}},
                                                                         {"_standard_gamma", {x}},
                                                                         {"bernoulli", {x}},
                                                                         {"multinomial", {x, four}},
                                                                         {"native_dropout", {x, half, Value(true)}},
                                                                         {"normal.Tensor_float", {x}},
                                                                         {"poisson", {x}},
                                                                         {"binomial", {x, x}},
                                                                         {"rrelu", {x}},
                                                                         {"rand_like", {x}},
                                                                         {"rand", {shape}},
                                                                         {"randint", {four, shape}},
                                                                         {"randn", {shape}},
                                                                         {"randperm", {four}}};
  std::size_t made = 0;
  for (const auto& [name, arguments] : calls) {
    const Op* o = find_op(name);  // those of CUDA alone are none here, and composites are in no joint graph
    if (!o || o->form() == Form::composite) continue;
    for (int twice = 0; twice < 2; twice++) b.g.outputs.push_back(b.call(name, arguments, {4}));
    made++;
  }
  EXPECT_EQ(made, 11u);
  const Names names = names_of(merge_equal_calls(b.g, 0).outputs);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 2 * made);
}

TEST_F(AotPartitionRules, R114_CallsOfDifferentRegionsStayApartAndCseCanBeOff) {
  JointBuilder b({{4}}, {{4}});
  Node *s = b.sin(b.primals[0]), *t = b.sin(b.primals[0]), *out = b.mul(s, t), *gradient = b.mul(b.tangents[0], out);
  const Joint joint = b.joint({out, gradient}, 1);
  EXPECT_EQ(calls_of(partition_min_cut(joint).forward), std::set<std::string>({"sin", "mul"}));
  EXPECT_EQ(calls_of(partition_min_cut(joint, {.cse = false}).forward), std::set<std::string>({"sin", "sin_1", "mul"}));
  t->saving = std::make_shared<const SavePolicy>(SavePolicy{Keep::recompute, 1, {}});
  EXPECT_EQ(calls_of(merge_equal_calls(joint.graph, 1)), std::set<std::string>({"sin", "sin_1", "mul", "mul_1"}));
}

TEST_F(AotPartitionRules, R114_ResultsOfTheCallerStayDifferentTensors) {
  JointBuilder b({{4, 4}}, {});
  Node *first = b.sin(b.primals[0]), *second = b.sin(b.primals[0]), *third = b.sin(b.primals[0]),
       *view = b.call("t", {third}, {4, 4}), *own = b.sin(third);
  // Two are results, one is what a result is a view of; only the last, which nobody gets, is made
  // of another.
  const Graph merged = merge_equal_calls(b.joint({first, second, view, own}, 4).graph, 4);
  EXPECT_EQ(calls_of(merged), std::set<std::string>({"sin", "sin_1", "sin_2", "t", "sin_3"}));
  EXPECT_EQ(calls_of(merge_equal_calls(b.joint({first, own, second, view}, 2).graph, 2)),
            std::set<std::string>({"sin", "sin_3", "t"}));
  verify(
      [](const TensorList& in) { return TensorList{in[0] * in[0], in[0] * in[0], aten<"sin">(in[0]).t(), aten<"sin">(in[0])}; },
      {randn({3, 3}).requires_grad_()}, {.mut = true, .partition = [](const Joint& j) { return partition_min_cut(j); }});
}

TEST_F(AotPartitionRules, R115_R116_SidesAndDistances) {
  JointBuilder b({{4}, {4}}, {{4}});
  Node *s = b.sin(b.primals[0]), *t = b.sin(s), *u = b.sin(t), *end = b.sin(u);
  Node *neither = b.mul(t, t), *gradient = b.mul(b.tangents[0], neither);
  const JointInfo j(b.joint({end, gradient, Argument()}, 1));
  for (const Node* n : {b.primals[0], b.primals[1], s, t, u, end}) EXPECT_TRUE(j.forward[at(n)]) << n->name;
  for (const Node* n : {neither, gradient, b.tangents[0]}) EXPECT_FALSE(j.forward[at(n)]) << n->name;
  for (const Node* n : {gradient, b.tangents[0]}) EXPECT_TRUE(j.backward[at(n)]) << n->name;
  EXPECT_FALSE(j.backward[at(neither)]);
  EXPECT_EQ(j.distance[at(gradient)], 0);
  EXPECT_EQ(j.distance[at(neither)], 0);
  EXPECT_EQ(j.distance[at(t)], 1);
  EXPECT_EQ(j.distance[at(s)], 2);
  EXPECT_EQ(j.distance[at(b.primals[0])], 3);
  EXPECT_EQ(j.distance[at(end)], JointInfo::kFar);  // no way leads from it to the backward
}

TEST_F(AotPartitionRules, R115_WithoutABackwardNothingIsKept) {
  JointBuilder b({{4}}, {});
  const Parts p = partition_min_cut(b.joint({b.sin(b.primals[0]), Argument()}, 1));
  EXPECT_EQ(p.saved_tensors + p.saved_integers, 0);
  EXPECT_EQ(calls_of(p.forward), std::set<std::string>({"sin"}));
  EXPECT_EQ(names_of(p.backward.outputs), Names({"None"}));
}

}  // namespace
}  // namespace ingot::aot
