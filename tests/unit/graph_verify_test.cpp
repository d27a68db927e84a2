// The verifier's rules, broken one by one.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "graph/text.hpp"
#include "graph/verify.hpp"
#include "op/call.hpp"
#include "support/error_text.hpp"
#include "support/graph_fixture.hpp"
#include "tensor/impl.hpp"
#include "tensor/random.hpp"

namespace ingot {
namespace {

// x -> sin -> add, and what a test spoils.
struct Spoiled {
  Graph g;
  Node *x, *sin, *add;
  Spoiled() {
    x = g.placeholder("x");
    sin = g.call(op("sin"), {x});
    add = g.call(op("add.Tensor"), {sin, Value(1)});
    g.outputs = {add};
  }
  // The first line of the fault.
  std::string fault() const {
    const std::string f = find_fault(g);
    return f.substr(0, f.find('\n'));
  }
};

TEST(GraphVerify, ShowsTheLinesAroundAFault) {
  Spoiled s;
  s.add->args[1] = Value("one");
  s.add->stack_trace = "File \"model.py\", line 3, in f\n  x + 1";
  EXPECT_EQ(error_of([&] { verify(s.g); }),
            "the graph is malformed: node add: argument 'other' (position 2) must be Tensor, not str; the schema is "
            "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor (at model.py:3)\n"
            "  2 |     sin = torch.ops.aten.sin.default(x);  x = None\n"
            "> 3 |     add = torch.ops.aten.add.Tensor(sin, 'one');  sin = None\n"
            "  4 |     return (add,)");
  EXPECT_EQ(find_fault(Spoiled().g), "");
  verify(Spoiled().g);
}

TEST(GraphVerify, RolesFitTheirNodes) {
  Spoiled s;
  s.x->role = Role::saved;
  s.sin->role = Role::saved;
  s.add->role = Role::gradient;
  EXPECT_EQ(s.fault(), "");
  s.sin->role = Role::tangent;
  EXPECT_EQ(s.fault(), "node sin: a node that is no input cannot be a tangent");
  s.x->role = Role::gradient;
  EXPECT_EQ(s.fault(), "node x: an input cannot be a gradient");
}

TEST(GraphVerify, OrderOfNodes) {
  Spoiled late, own, foreign, id;
  late.sin->args[0] = late.add;
  EXPECT_EQ(late.fault(), "node sin: uses add before its definition");
  own.sin->args[0] = Argument::list({own.sin});
  EXPECT_EQ(own.fault(), "node sin: uses sin before its definition");
  foreign.sin->args[0] = late.x;
  EXPECT_EQ(foreign.fault(), "node sin: uses x, which is a node of another graph");
  foreign.sin->args[0] = foreign.x;
  foreign.g.outputs = {late.add};
  EXPECT_EQ(foreign.fault(), "the results: uses add, which is a node of another graph");
  id.sin->id = 2;
  EXPECT_EQ(id.fault(), "node sin: its id is 2, and its place 1");
}

TEST(GraphVerify, Names) {
  Spoiled twice, odd, taken;
  twice.add->name = "sin";
  EXPECT_EQ(twice.fault(), "node sin: the name is defined twice");
  odd.add->name = "a b";
  EXPECT_EQ(odd.fault(), "node a b: the name is no identifier");
  taken.add->name = "sum";
  EXPECT_EQ(taken.fault(), "node sum: the name has a meaning in Python");
}

TEST(GraphVerify, Placeholders) {
  Spoiled s;
  s.add->kind = NodeKind::placeholder;
  EXPECT_EQ(s.fault(), "node add: a placeholder comes after a node that is none");
  Graph g;
  g.unsupported("torch.f", {})->kind = NodeKind::placeholder;
  EXPECT_TRUE(find_fault(g).starts_with(
      "node torch_f: the placeholder is not among the graph's inputs\n> 1 | def forward(self, torch_f):"))
      << find_fault(g);
}

TEST(GraphVerify, ArgumentsFitTheSchema) {
  Spoiled count, none, number, list, node, optional;
  count.add->args.pop_back();
  EXPECT_EQ(count.fault(), "node add: add.Tensor takes 3 arguments, found 2");
  none.add->args[0] = Value();
  EXPECT_TRUE(none.fault().starts_with("node add: argument 'self' (position 1) must be Tensor, not None; the schema is"));
  list.add->args[0] = Argument::list({list.sin});
  EXPECT_TRUE(list.fault().starts_with("node add: argument 'self' (position 1) must be Tensor, not a list; the schema is"));
  node.sin->meta = Value(fake({2}));
  node.add->args[2] = node.sin;
  EXPECT_TRUE(node.fault().starts_with("node add: argument 'alpha' (position 3) must be Scalar, not Tensor; the schema is"));
  number.x->meta = Value(3);  // numbers stand for tensors
  EXPECT_EQ(number.fault(), "");
  Node* view = optional.g.call(op("view"), {optional.x, Value(2)});  // one number stands for a list
  EXPECT_EQ(optional.fault(), "");
  optional.x->meta = Value(fake({}));
  view->args[1] = Argument::list({Value(2), optional.x});
  EXPECT_TRUE(optional.fault().starts_with("node view: argument 'size' (position 2) must be SymInt[], not a list with Tensor"));
  count.add->op = nullptr;
  EXPECT_EQ(count.fault(), "node add: the call has no operator");
}

TEST(GraphVerify, ConstantsHaveAText) {
  const Int s(Expr::symbol("s0"));
  const std::pair<Value, const char*> cases[] = {
      {fake({}), "node sin: uses a tensor, which must be an attribute of the graph"},
      {TensorList{Tensor(), fake({})}, "node sin: uses a list with a tensor, which must be an attribute of the graph"},
      {s, "node sin: uses a symbolic number, which must be a node"},
      {Shape{1, s}, "node sin: uses a list with a symbolic number, which must be a node"},
      {Values{Value("a"), Value(Values{Value("b"), Value(s)})}, "node sin: uses a symbolic number, which must be a node"},
      {make_ref<Generator>(), "node sin: uses a generator, which cannot stand in a graph"}};
  for (const auto& [value, expected] : cases) {
    Spoiled s;
    s.sin->args[0] = value;
    EXPECT_EQ(s.fault(), expected);
  }
}

TEST(GraphVerify, Attributes) {
  Graph g;
  Node* w = g.attribute("w");
  EXPECT_TRUE(find_fault(g).starts_with("node w: the graph has no attribute w\n"));
  g.attributes.emplace_back("w", fake({}));
  EXPECT_EQ(find_fault(g), "");
  // A tensor is no subgraph, and a subgraph no tensor.
  Graph h;
  h.attributes.emplace_back("w", shared(Graph()));
  w = h.attribute("w");
  h.call(op("sin"), {w});
  EXPECT_NE(find_fault(h).find("argument 'self' (position 1) must be Tensor, not a subgraph"), std::string::npos)
      << find_fault(h);
  Graph c;
  c.attributes.emplace_back("w", fake({}));
  w = c.attribute("w");
  c.call(op("higher_order::cond"), {Value(true), w, w, Value(Shape())});
  EXPECT_NE(find_fault(c).find("argument 'true_graph' (position 2) must be Function, not Tensor"), std::string::npos)
      << find_fault(c);
  EXPECT_EQ(error_of([&] { c.attributes.emplace_back("w", fake({})); }), "attribute w is defined twice");
}

TEST(GraphVerify, Items) {
  Graph g;
  Node *x = g.placeholder("x"), *y = g.placeholder("y");
  Node* max = g.call(op("max.dim"), {y, Value(0)});
  Node* item = g.item(max, 1);
  EXPECT_EQ(find_fault(g), "");
  item->index = 2;
  EXPECT_TRUE(find_fault(g).starts_with("node getitem: element 2 of 2 that max_1 has\n")) << find_fault(g);
  item->index = -1;
  EXPECT_TRUE(find_fault(g).starts_with("node getitem: element -1 does not exist\n"));
  item->index = 1;
  item->args = {Argument(x)};  // nothing is known of x
  EXPECT_EQ(find_fault(g), "");
  x->meta = TensorList{fake({})};
  EXPECT_TRUE(find_fault(g).starts_with("node getitem: element 1 of 1 that x has\n"));
  x->meta = fake({});
  EXPECT_TRUE(find_fault(g).starts_with("node getitem: x is no list\n"));
  item->args = {Value(Shape{1, 2})};
  EXPECT_TRUE(find_fault(g).starts_with("node getitem: an element is taken of the result of one node\n"));

  Graph h;
  h.item(h.call(op("sin"), {h.placeholder("x")}), 0);
  EXPECT_TRUE(find_fault(h).starts_with("node getitem: sin is no list\n"));
}

TEST(GraphVerify, ScalarsGradModeAndUnsupported) {
  Graph g;
  Node* a = g.placeholder("a");
  Node* add = g.scalar(ScalarFunction::add, {a, Value(1)});
  EXPECT_EQ(find_fault(g), "");
  add->args[1] = Value("1");
  EXPECT_TRUE(find_fault(g).starts_with("node add: _operator.add takes numbers, not '1'\n"));
  add->args.pop_back();
  EXPECT_TRUE(find_fault(g).starts_with("node add: _operator.add takes 2 arguments, found 1\n"));
  add->args = {a, a};
  a->meta = fake({});
  EXPECT_TRUE(find_fault(g).starts_with("node add: _operator.add takes numbers, not a\n"));

  Graph m;
  m.grad_mode(true)->args[0] = Value(1);
  EXPECT_TRUE(find_fault(m).starts_with("node _set_grad_enabled: the grad mode must be True or False\n"));
}

// The first line of what is wrong with the listing, whose annotations are the records.
std::string fault_of(const std::string& body, GraphForm records = GraphForm::full) {
  const std::string f = find_fault(parse_graph("class <lambda>(torch.nn.Module):\n    def forward" + body), records);
  return f.substr(0, f.find('\n'));
}

TEST(GraphVerify, RecordsAreWhatTheOpMakes) {
  const auto sum = [](const std::string& record) {
    return R"((self, x: "f32[2, 3]", y: "f32[3]"):
        add: ")" +
           record + R"(" = torch.ops.aten.add.Tensor(x, y)
        return (add,)
)";
  };
  EXPECT_EQ(fault_of(sum("f32[2, 3]")), "");
  EXPECT_EQ(fault_of(sum("f64[2, 3]")), "node add: records f64[2, 3][3, 1]cpu, and aten::add.Tensor makes f32[2, 3][3, 1]cpu");
  EXPECT_EQ(fault_of(sum("f32[3, 2]")), "node add: records f32[3, 2][2, 1]cpu, and aten::add.Tensor makes f32[2, 3][3, 1]cpu");
  EXPECT_EQ(fault_of(sum("f32[6]")), "node add: records f32[6][1]cpu, and aten::add.Tensor makes f32[2, 3][3, 1]cpu");
  EXPECT_EQ(fault_of(sum("Sym(s0)")), "node add: records s0, and aten::add.Tensor makes f32[2, 3][3, 1]cpu");
  // A readable listing has no strides and devices, and a plain one nothing.
  const std::string strides = sum("f32[2, 3][1, 2]cpu"), device = sum("f32[2, 3][3, 1]cuda:0"), dtype = sum("f64[2, 3]");
  EXPECT_EQ(fault_of(strides), "node add: records f32[2, 3][1, 2]cpu, and aten::add.Tensor makes f32[2, 3][3, 1]cpu");
  EXPECT_EQ(fault_of(device), "node add: records f32[2, 3][3, 1]cuda:0, and aten::add.Tensor makes f32[2, 3][3, 1]cpu");
  EXPECT_EQ(fault_of(strides, GraphForm::readable), "");
  EXPECT_EQ(fault_of(device, GraphForm::readable), "");
  EXPECT_NE(fault_of(dtype, GraphForm::readable), "");
  EXPECT_EQ(fault_of(dtype, GraphForm::plain), "");
}

// A program with these lines in it, where '!' is the place that PyTorch has its functions in.
std::string vmap_fault_of(std::string lines, const std::string& result = "x") {
  for (std::size_t at; (at = lines.find('!')) != lines.npos;) lines.replace(at, 1, "torch._functorch.predispatch.");
  const Graph g =
      parse_graph(text("def forward(self, x: \"f32[2, 3]\", n: \"Sym(s0)\"):\n", lines, "    return (", result, ",)\n"));
  const std::string f = find_fault(g);
  return f.substr(0, f.find('\n'));
}

TEST(GraphVerify, VmapsHaveTheirArguments) {
  const auto fault = [](const std::string& begin, const std::string& argument, const std::string& result) {
    return vmap_fault_of("    i = !_vmap_increment_nesting(" + begin + ")\n    a = !_add_batch_dim(" + argument +
                         ")\n    r = !_remove_batch_dim(" + result + ")\n    d = !_vmap_decrement_nesting()\n");
  };
  const std::string begin = "n, 'error'", argument = "x, 0, 1", result = "a, 1, n, 0", target = "torch._functorch.predispatch.";
  EXPECT_EQ(fault(begin, argument, result), "");
  EXPECT_EQ(fault("x, 'error'", argument, result),
            "node i: argument 'batch_size' (position 1) of " + target + "_vmap_increment_nesting must be SymInt, not Tensor");
  EXPECT_EQ(fault("2, 1", argument, result),
            "node i: argument 'randomness' (position 2) of " + target + "_vmap_increment_nesting must be str, not int");
  EXPECT_EQ(fault(begin, "n, 0, 1", result),
            "node a: argument 'self' (position 1) of " + target + "_add_batch_dim must be Tensor, not int");
  EXPECT_EQ(fault(begin, "x, 'first', 1", result),
            "node a: argument 'batch_dim' (position 2) of " + target + "_add_batch_dim must be SymInt?, not str");
  EXPECT_EQ(fault(begin, argument, "3, 1, n, 0"),
            "node r: argument 'self' (position 1) of " + target + "_remove_batch_dim must be Tensor, not int");
  EXPECT_EQ(fault(begin, argument, "a, 1, x, 0"),
            "node r: argument 'batch_size' (position 3) of " + target + "_remove_batch_dim must be SymInt, not Tensor");
  EXPECT_TRUE(error_of([&] {
                (void)fault(begin, "x, 0", result);
              }).starts_with("<graph>:3:9: " + target + "_add_batch_dim takes 3 arguments, found 2\n"));
  Graph g;
  g.vmap(VmapCall::end, {})->args = {Value(1)};
  EXPECT_TRUE(find_fault(g).starts_with("node _vmap_decrement_nesting: " + target +
                                        "_vmap_decrement_nesting takes 0 arguments, found 1\n"));
}

TEST(GraphVerify, VmapsNest) {
  const std::string prepare = "    p = !lazy_load_decompositions()\n", begin = "    i = !_vmap_increment_nesting(2, 'error')\n",
                    argument = "    a = !_add_batch_dim(x, 0, 1)\n", inner = "    j = !_vmap_increment_nesting(3, 'same')\n",
                    member = "    b = !_add_batch_dim(a, 0, 2)\n", inner_result = "    q = !_remove_batch_dim(b, 2, 3, 0)\n",
                    inner_end = "    e = !_vmap_decrement_nesting()\n", result = "    r = !_remove_batch_dim(q, 1, 2, 0)\n",
                    end = "    d = !_vmap_decrement_nesting()\n", target = "torch._functorch.predispatch.";
  EXPECT_EQ(vmap_fault_of(prepare + begin + argument + inner + member + inner_result + inner_end + result + end, "r"), "");
  EXPECT_EQ(vmap_fault_of(begin + argument + inner + member + inner_result + inner_end + result, "r"),
            "node i: the vmap that it begins does not end");
  EXPECT_EQ(vmap_fault_of(argument + begin + end), "node a: " + target + "_add_batch_dim stands in no vmap");
  EXPECT_EQ(vmap_fault_of(prepare + begin + end + inner_end), "node e: " + target + "_vmap_decrement_nesting stands in no vmap");
  EXPECT_EQ(vmap_fault_of(begin + argument + end, "a"),
            "the results: uses a, which is one member's tensor in a vmap that has ended");
  EXPECT_EQ(vmap_fault_of(begin + argument + inner + member + inner_end + "    s = torch.ops.aten.sin.default(b)\n" + end),
            "node s: uses b, which is one member's tensor in a vmap that has ended");
  EXPECT_EQ(vmap_fault_of(begin + argument + "    b = !_add_batch_dim(a, 0, 1)\n" + end),
            "node b: maps over a, which the function itself makes");
  EXPECT_EQ(vmap_fault_of("    i = !_vmap_increment_nesting(2, n)\n" + end),
            "node i: argument 'randomness' (position 2) of " + target + "_vmap_increment_nesting must be str, not int");
  // The lines around are those of the node.
  const Graph g = parse_graph(
      "def forward(self, x):\n    y = -x\n    d = torch._functorch.predispatch._vmap_decrement_nesting()\n"
      "    return (y,)\n");
  EXPECT_NE(find_fault(g).find("> 3 |     d = "), std::string::npos) << find_fault(g);
}

TEST(GraphVerify, OperandsAreWhatTheOpTakes) {
  EXPECT_EQ(
      fault_of(R"((self, x: "f32[2, 3]"):
        mm: "f32[2, 3]" = torch.ops.aten.mm.default(x, x)
        return (mm,)
)"),
      "node mm: aten::mm refuses what is recorded of its operands: mm: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)");
  // Of strides that nobody wrote down it is not known whether there is such a view.
  const std::string flat = R"((self, x: "f32[2, 3][1, 2]cpu"):
        view: "f32[6]" = torch.ops.aten.view.default(x, [6])
        return (view,)
)";
  EXPECT_TRUE(fault_of(flat).starts_with("node view: aten::view refuses what is recorded of its operands: ")) << fault_of(flat);
  EXPECT_EQ(fault_of(flat, GraphForm::readable), "");
}

