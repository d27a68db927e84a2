// Listings, by the rules G01 to G10 of the spec, built by hand and compared character by character.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "graph/same.hpp"
#include "graph/source.hpp"
#include "graph/text.hpp"
#include "graph/verify.hpp"
#include "ingot/expr.hpp"
#include "support/detach_chains.hpp"
#include "support/error_text.hpp"
#include "support/graph_fixture.hpp"

namespace ingot {
namespace {

using Returns = Graph::Returns;

// The graph keeps the rules, prints as said, and comes back from the text.
void expect_text(const Graph& g, const std::string& text, GraphForm form = GraphForm::plain) {
  EXPECT_EQ(find_fault(g), "");
  ASSERT_EQ(print(g, form), text);
  EXPECT_EQ(difference(g, parse_graph(text, {.attributes = &g.attributes})), "");
}

// A022
TEST(GraphPrint, G01_G04_G06_NodesOnLinesReleasesAndAList) {
  Graph g;
  Node* x = g.placeholder("primals_1");
  Node* clone = g.call(op("clone"), {x});
  Node* mul = g.call(op("mul.Tensor"), {clone, Value(2)});
  Node* mul_1 = g.call(op("mul.Tensor"), {mul, Value(3)});
  g.outputs = {mul, mul_1};
  g.returns = Returns::list;
  expect_text(g, R"(def forward(self, primals_1):
    clone = torch.ops.aten.clone.default(primals_1);  primals_1 = None
    mul = torch.ops.aten.mul.Tensor(clone, 2);  clone = None
    mul_1 = torch.ops.aten.mul.Tensor(mul, 3)
    return [mul, mul_1]
)");
}

// A097, backward of A085: no nodes at all, None among the results.
TEST(GraphPrint, G01_NoNodes) {
  Graph g;
  Node* x = g.placeholder("tangents_1", Role::tangent);
  g.outputs = {Argument(), x};
  g.returns = Returns::list;
  expect_text(g, "def forward(self, tangents_1):\n    return [None, tangents_1]\n");
  expect_text(Graph(), "def forward(self):\n    return ()\n");
}

TEST(GraphPrint, G02_G06_InferenceNamesAndATuple) {
  Graph g;
  Node *a = g.placeholder("arg0_1"), *b = g.placeholder("arg1_1"), *c = g.placeholder("arg2_1");
  Node* t = g.call(op("t"), {a});
  g.outputs = {g.call(op("addmm"), {b, c, t})};
  expect_text(g, R"(def forward(self, arg0_1, arg1_1, arg2_1):
    t = torch.ops.aten.t.default(arg0_1);  arg0_1 = None
    addmm = torch.ops.aten.addmm.default(arg1_1, arg2_1, t);  arg1_1 = arg2_1 = t = None
    return (addmm,)
)");
}

// A028
TEST(GraphPrint, G03_KeywordsDtypesDevicesAndLists) {
  Graph g;
  Node* x = g.placeholder("primals_1");
  Node* arange = g.call(op("arange"), {Value(9), Value(DType::f32), Value(), Value(Device{}), Value(false)});
  Node* alias = g.call(op("alias"), {x});
  Node* view = g.call(op("view"), {arange, Value(Shape{3, 3})});
  g.outputs = {g.call(op("add.Tensor"), {alias, view})};
  g.returns = Returns::list;
  expect_text(g, R"(def forward(self, primals_1):
    arange = torch.ops.aten.arange.default(9, dtype = torch.float32, device = device(type='cpu'), pin_memory = False)
    alias = torch.ops.aten.alias.default(primals_1);  primals_1 = None
    view = torch.ops.aten.view.default(arange, [3, 3]);  arange = None
    add = torch.ops.aten.add.Tensor(alias, view);  alias = view = None
    return [add]
)");
}

TEST(GraphPrint, G03_DefaultsAreLeftOutAtTheEndOnly) {
  Graph g;
  Node* x = g.placeholder("x");
  g.call(op("transpose.int"), {x, Value(1), Value(0)});
  g.call(op("slice.Tensor"), {x});                                                        // all of them
  g.call(op("slice.Tensor"), {x, Value(0), Value(), Value(3)});                          // start is its default, end is not
  g.call(op("add.Tensor"), {x, x, Value(1)});                                             // alpha by keyword, and its default
  g.call(op("add.Tensor"), {x, x, Value(2)});
  g.call(op("ones_like"), {x, Value(), Value(), Value(), Value(false), Value(MemoryFormat::preserve)});
  expect_text(g, R"(def forward(self, x):
    transpose = torch.ops.aten.transpose.int(x, 1, 0)
    slice_1 = torch.ops.aten.slice.Tensor(x)
    slice_2 = torch.ops.aten.slice.Tensor(x, 0, None, 3)
    add = torch.ops.aten.add.Tensor(x, x)
    add_1 = torch.ops.aten.add.Tensor(x, x, alpha = 2)
    ones_like = torch.ops.aten.ones_like.default(x, pin_memory = False, memory_format = torch.preserve_format);  x = None
    return ()
)");
}

// A133
TEST(GraphPrint, G03_GradModeAndAttributes) {
  Graph g;
  g.attributes.emplace_back("_tensor_constant0", fake({2}));
  g.attributes.emplace_back("layers.0.weight", fake({2}));
  Node* x = g.placeholder("arg1_1");
  g.grad_mode(true);
  Node* c = g.attribute("_tensor_constant0");
  Node* w = g.attribute("layers.0.weight");
  Node* add = g.call(op("add.Tensor"), {x, c});
  g.grad_mode(false);
  g.outputs = {g.call(op("add.Tensor"), {add, w})};
  expect_text(g, R"(def forward(self, arg1_1):
    _set_grad_enabled = torch._C._set_grad_enabled(True)
    _tensor_constant0 = self._tensor_constant0
    layers_0_weight = getattr(self.layers, "0").weight
    add = torch.ops.aten.add.Tensor(arg1_1, _tensor_constant0);  arg1_1 = _tensor_constant0 = None
    _set_grad_enabled_1 = torch._C._set_grad_enabled(False)
    add_1 = torch.ops.aten.add.Tensor(add, layers_0_weight);  add = layers_0_weight = None
    return (add_1,)
)");
}

// What PyTorch 2.14 exports of vmap(lambda a: (a * y).sum())(x).
TEST(GraphPrint, G02_Vmap) {
  Graph g;
  Node *x = g.placeholder("x"), *y = g.placeholder("y");
  Node* size = g.call(op("sym_size.int"), {x, Value(0)}, "sym_size_int_1");
  g.vmap(VmapCall::prepare, {});
  g.vmap(VmapCall::begin, {size, Value("error")});
  Node* member = g.vmap(VmapCall::argument, {x, Value(0), Value(1)});
  Node* mul = g.call(op("mul.Tensor"), {member, y});
  Node* sum = g.call(op("sum"), {mul});
  Node* result = g.vmap(VmapCall::result, {sum, Value(1), size, Value(0)});
  g.vmap(VmapCall::end, {});
  g.outputs = {result};
  const std::string text = R"(def forward(self, x, y):
    sym_size_int_1 = torch.ops.aten.sym_size.int(x, 0)
    lazy_load_decompositions = torch._functorch.predispatch.lazy_load_decompositions()
    _vmap_increment_nesting = torch._functorch.predispatch._vmap_increment_nesting(sym_size_int_1, 'error')
    _add_batch_dim = torch._functorch.predispatch._add_batch_dim(x, 0, 1);  x = None
    mul = torch.ops.aten.mul.Tensor(_add_batch_dim, y);  _add_batch_dim = y = None
    sum_1 = torch.ops.aten.sum.default(mul);  mul = None
    _remove_batch_dim = torch._functorch.predispatch._remove_batch_dim(sum_1, 1, sym_size_int_1, 0);  sum_1 = sym_size_int_1 = None
    _vmap_decrement_nesting = torch._functorch.predispatch._vmap_decrement_nesting()
    return (_remove_batch_dim,)
)";
  expect_text(g, text);
  const Graph back = parse_graph(text);
  std::vector<VmapCall> calls;
  for (const auto& n : back.nodes())
    if (n->kind == NodeKind::vmap) calls.push_back(n->vmap_call);
  EXPECT_EQ(calls, (std::vector{VmapCall::prepare, VmapCall::begin, VmapCall::argument, VmapCall::result, VmapCall::end}));
  EXPECT_EQ(error_of([&] { g.vmap(VmapCall::end, {Value(1)}); }),
            "torch._functorch.predispatch._vmap_decrement_nesting takes 0 arguments, found 1");
}

// FX calls one function by two names.
TEST(GraphPrint, G03_TheSquareRootHasTwoNames) {
  const auto of = [](std::string_view name) {
    return parse_graph(text("def forward(self, a):\n    r = torch.", name, "(a)\n    return (r,)\n"));
  };
  EXPECT_EQ(of("_sym_sqrt").nodes()[1]->kind, NodeKind::scalar);
  EXPECT_EQ(difference(of("_sym_sqrt"), of("sym_sqrt")), "");
}

TEST(GraphPrint, G03_EveryKindOfValue) {
  constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
  Graph g;
  Node* x = g.placeholder("x");
  const auto show = [&](std::vector<Argument> args) { g.unsupported("torch.show", std::move(args), "show"); };
  show({Value(1), Value(-1), Value(std::numeric_limits<int64_t>::min()), Value(std::numeric_limits<int64_t>::max())});
  show({Value(0.1), Value(1e-05), Value(2.0), Value(1e16), Value(-0.0), Value(5e-324), Value(1.7976931348623157e308)});
  show({Value(kInf), Value(-kInf), Value(kNan), Value(true), Value()});
  show({Value(std::complex<double>(1, -2.5)), Value(std::complex<double>(0, 1)), Value(std::complex<double>(-0.0, 1)),
        Value(std::complex<double>(1, -0.0)), Value(std::complex<double>(0, kInf)), Value(std::complex<double>(kNan, -kInf))});
  show({Value("tanh"), Value("it's"), Value("\"it's\""), Value("a\nb\t\\\x01\x7f"), Value("größe"), Value(std::string("\0;", 2)),
        Value("")});
  show({Value(DType::bf16), Value(DType::b8), Value(Device{DeviceType::cuda, 1}), Value(Layout::strided), Value(Layout::sparse),
        Value(MemoryFormat::channels_last)});
  show({Value(Shape{}), Value(Shape{1, 2}), Value(std::vector<double>{1, 0.5}), Value(std::vector<bool>{true, false}),
        Value(TensorList(2)), Value(Values{Value(Shape{1}), Value("a"), Value(Values{Value(), Value(2)})})});
  show({Argument::list({x, Value(), Argument::list({Value(1), x})}), x});
  expect_text(g, R"(def forward(self, x):
    show = torch.show(1, -1, -9223372036854775808, 9223372036854775807)
    show_1 = torch.show(0.1, 1e-05, 2.0, 1e+16, -0.0, 5e-324, 1.7976931348623157e+308)
    show_2 = torch.show(inf, -inf, nan, True, None)
    show_3 = torch.show((1-2.5j), 1j, (-0+1j), (1-0j), complex(0.0, inf), complex(nan, -inf))
    show_4 = torch.show('tanh', "it's", '"it\'s"', 'a\nb\t\\\x01\x7f', 'größe', '\x00;', '')
    show_5 = torch.show(torch.bfloat16, torch.bool, device(type='cuda', index=1), torch.strided, torch.sparse_coo, torch.channels_last)
    show_6 = torch.show([], [1, 2], [1.0, 0.5], [True, False], [None, None], [[1], 'a', [None, 2]])
    show_7 = torch.show([x, None, [1, x]], x);  x = None
    return ()
)");
}

TEST(GraphPrint, G03_ArithmeticOnNumbersAsFxWritesIt) {
  Graph g;
  Node* a = g.placeholder("a");
  Node* b = g.placeholder("b");
  using F = ScalarFunction;
  for (const F f : {F::add, F::sub, F::mul, F::floordiv, F::mod, F::truediv, F::pow, F::lshift, F::rshift, F::and_, F::or_, F::eq,
                    F::ne, F::lt, F::le, F::gt, F::ge, F::sym_max, F::sym_min})
    g.scalar(f, {a, b});
  for (const F f : {F::neg, F::pos, F::trunc, F::sym_int, F::sym_float, F::sym_not, F::sym_sqrt}) g.scalar(f, {a});
  g.scalar(F::sym_ite, {a, b, Value(1.5)});
  g.scalar(F::mul, {Value(-1), a});
  g.scalar(F::pow, {Value(-2), Value(-3)});
  g.scalar(F::neg, {Value(5)});
  g.scalar(F::neg, {Value(-5)});
  g.scalar(F::sub, {a, Value(-std::numeric_limits<double>::infinity())});
  expect_text(g, R"(def forward(self, a, b):
    add = a + b
    sub = a - b
    mul = a * b
    floordiv = a // b
    mod = a % b
    truediv = a / b
    pow_1 = a ** b
    lshift = a << b
    rshift = a >> b
    and_ = a & b
    or_ = a | b
    eq = a == b
    ne = a != b
    lt = a < b
    le = a <= b
    gt = a > b
    ge = a >= b
    sym_max = torch.sym_max(a, b)
    sym_min = torch.sym_min(a, b)
    neg = -a
    pos = +a
    trunc = math_trunc(a)
    sym_int = torch.sym_int(a)
    sym_float = torch.sym_float(a)
    sym_not = torch.sym_not(a)
    sym_sqrt = torch.sym_sqrt(a)
    sym_ite = torch.sym_ite(a, b, 1.5);  b = None
    mul_1 = -1 * a
    pow_2 = -2 ** -3
    neg_1 = -5
    neg_2 = --5
    sub_1 = a - -inf;  a = None
    return ()
)");
}

// A089 and A154: what is never used, or returned, is not released; a name appears once.
TEST(GraphPrint, G04_Releases) {
  Graph g;
  Node* x = g.placeholder("x");
  g.placeholder("unused");
  Node* cat = g.call(op("cat"), {Argument::list({x, x})});
  g.call(op("sin"), {cat});
  g.outputs = {cat};
  expect_text(g, R"(def forward(self, x, unused):
    cat = torch.ops.aten.cat.default([x, x]);  x = None
    sin = torch.ops.aten.sin.default(cat)
    return (cat,)
)");
}

// A101
TEST(GraphPrint, G05_Names) {
  Graph g;
  Node* x = g.placeholder("x");
  for (const char* name : {"sum", "sum", "abs", "max", "exp", "exp"}) g.call(op(name), {x});
  g.call(op("copy_"), {x, x});
  g.call(op("copy_"), {x, x});
  Node* s = g.call(op("split.Tensor"), {x, Value(2)});
  g.item(s, 0);
  g.item(s, 1);
  g.call(op("sym_size.int"), {x, Value(0)}, "sym_size_int");
  g.call(op("sym_size.int"), {x, Value(1)}, "sym_size_int");
  for (const char* taken : {"self", "inf", "nan", "torch", "device"}) g.call(op("sin"), {x}, taken);
  std::string names;
  for (const auto& n : g.nodes()) names += n->name + " ";
  EXPECT_EQ(names,
            "x sum_1 sum_2 abs_1 max_1 exp exp_1 copy_ copy__1 split getitem getitem_1 sym_size_int sym_size_int_1 "
            "self_1 inf_1 nan_1 torch_1 device_1 ");
}

// FX's counters, by its own rule one by one, and a program that uses one name a hundred thousand
// times.
TEST(GraphPrint, G05_TakenNamesOneByOne) {
  std::set<std::string> used;
  std::map<std::string, int64_t> counts;
  const auto by_the_rule = [&](std::string name) {
    const std::size_t line = name.rfind('_');
    const bool numbered = line != name.npos && line + 1 < name.size();
    const std::string base = numbered ? name.substr(0, line) : name;
    int64_t number = numbered ? std::stoll(name.substr(line + 1)) : 0;
    if (!numbered || used.contains(name)) number = counts.contains(name) ? counts[name] : 0;
    while (used.contains(name)) name = text(base, "_", ++number);
    used.insert(name);
    counts[base] = number;
    return name;
  };
  NodeNames names;
  const char* const wishes[] = {"a_7", "a", "a_1", "a_2", "a_07", "a_6", "a_3", "b_1", "b", "a_1_1", "a_9"};
  uint64_t random = 1;
  for (int i = 0; i < 3000; i++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const char* wish = wishes[(random >> 33) % std::size(wishes)];
    ASSERT_EQ(names.unique(wish), by_the_rule(wish)) << i;
  }
  NodeNames many;
  std::string last;
  for (int i = 0; i < 100'000; i++) last = many.unique("a_1");
  EXPECT_EQ(last, "a_100000");
  EXPECT_EQ(many.unique("c_9223372036854775807"), "c_9223372036854775807");
  EXPECT_EQ(many.unique("c"), "c");
  EXPECT_EQ(many.unique("c"), "c_1");
}

TEST(GraphPrint, G06_ABareResult) {
  Graph g;
  g.outputs = {g.call(op("sin"), {g.placeholder("x")})};
  g.returns = Returns::bare;
  expect_text(g, "def forward(self, x):\n    sin = torch.ops.aten.sin.default(x);  x = None\n    return sin\n");
  g.outputs = {Value(std::complex<double>(1, 2))};
  expect_text(g, "def forward(self, x):\n    sin = torch.ops.aten.sin.default(x);  x = None\n    return (1+2j)\n");
}

Graph branch(const char* first, double added) {
  Graph g;
  Node* x = with_meta(g.placeholder("arg0_1"), fake({3, 4}));
  Node* y = with_meta(g.call(op(first), {x}), fake({3, 4}));
  g.outputs = {with_meta(g.call(op("add.Tensor"), {y, Value(added)}), fake({3, 4}))};
  return g;
}

Graph conditional() {
  Graph g;
  g.attributes.emplace_back("true_graph_0", shared(branch("sin", 0.5)));
  g.attributes.emplace_back("false_graph_0", shared(branch("cos", 7)));
  Node* x = with_meta(g.placeholder("arg0_1"), fake({3, 4}));
  Node *yes = g.attribute("true_graph_0"), *no = g.attribute("false_graph_0");
  Node* cond = g.call(op("higher_order::cond"), {Value(false), yes, no, Argument::list({x})}, "conditional");
  Node* item = with_meta(g.item(cond, 0), fake({3, 4}));
  g.outputs = {with_meta(g.call(op("add.Tensor"), {item, Value(3)}), fake({3, 4}))};
  return g;
}

// A147
TEST(GraphPrint, G07_HigherOrder) {
  expect_text(conditional(), R"(def forward(self, arg0_1):
    true_graph_0 = self.true_graph_0
    false_graph_0 = self.false_graph_0
    conditional = torch.ops.higher_order.cond(False, true_graph_0, false_graph_0, [arg0_1]);  true_graph_0 = false_graph_0 = arg0_1 = None
    getitem = conditional[0];  conditional = None
    add = torch.ops.aten.add.Tensor(getitem, 3);  getitem = None
    return (add,)
)");
  Graph g;
  g.attributes.emplace_back("region_0", shared(branch("sin", 1)));
  Node* x = g.placeholder("x");
  g.outputs = {g.call(op("higher_order::wrap_with_set_grad_enabled"), {Value(false), g.attribute("region_0"), x, x})};
  expect_text(g, R"(def forward(self, x):
    region_0 = self.region_0
    wrap_with_set_grad_enabled = torch.ops.higher_order.wrap_with_set_grad_enabled(False, region_0, x, x);  region_0 = x = None
    return (wrap_with_set_grad_enabled,)
)");
}

TEST(GraphPrint, G08_SubgraphsAreNestedClasses) {
  const std::string text = R"(class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "f32[3, 4]"):
        # No stacktrace found for following nodes
        true_graph_0 = self.true_graph_0
        false_graph_0 = self.false_graph_0
        conditional = torch.ops.higher_order.cond(False, true_graph_0, false_graph_0, [arg0_1]);  true_graph_0 = false_graph_0 = arg0_1 = None
        getitem: "f32[3, 4]" = conditional[0];  conditional = None
        add: "f32[3, 4]" = torch.ops.aten.add.Tensor(getitem, 3);  getitem = None
        return (add,)

    class true_graph_0(torch.nn.Module):
        def forward(self, arg0_1: "f32[3, 4]"):
            # No stacktrace found for following nodes
            sin: "f32[3, 4]" = torch.ops.aten.sin.default(arg0_1);  arg0_1 = None
            add: "f32[3, 4]" = torch.ops.aten.add.Tensor(sin, 0.5);  sin = None
            return (add,)

    class false_graph_0(torch.nn.Module):
        def forward(self, arg0_1: "f32[3, 4]"):
            # No stacktrace found for following nodes
            cos: "f32[3, 4]" = torch.ops.aten.cos.default(arg0_1);  arg0_1 = None
            add: "f32[3, 4]" = torch.ops.aten.add.Tensor(cos, 7.0);  cos = None
            return (add,)
)";
  const Graph g = conditional();
  expect_text(g, text, GraphForm::readable);
  // The text is enough: it has the subgraphs, and what is known of every value.
  const Graph back = parse_graph(text);
  EXPECT_EQ(difference(g, back), "");
  EXPECT_EQ(print(back, GraphForm::readable), text);
}

TEST(GraphPrint, G08_TypesSymbolsAndSourceLines) {
  const Int s0(Expr::symbol("s0", 2));
  const Int u0(Expr::symbol("u0", 0));
  Graph g;
  Node* n = with_meta(g.placeholder("arg0_1"), s0);
  Node* x = with_meta(g.placeholder("arg1_1"), fake({s0, 8}));
  Node* w = g.placeholder("arg2_1");
  Node* add = with_meta(g.scalar(ScalarFunction::add, {n, Value(1)}), s0 + 1);
  add->stack_trace =
      "  File \"/lib/site-packages/torch/x.py\", line 3, in call\n    f()\n  File \"model.py\", line 12, in forward\n    n = x.shape[0] + 1\n";
  Node* pad =
      with_meta(g.call(op("constant_pad_nd"), {x, Argument::list({Value(0), Value(0), Value(0), Value(1)})}), fake({s0 + 1, 8}));
  pad->stack_trace = add->stack_trace;
  Node* t = with_meta(g.call(op("t"), {pad}), make_alias(pad->meta.tensor(), {{8, s0 + 1}, {1, 8}, 0, DType::f32}));
  Node* nz = with_meta(g.call(op("nonzero"), {w}), fake({u0, 2}, DType::i64));
  nz->stack_trace = "File \"model.py\", line 13, in forward\n  return w.nonzero()";
  g.outputs = {t, nz, add};
  expect_text(g, R"py(class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "Sym(s0)", arg1_1: "f32[s0, 8]", arg2_1):
        # File: model.py:12 in forward, code: n = x.shape[0] + 1
        add: "Sym(s0 + 1)" = arg0_1 + 1;  arg0_1 = None
        constant_pad_nd: "f32[s0 + 1, 8]" = torch.ops.aten.constant_pad_nd.default(arg1_1, [0, 0, 0, 1]);  arg1_1 = None

        # No stacktrace found for following nodes
        t: "f32[8, s0 + 1]" = torch.ops.aten.t.default(constant_pad_nd);  constant_pad_nd = None

        # File: model.py:13 in forward, code: return w.nonzero()
        nonzero: "i64[u0, 2]" = torch.ops.aten.nonzero.default(arg2_1);  arg2_1 = None
        return (t, nonzero, add)
)py",
              GraphForm::readable);

