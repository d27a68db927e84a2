// Exported programs: read, run, and refused with a reason.
#include <filesystem>

#include "check/run_case.hpp"
#include "format/pt2/load.hpp"
#include "ingot/ingot.hpp"
#include "unit/io_fixture.hpp"
#include "unit/zip_fixture.hpp"

namespace ingot {
namespace {

constexpr std::string_view kEmptyConfig = R"({"config": {}})";

std::string tensor_arg(std::string_view name) { return text(R"({"as_tensor": {"name": ")", name, R"("}})"); }
std::string named(std::string_view name, std::string_view arg) {
  return text(R"({"name": ")", name, R"(", "arg": )", arg, R"(, "kind": 1})");
}
std::string node(std::string_view target, std::string_view inputs, std::string_view outputs, std::string_view name) {
  return text(
      R"({"target": ")", target, R"(", "inputs": [)", inputs, R"(], "outputs": [)", outputs, R"(], "name": ")", name,
      R"(", "metadata": {"stack_trace": "File \"/x/site-packages/torch/nn.py\", line 1, in f\nFile \"net.py\", line 7, in g",)",
      R"( "nn_module_stack": "a,,M;b,net.l,Linear"}})");
}
std::string add_node(std::string_view a, std::string_view b, std::string_view out) {
  return node("torch.ops.aten.add.Tensor", named("self", tensor_arg(a)) + "," + named("other", tensor_arg(b)), tensor_arg(out),
              out);
}
std::string user(std::string_view name) { return text(R"({"user_input": {"arg": )", tensor_arg(name), "}}"); }
std::string result(std::string_view name) { return text(R"({"user_output": {"arg": )", tensor_arg(name), "}}"); }

// The parts of an archive; a test changes some of them.
struct ProgramFile {
  std::string inputs = tensor_arg("x"), nodes = add_node("x", "x", "y"), outputs = tensor_arg("y");
  std::string input_specs = user("x"), output_specs = result("y");
  std::string version = R"({"major": 8, "minor": 17})";
  std::string weights{kEmptyConfig}, constants{kEmptyConfig};
  std::string format = "pt2", top = "archive/";
  std::vector<ZipEntry> payloads = {};

  std::string json() const {
    return text(R"({"graph_module": {"graph": {"inputs": [)", inputs, R"(], "outputs": [)", outputs, R"(], "nodes": [)", nodes,
                R"(]}, "signature": {"input_specs": [)", input_specs, R"(], "output_specs": [)", output_specs,
                R"(]}}, "schema_version": )", version, R"(, "torch_version": "2.11"})");
  }
  std::string bytes() const {
    std::vector<ZipEntry> entries = {{top + "archive_format", format},
                                     {top + "models/model.json", json()},
                                     {top + "data/weights/model_weights_config.json", weights},
                                     {top + "data/constants/model_constants_config.json", constants}};
    entries.insert(entries.end(), payloads.begin(), payloads.end());
    return zip(entries);
  }
};

std::string payload(std::string_view name, std::string_view file, std::string_view sizes, std::string_view strides,
                    int dtype = 7) {
  const auto list = [](std::string_view numbers) {
    std::string out;
    for (const char c : numbers) out += text(out.empty() ? "" : ",", R"({"as_int": )", std::string_view(&c, 1), "}");
    return out;
  };
  return text("\"", name, R"(": {"path_name": ")", file, R"(", "is_param": true, "use_pickle": false, "tensor_meta": {"dtype": )",
              dtype, R"(, "sizes": [)", list(sizes), R"(], "strides": [)", list(strides),
              R"(], "requires_grad": true, "storage_offset": {"as_int": 0}, "layout": 7}})");
}
std::string floats(std::initializer_list<float> values) {
  std::string out;
  for (const float v : values) out += le(v);
  return out;
}

class Import : public IoTest {
 protected:
  Program load(const ProgramFile& p) { return load_pt2(put("p.pt2", p.bytes())); }
};

TEST_F(Import, RunsAFileOfTorch) {
  const auto cases = find_cases(std::string(INGOT_TEST_DATA) + "/golden");
  ASSERT_EQ(cases.size(), 1u);
  const CheckResult r = check_case(cases[0], {.gradients = true, .strides = true});
  EXPECT_EQ(r.outcome, CheckResult::Outcome::passed) << r.message;
  EXPECT_LE(r.worst, 1);
}

TEST_F(Import, RunsAGraph) {
  Program p = load({});
  EXPECT_EQ(p.producer, "torch 2.11");
  ASSERT_EQ(p.main().graph.nodes().size(), 2u);
  EXPECT_EQ(p.main().graph.nodes()[1]->module_path, "net.l (Linear)");
  const Values out = p.run(Values{tensor({1., 2})});
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].tensor().to_vector<float>(), (std::vector<float>{2, 4}));
}