TEST(GraphVerify, RecordsOfOpenSizes) {
  const auto sum = [](const std::string& record) {
    return R"((self, x: "f32[s0, 3]", y: "f32[s1, 3]"):
        cat: ")" +
           record + R"(" = torch.ops.aten.cat.default([x, y])
        return (cat,)
)";
  };
  EXPECT_EQ(fault_of(sum("f32[s0 + s1, 3]")), "");
  EXPECT_EQ(fault_of(sum("f32[s0, 3]")), "node cat: records f32[s0, 3][3, 1]cpu, and aten::cat makes f32[s0 + s1, 3][3, 1]cpu");
  EXPECT_EQ(fault_of(sum("f32[s0 + s1, 4]")),
            "node cat: records f32[s0 + s1, 4][4, 1]cpu, and aten::cat makes f32[s0 + s1, 3][3, 1]cpu");
  EXPECT_EQ(fault_of(sum("f32[2*s0, 3]")), "");  // where s0 is s1, which the trace may have found
  const std::string broadcast = R"((self, x: "f32[s0]", y: "f32[s1]"):
        add: "i64[s0]" = torch.ops.aten.add.Tensor(x, y)
        return (add,)
)";
  EXPECT_EQ(fault_of(broadcast), "");  // nor is it known whether the op takes them
}