  // The full form has strides and devices too, and all of it comes back.
  const std::string full = print(g, GraphForm::full);
  EXPECT_NE(full.find("t: \"f32[8, s0 + 1][1, 8]cpu\" = "), full.npos) << full;
  const Graph back = parse_graph(full);
  EXPECT_EQ(print(back, GraphForm::full), full);
  EXPECT_TRUE(back.nodes()[0]->meta.to_int().same(s0));
  EXPECT_TRUE(back.nodes()[6]->meta.tensor().size(0).same(u0));
  EXPECT_TRUE(back.nodes()[5]->meta.tensor()->geom.same(t->meta.tensor()->geom));
}

// Items stand where their list was made, and say so without a trace of their own.
TEST(GraphPrint, G08_ItemsHaveTheSourceOfTheirList) {
  Graph g;
  Node* x = g.placeholder("x");
  Node* best = g.call(op("max.dim"), {x, Value(0)});
  best->stack_trace = "File \"model.py\", line 3, in forward\n  return x.max(0)";
  best->module_path = "top (Model)";
  Node *value = g.item(best, 0), *index = g.item(best, 1);
  g.outputs = {value, index};
  const std::string listing = print(g, GraphForm::readable);
  EXPECT_EQ(listing.find("No stacktrace"), listing.npos) << listing;
  EXPECT_EQ(provenance(*index), " (node getitem_1, from top (Model) at model.py:3)");
  EXPECT_EQ(print(parse_graph(listing), GraphForm::readable), listing);
}

