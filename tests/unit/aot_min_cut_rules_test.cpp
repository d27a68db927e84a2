// The rules of the min-cut partitioner (R117 to R124), on joint graphs made by hand and, for what
// ops are, on traced ones.
#include <cmath>

#include "aot/loop_form.hpp"
#include "aot/max_flow.hpp"
#include "aot/recompute_rules.hpp"
#include "graph/trace.hpp"
#include "support/aot_harness.hpp"
#include "unit/aot_joint.hpp"

namespace ingot::aot {
namespace {

using AotMinCutRules = AotHarness;
using Names = std::vector<std::string>;

std::set<std::string> banned(const Joint& joint, const MinCutOptions& options = {}) {
  const JointInfo info(joint);
  const std::vector<bool> by_id = banned_from_recompute(info, options, {});
  std::set<std::string> names;
  for (const auto& n : joint.graph.nodes())
    if (by_id[at(n.get())] && n->kind != NodeKind::placeholder) names.insert(n->name);
  return names;
}
void mark(Node* n, Keep keep, int region = 1) { n->saving = std::make_shared<const SavePolicy>(SavePolicy{keep, region, {}}); }
constexpr MinCutOptions kOnlyAllowlist{
    .ban_used_far_apart = false, .ban_long_fusible_chains = false, .ban_materialized = false, .ban_reductions = false};
constexpr MinCutOptions kNothing{.ban_used_far_apart = false,
                                 .ban_long_fusible_chains = false,
                                 .ban_materialized = false,
                                 .ban_not_in_allowlist = false,
                                 .ban_reductions = false};

TEST_F(AotMinCutRules, R117_AnInputThatTheBackwardReturnsIsKept) {
  JointBuilder b({{4}, {4}}, {{4}});
  Node *out = b.sin(b.primals[0]), *gradient = b.mul(b.tangents[0], b.primals[1]);
  const Joint joint = b.joint({out, b.primals[0], gradient}, 1);
  EXPECT_EQ(saved_by_min_cut(joint), Names({"primals_1", "primals_2"}));
  EXPECT_EQ(names_of(partition_min_cut(joint).backward.outputs), Names({"primals_1", "mul"}));
}

TEST_F(AotMinCutRules, R117_WhatTheBackwardReturnsItMakesItselfWhereItCan) {
  JointBuilder b({{4}}, {{4}});
  Node *out = b.sin(b.primals[0]), *of_forward = b.sin(out), *gradient = b.mul(b.tangents[0], b.primals[0]);
  const Joint joint = b.joint({out, of_forward, gradient}, 1);
  EXPECT_EQ(saved_by_min_cut(joint), Names({"primals_1"}));
  JointBuilder c({{4, 4}}, {{4, 4}});
  Node *product = c.mm(c.primals[0], c.primals[0]), *g = c.mul(c.tangents[0], c.primals[0]);
  EXPECT_EQ(saved_by_min_cut(c.joint({product, product, g}, 1)), Names({"primals_1", "mm"}));
}

TEST_F(AotMinCutRules, R117_WhatIsMarkedIsComputedAgain) {
  JointBuilder b({{4, 4}}, {{4, 4}});
  Node *m = b.mm(b.primals[0], b.primals[0]), *s = b.sin(m), *gradient = b.mul(b.tangents[0], s);
  const Joint joint = b.joint({s, gradient}, 1);
  EXPECT_EQ(saved_by_min_cut(joint), Names({"sin"}));
  mark(m, Keep::recompute);
  EXPECT_EQ(saved_by_min_cut(joint), Names({"primals_1"}));
}

TEST_F(AotMinCutRules, R118_InputsAreKept) {
  JointBuilder b({{4}}, {{4}});
  Node *s = b.sin(b.primals[0]), *gradient = b.mul(b.tangents[0], b.primals[0]);
  const JointInfo info(b.joint({s, gradient}, 1));
  for (const MinCutOptions& o : {MinCutOptions{}, kNothing})
    EXPECT_TRUE(banned_from_recompute(info, o, std::vector<bool>(b.g.nodes().size(), true))[0]);
}

TEST_F(AotMinCutRules, R119_AllowlistAndDenylist) {
  JointBuilder b({{4, 4}}, {{4, 4}});
  Node *m = b.mm(b.primals[0], b.primals[0]), *soft = b.call("_softmax", {m, Value(1), Value(false)}, {4, 4}), *s = b.sin(soft);
  Node* noise = b.call("rand_like", {s}, {4, 4});
  Node *end = b.mul(s, noise), *gradient = b.mul(b.tangents[0], end);
  const Joint joint = b.joint({end, gradient}, 1);
  EXPECT_EQ(banned(joint, kOnlyAllowlist), std::set<std::string>({"mm", "_softmax", "rand_like"}));
  EXPECT_EQ(banned(joint, kNothing),
            std::set<std::string>({"mm", "rand_like"}));  // denylist: what is random or compute-intensive
}

TEST_F(AotMinCutRules, R119_WhatTheBackwardNeedsInMemory) {
  JointBuilder b({{4, 4}}, {{4, 4}});
  Node *s = b.sin(b.primals[0]), *only_fused = b.sin(s);
  Node *view = b.call("t", {s}, {4, 4}), *gradient = b.mm(b.tangents[0], view), *second = b.mul(gradient, only_fused);
  const Joint joint = b.joint({only_fused, second}, 1);
  EXPECT_EQ(banned(joint), std::set<std::string>({"sin"}));  // through the view, by a product
  EXPECT_EQ(banned(joint, {.ban_materialized = false}), std::set<std::string>());
}

TEST_F(AotMinCutRules, R119_Distance) {
  JointBuilder b({{4}}, {{4}});
  Node* n = b.primals[0];
  std::vector<Node*> chain;
  for (int k = 0; k < 20; k++) chain.push_back(n = b.sin(n));
  const Joint joint = b.joint({n, b.mul(b.tangents[0], n)}, 1);  // distances 1 (the last) to 20
  EXPECT_EQ(banned(joint).size(), 0u);
  EXPECT_EQ(banned(joint, {.max_distance = 17}), std::set<std::string>({"sin", "sin_1", "sin_2"}));
}

TEST_F(AotMinCutRules, R119_MuchSmallerResults) {
  JointBuilder b({{8, 8}}, {{8}});
  Node *row = b.call("sum.dim_IntList", {b.primals[0], Value(Shape{1})}, {8}),
       *wide = b.call("sum.dim_IntList", {b.primals[0], Value(Shape{1})}, {8, 2});
  Node *end = b.mul(row, wide), *gradient = b.mul(b.tangents[0], end);
  const Joint joint = b.joint({end, gradient}, 1);
  EXPECT_EQ(banned(joint), std::set<std::string>({"sum_1"}));  // 32 of 256 bytes; 64 are a quarter
  EXPECT_EQ(banned(joint, {.ban_reductions = false}), std::set<std::string>());
}

TEST_F(AotMinCutRules, R119_WhatABanDoesNotReach) {
  JointBuilder b({{4, 4}}, {{4, 4}});
  Node* parts = b.g.call(op("split.Tensor"), {b.primals[0], Value(2)});
  parts->meta = TensorList{fake_of({2, 4}), fake_of({2, 4})};
  Node* item = b.g.item(parts, 0);
  item->meta = fake_of({2, 4});
  Node* narrow = b.call("select.int", {b.primals[0], Value(0), Value(0)}, {4});  // a view, a quarter as large
  Node *marked = b.mm(b.primals[0], b.primals[0]), *kept = b.sin(marked);
  mark(marked, Keep::recompute);
  mark(kept, Keep::save);
  Node* end = b.mul(kept, narrow);
  Node *gradient = b.mm(b.tangents[0], item), *second = b.mm(gradient, narrow), *third = b.mm(second, end);
  const Joint joint = b.joint({end, third}, 1);
  EXPECT_EQ(banned(joint, {.ban_used_far_apart = false}), std::set<std::string>({"sin", "mul"}));
  const JointInfo info(joint);
  std::vector<bool> allowed(b.g.nodes().size());
  allowed[at(end)] = true;  // the budget's choice
  EXPECT_FALSE(banned_from_recompute(info, {}, allowed)[at(end)]);
}

TEST_F(AotMinCutRules, R119_R120_ViewsAreNeverKeptWhereTheyAreComputedAgain) {
  JointBuilder b({{4, 4}}, {{4, 4}});
  Node *s = b.mm(b.primals[0], b.primals[0]), *view = b.call("t", {s}, {4, 4}), *gradient = b.mul(b.tangents[0], view);
  const Joint joint = b.joint({s, gradient}, 1);
  EXPECT_EQ(saved_by_min_cut(joint, {.recompute_views = true}), Names({"mm"}));
  EXPECT_EQ(cut_problem(JointInfo(joint), {.recompute_views = true}).weight[at(view)], FlowNetwork::kInfinite);
  EXPECT_LT(cut_problem(JointInfo(joint), {}).weight[at(view)], FlowNetwork::kInfinite);
}

TEST_F(AotMinCutRules, R120_Weights) {
  ShapeEnv env;
  const GuardScope guards(env);
  const Int s0 = env.symbol("s0", 50), u0 = env.fresh_symbol();
  JointBuilder b({{10}}, {{10}});
  Node* number = b.g.call(op("sym_size.int"), {b.primals[0], Value(0)});
  number->meta = s0;
  Node* real = b.g.scalar(ScalarFunction::sym_float, {number});
  real->meta = 0.5;
  Node* list = b.g.call(op("split.Tensor"), {b.primals[0], Value(5)});
  list->meta = TensorList{fake_of({5}), fake_of({5})};
  Node *open = b.call("sin", {b.primals[0]}, {s0}), *unknown = b.call("sin", {b.primals[0]}, {u0});
  Node *fused = b.call("sin", {b.primals[0]}, {100}), *stored = b.call("sin", {b.primals[0]}, {100});
  Node *user = b.sin(fused), *product = b.mm(stored, b.primals[0]);
  Node* end = b.call("cat", {Argument::list({open, unknown, user, product, stored})}, {7});
  Node* gradient = b.call("mul.Tensor", {b.tangents[0], end}, {10});
  const CutProblem p = cut_problem(JointInfo(b.joint({end, gradient}, 1)), {});
  const auto expected = [](int64_t bytes, int distance) {
    return static_cast<int64_t>(static_cast<double>(bytes) * std::pow(1.1, distance));
  };
  EXPECT_EQ(p.weight[at(number)], 1);
  EXPECT_EQ(p.weight[at(real)], 4);
  EXPECT_EQ(p.weight[at(list)], FlowNetwork::kInfinite);
  EXPECT_EQ(p.weight[at(open)], 2 * expected(200, 2));            // by the hint; all its users take it in
  EXPECT_EQ(p.weight[at(unknown)], 2 * expected(4 * 4096, 2));
  EXPECT_EQ(p.weight[at(fused)], 2 * expected(400, 3));
  EXPECT_EQ(p.weight[at(stored)], expected(400, 2));              // a product reads it, so it is in memory
  EXPECT_EQ(p.weight[at(end)], expected(28, 1));                  // an output is
  EXPECT_EQ(p.weight[at(b.primals[0])], expected(40, 1));                // the size is read in the backward
}

// The size of what is joined is a sum of three, and the sum of two on the way to it is as good a
// value to keep or to make again.
TEST_F(AotMinCutRules, R120_PartsOfASizeAreNumbersToo) {
  const auto second_differences = [](const TensorList& in) { return TensorList{aten<"diff">(in[0], 2, 0, in[1], in[2])}; };
  verify(second_differences, {randn({3, 3}).requires_grad_(), randn({1, 3}).requires_grad_(), randn({4, 3}).requires_grad_()},
         {.dynamic = true, .partition = [](const Joint& j) { return partition_min_cut(j); }});
}

TEST_F(AotMinCutRules, R120_DistancesCountUpToOneHundred) {
  JointBuilder b({{1000}}, {{1000}});
  Node* n = b.primals[0];
  for (int k = 0; k < 150; k++) n = b.sin(n);
  const CutProblem p = cut_problem(JointInfo(b.joint({n, b.mul(b.tangents[0], n)}, 1)), {});
  EXPECT_EQ(p.weight[0], static_cast<int64_t>(4000 * std::pow(1.1, 100)));
}

TEST_F(AotMinCutRules, R121_WhatFuses) {
  JointBuilder b({{4, 4}}, {{4, 4}});
  Node *s = b.sin(b.primals[0]), *m = b.mm(s, s), *noise = b.call("rand_like", {s}, {4, 4});
  Node *joined = b.call("cat", {Argument::list({m, s})}, {8, 4}), *end = b.sin(joined);
  const JointInfo j(b.joint({end, b.mul(b.tangents[0], noise)}, 1));
  EXPECT_TRUE(j.fuses(s, noise));
  EXPECT_TRUE(j.fuses(noise, s));
  EXPECT_FALSE(j.fuses(s, m));
  EXPECT_TRUE(j.fuses(m, joined));    // anything does into cat
  EXPECT_FALSE(j.fuses(joined, end)); // and cat into nothing
  EXPECT_FALSE(j.fuses(b.primals[0], s));
}

// The only ops that anything fuses into are those that put tensors side by side.
TEST_F(AotMinCutRules, R121_NoOtherOpJoins) {
  std::set<std::string> found;
  for (const Op* o : all_ops()) {
    Node n;
    n.op = o;
    if (joins(n)) found.insert(o->name);
  }
  EXPECT_EQ(found, std::set<std::string>({"cat"}));
}

TEST_F(AotMinCutRules, R122_UsedFarApart) {
  JointBuilder b({{4, 4}}, {{4, 4}});
  Node *x = b.sin(b.primals[0]), *near = b.sin(x), *broken = b.mm(near, near), *far = b.mul(x, broken), *also_far = b.mm(x, far);
  Node* end = b.mul(also_far, also_far);
  const Joint joint = b.joint({end, b.mul(b.tangents[0], end)}, 1);
  MinCutOptions only = kOnlyAllowlist;
  EXPECT_EQ(banned(joint, only), std::set<std::string>({"mm", "mm_1"}));
  only.ban_used_far_apart = true;
  EXPECT_EQ(banned(joint, only), std::set<std::string>({"mm", "mm_1", far->name}));
}

TEST_F(AotMinCutRules, R123_LongChains) {
  JointBuilder b({{4}}, {{4}});
  Node* n = b.primals[0];
  for (int k = 0; k < 250; k++) n = b.sin(n);
  const Joint joint = b.joint({n, b.mul(b.tangents[0], n)}, 1);
  MinCutOptions only = kOnlyAllowlist;
  EXPECT_EQ(banned(joint, only).size(), 0u);
  only.ban_long_fusible_chains = true;
  // The chain starts after the input, which is in no loop; the walk goes on from where it ended.
  EXPECT_EQ(banned(joint, only), std::set<std::string>({"sin_101", "sin_203"}));
}

// ---- R124: what ops are

std::set<std::string> called_where(const Graph& g, bool (*what)(const Node&)) {
  std::set<std::string> found;
  for (const auto& n : g.nodes())
    if (n->kind == NodeKind::call && what(*n)) found.insert(n->op->schema.name);
  return found;
}
std::set<std::string> called_in(const Graph& g) {
  return called_where(g, [](const Node&) { return true; });
}

TEST_F(AotMinCutRules, R124_CheapOps) {
  const Graph g = std::move(trace(TensorFunction([](const TensorList& in) {
                                    const Tensor &x = in[0], &index = in[1];
    // clang-format off
    TensorList out{x + 1, x - x, x / 2, x * x, aten<"bitwise_and.Tensor">(index, index), aten<"ge.Scalar">(x, 0), aten<"ceil">(x), x.exp(), aten<"log">(x),
                   x.sin(), x.tanh(), x.sum(), x.mean(), aten<"amax">(x, Shape{0}), aten<"var.correction">(x, Shape{0}), aten<"std.correction">(x, Shape{0}),
                   atens<"var_mean.correction">(x, Shape{0})[0], aten<"any">(x), aten<"argmax">(x), aten<"maximum">(x, x),
                   aten<"where.self">(aten<"gt.Scalar">(x, 0), x, x), aten<"lerp.Scalar">(x, x, 0.5), aten<"addcmul">(x, x, x), aten<"clamp">(x, 0, 1),
                   aten<"threshold_backward">(x, x, 0), aten<"gelu">(x), aten<"gelu_backward">(x, x), aten<"_to_copy">(x, DType::f64), aten<"clone">(x),
                   aten<"full_like">(x, 2), aten<"zeros_like">(x), aten<"new_zeros">(x, Shape{2}), aten<"isinf">(x),
                   aten<"gather">(x, 0, index), aten<"index.Tensor">(x, TensorList{index}), aten<"lift_fresh_copy">(x), aten<"sigmoid">(x),
                   aten<"full">(Shape{2}, 3), aten<"ones">(Shape{2}), aten<"zeros">(Shape{2}), aten<"scalar_tensor">(3), aten<"arange">(3),
                   aten<"triu">(x), aten<"round">(x), aten<"floor">(x), aten<"trunc">(x), aten<"sqrt">(x), aten<"rsqrt">(x), aten<"pow.Tensor_Scalar">(x, 3),
                   aten<"cos">(x), aten<"atan2">(x, x), aten<"erf">(x), aten<"relu">(x), aten<"silu">(x), aten<"hardtanh">(x), aten<"leaky_relu">(x),
                   aten<"threshold">(x, 0, 1), aten<"bitwise_or.Tensor">(index, index), aten<"bitwise_not">(index), aten<"eq.Tensor">(x, x), aten<"abs">(x),
                   aten<"neg">(x), aten<"reciprocal">(x), aten<"minimum">(x, x), aten<"logical_not">(x), aten<"expm1">(x), aten<"log1p">(x)};
    for (const Tensor& view : {x[0], aten<"slice.Tensor">(x, 0, 0, 1), x.unsqueeze(0), x.view({9}), x.t(), aten<"alias">(x), aten<"permute">(x, Shape{1, 0}),
                               aten<"as_strided">(x, Shape{2}, Shape{1}), aten<"expand">(x, Shape{2, 3, 3}), aten<"_unsafe_view">(x, Shape{9}),
                               aten<"squeeze">(x)})
      out.push_back(view);
    return out;
    // clang-format on
                                  }),
                                  {rand({3, 3}), zeros({3, 3}).to(int64)})
                                .graph);
  EXPECT_GT(called_in(g).size(), 70u);
  EXPECT_EQ(called_where(g, is_recomputable), called_in(g));
  EXPECT_EQ(called_where(g, is_compute_intensive), std::set<std::string>());
}

TEST_F(AotMinCutRules, R124_CostlyOps) {
  const Graph g = std::move(trace(TensorFunction([](const TensorList& in) {
                                    const Tensor &x = in[0], &image = in[1], &kernel = in[2], &batch = in[3];
                                    return TensorList{x.mm(x),
                                                      aten<"bmm">(batch, batch),
                                                      aten<"addmm">(x, x, x),
                                                      aten<"conv2d">(image, kernel),
                                                      aten<"upsample_bilinear2d">(image, Shape{8, 8}, false),
                                                      atens<"sort">(x)[0],
                                                      aten<"_softmax">(x, 1, false),
                                                      aten<"cumsum">(x, 0),
                                                      aten<"linalg_inv">(x)};
                                  }),
                                  {rand({3, 3}), rand({1, 2, 4, 4}), rand({3, 2, 3, 3}), rand({2, 3, 3})})
                                .graph);
  EXPECT_EQ(called_where(g, is_recomputable), std::set<std::string>());
  std::set<std::string> costly = called_where(g, is_compute_intensive);
  for (const char* name : {"mm", "bmm", "addmm", "convolution", "upsample_bilinear2d"})
    EXPECT_TRUE(costly.contains(name)) << name;
  EXPECT_FALSE(costly.contains("_softmax"));
}

TEST_F(AotMinCutRules, R124_TheLoopFormOfAProductSaysWhatItTakes) {
  const auto steps = [](const TensorFunction& f, const TensorList& in) {
    const Graph g = std::move(trace(f, in).graph);
    return estimated_steps(*g.outputs[0].node());
  };
  EXPECT_EQ(steps([](const TensorList& in) { return TensorList{in[0].mm(in[1])}; }, {rand({3, 5}), rand({5, 7})}),
            3 * 7 * (5 + 1));
  EXPECT_EQ(steps([](const TensorList& in) { return TensorList{aten<"bmm">(in[0], in[1])}; }, {rand({2, 3, 5}), rand({2, 5, 7})}),
            2 * 3 * 7 * (5 + 1));
  EXPECT_EQ(steps([](const TensorList& in) { return TensorList{in[0].t()}; }, {rand({3, 5})}), 0);
}

}  // namespace
}  // namespace ingot::aot
