// Targets, assertions, provenance and higher-order operators of exported programs (sections 10,
// 12.2 and 13).
#include "graph/interpret.hpp"
#include "graph/text.hpp"
#include "format/pt2/graph.hpp"
#include "op/call.hpp"
#include "unit/pt2_fixture.hpp"

namespace ingot {
namespace {

using namespace pt2_json;

Values run(const ProgramJson& p, const Values& in) { return read(p).run(in); }

// ---- 10

TEST(Pt2Nodes, P110_P111_P116_UnknownTargetsAreReportedTogether) {
  GraphJson inner;
  inner.inputs = {val("a")};
  inner.nodes = {node("torch.ops.torchvision.decode_gif.default", {arg("boxes", val("a"))}, {val("r")}, "r")};
  inner.outputs = {val("r")};
  ProgramJson p;
  p.input("x");
  const char* unknown[] = {"torch.ops.mine.magic.default",
                           "torch.ops.aten.nonsense.default",
                           "torch.ops.aten.add.Nonsense",
                           "torch.ops.aten.add",
                           "#ext:op",
                           "math.sin",
                           "torch.ops.higher_order.aoti_call_delegate",
                           "torch.ops.higher_order.auto_functionalized_v2",
                           "torch._C._set_grad_enabled",
                           "torch.amp.autocast_mode._enter_autocast",
                           "anything"};
  int i = 0;
  for (const char* target : unknown) p.then(node(target, {arg("", val("x"))}, {val(text("y", i))}, text("y", i))), i++;
  p.then(node("torch.ops.higher_order.wrap", {arg("", inner.as_argument("g")), arg("", val("x"))}, {val("z")}, "wrap"))
      .returns(val("z"));
  const Program program = read(p);  // loading and listing works
  EXPECT_EQ(program.main().unsupported_nodes().size(), std::size(unknown) + 1);
  const std::string message = refusal(p, {tensor({1.})});
  i = 0;
  for (const char* target : unknown) expect_in(text("unsupported operator ", target, " (node y", i++, ")"), message);
  expect_in("unsupported operator torch.ops.torchvision.decode_gif.default (node r)", message);
}

TEST(Pt2Nodes, P112_P114_ScalarFunctions) {
  struct Case {
    const char* target;
    Values args;
    Value expected;
  };
  const Case cases[] = {{"_operator.add", {7, 3}, 10},
                        {"_operator.sub", {7, 3}, 4},
                        {"_operator.mul", {7, 3}, 21},
                        {"_operator.neg", {7}, -7},
                        {"_operator.pos", {7}, 7},
                        {"_operator.add", {7, 0.5}, 7.5},
                        {"_operator.floordiv", {-7, 2}, -4},
                        {"_operator.mod", {-7, 3}, 2},
                        {"_operator.mod", {7, -3}, -2},
                        {"_operator.truediv", {7, 2}, 3.5},
                        {"_operator.pow", {2, 10}, 1024},
                        {"_operator.pow", {2, -1}, 0.5},
                        {"_operator.lshift", {3, 2}, 12},
                        {"_operator.rshift", {-7, 1}, -4},
                        {"_operator.and_", {6, 3}, 2},
                        {"_operator.or_", {6, 3}, 7},
                        {"_operator.and_", {true, false}, false},
                        {"_operator.or_", {true, false}, true},
                        {"_operator.eq", {7, 7}, true},
                        {"_operator.ne", {7, 7}, false},
                        {"_operator.lt", {3, 7}, true},
                        {"_operator.le", {7, 7}, true},
                        {"_operator.gt", {3, 7}, false},
                        {"_operator.ge", {7, 7.5}, false},
                        {"math.trunc", {-2.5}, -2},
                        {"torch.sym_int", {2.9}, 2},
                        {"torch.sym_float", {2}, 2.0},
                        {"torch.sym_not", {true}, false},
                        {"torch.sym_max", {3, 7}, 7},
                        {"torch.sym_min", {3, 7}, 3},
                        {"torch.sym_ite", {true, 1, 2}, 1},
                        {"torch.sym_ite", {false, 1, 2}, 2},
                        {"torch.sym_sqrt", {16}, 4.0},
                        {"torch._sym_sqrt", {16}, 4.0}};
  for (const Case& c : cases) {
    ProgramJson p;
    std::vector<std::string> args;
    for (std::size_t i = 0; i < c.args.size(); i++) {
      const std::string name = text("v", i);
      p.user(c.args[i].is_int() ? sym_int(name) : c.args[i].is_bool() ? sym_bool(name) : sym_float(name));
      args.push_back(arg("whatever", p.graph.inputs.back()));  // names are not checked
    }
    const std::string out = c.expected.is_int() ? sym_int("r") : c.expected.is_bool() ? sym_bool("r") : sym_float("r");
    p.then(node(c.target, args, {out}, "r")).returns(out);
    EXPECT_TRUE(run(p, c.args)[0].same(c.expected)) << c.target << ": " << to_text(run(p, c.args)[0]);
  }
  ProgramJson p;
  p.user(sym_int("n")).then(node("_operator.add", {arg("a", sym_int("n"))}, {sym_int("r")}, "r")).returns(sym_int("r"));
  expect_in("r: _operator.add takes 2 arguments, found 1", error_of(p));
}

TEST(Pt2Nodes, P113_SizeReaders) {
  ProgramJson p;
  p.input("x").input("i").input("f").input("b");
  const auto reader = [&](std::string_view op, const std::vector<std::string>& inputs, const std::string& out,
                          std::string_view name) { p.then(node(text("torch.ops.aten.", op), inputs, {out}, name)).returns(out); };
  const std::string self = arg("self", val("x"));
  reader("sym_size.int", {self, arg("dim", integer(-1))}, sym_int("a"), "a");
  reader("sym_stride.int", {self, arg("dim", integer(0))}, sym_int("c"), "c");
  reader("sym_storage_offset.default", {self}, sym_int("d"), "d");
  reader("sym_numel.default", {self}, sym_int("e"), "e");
  reader("sym_is_contiguous.default", {self}, sym_bool("g"), "g");
  reader("item.default", {arg("self", val("i"))}, sym_int("h"), "h");
  reader("item.default", {arg("self", val("f"))}, sym_float("j"), "j");
  reader("_local_scalar_dense.default", {arg("self", val("b"))}, sym_bool("k"), "k");
  p.graph.sym_ints = {entry("e", number("6"))};  // given as a constant
  const Values out = run(p, {zeros({3, 3}).narrow(0, 1, 2), tensor({9}, DType::i32), tensor({0.5}), tensor({1}, DType::b8)});
  EXPECT_EQ(out[0].to_int64(), 3);
  EXPECT_EQ(out[1].to_int64(), 3);
  EXPECT_EQ(out[2].to_int64(), 3);
  EXPECT_EQ(out[3].to_int64(), 6);
  EXPECT_TRUE(out[4].to_bool());
  EXPECT_TRUE(out[5].is_int() && out[5].to_int64() == 9);
  EXPECT_TRUE(out[6].is_float() && out[6].to_double() == 0.5);
  EXPECT_TRUE(out[7].is_bool() && out[7].to_bool());
}

TEST(Pt2Nodes, P115_GetItem) {
  ProgramJson p;
  p.input("x").then(node("torch.ops.aten.sym_size.default", {arg("self", val("x"))}, {sym_int("sizes")}, "sizes"));
  p.then(node("_operator.getitem", {arg("a", sym_int("sizes")), arg("b", integer(1))}, {sym_int("n")}, "n"))
      .returns(sym_int("n"));
  EXPECT_EQ(run(p, {zeros({2, 5})})[0].to_int64(), 5);
}

TEST(Pt2Nodes, P120_P121_Assertions) {
  const auto asserting = [](std::string_view op, const std::vector<std::string>& more,
                            const std::vector<std::string>& outputs = {}) {
    ProgramJson p;
    p.input("x").input("token");
    std::vector<std::string> inputs = {arg("self", val("x"))};
    inputs.insert(inputs.end(), more.begin(), more.end());
    p.then(node(text("torch.ops.aten.", op), inputs, outputs, "check")).returns(val("x"));
    return p;
  };
  const Values good{tensor({2.}), tensor({0.})}, bad{tensor({0.}), tensor({0.})};
  const ProgramJson message = asserting("_assert_async.msg", {arg("assert_msg", str("it is zero"))});
  EXPECT_EQ(run(message, good).size(), 1u);
  EXPECT_EQ(refusal(message, bad), "it is zero");
  EXPECT_EQ(refusal(asserting("_assert_async.default", {}), bad), "Expected Tensor with single nonzero value, but got zero");
  const ProgramJson functional = asserting("_functional_assert_async.msg",
                                           {arg("assert_msg", str("it is zero")), arg("dep_token", val("token"))}, {val("t")});
  EXPECT_EQ(run(functional, good).size(), 1u);
  expect_in("it is zero", refusal(functional, bad));

  const auto number = [](std::string_view self) {
    ProgramJson p;
    p.input("x").user(sym_int("n"));
    p.then(node("torch.ops.aten._assert_scalar.default", {arg("self", self), arg("assert_msg", str("no n"))}, {}, "check"))
        .returns(val("x"));
    return p;
  };
  EXPECT_EQ(run(number(sym_int("n")), {tensor({1.}), Value(3)}).size(), 1u);
  EXPECT_EQ(refusal(number(sym_int("n")), {tensor({1.}), Value(0)}), "no n");
  EXPECT_EQ(refusal(number(as("as_bool", "false")), {tensor({1.}), Value(0)}),
            "no n");  // proven false: still only when it runs

  const auto constrained = [](std::string_view op, const std::vector<std::string>& more) {
    ProgramJson p;
    p.input("x").user(sym_int("n"));
    std::vector<std::string> inputs = {arg("size", sym_int("n"))};
    inputs.insert(inputs.end(), more.begin(), more.end());
    p.then(node(text("torch.ops.aten.", op), inputs, {}, "check")).returns(val("x"));
    return p;
  };
  const ProgramJson range = constrained("sym_constrain_range.default", {arg("min", integer(2), 2), arg("max", integer(4), 2)});
  EXPECT_EQ(run(range, {tensor({1.}), Value(4)}).size(), 1u);
  expect_in("Invalid value range for 5 between [2, 4]", refusal(range, {tensor({1.}), Value(5)}));
  expect_in("Invalid value range for 1 between [2, 4]", refusal(range, {tensor({1.}), Value(1)}));
  const ProgramJson open = constrained("sym_constrain_range.default", {});
  EXPECT_EQ(run(open, {tensor({1.}), Value(-5)}).size(), 1u);
  const ProgramJson size = constrained("sym_constrain_range_for_size.default", {});
  EXPECT_EQ(run(size, {tensor({1.}), Value(0)}).size(), 1u);
  expect_in("Invalid value range for -1", refusal(size, {tensor({1.}), Value(-1)}));
}

TEST(Pt2Nodes, P122_TensorMetadata) {
  const auto checking = [](const std::vector<std::string>& more) {
    ProgramJson p;
    std::vector<std::string> inputs = {arg("a", val("x"))};
    inputs.insert(inputs.end(), more.begin(), more.end());
    p.input("x").then(node("torch.ops.aten._assert_tensor_metadata.default", inputs, {}, "check")).returns(val("x"));
    return p;
  };
  const std::string none = as("as_none", "true");
  // Where the exporter ran is not checked.
  EXPECT_EQ(run(checking({arg("size", none), arg("stride", none), arg("dtype", as("as_scalar_type", "7")),
                          arg("device", as("as_device", R"({"type": "cuda", "index": 3})"), 2),
                          arg("layout", as("as_layout", "7"), 2)}),
                {tensor({1.})})
                .size(),
            1u);
  expect_in("dtype mismatch", refusal(checking({arg("dtype", as("as_scalar_type", "8"))}), {tensor({1.})}));
  expect_in("sizes mismatch", refusal(checking({arg("size", as("as_ints", "[2]"))}), {tensor({1.})}));
  expect_in("strides mismatch", refusal(checking({arg("stride", as("as_ints", "[2]"))}), {tensor({1.})}));
}

TEST(Pt2Nodes, P124_StatisticsAreWritten) {
  ProgramJson p;
  p.state("buffer", "b_m", "m", R"(, "persistent": true)").state("buffer", "b_v", "v", R"(, "persistent": true)").input("x");
  const std::string none = as("as_none", "true");
  p.then(op_node("batch_norm.default",
                 {arg("input", val("x")), arg("weight", none), arg("bias", none), arg("running_mean", val("b_m")),
                  arg("running_var", val("b_v")), arg("training", as("as_bool", "true")), arg("momentum", as("as_float", "0.5")),
                  arg("eps", as("as_float", "0.0")), arg("cudnn_enabled", as("as_bool", "false"))},
                 "y"))
      .returns(val("y"));
  Tensor m = tensor({0.}), v = tensor({1.});
  Program program = read(p, {{"m", state_of(m)}, {"v", state_of(v)}});
  (void)program.run(Values{tensor({1., 3}, {2, 1})});
  EXPECT_EQ(floats(m), Floats{1});    // 0.5*0 + 0.5*2
  EXPECT_EQ(floats(v), Floats{1.5});  // 0.5*1 + 0.5*2
}

// ---- 12.2

TEST(Pt2Nodes, P160_P161_P162_Provenance) {
  const std::string trace =
      R"(File \"/home/a/model.py\", line 12, in forward\n    y = f(x)\nFile \"/x/site-packages/torch/nn.py\", line 99, in g\n    return h)";
  const std::string modules = "L__self__,,m.Net;L__self__b,b.0,torch.nn.Foo[int, (1, 2)]";
  const auto with = [](const std::string& metadata) {
    ProgramJson p;
    p.input("x").then(node("torch.ops.aten.max.dim", {arg("self", val("x")), arg("dim", integer(5))}, {val("v"), val("i")},
                           "max_1", text(R"("metadata": )", metadata)));
    p.returns(val("v"));
    return p;
  };
  const ProgramJson p = with(text(R"({"stack_trace": ")", trace, R"(", "nn_module_stack": ")", modules,
                                  R"(", "torch_fn": "a;b", "custom": "{}", "odd": 3})"));
  const Program program = read(p);
  for (const auto& n : program.main().graph.nodes()) {
    if (n->kind == NodeKind::placeholder) continue;
    EXPECT_EQ(source_of(*n).module_path, "b.0 (torch.nn.Foo[int, (1, 2)])") << n->name;  // outputs share the node's
    EXPECT_EQ(source_line(source_of(*n).stack_trace), "/home/a/model.py:12");
  }
  expect_in("(node max_1, from b.0 (torch.nn.Foo[int, (1, 2)]) at /home/a/model.py:12)", refusal(p, {zeros({2, 2})}));
  // Never an error.
  for (const char* odd :
       {R"({"nn_module_stack": "nonsense", "stack_trace": "nonsense"})", R"({"stack_trace": null})", "null", "[1]", "3"})
    EXPECT_EQ(read(with(odd)).main().graph.nodes()[1]->module_path, "") << odd;
}

// ---- 13

GraphJson unary_graph(std::string_view op, std::string_view name = "r") {
  GraphJson g;
  g.inputs = {val("a")};
  g.nodes = {op_node(op, {arg("self", val("a"))}, name)};
  g.outputs = {val(name)};
  return g;
}
std::string hop(std::string_view name, const std::vector<std::string>& args, const std::vector<std::string>& outputs,
                std::string_view single = "false") {
  return node(text("torch.ops.higher_order.", name), args, outputs, "hop",
              text(R"("metadata": {}, "is_hop_single_tensor_return": )", single));
}

TEST(Pt2Nodes, P170_P172_SubgraphsAndTheirNames) {
  ProgramJson p;
  p.input("x").returns(val("y"));
  // A name twice among the graphs of one parent.
  p.then(hop("cond",
             {arg("", as("as_bool", "true")), arg("", unary_graph("neg.default").as_argument("g")),
              arg("", unary_graph("exp.default").as_argument("g")), arg("", vals({"x"}))},
             {val("y")}));
  expect_in("subgraph 'g' is defined twice", error_of(p));
  // One output: a tuple of one, or a bare value; both are the value.
  for (const char* single : {"false", "true", "null"}) {
    p.graph.nodes = {hop("cond",
                         {arg("", as("as_bool", "true")), arg("", unary_graph("neg.default").as_argument("t")),
                          arg("", unary_graph("exp.default").as_argument("f")), arg("", vals({"x"}))},
                         {val("y")}, single)};
    EXPECT_EQ(floats(run(p, {tensor({2.})})[0]), Floats{-2}) << single;
  }
  // Subgraphs may have subgraphs.
  GraphJson outer;
  outer.inputs = {val("a")};
  outer.nodes = {hop("wrap", {arg("", unary_graph("neg.default").as_argument("inner")), arg("", val("a"))}, {val("b")})};
  outer.outputs = {val("b")};
  p.graph.nodes = {hop("wrap", {arg("", outer.as_argument("g")), arg("", val("x"))}, {val("y")})};
  EXPECT_EQ(floats(run(p, {tensor({2.})})[0]), Floats{-2});
}

TEST(Pt2Nodes, P172_Cond) {
  const auto program = [](const std::string& predicate) {
    ProgramJson p;
    p.input("x").input("c").user(sym_bool("b")).returns(val("y"));
    p.then(hop("cond",
               {arg("", predicate), arg("", unary_graph("neg.default").as_argument("t")),
                arg("", unary_graph("abs.default").as_argument("f")), arg("", vals({"x"}))},
               {val("y")}));
    return p;
  };
  for (const bool c : {true, false})
    for (const std::string& predicate : {val("c"), sym_bool("b"), as("as_bool", c ? "true" : "false")})
      EXPECT_EQ(floats(run(program(predicate), {tensor({2.}), tensor({c ? 1.0 : 0.0}, DType::b8), Value(c)})[0]),
                Floats{c ? -2.f : 2.f});
}

// Doubles v while v < 10; n counts.
std::vector<std::string> loop_args() {
  GraphJson condition, body;
  condition.inputs = body.inputs = {val("v"), val("n"), val("limit")};
  condition.nodes = {op_node("lt.Tensor", {arg("self", val("v")), arg("other", val("limit"))}, "go")};
  condition.outputs = {val("go")};
  condition.bare = true;
  body.nodes = {op_node("add.Tensor", {arg("self", val("v")), arg("other", val("v"))}, "w"),
                op_node("add.Tensor", {arg("self", val("n")), arg("other", integer(1))}, "m")};
  body.outputs = {val("w"), val("m")};
  return {arg("", condition.as_argument("c")), arg("", body.as_argument("b")), arg("", vals({"x", "n"})),
          arg("", vals({"limit"}))};
}
TEST(Pt2Nodes, P172_WhileLoop) {
  ProgramJson p;
  p.input("x")
      .input("n")
      .input("limit")
      .then(hop("while_loop", loop_args(), {val("y"), val("m")}))
      .returns(val("y"))
      .returns(val("m"));
  Values out = run(p, {tensor({3.}), tensor({0.}), tensor({10.})});
  EXPECT_EQ(floats(out[0]), Floats{12});
  EXPECT_EQ(floats(out[1]), Floats{2});
  const Tensor x = tensor({30.});
  out = run(p, {x, tensor({0.}), tensor({10.})});
  EXPECT_EQ(floats(out[0]), Floats{30});
  EXPECT_NE(out[0].tensor().data_ptr(), x.data_ptr());  // a copy
  p.graph.nodes = {hop("while_loop_stack_output", loop_args(), {val("y"), val("m")})};
  out = run(p, {tensor({3.}), tensor({0.}), tensor({10.})});
  EXPECT_EQ(out[0].tensor().sizes(), (Shape{2, 1}));
  EXPECT_EQ(floats(out[0]), (Floats{6, 12}));
}

TEST(Pt2Nodes, P172_Scans) {
  GraphJson sum;
  sum.inputs = {val("c"), val("v"), val("k")};
  sum.nodes = {op_node("add.Tensor", {arg("self", val("c")), arg("other", val("v"))}, "d"),
               op_node("mul.Tensor", {arg("self", val("d")), arg("other", val("k"))}, "e")};
  sum.outputs = {val("d"), val("e")};
  ProgramJson p;
  p.input("init").input("xs").input("k");
  p.then(hop("scan", {arg("", sum.as_argument("g")), arg("", vals({"init"})), arg("", vals({"xs"})), arg("", vals({"k"}))},
             {val("last"), val("all")}));
  p.returns(val("last")).returns(val("all"));
  Values out = run(p, {tensor({0.}, Shape{}), tensor({1., 2, 3}), tensor({10.}, Shape{})});
  EXPECT_EQ(floats(out[0]), Floats{6});
  EXPECT_EQ(floats(out[1]), (Floats{10, 30, 60}));

  GraphJson product;
  product.inputs = {val("a"), val("b")};
  product.nodes = {op_node("mul.Tensor", {arg("self", val("a")), arg("other", val("b"))}, "c")};
  product.outputs = {val("c")};
  ProgramJson q;
  q.input("xs")
      .then(hop("associative_scan", {arg("", product.as_argument("g")), arg("", vals({"xs"})), arg("", as("as_tensors", "[]"))},
                {val("y")}))
      .returns(val("y"));
  EXPECT_EQ(floats(run(q, {tensor({1., 2, 3, 4})})[0]), (Floats{1, 2, 6, 24}));

  ProgramJson m;
  m.input("xs")
      .input("k")
      .then(hop("map_impl", {arg("", product.as_argument("g")), arg("", vals({"xs"})), arg("", vals({"k"}))}, {val("y")}))
      .returns(val("y"));
  EXPECT_EQ(floats(run(m, {tensor({1., 2, 3}), tensor({10.}, Shape{})})[0]), (Floats{10, 20, 30}));
}

TEST(Pt2Nodes, P172_Regions) {
  const std::string g = unary_graph("neg.default").as_argument("g"), none = as("as_none", "true");
  const std::vector<std::string> nodes = {
      hop("wrap_with_set_grad_enabled", {arg("", as("as_bool", "false")), arg("", g), arg("", val("x"))}, {val("y")}),
      hop("wrap_with_autocast",
          {arg("", str("cpu")), arg("", none), arg("", as("as_bool", "true")), arg("", none), arg("", g), arg("", val("x"))},
          {val("y")}),
      hop("hints_wrapper",
          {arg("", g), arg("", vals({"x"})), arg("", R"({"as_string_to_argument": {}})"),
           arg("", R"({"as_string_to_argument": {"h": {"as_int": 1}}})")},
          {val("y")}),
      hop("strict_mode", {arg("", g), arg("", vals({"x"}))}, {val("y")}),
      hop("invoke_subgraph", {arg("", g), arg("", str("id")), arg("", val("x"))}, {val("y")}),
      hop("invoke_subgraph", {arg("", g), arg("", none), arg("", val("x"))}, {val("y")}),
      hop("tag_activation_checkpoint",
          {arg("", g), arg("", val("x")), arg("use_reentrant", as("as_bool", "false"), 2),
           arg("preserve_rng_state", as("as_bool", "true"), 2)},
          {val("y")}),
      hop("wrap", {arg("", g), arg("", val("x"))}, {val("y")}),
      hop("wrap_activation_checkpoint", {arg("", g), arg("", val("x"))}, {val("y")}),
      hop("run_const_graph", {arg("", g), arg("", vals({"x"}))}, {val("y")}),
  };
  for (const std::string& n : nodes) {
    ProgramJson p;
    p.input("x").then(n).returns(val("y"));
    EXPECT_EQ(floats(run(p, {tensor({2.})})[0]), Floats{-2}) << n;
  }
  // Gradients do not leave a region without them; autocast casts inside.
  ProgramJson p;
  p.input("x").then(nodes[0]).returns(val("y"));
  Tensor x = tensor({2.});
  x.requires_grad_();
  EXPECT_FALSE(run(p, {x})[0].tensor().requires_grad());
  GraphJson mm;
  mm.inputs = {val("a")};
  mm.nodes = {op_node("mm.default", {arg("self", val("a")), arg("mat2", val("a"))}, "r")};
  mm.outputs = {val("r")};
  p.graph.nodes = {hop("wrap_with_autocast",
                       {arg("", str("cpu")), arg("", as("as_scalar_type", "13")), arg("", as("as_bool", "true")), arg("", none),
                        arg("", mm.as_argument("g")), arg("", val("x"))},
                       {val("y")})};
  EXPECT_EQ(run(p, {ones({2, 2})})[0].tensor().dtype(), DType::bf16);
  p.graph.nodes = {hop("cond", {arg("", as("as_bool", "true"))}, {val("y")})};
  expect_in("hop: torch.ops.higher_order.cond: argument true_graph is missing", error_of(p));
  p.graph.nodes = {hop("strict_mode", {arg("", g), arg("", vals({"x"})), arg("speed", integer(1), 2)}, {val("y")})};
  expect_in("the operator has no argument 'speed'", error_of(p));
  p.graph.nodes = {node("torch.ops.higher_order.print", {arg("", str("{a}")), arg("a", integer(1), 2)}, {}, "print"),
                   op_node("neg.default", {arg("self", val("x"))}, "y")};
  EXPECT_EQ(floats(run(p, {tensor({2.})})[0]), Floats{-2});
}

// An operator of a user: it writes and returns nothing.
const OpDef kBump[] = {{.schema = "mine::bump(Tensor(a!) self, Tensor by, int times=1) -> ()",
                        .form = Form::external,
                        .body = [](const Call& c) -> Value {
                          for (int64_t i = 0; i < c[2].to_int64(); i++) (void)aten<"add_.Tensor">(c[0], c[1]);
                          return {};
                        }}};

TEST(Pt2Nodes, P172_OperatorsAsArguments) {
  register_ops(kBump);
  const auto op = [](std::string_view name) { return as("as_operator", text("\"torch.ops.aten.", name, "\"")); };
  ProgramJson p;
  p.input("x").input("z");
  p.then(hop("auto_functionalized", {arg("", op("add_.Tensor")), arg("other", val("z"), 2), arg("self", val("x"), 2)},
             {val("r"), val("written")}));
  p.returns(val("written")).returns(val("x"));
  const Tensor x = tensor({1.});
  Values out = run(p, {x, tensor({2.})});
  EXPECT_EQ(floats(out[0]), Floats{3});
  EXPECT_EQ(floats(out[1]), Floats{1});  // the argument itself is not written
  // An operator without results: None, then the copies. What is left out has its default.
  ProgramJson none;
  none.input("x").input("z").returns(val("w")).returns(val("x"));
  none.then(hop("auto_functionalized",
                {arg("", as("as_operator", "\"torch.ops.mine.bump.default\"")), arg("self", val("x"), 2), arg("by", val("z"), 2)},
                {as("as_none", "true"), val("w")}));
  out = run(none, {tensor({1.}), tensor({2.})});
  EXPECT_EQ(floats(out[0]), Floats{3});
  EXPECT_EQ(floats(out[1]), Floats{1});

  ProgramJson e;
  e.input("token").input("x").then(hop("with_effects",
                                       {arg("", val("token")), arg("", op("add.Tensor")), arg("", val("x")), arg("", integer(4))},
                                       {val("t"), val("y")}));
  e.returns(val("t")).returns(val("y"));
  out = run(e, {zeros({0}), tensor({1.})});
  EXPECT_EQ(out[0].tensor().numel().number(), 0);
  EXPECT_EQ(floats(out[1]), Floats{5});

  ProgramJson o;
  o.input("x")
      .then(hop("out_dtype",
                {arg("", op("mm.default")), arg("", as("as_scalar_type", "4")), arg("", val("x")), arg("", val("x"))}, {val("y")},
                "true"))
      .returns(val("y"));
  const Tensor bytes = tensor({100, 100, 100, 100}, {2, 2}, DType::i8);
  const Tensor product = run(o, {bytes})[0].tensor();
  EXPECT_EQ(product.dtype(), DType::i32);
  EXPECT_EQ(product.to(DType::i64).to_vector<int64_t>(), std::vector<int64_t>(4, 20000));

  // The operator's arguments are checked as its own; one that Ingot does not have makes the node
  // unsupported.
  o.graph.nodes = {
      hop("out_dtype", {arg("", op("mm.default")), arg("", as("as_scalar_type", "4")), arg("", val("x"))}, {val("y")})};
  expect_in("argument mat2 is missing", error_of(o));
  o.graph.nodes = {hop("out_dtype",
                       {arg("", op("mm.default")), arg("", as("as_scalar_type", "4")), arg("", val("x")), arg("", str("a"))},
                       {val("y")})};
  expect_in("argument mat2 has kind as_string, Tensor expected", error_of(o));
  o.graph.nodes = {hop("with_effects",
                       {arg("", val("x")), arg("", as("as_operator", "\"torch.ops.mine.f.default\"")), arg("", val("x"))},
                       {val("t"), val("y")})};
  EXPECT_EQ(refusal(o, {bytes}), text("unsupported operator torch.ops.higher_order.with_effects (node hop)\n", kListMissing));
}

TEST(Pt2Nodes, P174_SubgraphsMayWriteTheirOperands) {
  GraphJson g;
  g.inputs = {val("a")};
  g.nodes = {op_node("add_.Tensor", {arg("self", val("a")), arg("other", integer(1))}, "r")};
  g.outputs = {val("r")};
  ProgramJson p;
  p.input("x").returns(val("x"));
  p.then(hop("cond",
             {arg("", as("as_bool", "true")), arg("", g.as_argument("t")), arg("", unary_graph("neg.default").as_argument("f")),
              arg("", vals({"x"}))},
             {val("y")}));
  const Tensor x = tensor({1.});
  EXPECT_EQ(floats(run(p, {x})[0]), Floats{2});
  EXPECT_EQ(floats(x), Floats{2});
  // A wrapper that is inlined.
  ProgramJson inlined;
  inlined.input("x").returns(val("x"));
  inlined.then(hop("strict_mode", {arg("", g.as_argument("g")), arg("", vals({"x"}))}, {val("y")}));
  EXPECT_EQ(floats(run(inlined, {x})[0]), Floats{3});
  EXPECT_EQ(floats(x), Floats{3});
  // A loop, each time that it goes round: v is doubled as long as it is below the limit, which
  // comes down by one.
  GraphJson condition, body;
  condition.inputs = body.inputs = {val("v"), val("limit")};
  condition.nodes = {op_node("lt.Tensor", {arg("self", val("v")), arg("other", val("limit"))}, "go")};
  condition.outputs = {val("go")};
  condition.bare = true;
  body.nodes = {op_node("add.Tensor", {arg("self", val("v")), arg("other", val("v"))}, "w"),
                op_node("sub_.Tensor", {arg("self", val("limit")), arg("other", integer(1))}, "less")};
  body.outputs = {val("w")};
  ProgramJson loop;
  loop.input("x").input("limit").returns(val("y")).returns(val("limit"));
  loop.then(
      hop("while_loop",
          {arg("", condition.as_argument("c")), arg("", body.as_argument("b")), arg("", vals({"x"})), arg("", vals({"limit"}))},
          {val("y")}));
  const Tensor limit = tensor({10.});
  const Values out = run(loop, {tensor({3.}), limit});
  EXPECT_EQ(floats(out[0]), Floats{12});
  EXPECT_EQ(floats(out[1]), Floats{8});
  EXPECT_EQ(floats(limit), Floats{8});
}

TEST(Pt2Nodes, P175_UnsupportedHigherOrderOperators) {
  for (const char* name :
       {"call_torchbind", "triton_kernel_wrapper_functional", "aoti_call_delegate", "executorch_call_delegate"}) {
    ProgramJson p;
    p.input("x").then(hop(name,
                          {arg("", str("f")), arg("", val("x")), arg("grid", as("as_int_lists", "[[1, 2], [3]]"), 2),
                           arg("opts", R"({"as_string_to_argument": {"a": {"as_int": 1}}})", 2)},
                          {val("y")}));
    p.returns(val("y"));
    EXPECT_EQ(refusal(p, {tensor({1.})}),
              text("unsupported operator torch.ops.higher_order.", name, " (node hop)\n", kListMissing));
  }
}

// ---- 1.2

TEST(Pt2Nodes, P021_CallsOfACompiledModelAreReadByTheSameParser) {
  const std::string json = R"({"nodes": [{"name": "buf3", "node": {"target": "torch.ops.aten.add.Tensor", "inputs": [
      {"name": "self", "arg": {"as_tensor": {"name": "buf1"}}, "kind": 1}, {"name": "other", "arg": {"as_tensor": {"name": "arg0_1"}}, "kind": 1},
      {"name": "alpha", "arg": {"as_float": 2.0}, "kind": 2}], "outputs": [{"as_tensor": {"name": "buf3"}}], "metadata": {}}},
    {"name": "buf4", "node": {"target": "torch.ops.mine.f.default", "inputs": [
      {"name": "x", "arg": {"as_tensors": [{"name": "buf3"}, {"name": "buf3"}]}, "kind": 1}], "outputs": [{"as_tensor": {"name": "buf4"}}], "metadata": {}}}]})";
  const JsonDocument document(json, "wrapper.json");
  const auto calls = read_proxy_calls(document.root());
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].first, "buf3");
  EXPECT_EQ(print(calls[0].second),
            "def forward(self, buf1, arg0_1):\n"
            "    buf3 = torch.ops.aten.add.Tensor(buf1, arg0_1, alpha = 2.0);  buf1 = arg0_1 = None\n"
            "    return (buf3,)\n");
  const Values out = Interpreter(calls[0].second).run(Values{tensor({1., 2}), tensor({10., 20})});
  EXPECT_EQ(out.at(0).tensor().to_vector<double>(), (std::vector<double>{21, 42}));
  EXPECT_EQ(calls[1].second.inputs().size(), 1u);
  EXPECT_EQ(calls[1].second.nodes()[1]->kind, NodeKind::unsupported);
  const JsonDocument bad(R"({"nodes": [{"name": "b", "node": {"inputs": []}}]})", "wrapper.json");
  EXPECT_EQ(user_error([&] { (void)read_proxy_calls(bad.root()); }),
            "wrapper.json: Node: field target is missing (at nodes[0].node)");
}

}  // namespace
}  // namespace ingot
