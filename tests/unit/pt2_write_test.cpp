// Versions of exported programs, and programs written back (sections 14 and 15 of the format's
// description).
#include <filesystem>

#include "format/pt2/write.hpp"
#include "io/json_writer.hpp"
#include "io/zip.hpp"
#include "support/canonical_json.hpp"
#include "unit/pt2_fixture.hpp"

namespace ingot {
namespace {

using namespace pt2_json;

ProgramJson negation() {
  ProgramJson p;
  p.input("x").then(op_node("neg.default", {arg("self", val("x"))}, "y")).returns(val("y"));
  return p;
}

// ---- 14

TEST(Pt2Write, P180_Versions) {
  ProgramJson p = negation();
  for (const char* good : {R"({"major": 8, "minor": 0})", R"({"major": 8, "minor": 99})", R"({"major": 0, "minor": 0})"}) {
    p.version = good;
    EXPECT_EQ(read(p).main().inputs.size(), 1u) << good;
  }
  p.version = R"({"major": 7, "minor": 3})";
  expect_in("schema version 7.3 is not supported (this reader knows 8.x); the program was written by torch 2.11.0", error_of(p));
  p.version = R"({"major": 0, "minor": 1})";
  expect_in("schema version 0.1 is not supported", error_of(p));
}

// An older file: no names, kinds, guards, verifiers, torch version or newer maps; a dialect instead
// of verifiers.
TEST(Pt2Write, P181_OlderMinors) {
  const auto older = [](std::string_view more) {
    return text(R"({"graph_module": {"graph": {"inputs": [)", val("x"), R"(], "outputs": [)", val("y"),
                R"(], "nodes": [{"target": "torch.ops.aten.neg.default",)", R"("inputs": [{"name": "self", "arg": )", val("x"),
                R"(}], "outputs": [)", val("y"), R"(], "metadata": {}}], "tensor_values": {},)",
                R"("sym_int_values": {}, "sym_bool_values": {}}, "signature": {"input_specs": [{"user_input": {"arg": )",
                val("x"), R"(}}], "output_specs": [{"user_output": {"arg": )", val("y"),
                R"(}}]}, "module_call_graph": []}, "opset_version": {},)",
                R"("range_constraints": {}, "schema_version": {"major": 8, "minor": 1})", more, "}");
  };
  Pt2Program p = read_all(older(R"(, "dialect": "ATEN")"));
  EXPECT_EQ(p.facts.verifiers, std::vector<std::string>{"ATEN"});
  EXPECT_EQ(p.facts.torch_version, "<=2.4");
  EXPECT_EQ(p.program.producer, "torch <=2.4");
  EXPECT_EQ(floats(p.program.run(Values{tensor({1.})})[0]), Floats{-1});
  EXPECT_TRUE(read_all(older("")).facts.verifiers.empty());
}

TEST(Pt2Write, P182_ReadableExpressionsInOlderFiles) {
  ProgramJson p;
  p.input("x", meta({"s0*2 + 2", "s0//2"}, {"1", "1"})).input("y", meta({"s0"}, {"1"})).returns(val("y"));
  Program program = read(p);
  EXPECT_EQ(program.run(Values{zeros({8, 1}), zeros({3})}).size(), 1u);
  EXPECT_EQ(user_error([&] { (void)program.run(Values{zeros({8, 2}), zeros({3})}); }),
            "input x.shape[1] must be 1 (s0 // 2), got 2");
}

TEST(Pt2Write, P183_AWarningDoesNotStopTheChecks) {
  ProgramJson p = negation();
  p.verifiers = R"(["EDGE"])";
  EXPECT_EQ(read(p).warnings.size(), 1u);
  p.graph.outputs = {val("z")};
  expect_in("value 'z' is used before it is defined", error_of(p));
}

// ---- 15

// Every kind of argument, value, spec and container in one program; much of it nothing that can
// run.
std::string everything() {
  const std::string s0(kS0);
  GraphJson inner;
  inner.inputs = {val("a"), integer(3)};
  inner.nodes = {op_node("neg.default", {arg("self", val("a"))}, "b")};
  inner.outputs = {val("b")};
  inner.tensor_values = {entry("a", meta({"2"}, {"1"})), entry("b", meta({s0}, {"1"}))};
  inner.bare = true;
  ProgramJson p;
  p.graph.inputs.push_back(val("token"));
  p.input_specs.push_back(text(R"({"token": {"arg": )", name_json("token"), "}}"));
  p.state("parameter", "p_w", "w").state("buffer", "b_n", "n", R"(, "persistent": false)").state("tensor_constant", "c_0", "k.0");
  const std::string object = R"({"name": "obj", "class_fqn": "my.Stack"})";
  p.graph.inputs.push_back(as("as_custom_obj", object));
  p.graph.objects.push_back(entry("obj", object));
  p.input_specs.push_back(text(R"({"custom_obj": {"arg": )", object, R"(, "custom_obj_name": "stack"}})"));
  p.input("x", meta({text("Mul(Integer(2), ", s0, ")"), "3"}, {"3", "1"}, 13, "0", R"({"type": "cuda", "index": 1})"))
      .user(sym_int("n"));
  p.graph.inputs.push_back(str("mode"));
  p.input_specs.push_back(R"({"constant_input": {"name": "mode", "value": {"as_string": "mode"}}})");
  p.graph.sym_ints = {entry("n", expression(s0, R"({"as_int": 4})")), entry("m", number("7"))};
  p.graph.sym_bools = {entry("le", expression("LessThan(Integer(1), Integer(2))")), entry("t", R"({"as_bool": true})")};
  p.graph.sym_floats = {entry("fl", R"({"as_float": "-Infinity"})")};
  p.then(node(
      "torch.ops.mine.all.default",
      {arg("a", as("as_none", "true")),
       arg("b", as("as_int", "9223372036854775807")),
       arg("c", as("as_ints", "[1, -2]")),
       arg("d", as("as_float", "1e-05")),
       arg("e", as("as_floats", R"([0.5, "NaN", 2.0])")),
       arg("f", str("\\u00e9\\n\\\"\\\\ \\ud83d\\ude00")),
       arg("g", as("as_strings", R"(["p", "q"])")),
       arg("h", sym_int("n")),
       arg("i", R"({"as_sym_ints": [{"as_name": "n"}, {"as_int": 4}]})"),
       arg("j", as("as_scalar_type", "7")),
       arg("k", as("as_memory_format", "1")),
       arg("l", as("as_layout", "7")),
       arg("m", as("as_device", R"({"type": "cuda", "index": 1})")),
       arg("n", as("as_bool", "true")),
       arg("o", as("as_bools", "[true, false]")),
       arg("p", as("as_complex", R"({"real": 1.0, "imag": "Infinity"})")),
       arg("q", vals({"x", "p_w"})),
       arg("r", text(R"({"as_optional_tensors": [{"as_none": true}, {"as_tensor": )", name_json("x"), "}]}")),
       arg("s", as("as_custom_obj", object), 2),
       arg("t", as("as_operator", "\"torch.ops.aten.add_.Tensor\"")),
       arg("u", text(R"({"as_nested_tensors": [[)", name_json("x"), "], []]}")),
       arg("v", as("as_int_lists", "[[1], []]")),
       arg("w", text(R"({"as_string_to_argument": {"k": )", val("x"), R"(, "l": {"as_ints": []}, "z": {"as_float": 1.0}}})")),
       arg("y", inner.as_argument("g0")),
       arg("", as("as_tensors", "[]")),
       arg("z", text(R"({"as_optional_tensor": {"as_tensor": )", name_json("x"), "}}"))},
      {val("all"), vals({"l0", "l1"}), sym_int("m"), sym_bool("le"), sym_bool("t"), sym_float("fl"), as("as_none", "true")},
      "every",
      R"("metadata": {"stack_trace": "File \"m.py\", line 3, in f", "nn_module_stack": "k,b.0,M", "torch_fn": "a;b"}, "is_hop_single_tensor_return": null)"));
  p.then(node("torch.ops.higher_order.wrap",
              {arg("", inner.as_argument("g1")), arg("", val("x")), arg("", integer(3)), arg("option", integer(1), 2)},
              {val("hw")}, "hw_node", R"("metadata": {}, "is_hop_single_tensor_return": false)"));
  p.then(node("torch._functorch.predispatch._vmap_increment_nesting", {arg("", integer(2)), arg("", str("error"))},
              {as("as_none", "true")}, "begin"));
  p.then(node("torch._functorch.predispatch._vmap_decrement_nesting", {}, {as("as_none", "true")}, "done"));
  p.then(node("torch._sym_sqrt", {arg("a", sym_int("n"))}, {sym_float("root")}, "root"));
  p.then(node("torch.ops.aten.max.dim",
              {arg("self", val("x")), arg("dim", integer(0)), arg("keepdim", as("as_bool", "false"), 2)},
              {val("v"), val("max_unused_1")}, "max_1"));
  p.writes("buffer_mutation", "v", R"(, "buffer_name": "n")")
      .writes("token", "token", "")
      .writes("parameter_mutation", "v", R"(, "parameter_name": "w")");
  p.writes("user_input_mutation", "v", R"(, "user_input_name": "x")")
      .returns(val("all"))
      .returns(integer(3))
      .returns(as("as_none", "true"))
      .returns(sym_bool("le"));
  p.writes("loss_output", "v", "")
      .writes("gradient_to_parameter", "v", R"(, "parameter_name": "w")")
      .writes("gradient_to_user_input", "v", R"(, "user_input_name": "x")");
  p.ranges = {R"("s0": {"min_val": 2, "max_val": null})", R"("2*s0": {"min_val": 4, "max_val": 20})"};
  p.guards = {R"("L['x'].size()[1] == 3")"};
  p.namedtuples = {R"("m.P": {"field_names": ["a", "b"]})"};
  const std::string leaf = R"({\"type\": null, \"context\": null, \"children_spec\": []})";
  const auto tree = [&](std::string_view type, std::string_view context, const std::vector<std::string>& children) {
    return text(R"({\"type\": \")", type, R"(\", \"context\": )", context, R"(, \"children_spec\": [)", joined(children), "]}");
  };
  const std::string null = R"(\"null\")";
  const std::string in = tree("builtins.tuple", null,
                              {tree("builtins.tuple", null, {tree("collections.namedtuple", R"(\"m.P\")", {leaf, leaf})}),
                               tree("builtins.dict", R"(\"[\\\"mode\\\"]\")", {leaf})});
  const std::string out = tree(
      "collections.defaultdict",
      R"({\"default_factory_module\": \"builtins\", \"default_factory_name\": \"int\", \"dict_context\": [1, true, null, \"k\", 2.5]})",
      {leaf, leaf, leaf, leaf, leaf});
  p.calls = {text(R"({"fqn": "", "signature": {"inputs": [], "outputs": [], "in_spec": "[1, )", in, R"(]", "out_spec": "[1, )",
                  out, R"(]", "forward_arg_names": ["p", "mode"]}})"),
             R"({"fqn": "b.0", "signature": null})"};
  return p.json();
}