TEST(GraphVerify, RecordsOfWhatDataDecidesAreLeftAlone) {
  Graph g;
  Node* x = g.placeholder("x");
  Node* nonzero = g.call(op("nonzero"), {x});
  Node* item = g.call(op("_local_scalar_dense"), {x});
  x->meta = fake({4});
  nonzero->meta = fake({Int(Expr::symbol("u7", 0)), 1});
  item->meta = Value(Int(Expr::symbol("u8", 0)));
  EXPECT_EQ(find_fault(g), "");
}

TEST(GraphVerify, RecordsOfElementsAndAttributes) {
  Graph g;
  g.attributes.emplace_back("w", fake({2, 3}));
  Node* w = g.attribute("w");
  Node* max = g.call(op("max.dim"), {w, Value(0)});
  Node* item = g.item(max, 1);
  w->meta = fake({2, 3});
  max->meta = TensorList{fake({3}), make_tensor(Geometry::contiguous({3}, DType::i64), {}, true)};
  item->meta = max->meta.tensors()[1];
  const auto fault = [&] {
    const std::string f = find_fault(g);
    return f.substr(0, f.find('\n'));
  };
  EXPECT_EQ(fault(), "");
  item->meta = fake({3});
  EXPECT_EQ(fault(), "node getitem: records f32[3][1]cpu, and the list max_1 has i64[3][1]cpu");
  max->meta = TensorList{fake({3}), fake({3})};
  EXPECT_EQ(fault(), "node max_1: records element 1 f32[3][1]cpu, and aten::max.dim makes i64[3][1]cpu");
  w->meta = fake({3, 2});
  EXPECT_EQ(fault(), "node w: records f32[3, 2][2, 1]cpu, and attribute w is f32[2, 3][3, 1]cpu");
}

