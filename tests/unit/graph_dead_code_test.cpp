// Dead code, copies and comparison of graphs.
#include <gtest/gtest.h>

#include "graph/copy.hpp"
#include "graph/dead_code.hpp"
#include "graph/same.hpp"
#include "graph/text.hpp"
#include "graph/verify.hpp"
#include "support/graph_fixture.hpp"

namespace ingot {
namespace {

constexpr const char* kText = R"(def forward(self, x, n, unused):
    sin = torch.ops.aten.sin.default(x)
    cos = torch.ops.aten.cos.default(sin);  sin = None
    rand = torch.ops.aten.rand.default([2])
    w = self.w
    add = n + 1
    max_1 = torch.ops.aten.max.dim(x, 0)
    getitem = max_1[0]
    getitem_1 = max_1[1];  max_1 = None
    mul = torch.ops.aten.mul.Tensor(x, getitem_1)
    copy_ = torch.ops.aten.copy_.default(x, mul);  mul = None
    _set_grad_enabled = torch._C._set_grad_enabled(False)
    ge = n >= 2
    _assert_scalar = torch.ops.aten._assert_scalar.default(ge, 'n is too small');  ge = None
    sym_constrain_range_for_size = torch.ops.aten.sym_constrain_range_for_size.default(n);  n = None
    resize_storage_bytes_ = torch.ops.inductor.resize_storage_bytes_.default(x, 32)
    tan = torch.ops.aten.tan.default(x);  x = None
    return (tan,)
)";

Attributes one_weight() {
  Attributes a;
  a.emplace_back("w", fake({2}));
  return a;
}

// with_effects is there for the effects of the operator it applies.
TEST(GraphDeadCode, G09_OperatorsThatApplyAnotherStay) {
  Graph g;
  Node *token = g.placeholder("token"), *x = g.placeholder("x");
  g.call(*find_op("higher_order::with_effects"), {token, Value(std::string("aten::add.Tensor")), x, Value(1)}, "effects");
  g.call(*find_op("aten::sin"), {x}, "sin");
  g.outputs = {x};
  const Graph lean = without_dead_code(g);
  ASSERT_EQ(lean.nodes().size(), 3u);
  EXPECT_EQ(lean.nodes()[2]->name, "effects");
}

TEST(GraphDeadCode, G09_KeepsWhatIsUsedAndWhatHasEffects) {
  const Attributes attributes = one_weight();
  const Graph g = parse_graph(kText, {.attributes = &attributes});
  const Graph alive = without_dead_code(g);
  EXPECT_EQ(find_fault(alive), "");
  EXPECT_EQ(print(alive), R"(def forward(self, x, n, unused):
    rand = torch.ops.aten.rand.default([2])
    max_1 = torch.ops.aten.max.dim(x, 0)
    getitem_1 = max_1[1];  max_1 = None
    mul = torch.ops.aten.mul.Tensor(x, getitem_1);  getitem_1 = None
    copy_ = torch.ops.aten.copy_.default(x, mul);  mul = None
    _set_grad_enabled = torch._C._set_grad_enabled(False)
    ge = n >= 2
    _assert_scalar = torch.ops.aten._assert_scalar.default(ge, 'n is too small');  ge = None
    sym_constrain_range_for_size = torch.ops.aten.sym_constrain_range_for_size.default(n);  n = None
    resize_storage_bytes_ = torch.ops.inductor.resize_storage_bytes_.default(x, 32)
    tan = torch.ops.aten.tan.default(x);  x = None
    return (tan,)
)");
  EXPECT_EQ(alive.attributes.size(), 1u);
  EXPECT_EQ(difference(alive, without_dead_code(alive)), "");
}

TEST(GraphDeadCode, G09_SideEffectsAreAFactOfTheOp) {
  for (const char* name : {"copy_", "set_.source_Tensor", "index_put_", "add_.Tensor", "add.out", "_assert_scalar",
                           "_assert_async.msg", "sym_constrain_range", "rand", "native_dropout"})
    EXPECT_TRUE(has_side_effect(op(name))) << name;
  for (const char* name : {"add.Tensor", "view", "max.dim", "split.Tensor", "higher_order::cond"})
    EXPECT_FALSE(has_side_effect(op(name))) << name;
}

// A branch that writes keeps its call alive; one that does not, does not. The branches themselves
// stay as they are.
TEST(GraphDeadCode, G09_SubgraphsWithEffects) {
  const auto calling = [](std::string_view branch) {
    return parse_graph(
        "class M(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        a = self.a\n"
        "        cond = torch.ops.higher_order.cond(True, a, a, [x])\n"
        "        return ()\n"
        "    class a(torch.nn.Module):\n"
        "        def forward(self, x):\n"
        "            y = " +
        std::string(branch) +
        "\n"
        "            return (x,)\n");
  };
  const Graph pure = calling("torch.ops.aten.sin.default(x)"), writes = calling("torch.ops.aten.sin_.default(x)");
  EXPECT_EQ(without_dead_code(pure).nodes().size(), 1u);
  EXPECT_EQ(std::get<1>(*without_dead_code(pure).find_attribute("a"))->nodes().size(), 2u);
  EXPECT_EQ(difference(without_dead_code(writes), writes), "");
  // What is not known may do anything.
  Graph unknown;
  Node* f = unknown.placeholder("f");
  unknown.call(op("higher_order::cond"), {Value(true), f, f, Value(Shape())});
  EXPECT_EQ(difference(without_dead_code(unknown), unknown), "");
}

TEST(GraphDeadCode, G09_VmapsStay) {
  const std::string vmap = R"(def forward(self, x):
    b = torch._functorch.predispatch._vmap_increment_nesting(2, 'error')
    a = torch._functorch.predispatch._add_batch_dim(x, 0, 1)
    r = torch._functorch.predispatch._remove_batch_dim(a, 1, 2, 0);  a = None
    e = torch._functorch.predispatch._vmap_decrement_nesting()
    return (x,)
)";
  const Graph g = parse_graph(vmap);
  EXPECT_EQ(print(without_dead_code(g)), vmap);
  EXPECT_EQ(difference(g, clone(g)), "");
}