TEST(Pt2Write, P204_EveryPartIsWrittenAsItWasRead) {
  const std::map<std::string, StateEntry> state{
      {"w", state_of(zeros({1}))}, {"n", state_of(zeros({1}))}, {"k.0", state_of(zeros({1}))}};
  const std::string first = everything(), second = program_json(read_all(first, state));
  EXPECT_EQ(canonical(second), canonical(first));
  EXPECT_EQ(program_json(read_all(second, state)), second);
  for (const char c : second) ASSERT_TRUE(c >= 0x20 && c < 0x7f);  // pure ASCII, no final newline
}

TEST(Pt2Write, P204_AFileOfTorch) {
  const std::string path = std::string(INGOT_TEST_DATA) + "/golden";
  int seen = 0;
  for (const auto& e : std::filesystem::recursive_directory_iterator(path)) {
    if (e.path().extension() != ".pt2") continue;
    const Pt2Program p = read_pt2(e.path());
    const ZipReader zip = ZipReader::open(e.path(), "pt2");
    for (const std::string& name : zip.names())
      if (name.ends_with("models/model.json")) {
        EXPECT_EQ(canonical(program_json(p)), canonical(zip.read_text(name))) << e.path();
        seen++;
      }
  }
  EXPECT_GT(seen, 0);
}