// FX has no word for what an input is: where its name does not tell, the text does.
TEST(GraphPrint, G08_RolesOfInputs) {
  Graph g;
  Node* x = with_meta(g.placeholder("x"), fake({2}));
  Node* tangent = with_meta(g.placeholder("tangents_1", Role::tangent), fake({2}));
  Node* seed = with_meta(g.placeholder("seed", Role::tangent), fake({2}));
  Node* value = with_meta(g.placeholder("tangents_of_a_curve"), fake({2}));
  Node* unknown = g.placeholder("unknown", Role::tangent);
  g.outputs = {x, tangent, seed, value, unknown};
  const std::string end = "    return (x, tangents_1, seed, tangents_of_a_curve, unknown)\n";
  expect_text(g,
              R"(def forward(self, x, tangents_1, seed: "tangent", tangents_of_a_curve: "value", unknown: "tangent"):
)" + end);
  expect_text(g,
              R"(class <lambda>(torch.nn.Module):
    def forward(self, x: "f32[2][1]cpu", tangents_1: "f32[2][1]cpu", seed: "tangent f32[2][1]cpu", tangents_of_a_curve: "value f32[2][1]cpu", unknown: "tangent"):
    )" + end,
              GraphForm::full);
  const Graph back = parse_graph(print(g, GraphForm::full));
  EXPECT_EQ(print(back, GraphForm::full), print(g, GraphForm::full));
  const std::string of_node = "def forward(self, x):\n    y: \"tangent f32[2]\" = -x\n    return (y,)\n";
  EXPECT_TRUE(error_of([&] { (void)parse_graph(of_node); }).starts_with("<graph>:2:8: ")) << "only inputs have roles";
}