TEST(GraphCopy, CopiesEverything) {
  const Attributes attributes = one_weight();
  Graph g = parse_graph(kText, {.attributes = &attributes});
  g.nodes()[3]->meta = fake({7});
  g.nodes()[3]->stack_trace = "trace";
  g.nodes()[3]->module_path = "path";
  g.returns = Graph::Returns::list;
  const Graph copy = clone(g);
  EXPECT_EQ(find_fault(copy), "");
  EXPECT_EQ(difference(g, copy), "");
  EXPECT_TRUE(copy.nodes()[3]->meta.same(g.nodes()[3]->meta));
  EXPECT_EQ(copy.nodes()[3]->stack_trace, "trace");
  EXPECT_EQ(copy.nodes()[3]->module_path, "path");
}

TEST(GraphCopy, ReplacesNodes) {
  const Graph g = parse_graph("def forward(self, x):\n    a = -x\n    b = a + 1\n    c = torch.f([a, b])\n    return (c, a)\n");
  Graph to;
  GraphCopier copier(g, to);
  copier.copy(*g.nodes()[0]);
  copier.replace(*g.nodes()[1], Value(5));
  copier.copy(*g.nodes()[2]);
  copier.copy(*g.nodes()[3]);
  copier.copy_outputs();
  EXPECT_EQ(print(to), "def forward(self, x):\n    b = 5 + 1\n    c = torch.f([5, b]);  b = None\n    return (c, 5)\n");
}