// A program that was never in a file is written in the usual form, and reads back to one that does
// the same.
TEST(Pt2Write, P204_ProgramsWithoutASpelling) {
  Pt2Program made;
  made.program.name = "made";
  made.facts.torch_version = "2.11";
  EntryPoint& p = made.program.main();
  Node* x = p.graph.placeholder("x");
  const Int s = Int(Expr::symbol("s0", 0));
  x->meta = make_tensor(Geometry::contiguous({s, 4}, DType::f32), {}, true);
  Node* n = p.graph.call(op("sym_size.int"), {x, Value(0)});
  n->meta = s;
  Node* twice = p.graph.scalar(ScalarFunction::mul, {n, Value(2)});
  twice->meta = s * 2;
  Node* view = p.graph.call(op("view"), {x, Argument::list({twice, Value(2)})});
  Node* parts = p.graph.call(op("split.Tensor"), {view, Value(1), Value(1)});
  Node *a = p.graph.item(parts, 0), *b = p.graph.item(parts, 1);
  Node* best = p.graph.call(op("max.dim"), {b, Value(0), Value(true)});
  Node *value = p.graph.item(best, 0), *index = p.graph.item(best, 1);
  Node* sum = p.graph.call(op("add.Tensor"), {a, value, Value(2)});
  p.graph.vmap(VmapCall::begin, {n, Value("error")});
  Node* member = p.graph.vmap(VmapCall::argument, {x, Value(0), Value(1)});
  Node* total = p.graph.call(op("sum"), {member});
  Node* totals = p.graph.vmap(VmapCall::result, {total, Value(1), n, Value(0)});
  p.graph.vmap(VmapCall::end, {});
  p.graph.outputs = {sum, index, Value(3), totals};
  p.inputs.resize(1);
  p.inputs[0].node = x;
  p.inputs[0].name = "x";
  p.outputs.resize(4);
  made.program.prepare();
  const std::string json = program_json(made);
  Pt2Program back = read_all(json);
  const Tensor in = arange(12).view({3, 4}).to(DType::f32);
  const Values want = made.program.run(Values{in}), got = back.program.run(Values{in});
  EXPECT_EQ(floats(got[0]), floats(want[0]));
  EXPECT_EQ(got[1].tensor().to_vector<int64_t>(), want[1].tensor().to_vector<int64_t>());
  EXPECT_EQ(got[2].to_int64(), 3);
  EXPECT_EQ(floats(got[3]), (Floats{6, 22, 38}));
  expect_in(R"("torch._functorch.predispatch._vmap_decrement_nesting", "inputs": [], "outputs": [{"as_none": true}])", json);
  EXPECT_TRUE(back.program.main().graph.inputs()[0]->meta.tensor().size(0).is_symbolic());
  EXPECT_EQ(program_json(back), json);
}