// P025: names of one payload share its bytes. P143: what a call writes, the next one sees.
TEST_F(Import, KeepsStateBetweenCalls) {
  ProgramFile p;
  p.weights = text(R"({"config": {)", payload("w", "weight_0", "2", "1"), ",", payload("tied", "weight_0", "22", "01"), "}}");
  p.payloads = {{"archive/data/weights/weight_0", floats({1, 2})}};
  p.inputs = tensor_arg("p_w") + "," + tensor_arg("p_tied") + "," + tensor_arg("x");
  p.input_specs = text(R"({"parameter": {"arg": {"name": "p_w"}, "parameter_name": "w"}},)",
                       R"({"buffer": {"arg": {"name": "p_tied"}, "buffer_name": "tied", "persistent": true}},)", user("x"));
  p.nodes = node("torch.ops.aten.add_.Tensor", named("self", tensor_arg("p_w")) + "," + named("other", tensor_arg("x")),
                 tensor_arg("add_"), "add_");
  p.outputs = tensor_arg("p_tied");
  p.output_specs = result("p_tied");
  Program program = load(p);
  EXPECT_TRUE(program.state.at("w").is_parameter);
  const Values input{tensor({10., 20})};
  EXPECT_EQ(program.run(input)[0].tensor().to_vector<float>(), (std::vector<float>{11, 22, 11, 22}));
  EXPECT_EQ(program.run(input)[0].tensor().to_vector<float>(), (std::vector<float>{21, 42, 21, 42}));
}

// P027
TEST_F(Import, TakesMissingWeightsFromTheUser) {
  ProgramFile p;
  p.weights = text(R"({"config": {)", payload("l.w", "weight_0", "2", "1"), "}}");
  p.inputs = tensor_arg("p_w") + "," + tensor_arg("x");
  p.input_specs = R"({"parameter": {"arg": {"name": "p_w"}, "parameter_name": "l.w"}},)" + user("x");
  p.nodes = add_node("p_w", "x", "y");
  Program program = load(p);
  const Values input{tensor({1., 1})};
  EXPECT_EQ(user_error([&] { (void)program.run(input); }),
            "weight l.w (archive/data/weights/weight_0) is not in the archive and was not supplied");
  user_error([&] { program.supply("l.w", tensor({1., 2, 3})); });
  user_error([&] { program.supply("other", tensor({1., 2})); });
  program.supply("l.w", tensor({1., 2}));
  EXPECT_EQ(program.run(input)[0].tensor().to_vector<float>(), (std::vector<float>{2, 3}));
}

// P057: a list result; P112: arithmetic on numbers.
TEST_F(Import, UnpacksListsAndComputesNumbers) {
  ProgramFile p;
  p.inputs = tensor_arg("x") + R"(, {"as_sym_int": {"as_name": "n"}})";
  p.input_specs = user("x") + R"(, {"user_input": {"arg": {"as_sym_int": {"as_name": "n"}}}})";
  p.nodes = node("_operator.mul", named("a", R"({"as_sym_int": {"as_name": "n"}})") + "," + named("b", R"({"as_int": 2})"),
                 R"({"as_sym_int": {"as_name": "mul"}})", "mul") +
            "," +
            node("torch.ops.aten.split.Tensor",
                 named("self", tensor_arg("x")) + "," + named("split_size", R"({"as_sym_int": {"as_name": "mul"}})"),
                 R"({"as_tensors": [{"name": "a"}, {"name": "b"}]})", "split");
  p.outputs = tensor_arg("b") + R"(, {"as_int": 3})";
  p.output_specs = result("b") + R"(, {"user_output": {"arg": {"as_int": 3}}})";
  Program program = load(p);
  const Values out = program.run(Values{tensor({1., 2, 3}), Value(1)});
  EXPECT_EQ(out[0].tensor().to_vector<float>(), (std::vector<float>{3}));
  EXPECT_EQ(out[1].to_int64(), 3);
}