// The rule of an op that gives its operand another geometry is asked of a copy of what is recorded.
TEST(GraphVerify, LeavesRecordsAsTheyAre) {
  Graph g;
  Node* x = g.placeholder("x");
  Node* resized = g.call(op("resize_"), {x, Value(Shape{4, 5})});
  x->meta = fake({2, 3});
  resized->meta = fake({4, 5});
  g.outputs = {resized};
  const Int bytes = x->meta.tensor()->storage->nbytes();
  EXPECT_EQ(find_fault(g), "");
  EXPECT_EQ(x->meta.tensor().sizes(), (Shape{2, 3}));
  EXPECT_EQ(x->meta.tensor()->storage->nbytes(), bytes);
}

TEST(GraphVerify, Results) {
  Spoiled s;
  s.g.returns = Graph::Returns::bare;
  EXPECT_EQ(s.fault(), "");
  s.g.outputs = {s.add, s.x};
  EXPECT_EQ(s.fault(), "the results: a bare result is one value, found 2");
  s.g.outputs = {Value(Shape{1})};
  EXPECT_EQ(s.fault(), "the results: a bare result cannot be a list");
  s.g.outputs = {Argument::list({s.x})};
  EXPECT_EQ(find_fault(s.g),
            "the results: a bare result cannot be a list\n"
            "  3 |     add = torch.ops.aten.add.Tensor(sin, 1);  sin = None\n"
            "> 4 |     return [x]");
}

TEST(GraphVerify, Subgraphs) {
  Spoiled s;
  s.add->args[1] = Value("one");
  Graph middle, top;
  middle.attributes.emplace_back("inner", shared(std::move(s.g)));
  top.attributes.emplace_back("middle", shared(std::move(middle)));
  EXPECT_TRUE(find_fault(top).starts_with(
      "subgraph middle: subgraph inner: node add: argument 'other' (position 2) must be Tensor, not str"));
  Graph missing;
  missing.attributes.emplace_back("gone", std::shared_ptr<const Graph>());
  EXPECT_EQ(find_fault(missing), "subgraph gone is missing");
}

}  // namespace
}  // namespace ingot