// What the two graphs of a pair keep for each other and return: the full form alone says it, as it
// does what else FX's forms have no place for.
TEST(GraphPrint, G08_RolesOfAPair) {
  Graph g;
  Node* kept = with_meta(g.placeholder("sin", Role::saved), fake({2}));
  Node* named = with_meta(g.placeholder("tangents_of_a_curve", Role::saved), fake({2}));
  Node* tangent = with_meta(g.placeholder("tangents_1", Role::tangent), fake({2}));
  Node* mul = with_meta(g.call(op("mul.Tensor"), {tangent, kept}), fake({2}));
  Node* list = g.call(op("max.dim"), {named, Value(0)});
  mul->role = Role::gradient;
  list->role = Role::saved;
  g.outputs = {mul, g.item(list, 0)};
  expect_text(g, R"(def forward(self, sin, tangents_of_a_curve: "value", tangents_1):
    mul = torch.ops.aten.mul.Tensor(tangents_1, sin);  tangents_1 = sin = None
    max_1 = torch.ops.aten.max.dim(tangents_of_a_curve, 0);  tangents_of_a_curve = None
    getitem = max_1[0];  max_1 = None
    return (mul, getitem)
)");
  const std::string full = R"(class <lambda>(torch.nn.Module):
    def forward(self, sin: "saved f32[2][1]cpu", tangents_of_a_curve: "saved f32[2][1]cpu", tangents_1: "f32[2][1]cpu"):
        # No stacktrace found for following nodes
        mul: "gradient f32[2][1]cpu" = torch.ops.aten.mul.Tensor(tangents_1, sin);  tangents_1 = sin = None
        max_1: "saved" = torch.ops.aten.max.dim(tangents_of_a_curve, 0);  tangents_of_a_curve = None
        getitem = max_1[0];  max_1 = None
        return (mul, getitem)
)";
  expect_text(g, full, GraphForm::full);
  const Graph back = parse_graph(full);
  ASSERT_EQ(back.nodes().size(), g.nodes().size());
  for (std::size_t k = 0; k < g.nodes().size(); k++) EXPECT_EQ(back.nodes()[k]->role, g.nodes()[k]->role) << g.nodes()[k]->name;
  EXPECT_EQ(back.nodes()[3]->meta.tensor().sizes(), Shape{2}) << "and what is known of it";
}