// Results that nobody uses have a name and a meta in the file all the same (P052).
TEST(Pt2Write, P052_UnusedResultsWithoutASpelling) {
  Pt2Program made;
  made.program.name = "made";
  made.facts.torch_version = "2.11";
  EntryPoint& p = made.program.main();
  const auto op = [](std::string_view name) -> const Op& { return *find_op(text("aten::", name)); };
  const Tensor like = make_tensor(Geometry::contiguous({2, 4}, DType::f32), {}, true);
  Node* x = p.graph.placeholder("x");
  x->meta = like;
  Node* parts = p.graph.call(op("split.Tensor"), {x, Value(1)});
  parts->meta = TensorList{like, like};
  Node* second = p.graph.item(parts, 1);
  Node* best = p.graph.call(op("max.dim"), {second, Value(1)});
  Node *index = p.graph.item(best, 1), *again = p.graph.item(best, 1);
  index->meta = again->meta = make_tensor(Geometry::contiguous({1}, DType::i64), {}, true);
  Node* unused = p.graph.call(op("max.dim"), {second, Value(0)});
  unused->meta = TensorList{like, like};
  p.graph.outputs = {index, again};
  p.inputs.resize(1);
  p.inputs[0].node = x;
  p.inputs[0].name = "x";
  p.outputs.resize(2);
  made.program.prepare();
  const std::string json = program_json(made);
  expect_in(R"("split_unused_0": {"dtype")", json);
  expect_in("max_1_unused_0", json);
  expect_in(R"("max_2_unused_1": {"dtype")", json);
  Pt2Program back = read_all(json);
  const Tensor in = tensor({1., 2, 3, 4, 5, 9, 7, 8}, {2, 4});
  for (const Value& v : back.program.run(Values{in})) EXPECT_EQ(v.tensor().to_vector<int64_t>(), std::vector<int64_t>{1});
  EXPECT_EQ(program_json(back).size(), json.size());  // the same metas, in the order of the file's values
}