// P111: the program can be read; running it names every unknown operator.
TEST_F(Import, NamesUnknownOperators) {
  ProgramFile p;
  p.nodes = node("torch.ops.mine.magic.default", named("self", tensor_arg("x")), tensor_arg("m"), "m") + "," +
            node("torch.ops.higher_order.flex", named("", tensor_arg("m")), tensor_arg("y"), "y");
  Program program = load(p);
  EXPECT_EQ(user_error([&] { (void)program.run(Values{tensor({1.})}); }),
            "unsupported operator torch.ops.mine.magic.default (node m, from net.l (Linear) at net.py:7)\n"
            "unsupported operator torch.ops.higher_order.flex (node y, from net.l (Linear) at net.py:7)\n"
            "`ingot ops --missing FILE` lists what a program needs and Ingot does not have");
}

TEST_F(Import, SaysWhereAnOpFailed) {
  Program program = load({.inputs = tensor_arg("x") + "," + tensor_arg("z"),
                          .nodes = add_node("x", "z", "y"),
                          .input_specs = user("x") + "," + user("z")});
  const std::string message = user_error([&] { (void)program.run(Values{tensor({1., 2}), tensor({1., 2, 3})}); });
  EXPECT_NE(message.find("(node y, from net.l (Linear) at net.py:7)"), message.npos) << message;
  EXPECT_NE(user_error([&] { (void)program.run({}); }).find("takes 2 inputs, found 0"), std::string::npos);
}

struct Refused {
  const char* name;
  ProgramFile program;
  std::string says;
};
void PrintTo(const Refused& r, std::ostream* out) { *out << r.name; }
class ImportRefuses : public Import, public ::testing::WithParamInterface<Refused> {};

ProgramFile with_weights(std::string config, std::string bytes = floats({1, 2})) {
  ProgramFile p;
  p.weights = R"({"config": {)" + std::move(config) + "}}";
  p.payloads = {{"archive/data/weights/weight_0", std::move(bytes)}};
  return p;
}

