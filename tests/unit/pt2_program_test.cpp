// Exported programs: JSON, graphs, arguments, values and enums (sections 4 to 8 of the format).
#include <limits>

#include "expr/evaluate.hpp"
#include "graph/source.hpp"
#include "format/pt2/enums.hpp"
#include "format/pt2/write.hpp"
#include "unit/pt2_fixture.hpp"

namespace ingot {
namespace {

using namespace pt2_json;

// f(x) = op(x, …)
ProgramJson calling(std::string_view op, std::vector<std::string> inputs) {
  ProgramJson p;
  inputs.insert(inputs.begin(), arg("self", val("x")));
  p.input("x").then(op_node(op, inputs, "y")).returns(val("y"));
  return p;
}
Value result(const ProgramJson& p, const Values& in) { return read(p).run(in)[0]; }
const Tensor kX = tensor({1., 2, 3, 4}, {2, 2});

// ---- 4

TEST(Pt2Program, P039_Json) {
  ProgramJson p = calling("relu.default", {});
  const std::string whole = p.json();
  expect_in("two fields 'opset_version'",
            user_error([&] { (void)read(whole.substr(0, whole.size() - 1) + R"(, "opset_version": {}})"); }));
  p.more = R"(, "a": {"b": [1, {"c": 1, "c": 2}]})";
  EXPECT_EQ(error_of(p), "m.json: a.b[1]: an object has two fields 'c'");
  p.more = text(R"(, "deep": )", std::string(1001, '['), std::string(1001, ']'));
  expect_in("m.json", error_of(p));
  p.more = text(R"(, "deep": )", std::string(900, '['), std::string(900, ']'));
  EXPECT_EQ(read(p).main().inputs.size(), 1u);
  p.more = R"(, "é\u00e9": "\u20ac")";  // UTF-8 or escapes
  EXPECT_EQ(read(p).main().inputs.size(), 1u);
}

TEST(Pt2Program, P052_OutputsThatAreWrongNameTheNode) {
  ProgramJson p;
  p.input("x").then(node("torch.ops.aten.relu.default", {arg("self", val("x"))}, {val("x")}, "again")).returns(val("x"));
  expect_in("(node again)", error_of(p));
  for (const int64_t index : {int64_t{-1}, int64_t{1} << 31, std::numeric_limits<int64_t>::min()}) {
    ProgramJson item;
    item.input("x").then(node("_operator.getitem", {arg("a", val("x")), arg("b", integer(index))}, {val("y")}, "y"));
    expect_in(text("y: _operator.getitem: an index should be from 0 to 2147483647, found ", index),
              error_of(item.returns(val("y"))));
  }
}

// A trace of a megabyte is kept once, whatever the number of the node's outputs (P200).
TEST(Pt2Program, P162_OutputsShareTheMetadataOfTheirNode) {
  const std::string trace = text(std::string(1000, ' '), R"(File \"model.py\", line 7, in forward\n    return x.split(1))");
  ProgramJson p;
  p.input("x").then(node("torch.ops.aten.split.Tensor", {arg("self", val("x")), arg("split_size", integer(1))},
                         {vals({"a", "b"})}, "split", text(R"("metadata": {"stack_trace": ")", trace, R"("})")));
  const Pt2Program file = read_all(p.returns(val("a")).returns(val("b")).json());
  for (const auto& n : file.program.main().graph.nodes())
    if (n->kind == NodeKind::item) {
      EXPECT_TRUE(n->stack_trace.empty());
      EXPECT_EQ(provenance(*n), text(" (node ", n->name, ", at model.py:7)"));
    }
  const std::string written = program_json(file);
  EXPECT_NE(written.find("line 7, in forward"), written.npos);
}

TEST(Pt2Program, P040_Integers) {
  const auto slice = [](std::string_view end) {
    return calling("slice.Tensor", {arg("dim", integer(0)), arg("start", integer(1)), arg("end", as("as_int", end))});
  };
  EXPECT_EQ(floats(result(slice("9223372036854775807"), {kX})), (Floats{3, 4}));
  const Program p = read(slice("9223372036854775807"));
  EXPECT_EQ(p.main().graph.nodes()[1]->args[3].value().to_int64(), 9223372036854775807);
  expect_in("as_int: the integer is outside 64 bits", error_of(slice("9223372036854775808")));
  expect_in("as_int: expected an integer, found a real number", error_of(slice("1.5")));
}

TEST(Pt2Program, P041_Floats) {
  const auto filled = [](std::string_view v) {
    return floats(result(calling("full_like.default", {arg("fill_value", as("as_float", v))}), {tensor({1.})}))[0];
  };
  EXPECT_EQ(filled("\"Infinity\""), INFINITY);
  EXPECT_EQ(filled("\"-Infinity\""), -INFINITY);
  EXPECT_TRUE(std::isnan(filled("\"NaN\"")));
  EXPECT_EQ(filled("2"), 2);
  EXPECT_EQ(filled("1e-3"), 1e-3f);
  expect_in("expected a number, found a string",
            error_of(calling("full_like.default", {arg("fill_value", as("as_float", "\"inf\""))})));
}

TEST(Pt2Program, P042_StructsMayLackOptionalFieldsAndHaveUnknownOnes) {
  ProgramJson p;
  p.input("x").returns(val("y"));
  p.then(text(R"({"target": "torch.ops.aten.relu.default", "inputs": [{"name": "self", "arg": )", val("x"),
              R"(, "color": 3}], "outputs": [)", val("y"), R"(], "metadata": {}, "new_field": {"a": [1]}})"));
  EXPECT_EQ(read(p).main().graph.nodes()[1]->name, "y");
  p.graph.nodes = {R"({"inputs": [], "outputs": [], "metadata": {}})"};
  EXPECT_EQ(error_of(p), "m.json: Node: field target is missing (at graph_module.graph.nodes[0])");
  p.graph_text = "{}";
  EXPECT_EQ(error_of(p), "m.json: Graph: field inputs is missing (at graph_module.graph)");
  EXPECT_EQ(user_error([] { (void)read("{}"); }), "m.json: ExportedProgram: field schema_version is missing (at the top level)");
}

TEST(Pt2Program, P043_Unions) {
  const auto with = [](std::string_view v) { return error_of(calling("add.Tensor", {arg("other", v)})); };
  expect_in("expected an object with one field, found 0", with("{}"));
  expect_in("expected an object with one field, found 2", with(R"({"as_int": 1, "as_float": 2})"));
  expect_in("unknown kind of argument as_quaternion", with(R"({"as_quaternion": 1})"));
  expect_in("symbolic argument: unknown tag 'as_x'", with(R"({"as_sym_int": {"as_x": 1}})"));
  ProgramJson p = calling("relu.default", {});
  p.input_specs = {R"({"guess": {}})"};
  expect_in("arg is missing", error_of(p));
  p.input_specs = {text(R"({"guess": {"arg": )", name_json("x"), "}}")};
  expect_in("InputSpec: unknown tag 'guess'", error_of(p));
  // The value of as_none is not looked at.
  EXPECT_EQ(floats(result(calling("clamp.default", {arg("min", as("as_none", "{}")), arg("max", integer(2))}), {kX})),
            (Floats{1, 2, 2, 2}));
}

TEST(Pt2Program, P044_P080_P081_P082_Enums) {
  const auto number = [](int64_t n, auto f) { return f(JsonDocument(std::to_string(n), "enum").root()); };
  DType (&type_of)(const Json&) = dtype_of;
  const std::pair<int, DType> types[] = {{1, DType::u8},   {2, DType::i8},        {3, DType::i16},    {4, DType::i32},
                                         {5, DType::i64},  {6, DType::f16},       {7, DType::f32},    {8, DType::f64},
                                         {10, DType::c64}, {11, DType::c128},     {12, DType::b8},    {13, DType::bf16},
                                         {28, DType::u16}, {29, DType::f8e4m3fn}, {30, DType::f8e5m2}};
  for (const auto& [n, t] : types) {
    EXPECT_EQ(number(n, type_of), t);
    EXPECT_EQ(schema_number(t), n);
  }
  for (const int64_t n : {0, 14, 27, 33, -1}) expect_in(text("unknown ScalarType ", n), user_error([&] { number(n, type_of); }));
  expect_in("complex32", user_error([&] { number(9, type_of); }));
  expect_in("float8_e4m3fnuz", user_error([&] { number(31, type_of); }));
  expect_in("float8_e5m2fnuz", user_error([&] { number(32, type_of); }));
  // 1 is contiguous here and preserve in ATen.
  EXPECT_EQ(number(1, memory_format_of), MemoryFormat::contiguous);
  EXPECT_EQ(number(2, memory_format_of), MemoryFormat::channels_last);
  EXPECT_EQ(number(3, memory_format_of), MemoryFormat::channels_last_3d);
  EXPECT_EQ(number(4, memory_format_of), MemoryFormat::preserve);
  EXPECT_EQ(schema_number(MemoryFormat::preserve), 4);
  expect_in("unknown MemoryFormat 0", user_error([&] { number(0, memory_format_of); }));
  // 7 is strided here and jagged in ATen.
  EXPECT_EQ(number(7, layout_of), Layout::strided);
  expect_in("unknown Layout 0", user_error([&] { number(0, layout_of); }));
  expect_in("layout 1 is not supported", user_error([&] { number(1, layout_of); }));
  ProgramJson p;
  p.input("x").returns(val("y")).then(op_node("relu.default", {arg("self", val("x"), 3)}, "y"));
  expect_in("unknown ArgumentKind 3", error_of(p));
}

TEST(Pt2Program, P045_FieldOrderIsFree) {
  ProgramJson p;
  p.input("x").returns(val("y"));
  p.then(text(R"({"outputs": [)", val("y"), R"(], "name": "y", "metadata": {}, "inputs": [{"kind": 1, "arg": )", val("x"),
              R"(, "name": "self"}], "target": "torch.ops.aten.neg.default"})"));
  EXPECT_EQ(floats(result(p, {tensor({1., -2})})), (Floats{-1, 2}));
}

// ---- 5

TEST(Pt2Program, P046_P173_NamesAreLocal) {
  // The subgraph's x is the outer y, and its y another value; symbols are those of the program.
  GraphJson inner;
  inner.inputs = {val("x")};
  inner.nodes = {op_node("neg.default", {arg("self", val("x"))}, "y")};
  inner.outputs = {val("y")};
  inner.tensor_values = {entry("x", meta({std::string(kS0)}, {"1"})), entry("y", meta({std::string(kS0)}, {"1"}))};
  ProgramJson p;
  p.input("x", meta({std::string(kS0)}, {"1"})).then(op_node("exp.default", {arg("self", val("x"))}, "y"));
  p.then(node("torch.ops.higher_order.wrap", {arg("", inner.as_argument("g")), arg("", val("y"))}, {val("z")}, "wrap"));
  p.returns(val("z")).returns(val("y"));
  Program program = read(p);
  const Values out = program.run(Values{tensor({0.})});
  EXPECT_EQ(floats(out[0]), Floats{-1});
  EXPECT_EQ(floats(out[1]), Floats{1});
  const auto& sub = std::get<std::shared_ptr<const Graph>>(*program.main().graph.find_attribute("g"));
  EXPECT_TRUE(sub->inputs()[0]->meta.tensor().size(0).same(program.main().graph.inputs()[0]->meta.tensor().size(0)));
  // It does not see the outer graph.
  inner.outputs = {val("outer")};
  p.graph.nodes[1] =
      node("torch.ops.higher_order.wrap", {arg("", inner.as_argument("g")), arg("", val("y"))}, {val("z")}, "wrap");
  expect_in("value 'outer' is used before it is defined", error_of(p));
}

TEST(Pt2Program, P047_Definitions) {
  ProgramJson p = calling("add.Tensor", {arg("other", val("nowhere"))});
  const std::string message = error_of(p);
  expect_in("value 'nowhere' is used before it is defined", message);
  expect_in("(node y)", message);
  ProgramJson twice = calling("add.Tensor", {arg("other", val("x"))});
  twice.then(op_node("neg.default", {arg("self", val("x"))}, "y"));
  expect_in("value 'y' is defined twice", error_of(twice));
  ProgramJson described = calling("add.Tensor", {arg("other", val("x"))});
  described.graph.tensor_values = {entry("y", meta({"2"}, {"1"}))};
  described.graph.sym_ints = {entry("y", number("2"))};
  expect_in("value 'y' is described twice", error_of(described));
  // Maps need not be complete, and entries nobody defines do no harm.
  described.graph.sym_ints = {entry("other", number("2"))};
  EXPECT_EQ(floats(result(described, {tensor({1., 2})})), (Floats{2, 4}));
}

TEST(Pt2Program, P048_BareReturn) {
  GraphJson g;
  g.inputs = {val("a")};
  g.outputs = {val("a"), val("a")};
  g.bare = true;
  ProgramJson p;
  p.input("x")
      .then(node("torch.ops.higher_order.wrap", {arg("", g.as_argument("g")), arg("", val("x"))}, {val("y")}, "wrap"))
      .returns(val("y"));
  expect_in("a bare result, and 2 outputs", error_of(p));
  g.outputs = {val("a")};
  p.graph.nodes = {node("torch.ops.higher_order.wrap", {arg("", g.as_argument("g")), arg("", val("x"))}, {val("y")}, "wrap")};
  EXPECT_EQ(floats(result(p, {tensor({3.})})), Floats{3});
}

TEST(Pt2Program, P049_P050_LiteralInputsAndOutputs) {
  ProgramJson p;
  p.user(integer(7)).input("x").user(str("mode")).user(as("as_none", "true"));
  p.graph.inputs.push_back(as("as_float", "0.5"));
  p.input_specs.push_back(R"({"constant_input": {"name": "c", "value": {"as_float": 0.5}}})");
  p.returns(val("x"))
      .returns(val("x"))
      .returns(integer(3))
      .returns(str("s"))
      .returns(as("as_bool", "false"))
      .returns(as("as_float", "1.5"));
  Program program = read(p);
  ASSERT_EQ(program.main().inputs.size(), 5u);
  EXPECT_EQ(program.main().graph.inputs().size(), 1u);  // literals are no values of the graph
  const Tensor x = tensor({1.});
  const Values out = program.run(Values{x});
  EXPECT_TRUE(out[0].tensor().is_same(x) && out[1].tensor().is_same(x));
  EXPECT_EQ(out[2].to_int64(), 3);
  EXPECT_EQ(out[3].string(), "s");
  EXPECT_FALSE(out[4].to_bool());
  EXPECT_EQ(out[5].to_double(), 1.5);
  EXPECT_EQ(program.run(Values{Value(7), x, Value("mode"), Value(), Value(0.5)}).size(), 6u);
  EXPECT_EQ(program.main().input_leaves().size(), 5u);
}

TEST(Pt2Program, P051_P058_P123_P125_WritesHappenInOrderAndThroughAliases) {
  // y = x.view(4); y += 1; z = x * 10; x *= 2: z sees the first write and not the second.
  ProgramJson p;
  p.input("x");
  p.then(op_node("view.default", {arg("self", val("x")), arg("size", as("as_ints", "[4]"))}, "view"));
  p.then(op_node("add_.Tensor", {arg("self", val("view")), arg("other", integer(1))}, "add_"));
  p.then(op_node("mul.Tensor", {arg("self", val("x")), arg("other", integer(10))}, "z"));
  p.then(op_node("mul_.Tensor", {arg("self", val("x")), arg("other", integer(2))}, "mul_"));
  for (const char* out : {"z", "add_", "view", "mul_"}) p.returns(val(out));
  const Tensor x = tensor({0., 1, 2, 3}, {2, 2});
  const Values out = read(p).run(Values{x});
  EXPECT_EQ(floats(out[0]), (Floats{10, 20, 30, 40}));
  EXPECT_EQ(floats(out[1]), (Floats{2, 4, 6, 8}));
  EXPECT_EQ(out[1].tensor().data_ptr(),
            x.data_ptr());  // the in-place op's own name, the view and the input share storage
  EXPECT_EQ(out[2].tensor().data_ptr(), x.data_ptr());
  EXPECT_TRUE(out[3].tensor().is_same(x) || out[3].tensor().data_ptr() == x.data_ptr());
  EXPECT_EQ(floats(x), (Floats{2, 4, 6, 8}));
}

// ---- 6

TEST(Pt2Program, P052_NodeNames) {
  ProgramJson p;
  p.input("x");
  p.then(text(R"({"target": "torch.ops.aten.neg.default", "inputs": [)", arg("self", val("x")), R"(], "outputs": [)",
              val("first"), R"(], "metadata": {}})"));
  p.then(text(R"({"target": "torch.ops.aten._assert_async.default", "inputs": [)", arg("self", val("x")),
              R"(], "outputs": [], "metadata": {}, "name": null})"));
  p.then(
      node("torch.ops.aten.max.dim", {arg("self", val("x")), arg("dim", integer(0))}, {val("best"), val("unused_0")}, "maxdim"));
  p.returns(val("best"));
  const Program program = read(p);
  std::vector<std::string> names;
  for (const auto& n : program.main().graph.nodes()) names.push_back(n->name);
  EXPECT_EQ(names, (std::vector<std::string>{"x", "first", "node1", "maxdim", "best", "unused_0"}));
}

TEST(Pt2Program, P053_ArgumentsAreMatchedByName) {
  // In any order, whatever the kind says.
  ProgramJson p;
  p.input("x").returns(val("y"));
  p.then(op_node("sub.Tensor",
                 {arg("alpha", integer(2), 2), arg("other", integer(1), 2),
                  text(R"({"name": "self", "arg": )", val("x"), R"(, "kind": null})")},
                 "y"));
  EXPECT_EQ(floats(result(p, {tensor({5.})})), Floats{3});
}

TEST(Pt2Program, P054_OmittedArguments) {
  // addmm(self, mat1, mat2, *, beta=1, alpha=1): beta left out in the middle.
  ProgramJson p;
  p.input("x").returns(val("y"));
  p.then(op_node("addmm.default",
                 {arg("self", val("x")), arg("mat1", val("x")), arg("mat2", val("x")), arg("alpha", integer(0), 2)}, "y"));
  EXPECT_EQ(floats(result(p, {kX})), (Floats{1, 2, 3, 4}));
  expect_in("y: torch.ops.aten.add.Tensor: argument other is missing", error_of(calling("add.Tensor", {})));
  expect_in("y: torch.ops.aten.add.Tensor: the operator has no argument 'beta'",
            error_of(calling("add.Tensor", {arg("other", val("x")), arg("beta", integer(1))})));
  expect_in("argument other is given twice", error_of(calling("add.Tensor", {arg("other", val("x")), arg("other", val("x"))})));
}

TEST(Pt2Program, P055_NumbersForTensors) {
  // A number promotes as a number: f16 + 1.5 stays f16, i64 + True stays i64, f32 + 1j is complex.
  const auto add = [](std::string_view v, const Tensor& x) {
    return result(calling("add.Tensor", {arg("other", v)}), {x}).tensor();
  };
  EXPECT_EQ(add(integer(1), tensor({1}, DType::f16)).dtype(), DType::f16);
  EXPECT_EQ(add(as("as_float", "1.5"), tensor({1}, DType::i64)).dtype(), DType::f32);
  EXPECT_EQ(add(as("as_bool", "true"), tensor({1}, DType::i64)).to_vector<int64_t>(), std::vector<int64_t>{2});
  EXPECT_EQ(add(as("as_complex", R"({"real": 0, "imag": 1})"), tensor({1.})).dtype(), DType::c64);
  ProgramJson p = calling("add.Tensor", {arg("other", sym_int("n"))});
  p.user(sym_int("n"));
  EXPECT_EQ(floats(result(p, {tensor({1.}), Value(41)})), Floats{42});
}

TEST(Pt2Program, P055_Scalars) {
  const auto filled = [](std::string_view v) {
    return result(calling("full_like.default", {arg("fill_value", v)}), {tensor({1.})}).tensor();
  };
  EXPECT_EQ(floats(filled(integer(2))), Floats{2});
  EXPECT_EQ(floats(filled(as("as_float", "2.5"))), Floats{2.5});
  EXPECT_EQ(floats(filled(as("as_bool", "true"))), Floats{1});
  // A bool has type bool in promotion.
  EXPECT_EQ(result(calling("add.Scalar", {arg("other", as("as_bool", "true"))}), {tensor({1}, DType::b8)}).tensor().dtype(),
            DType::b8);
  ProgramJson p = calling("mul.Scalar", {arg("other", as("as_complex", R"({"real": 2, "imag": "NaN"})"))});
  EXPECT_EQ(result(p, {tensor({1.})}).tensor().dtype(), DType::c64);
}

TEST(Pt2Program, P055_IntsAndLists) {
  EXPECT_EQ(floats(result(calling("sum.dim_IntList", {arg("dim", as("as_ints", "[0]")), arg("keepdim", as("as_bool", "false"))}),
                          {kX})),
            (Floats{4, 6}));
  // A bool counts as 0 or 1 for an int.
  EXPECT_EQ(floats(result(calling("select.int", {arg("dim", integer(0)), arg("index", as("as_bool", "true"))}), {kX})),
            (Floats{3, 4}));
  // Names and integers mixed.
  ProgramJson p = calling("view.default", {arg("size", R"({"as_sym_ints": [{"as_name": "n"}, {"as_int": 1}]})")});
  p.user(sym_int("n"));
  EXPECT_EQ(result(p, {kX, Value(4)}).tensor().sizes(), (Shape{4, 1}));
  ProgramJson one = calling("select.int", {arg("dim", integer(0)), arg("index", R"({"as_sym_int": {"as_int": 1}})")});
  EXPECT_EQ(floats(result(one, {kX})), (Floats{3, 4}));
  // One int for a list of declared length is repeated.
  const Tensor image = tensor({1., 2, 3, 4}, {1, 1, 2, 2});
  EXPECT_EQ(floats(result(calling("max_pool2d.default", {arg("kernel_size", integer(2))}), {image})), Floats{4});
  // Ints in a float list.
  p = ProgramJson();
  p.input("input").returns(val("y"));
  p.then(op_node(
      "upsample_nearest2d.vec",
      {arg("input", val("input")), arg("output_size", as("as_none", "true")), arg("scale_factors", as("as_ints", "[2, 2]"))},
      "y"));
  EXPECT_EQ(result(p, {image}).tensor().sizes(), (Shape{1, 1, 4, 4}));
}

TEST(Pt2Program, P055_FloatFromInts) {
  // quantile's q is a float: 1 is the largest, 0 the smallest.
  EXPECT_EQ(floats(result(calling("quantile.scalar", {arg("q", integer(1))}), {tensor({1., 5, 3})})), Floats{5});
  ProgramJson p = calling("quantile.scalar", {arg("q", sym_int("n"))});
  p.user(sym_int("n"));
  EXPECT_EQ(floats(result(p, {tensor({4., 2}), Value(0)})), Floats{2});
  ProgramJson f = calling("quantile.scalar", {arg("q", sym_float("n"))});
  f.user(sym_float("n"));
  EXPECT_EQ(floats(result(f, {tensor({4., 2}), Value(0.5)})), Floats{3});
}

TEST(Pt2Program, P055_OptionalTensors) {
  const std::string both = text(R"({"as_optional_tensors": [{"as_none": true}, {"as_tensor": )", name_json("i"), "}]}");
  for (const std::string& indices : {both, vals({"i"})}) {
    ProgramJson p = calling("index.Tensor", {arg("indices", indices)});
    p.input("i");
    EXPECT_EQ(floats(result(p, {kX, tensor({1}, DType::i64)})), indices == both ? (Floats{2, 4}) : (Floats{3, 4}));
  }
  ProgramJson p = calling("clamp.Tensor", {arg("min", text(R"({"as_optional_tensor": )", val("x"), "}")),
                                           arg("max", as("as_optional_tensor", R"({"as_none": true})"))});
  EXPECT_EQ(floats(result(p, {tensor({3.})})), Floats{3});
}

TEST(Pt2Program, P055_OtherKindsAreRefused) {
  const auto refused = [](std::string_view op, const std::vector<std::string>& inputs, std::string_view says) {
    expect_in(says, error_of(calling(op, inputs)));
  };
  refused("add.Tensor", {arg("other", str("a"))},
          "y: torch.ops.aten.add.Tensor: argument other has kind as_string, Tensor expected");
  refused("add.Tensor", {arg("other", as("as_none", "true"))}, "argument other has kind as_none, Tensor expected");
  refused("select.int", {arg("dim", as("as_float", "0")), arg("index", integer(0))},
          "argument dim has kind as_float, int expected");
  refused("view.default", {arg("size", integer(4))}, "argument size has kind as_int, SymInt[] expected");
  refused("view.default", {arg("size", as("as_floats", "[4.0]"))}, "argument size has kind as_floats, SymInt[] expected");
  refused("quantile.scalar", {arg("q", as("as_bool", "true"))}, "argument q has kind as_bool, float expected");
  refused("sum.dim_IntList", {arg("dim", as("as_ints", "[0]")), arg("keepdim", integer(1))},
          "argument keepdim has kind as_int, bool expected");
  refused("leaky_relu.default", {arg("negative_slope", val("x"))}, "argument negative_slope has kind as_tensor, Scalar expected");
}

TEST(Pt2Program, P056_EmptyLists) {
  for (const char* tag : {"as_ints", "as_floats", "as_bools", "as_strings", "as_tensors", "as_sym_ints"}) {
    ProgramJson p = calling("permute.default", {arg("dims", as(tag, "[]"))});
    EXPECT_EQ(result(p, {tensor({7.}, Shape{})}).tensor().dim(), 0) << tag;
    ProgramJson q = calling("index.Tensor", {arg("indices", as(tag, "[]"))});
    EXPECT_EQ(read(q).main().graph.nodes()[1]->args[1].value().is_tensors(), true) << tag;
  }
}

TEST(Pt2Program, P057_Outputs) {
  ProgramJson p;
  p.input("x");
  p.then(node("torch.ops.aten.unbind.int", {arg("self", val("x"))}, {vals({"a", "b"})}, "unbind"));  // a list
  p.then(node("torch.ops.aten.max.dim", {arg("self", val("x")), arg("dim", integer(1))}, {val("v"), val("i")},
              "max_1"));  // two results
  p.then(node("torch.ops.aten.sym_size.int", {arg("self", val("x")), arg("dim", integer(0))}, {sym_int("n")}, "n"));
  p.then(node("_operator.ge", {arg("a", sym_int("n")), arg("b", integer(0))}, {sym_bool("ge")}, "ge"));
  p.then(node("torch.sym_float", {arg("a", sym_int("n"))}, {sym_float("f")}, "f"));
  p.then(
      node("torch.ops.aten._assert_scalar.default", {arg("self", sym_bool("ge")), arg("assert_msg", str("no"))}, {}, "assert_1"));
  p.returns(val("b")).returns(val("v")).returns(val("i")).returns(sym_int("n")).returns(sym_bool("ge")).returns(sym_float("f"));
  const Values out = read(p).run(Values{kX});
  EXPECT_EQ(floats(out[0]), (Floats{3, 4}));
  EXPECT_EQ(floats(out[1]), (Floats{2, 4}));
  EXPECT_EQ(out[2].tensor().to_vector<int64_t>(), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(out[3].to_int64(), 2);
  EXPECT_TRUE(out[4].is_bool() && out[4].to_bool());
  EXPECT_EQ(out[5].to_double(), 2.0);
  // A result of its own and a list: mixed.
  ProgramJson mixed;
  mixed.input("x");
  mixed.then(node("torch.ops.aten.histogramdd.default", {arg("self", val("x")), arg("bins", as("as_ints", "[2, 2]"))},
                  {val("h"), vals({"e0", "e1"})}, "hist"));
  mixed.returns(val("h")).returns(val("e1"));
  const Values both = read(mixed).run(Values{kX});
  EXPECT_EQ(both[0].tensor().sizes(), (Shape{2, 2}));
  EXPECT_EQ(both[1].tensor().numel().number(), 3);
  // An absent optional result, and a wrong number of outputs.
  ProgramJson none;
  none.input("x").returns(val("v")).then(
      node("torch.ops.aten.max.dim", {arg("self", val("x")), arg("dim", integer(1))}, {val("v"), as("as_none", "true")}, "m"));
  EXPECT_EQ(floats(read(none).run(Values{kX})[0]), (Floats{2, 4}));
  none.graph.nodes = {node("torch.ops.aten.max.dim", {arg("self", val("x")), arg("dim", integer(1))}, {val("v")}, "m")};
  expect_in("torch.ops.aten.max.dim has 2 results, found 1 outputs", error_of(none));
  none.graph.nodes = {node("torch.ops.aten.neg.default", {arg("self", val("x"))}, {integer(1)}, "m")};
  expect_in("an output cannot have kind as_int", error_of(none));
}

TEST(Pt2Program, P059_P171_OperandListsMayNameNumbers) {
  GraphJson g;
  g.inputs = {val("a"), sym_int("m")};
  g.nodes = {op_node("mul.Tensor", {arg("self", val("a")), arg("other", sym_int("m"))}, "r")};
  g.outputs = {val("r")};
  ProgramJson p;
  p.input("x").user(sym_int("n"));
  p.then(
      node("torch.ops.higher_order.cond",
           {arg("", as("as_bool", "true")), arg("", g.as_argument("t")), arg("", g.as_argument("f")), arg("", vals({"x", "n"}))},
           {val("y")}, "cond"));
  p.returns(val("y"));
  EXPECT_EQ(floats(result(p, {tensor({2.}), Value(5)})), Floats{10});
  GraphJson scaled;  // a float
  scaled.inputs = {val("a"), sym_float("m")};
  scaled.nodes = {op_node("mul.Tensor", {arg("self", val("a")), arg("other", sym_float("m"))}, "r")};
  scaled.outputs = {val("r")};
  ProgramJson with_float;
  with_float.input("x").user(sym_float("n"));
  with_float.then(node("torch.ops.higher_order.cond",
                       {arg("", as("as_bool", "true")), arg("", scaled.as_argument("t")), arg("", scaled.as_argument("f")),
                        arg("", vals({"x", "n"}))},
                       {val("y")}, "cond"));
  with_float.returns(val("y"));
  EXPECT_EQ(floats(result(with_float, {tensor({2.}), Value(0.25)})), Floats{0.5});
  // All operands numbers: as_ints; a literal input of the subgraph keeps its place.
  GraphJson h;
  h.inputs = {integer(3), sym_int("m")};
  h.nodes = {node("_operator.add", {arg("a", sym_int("m")), arg("b", integer(1))}, {sym_int("r")}, "r")};
  h.outputs = {sym_int("r")};
  ProgramJson q;
  q.input("x")
      .then(node("torch.ops.higher_order.strict_mode", {arg("", h.as_argument("g")), arg("", as("as_ints", "[3, 4]"))},
                 {sym_int("y")}, "s"))
      .returns(sym_int("y"));
  EXPECT_EQ(read(q).run(Values{tensor({1.})})[0].to_int64(), 5);
}

TEST(Pt2Program, P060_P073_Devices) {
  const auto zeros = [](std::string_view device) {
    ProgramJson p;
    p.input("x", meta({"1"}, {"1"}, 7, "0", device)).returns(val("y"));
    p.then(op_node(
        "zeros_like.default",
        {arg("self", val("x")), arg("device", as("as_device", device), 2), arg("pin_memory", as("as_bool", "true"), 2)}, "y"));
    return p;
  };
  EXPECT_EQ(floats(result(zeros(R"({"type": "cuda", "index": 63})"), {tensor({1.})})), Floats{0});  // no such device here
  EXPECT_EQ(floats(result(zeros(R"({"type": "cpu"})"), {tensor({1.})})), Floats{0});
  const std::string unknown = R"({"type": "xpu", "index": 0})";
  ProgramJson p = calling("zeros_like.default", {arg("device", as("as_device", unknown))});
  const std::string message = error_of(p);
  expect_in("unknown device type 'xpu'", message);
  expect_in("(node y)", message);
}

TEST(Pt2Program, P061_Layouts) {
  EXPECT_EQ(floats(result(calling("zeros_like.default",
                                  {arg("layout", as("as_layout", "7"), 2), arg("pin_memory", as("as_bool", "true"), 2)}),
                          {tensor({1.})})),
            Floats{0});
  const std::string message = error_of(calling("zeros_like.default", {arg("layout", as("as_layout", "2"), 2)}));
  expect_in("layout 2 is not supported", message);
  expect_in("(node y)", message);
}

// ---- 7

TEST(Pt2Program, P070_P071_P072_P092_Meta) {
  const std::string s0(kS0), twice = text("Mul(Integer(2), ", kS0, ")");
  ProgramJson p;
  p.input("x", meta({s0, "3"}, {"3", "1"}));
  p.then(node("torch.ops.aten.sym_size.int", {arg("self", val("x")), arg("dim", integer(0))}, {sym_int("n")}, "n"));
  p.then(op_node("cat.default", {arg("tensors", vals({"x", "x"}))}, "cat"));
  p.then(op_node("slice.Tensor", {arg("self", val("cat")), arg("dim", integer(0)), arg("start", integer(1))}, "view"));
  p.then(
      node("torch.ops.aten.split.Tensor", {arg("self", val("x")), arg("split_size", integer(1))}, {vals({"a", "b"})}, "split"));
  p.graph.tensor_values.push_back(entry("cat", meta({twice, "3"}, {"3", "1"})));
  p.graph.tensor_values.push_back(entry("view", meta({text("Add(", twice, ", Integer(-1))"), "3"}, {"3", "1"}, 7, "3")));
  p.graph.tensor_values.push_back(entry("a", meta({"1", "3"}, {"3", "1"})));
  p.graph.tensor_values.push_back(entry("b", meta({"1", "3"}, {"3", "1"})));
  p.graph.sym_ints = {entry("n", number(s0))};
  p.ranges = {R"("s0": {"min_val": 2, "max_val": 10})"};
  p.returns(val("view")).returns(sym_int("n"));
  const Program program = read(p);
  const auto meta_of = [&](std::string_view name) {
    for (const auto& n : program.main().graph.nodes())
      if (n->name == name) return n->meta;
    return Value();
  };
  const Tensor x = meta_of("x").tensor(), cat = meta_of("cat").tensor(), view = meta_of("view").tensor();
  EXPECT_TRUE(x->is_fake());
  EXPECT_EQ(x.dtype(), DType::f32);
  EXPECT_TRUE(x.size(0).is_symbolic());
  EXPECT_TRUE(cat.size(0).same(Int(2) * x.size(0)));
  EXPECT_TRUE(view.size(0).same(Int(2) * x.size(0) - Int(1)));
  EXPECT_EQ(view.storage_offset().number(), 3);
  EXPECT_TRUE(meta_of("n").to_int().same(x.size(0)));  // a name and a size of one expression
  EXPECT_EQ(meta_of("split").tensors().size(), 2u);
  EXPECT_EQ(evaluate(view.size(0).expr(), {{"s0", 5}}), 9);
  EXPECT_EQ(program.main().input_leaves()[0].meta.tensor().size(0).expr()->hi, 10);
}

TEST(Pt2Program, P071_BadMetaIsRefused) {
  const auto with = [](const std::string& m) {
    ProgramJson p;
    p.input("x", m).returns(val("x"));
    return error_of(p);
  };
  expect_in("value x: 2 sizes and 1 strides", with(meta({"1", "2"}, {"1"})));
  expect_in("value x: a size cannot be -1", with(meta({"-1"}, {"1"})));
  expect_in("value x: integer overflow",
            with(meta({"9223372036854775807", "9223372036854775807"}, {"9223372036854775807", "1"})));
  expect_in("unknown ScalarType 0", with(meta({"1"}, {"1"}, 0)));
  expect_in("value x: expression: 'q' is no symbol", with(meta({"q"}, {"1"})));
  expect_in("SymInt: unknown tag", [&] {
    ProgramJson p;
    p.input("n").returns(val("n"));
    p.graph.sym_ints = {entry("n", R"({"as_word": 1})")};
    return error_of(p);
  }());
}

// ---- 9.1

TEST(Pt2Program, P090_P091_Numbers) {
  const auto values = [](std::string_view value) {
    ProgramJson p;
    p.user(sym_int("n")).returns(sym_int("n"));
    p.graph.sym_ints = {entry("n", value)};
    return read(p).main().graph.nodes()[0]->meta.to_int();
  };
  EXPECT_EQ(values(R"({"as_int": 4})").number(), 4);
  // The hint influences nothing.
  const Int a = values(expression("Symbol('s0', integer=True)", R"({"as_int": 9})"));
  const Int b = values(expression("Symbol('s0', integer=True)"));
  EXPECT_TRUE(a.is_symbolic() && a.same(b));
  ProgramJson p;
  p.user(sym_float("f")).user(sym_bool("b")).returns(sym_float("f"));
  p.graph.sym_floats = {entry("f", R"({"as_float": "Infinity"})")};
  p.graph.sym_bools = {entry("b", expression("GreaterThan(Symbol('u0', integer=True), Integer(0))"))};
  const Program program = read(p);
  EXPECT_EQ(program.main().graph.nodes()[0]->meta.to_double(), INFINITY);
  EXPECT_TRUE(program.main().graph.nodes()[1]->meta.is_none());
  p.graph.sym_bools = {entry("b", R"({"as_expr": {"expr_str": "true", "hint": {"as_word": 1}}})")};
  expect_in("SymExprHint: unknown tag", error_of(p));
}

}  // namespace
}  // namespace ingot