// Attributes that nobody gives are made of what the text says about them.
TEST(GraphPrint, G08_AnnotatedAttributes) {
  const std::string text = R"(class GraphModule(torch.nn.Module):
    def forward(self):
        # No stacktrace found for following nodes
        weight: "bf16[2, 3][1, 2]cuda:1" = self.weight
        return (weight,)
)";
  const Graph g = parse_graph(text);
  EXPECT_EQ(find_fault(g), "");
  const Tensor& w = std::get<Tensor>(*g.find_attribute("weight"));
  EXPECT_TRUE(w->is_fake());
  EXPECT_TRUE(w->geom.same({{2, 3}, {1, 2}, 0, DType::bf16}));
  EXPECT_EQ(w.device(), (Device{DeviceType::cuda, 1}));
}

struct Listing {
  std::string name, text;
};
std::vector<Listing> listings() {
  std::ifstream in(INGOT_TEST_DATA "/graph_listings.txt");
  std::vector<Listing> out;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("=== ")) out.push_back({line.substr(4), ""});
    else if (!out.empty()) out.back().text += line + "\n";
  }
  return out;
}

// A071, with its chain of three, and a branch that is none.
TEST(GraphPrint, G10_ChainsOfDetach) {
  const Graph g = parse_graph(R"(def forward(self, primals_1):
    mul = torch.ops.aten.mul.Tensor(primals_1, 3);  primals_1 = None
    view = torch.ops.aten.view.default(mul, [-1])
    select = torch.ops.aten.select.int(mul, 0, 0)
    detach = torch.ops.aten.detach.default(select);  select = None
    detach_1 = torch.ops.aten.detach.default(detach);  detach = None
    detach_2 = torch.ops.aten.detach.default(detach_1);  detach_1 = None
    detach_3 = torch.ops.aten.detach.default(detach_2)
    return [view, mul, detach_2, detach_3]
)");
  EXPECT_EQ(print(with_short_detach_chains(g)), R"(def forward(self, primals_1):
    mul = torch.ops.aten.mul.Tensor(primals_1, 3);  primals_1 = None
    view = torch.ops.aten.view.default(mul, [-1])
    select = torch.ops.aten.select.int(mul, 0, 0)
    detach = torch.ops.aten.detach.default(select);  select = None
    detach_1 = torch.ops.aten.detach.default(detach)
    return [view, mul, detach, detach_1]
)");
}

// Every listing of the spec is a graph of ours, and prints as it stands there: G01 to G08, with the
// chains of detach.
TEST(GraphPrint, EveryListingOfTheSpec) {
  int count = 0;
  for (const Listing& l : listings()) {
    SCOPED_TRACE(l.name);
    Attributes attributes;
    const std::regex fetch("self\\.(\\w+)");
    for (std::sregex_iterator i(l.text.begin(), l.text.end(), fetch), end; i != end; ++i)
      attributes.set((*i)[1].str(), shared(Graph()));
    const Graph g = parse_graph(l.text, {.file = l.name, .attributes = &attributes});
    const GraphForm form = l.text.starts_with("class") ? GraphForm::readable : GraphForm::plain;
    EXPECT_EQ(find_fault(g, form), "");
    EXPECT_EQ(print(g, form), l.text);
    count++;
  }
  EXPECT_EQ(count, 80);
}

}  // namespace
}  // namespace ingot