TEST(GraphSame, NamesTheFirstDifference) {
  const std::string text =
      "def forward(self, x):\n    a = -x\n    b = torch.f([x, 1], 0.0, [])\n    g = b[0]\n    w = self.w\n    return (a,)\n";
  const Attributes attributes = one_weight();
  const auto parsed = [&](std::string from, std::string to) {
    std::string changed = text;
    if (!from.empty()) changed.replace(changed.find(from), from.size(), to);
    return parse_graph(changed, {.attributes = &attributes});
  };
  const Graph g = parsed("", "");
  const auto changed = [&](std::string from, std::string to) { return difference(g, parsed(from, to)); };
  EXPECT_EQ(changed("a = -x", "a =  -  x"), "");
  EXPECT_EQ(changed("-x", "+x"), "node a is _operator.neg, and _operator.pos");
  EXPECT_EQ(changed("-x", "-1"), "node a: argument 0 is x, and 1");
  EXPECT_EQ(changed("-x", "torch.f(x)"), "node a has kind scalar, and unsupported");
  const std::string begin = "torch._functorch.predispatch.lazy_load_decompositions",
                    end = "torch._functorch.predispatch._vmap_decrement_nesting";
  EXPECT_EQ(changed("-x", end + "()"), "node a has kind scalar, and vmap");
  EXPECT_EQ(difference(parsed("-x", begin + "()"), parsed("-x", end + "()")), "node a is " + begin + ", and " + end);
  EXPECT_EQ(changed("self, x", "self, x: \"tangent\""), "input x is a value, and a tangent");
  EXPECT_EQ(changed("g =", "h ="), "node 3 is g, and h");
  EXPECT_EQ(changed("[x, 1]", "[x, 1.0]"), "node b: argument 0 is [x, 1], and [x, 1.0]");
  EXPECT_EQ(changed("[x, 1]", "[x, a]"), "node b: argument 0 is [x, 1], and [x, a]");
  EXPECT_EQ(changed("0.0", "-0.0"), "node b: argument 1 is 0.0, and -0.0");
  EXPECT_EQ(changed("0.0, []", "0.0"), "node b: 3 arguments, and 2");
  EXPECT_EQ(changed("b[0]", "b[1]"), "node g is element 0, and element 1");
  EXPECT_EQ(changed("(a,)", "(a, a)"), "1 outputs, and 2");
  EXPECT_EQ(changed("(a,)", "(b,)"), "output 0 is a, and b");
  EXPECT_EQ(changed("(a,)", "[a]"), "the results are returned in another way");
  EXPECT_EQ(changed("    g = b[0]\n", ""), "node 3 is g, and w");
  EXPECT_EQ(changed("    g = b[0]\n    w = self.w\n", ""), "5 nodes, and 3");
}

TEST(GraphSame, ComparesAttributes) {
  const Tensor t = fake({1});
  const auto with = [](auto... entries) {
    Graph g;
    (g.attributes.emplace_back(entries.first, entries.second), ...);
    return g;
  };
  Graph inner;
  inner.placeholder("x");
  using P = std::pair<const char*, Attribute>;
  const Graph a = with(P("a", t), P("b", shared(clone(inner))));
  EXPECT_EQ(difference(a, with(P("a", t), P("b", shared(clone(inner))))), "");
  EXPECT_EQ(difference(a, with(P("a", t))), "2 attributes, and 1");
  EXPECT_EQ(difference(a, with(P("a", t), P("c", t))), "attribute b, and c");
  EXPECT_EQ(difference(a, with(P("a", fake({1})), P("b", t))), "attribute a is another tensor");
  EXPECT_EQ(difference(a, with(P("a", t), P("b", t))), "attribute b is a tensor, and a subgraph");
  EXPECT_EQ(difference(a, with(P("a", t), P("b", shared(Graph())))), "subgraph b: 1 nodes, and 0");
  EXPECT_EQ(difference(a, with(P("a", t), P("b", std::shared_ptr<const Graph>()))), "subgraph b is missing on one side");
}

}  // namespace
}  // namespace ingot