// The document with its value number `at` (counted in order of the text) replaced by other JSON;
// `count` gets how many there are.
void write_with(const Json& j, int at, std::string_view other, int& count, JsonWriter& out) {
  if (count++ == at) {
    out.raw(other);
  } else if (j.is_list()) {
    out.begin_list();
    for (const Json& e : j.list()) write_with(e, at, other, count, out);
    out.end();
  } else if (j.is_object()) {
    out.begin_object();
    for (const auto& [key, value] : j.fields()) write_with(value, at, other, count, out.key(key));
    out.end();
  } else {
    out.raw(j.dump());
  }
}

TEST(Pt2Write, P202_WrongTypesInEveryFieldAreUserErrors) {
  const std::map<std::string, StateEntry> state{
      {"w", state_of(zeros({1}))}, {"n", state_of(zeros({1}))}, {"k.0", state_of(zeros({1}))}};
  const std::string whole = everything();
  const JsonDocument document(whole, "m.json");
  int values = 0, refused = 0;
  {
    JsonWriter out;
    write_with(document.root(), -1, "", values, out);
    (void)out.take();
  }
  for (const char* other : {"null", "-1", "1.5", "\"x\"", "[]", "{}", "18446744073709551615"})
    for (int at = 0; at < values; at++) {
      JsonWriter out;
      int count = 0;
      write_with(document.root(), at, other, count, out);
      try {
        (void)program_json(read_all(out.take(), state));  // what is accepted can be written
      } catch (const UserError&) {
        refused++;
      }  // any other exception fails the test
    }
  EXPECT_GT(refused, values * 4);
}

TEST(Pt2Write, JsonText) {
  JsonWriter w;
  w.begin_object()
      .key("a")
      .value(0.1)
      .key("b")
      .value(-0.0)
      .key("c")
      .value(1e300)
      .key("d")
      .value(std::string("\x01\xff\xe2\x82", 4))
      .key("e")
      .begin_list()
      .end();
  w.end();
  EXPECT_EQ(w.take(), R"({"a": 0.1, "b": -0.0, "c": 1e+300, "d": "\u0001\ufffd\ufffd", "e": []})");
}

}  // namespace
}  // namespace ingot