std::vector<Refused> refused() {
  const std::string self = named("self", tensor_arg("x"));
  const auto add = [&](const std::string& inputs) {
    return ProgramFile{.nodes = node("torch.ops.aten.add.Tensor", inputs, tensor_arg("y"), "y")};
  };
  return {
      {"format", {.format = "zip"}, "not a PT2 archive"},
      {"folder", {.payloads = {{"elsewhere/x", ""}}}, "outside the folder 'archive/'"},
      {"dots", {.payloads = {{"archive/../x", ""}}}, "the component '..'"},
      {"absolute", {.payloads = {{"/archive/x", ""}}}, "the component ''"},
      {"version", {.version = R"({"major": 9, "minor": 0})"}, "schema version 9.0 is not supported (this reader knows 8.x)"},
      {"version_type", {.version = R"({"major": "8", "minor": 0})"}, "schema_version.major: expected an integer, found a string"},
      {"not_json", {.nodes = "{,}"}, "models/model.json"},
      {"two_keys", {.nodes = R"({"target": "a", "target": "b"})"}, "two fields 'target'"},
      {"deep", {.nodes = std::string(2000, '[') + std::string(2000, ']')}, "models/model.json"},
      {"no_target", {.nodes = "{}"}, "Node: field target is missing (at graph_module.graph.nodes[0])"},
      {"undefined", {.outputs = tensor_arg("z"), .output_specs = result("z")}, "value 'z' is used before it is defined"},
      {"twice", {.nodes = add_node("x", "x", "x")}, "value 'x' is defined twice"},
      {"no_such_argument", add(self + "," + named("other", tensor_arg("x")) + "," + named("beta", tensor_arg("x"))),
       "y: torch.ops.aten.add.Tensor: the operator has no argument 'beta'"},
      {"argument_missing", add(self), "y: torch.ops.aten.add.Tensor: argument other is missing"},
      {"unknown_tag", add(self + "," + named("other", R"({"as_quaternion": 1})")), "unknown kind of argument as_quaternion"},
      {"no_tag", add(self + "," + named("other", "{}")), "expected an object with one field"},
      {"bad_dtype", add(self + "," + named("other", R"({"as_scalar_type": 14})")), "unknown ScalarType 14"},
      {"big_int", add(self + "," + named("other", R"({"as_int": 9223372036854775808})")), "outside 64 bits"},
      {"specs", {.input_specs = ""}, "0 specs for 1 inputs of the graph"},
      {"spec_name",
       {.input_specs = R"({"parameter": {"arg": {"name": "q"}, "parameter_name": "q"}})"},
       "the signature names 'q' where the graph has 'x'"},
      {"no_weight", {.input_specs = R"({"parameter": {"arg": {"name": "x"}, "parameter_name": "q"}})"}, "'q' is neither among"},
      {"mutation",
       {.output_specs = R"({"buffer_mutation": {"arg": {"name": "y"}, "buffer_name": "q"}})"},
       "buffer_mutation: unknown target q"},
      {"short_payload", with_weights(payload("w", "weight_0", "3", "1")), "of w has 8 bytes, 12 needed"},
      {"strides", with_weights(payload("w", "weight_0", "22", "1")), "2 sizes and 1 strides"},
      {"overflow", with_weights(payload("w", "weight_0", "99999999999999999999", "99999999999999999999", 11)), "bytes"},
      {"payload_path", with_weights(payload("w", "../x", "2", "1")), "without '/'"},
  };
}
INSTANTIATE_TEST_SUITE_P(Table, ImportRefuses, ::testing::ValuesIn(refused()),
                         [](const auto& i) { return std::string(i.param.name); });
TEST_P(ImportRefuses, WithAReason) {
  const std::string message = user_error([&] { (void)load(GetParam().program); });
  EXPECT_NE(message.find("p.pt2"), message.npos) << message;
  EXPECT_NE(message.find(GetParam().says), message.npos) << message;
}

TEST_F(Import, RefusesOtherFiles) {
  const auto refuse = [&](std::string_view bytes, std::string_view says) {
    const std::string message = user_error([&] { (void)load_pt2(put("f", bytes)); });
    EXPECT_NE(message.find(says), message.npos) << message;
  };
  refuse("", "it is empty");
  refuse("hello", "bad pt2 file");
  refuse(zip({{"a/data.pkl", ""}, {"a/version", "3"}}), "it is a file of torch.save");
  refuse(zip({{"a/data.pkl", ""}, {"a/constants.pkl", ""}}), "TorchScript");
  refuse(zip({{"serialized_exported_program.json", ""}, {"version", "8.5"}}),
         "serialized_state_dict.pt not found in PT2 archive");
  refuse(zip({{"a/archive_format", "pt2"}, {"a/data/aotinductor/model/x.so", ""}}), "package of compiled models");
  refuse(zip({{"a/archive_format", "pt2"}, {"a/models/model.json", "{}"}}), "model_weights_config.json not found in PT2 archive");
  EXPECT_NE(user_error([&] { (void)load_pt2(put("f", ProgramFile().bytes()), "other"); }).find("there are: 'model'"),
            std::string::npos);
}

// P202: a cut file is an error at every length.
TEST_F(Import, RefusesEveryTruncation) {
  const std::string whole = ProgramFile().bytes();
  for (std::size_t n = 0; n < whole.size(); n++) user_error([&] { (void)load_pt2(put("f", whole.substr(0, n))); });
}

}  // namespace
}  // namespace ingot
