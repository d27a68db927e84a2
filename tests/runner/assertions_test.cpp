// Assertions of an exported program in the library that it is compiled to (10.1 of the format).
#include <string>

#include "compiler/compiled_program.hpp"
#include "support/error_text.hpp"
#include "unit/pt2_fixture.hpp"

namespace ingot {
namespace {

using namespace pt2_json;

// What the compiled program says to the inputs.
std::string compiled_refusal(const ProgramJson& json, const Values& inputs) {
  Program program = read(json);
  const CompiledProgram compiled(program);  // whatever is wrong is not wrong yet
  return ingot::error_of([&] { (void)compiled.run(program, inputs); });
}

ProgramJson open_rows() {
  ProgramJson p;
  p.input("x", meta({std::string(kS0), "2"}, {"2", "1"}));
  p.ranges.push_back(entry("s0", R"({"min_val": 2, "max_val": 100})"));
  return p;
}

// Whether anything of the assertion is left in the compiled program.
bool has_check(const ProgramJson& json) {
  Program p = read(json);
  bool found = false;
  CompileOptions options;
  options.after = [&](const StageDone& done) {
    if (done.name == "lower") found = done.text().find("\n  check ") != std::string::npos;
  };
  CompiledProgram{p, options};
  return found;
}

// The message is the library's error. The runner says behind it which of its calls failed, and
// where (I007), and nothing else.
void expect_exactly(const std::string& message, const std::string& refusal) {
  std::string unnumbered = refusal;
  if (const std::size_t line = refusal.rfind(" line "); line != refusal.npos) {
    const std::size_t first = line + 6, last = refusal.find_first_not_of("0123456789", first);
    EXPECT_LT(first, last) << refusal;
    unnumbered.replace(first, last - first, "N");
  }
  EXPECT_EQ(
      unnumbered,
      message +
          " (AOTInductorModelContainerRun(container_, given.data(), given.size(), outputs.data(), count, stream, proxy) API "
          "call failed at model_container_runner.cpp, line N)");
}

TEST(CompiledAssertions, P121_AScalarThatIsFalseStopsTheRunWithExactlyItsMessage) {
  const std::string message = "Runtime assertion failed for expression s0 <= 5 on node 'le'";
  const auto program = [&](std::string_view condition, std::string_view target) {
    ProgramJson p = open_rows();
    p.then(node("torch.ops.aten.sym_size.int", {arg("self", val("x")), arg("dim", integer(0))}, {sym_int("n")}, "n"));
    p.graph.sym_ints.push_back(entry("n", expression(kS0)));
    if (!target.empty()) {
      p.then(node(target, {arg("a", sym_int("n")), arg("b", integer(5))}, {sym_bool("holds")}, "holds"));
      p.graph.sym_bools.push_back(entry("holds", R"({"as_expr": {"expr_str": "True", "hint": null}})"));
    }
    p.then(node("torch.ops.aten._assert_scalar.default", {arg("self", condition), arg("assert_msg", str(message))}, {}, "check"));
    p.graph.tensor_values.push_back(entry("y", meta({std::string(kS0), "2"}, {"2", "1"})));
    p.then(op_node("add.Tensor", {arg("self", val("x")), arg("other", val("x"))}, "y")).returns(val("y"));
    return p;
  };
  const ProgramJson open = program(sym_bool("holds"), "_operator.le");
  EXPECT_EQ(compiled_refusal(open, {ones({3, 2})}), "no error");
  expect_exactly(message, compiled_refusal(open, {ones({8, 2})}));

  // One that holds for the size it was compiled with is a guard of the library, which is tested
  // before anything runs.
  const ProgramJson guarded = program(sym_bool("holds"), "_operator.ge");
  EXPECT_EQ(compiled_refusal(guarded, {ones({5, 2})}), "no error");
  expect_exactly(message, compiled_refusal(guarded, {ones({3, 2})}));

  // Proven false: compiled all the same, and reported by the run.
  expect_exactly(message, compiled_refusal(program(as("as_bool", "false"), ""), {ones({3, 2})}));
  // Proven true by a constant, or by the range of the size: nothing is left of it.
  EXPECT_EQ(compiled_refusal(program(as("as_bool", "true"), ""), {ones({3, 2})}), "no error");
  const ProgramJson by_range = [&] {
    ProgramJson p = program(sym_bool("holds"), "_operator.ge");
    for (std::string& n : p.graph.nodes)
      if (const auto at = n.find(R"({"as_int": 5})"); at != n.npos) n.replace(at, 13, R"({"as_int": 2})");
    return p;
  }();
  EXPECT_EQ(compiled_refusal(by_range, {ones({2, 2})}), "no error");
  EXPECT_TRUE(has_check(open));
  EXPECT_FALSE(has_check(by_range));
  EXPECT_FALSE(has_check(program(as("as_bool", "true"), "")));
}

TEST(CompiledAssertions, P122_TensorMetadata) {
  const auto program = [](const std::vector<std::string>& more) {
    ProgramJson p = open_rows();
    std::vector<std::string> inputs = {arg("a", val("x"))};
    inputs.insert(inputs.end(), more.begin(), more.end());
    p.graph.tensor_values.push_back(entry("y", meta({std::string(kS0), "2"}, {"2", "1"})));
    p.then(node("torch.ops.aten._assert_tensor_metadata.default", inputs, {}, "check_x"))
        .then(op_node("add.Tensor", {arg("self", val("x")), arg("other", val("x"))}, "y"))
        .returns(val("y"));
    return p;
  };
  const Values three{ones({3, 2})}, four{ones({4, 2})};
  // What the exporter saw of dtype, device and layout: the dtype is right, the rest is not looked
  // at.
  EXPECT_EQ(compiled_refusal(program({arg("dtype", as("as_scalar_type", "7")),
                                      arg("device", as("as_device", R"({"type": "cuda", "index": 3})"), 2),
                                      arg("layout", as("as_layout", "7"), 2)}),
                             three),
            "no error");
  EXPECT_FALSE(has_check(program({arg("dtype", as("as_scalar_type", "7"))}))) << "proven";
  EXPECT_FALSE(has_check(program({arg("stride", as("as_ints", "[2, 1]"))}))) << "proven";
  EXPECT_TRUE(has_check(program({arg("size", as("as_ints", "[3, 2]"))}))) << "the rows are open";
  // Another dtype is an error of the compiler, which names the node.
  Program wrong = read(program({arg("dtype", as("as_scalar_type", "8"))}));
  const std::string refusal = ingot::error_of([&] { CompiledProgram{wrong}; });
  expect_in("Tensor dtype mismatch!\nExpected: torch.float64\nGot: torch.float32", refusal);
  expect_in("check_x", refusal);
  // Sizes and strides are those of the run.
  const ProgramJson sizes = program({arg("size", as("as_ints", "[3, 2]"))}),
                    strides = program({arg("stride", as("as_ints", "[2, 1]"))}),
                    other = program({arg("stride", as("as_ints", "[1, 2]"))}),
                    rank = program({arg("size", as("as_ints", "[6]"))});
  EXPECT_EQ(compiled_refusal(sizes, three), "no error");
  expect_in("Tensor sizes mismatch!\nExpected: [3, 2]", compiled_refusal(sizes, four));
  EXPECT_EQ(compiled_refusal(strides, four), "no error");
  expect_in("Tensor strides mismatch!\nExpected: [1, 2]\nGot: [2, 1]", compiled_refusal(other, three));
  expect_in("Tensor sizes mismatch!\nExpected: [6]", compiled_refusal(rank, three));
}

}  // namespace
}  // namespace ingot
