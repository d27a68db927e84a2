// Loop programs as texts: what --dump-after prints compiles, and so does what somebody writes.
#include <tuple>

#include "cli_fixture.hpp"
#include "ingot/ingot.hpp"
#include "ingot/npy.hpp"
#include "io/file.hpp"
#include "io/safetensors.hpp"

namespace ingot {
namespace {

class LoopCli : public Cli {
 protected:
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    PendingFile f(file(name));
    f.write(text);
    f.commit();
    return file(name);
  }
  Ran compile(const std::string& text, const std::string& options = "") const {
    return ingot("compile " + write("p.loop", text) + " -o " + file("p.so") + " " + options);
  }
  static void expect_in(const std::string& part, const std::string& whole) {
    EXPECT_NE(whole.find(part), std::string::npos) << whole;
  }
};

constexpr const char* kRows = R"(program rows(s0 >= 1)
  input x: f32[s0, 4]
  constant w: f32[4]
  output y: f32[s0]
  y[i0 < s0] = %0 where %0 = sum(i1 < 4) x[i0, i1]*w[i1]
)";

TEST_F(LoopCli, ATextIsCompiledAndRun) {
  save_safetensors(file("w.safetensors"), {{"w", tensor({1.0, 10.0, 100.0, 1000.0}, DType::f32)}});
  const Ran compiled = compile(kRows, "--weights-from " + file("w.safetensors") + " --time");
  ASSERT_EQ(compiled.status, 0) << compiled.err;
  for (const char* stage : {"read", "schedule", "fold", "memory", "constants", "codegen", "table", "link"})
    expect_in(stage, compiled.out);
  save_npy(file("x.npy"), tensor({1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0}, DType::f32).reshape({2, 4}));
  const Ran ran = ingot("run " + file("p.so") + " -i " + file("x.npy") + " -o " + file("y.npy"));
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(load_npy(file("y.npy")).to_vector<float>(), (std::vector<float>{4321, 8765}));
  // Names are the buffers'.
  const Ran inspected = ingot("inspect " + file("p.so"));
  for (const char* name : {"x", "w", "y"}) expect_in(name, inspected.out);
}

// A dump goes on where it was made, whichever stage that was, and the result is the program's.
TEST_F(LoopCli, DumpsOfStagesCompile) {
  const std::string model = golden("models/mlp/model.pt2");
  for (const std::string stage : {"lower", "schedule"}) {
    const Ran dump = ingot("compile " + model + " -o " + file("m.so") + " --dump-after " + stage);
    ASSERT_EQ(dump.status, 0) << dump.err;
    const Ran compiled = compile(dump.out, "--weights none");
    ASSERT_EQ(compiled.status, 0) << stage << compiled.err;
    const Ran again = ingot("compile " + file("p.loop") + " -o " + file("q.so") + " --weights none --dump-after " +
                            (stage == "lower" ? "schedule" : "memory"));
    EXPECT_EQ(again.status, 0) << again.err;
  }
}

// A text that is scheduled has products of the machine that it was scheduled for.
TEST_F(LoopCli, ProductsOfOtherMachinesAreRefused) {
  // `row` is what a row is multiplied by in the rows' factor.
  const auto product = [](const std::string& type, int rows, int columns, const std::string& row = "") {
    const std::string width = std::to_string(columns), height = std::to_string(rows);
    return "program main()\n  input a: " + type + "[32, " + height + "]\n  input b: " + type + "[16, " + width + "]\n" +
           "  output y: f32[" + height + ", " + width + "]\n  scratch strip: f32[" + height + ", " + width + "] at 0\n" +
           "  kernel mm parallel i0 < 1 scratch 8192\n    product strip[" + width + "*i3 + i4] = a[" + height + "*i1 + " + row +
           "i3] * b[" + width + "*i1 + i4] over i1 < 16 as " + type + " * " + type + " in f32; rows i3 < " + height +
           ", columns i4 < " + width + " by fma." + height + "x" + width + "\n    for i3 < " + height + ", i4 < " + width +
           ": y[" + width + "*i3 + i4] = strip[" + width + "*i3 + i4]\n";
  };
  const std::string v3 = "--target x86_64 --cpu x86-64-v3 ", text = product("f32", 6, 16);
  const Ran right = compile(text, v3);
  EXPECT_EQ(right.status, 0) << right.err;
  fs::remove(file("p.so"));
  const std::tuple<std::string, std::string, std::string> wrong[] = {
      {product("bf16", 6, 16), v3, "kernel mm: x86-64-v3 has no fma.6x16 for 6 rows by 16 columns as bf16 * bf16 in f32"},
      {product("f32", 5, 16), v3,
       "it has fma.6x16 for 6 rows by 16 columns as f32 * f32 in f32; fma.4x24 for 4 rows by 24 columns as f32 * f32 in f32"},
      {product("f32", 6, 16, "2*"), v3,
       "x86-64-v3 has fma.6x16 for factors of which the elements of rows, and of columns, lie one"},
      {text, "--target x86_64 --cpu x86-64", "x86-64 has no fma.6x16 for 6 rows by 16 columns"},
      {text, "--target x86_64 --cpu x86-64-v3 --cpu x86-64-v4", "x86-64-v4 has no fma.6x16"},
      {product("f32", 4, 24), "--target aarch64", "Name the processor that the text was scheduled for"},
  };
  for (const auto& [program, options, why] : wrong) {
    const Ran ran = compile(program, options);
    EXPECT_EQ(ran.status, 1) << options;
    expect_in(why, ran.err);
    EXPECT_EQ(ran.err.find("internal"), std::string::npos) << ran.err;
    EXPECT_FALSE(fs::exists(file("p.so"))) << options;
  }
}

TEST_F(LoopCli, WhatIsWrongIsSaid) {
  const auto with = [](std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
  };
  const std::pair<std::string, std::string> wrong[] = {
      {with(kRows, "x[i0, i1]", "x[i0]"), "the computation of y: expected 2 indices of 'x', found 1"},
      {with(kRows, "i1 < 4)", "i1 < 5)"), "expected an index of 'x' below 4, found 4"},
      {with(kRows, "x[i0, i1]*", "z[i0]*"), "z"},
      {with(kRows, "output y: f32[s0]", "output y: f64[s0]"), "expected a value of type f64 for 'y', found f32"},
      {with(kRows, "  y[i0 < s0]", "  arena t: f32[s0]\n  y[i0 < s0] = t[i0]\n  y[i0 < s0]"),
       "reads 't' before a step writes it"},
      {"program main()\n  output y: f32[2]\n", "never writes its output 'y'"},
      {"program", "p.loop"},
      {kRows, "w"},  // a constant without a tensor
  };
  for (const auto& [text, why] : wrong) {
    const Ran ran = compile(text);
    EXPECT_EQ(ran.status, 1) << text;
    expect_in(why, ran.err);
    EXPECT_FALSE(fs::exists(file("p.so"))) << text;
  }
  const std::string loop = write("p.loop", kRows);
  for (const std::string option : {"--skip dead_code", "--model m", "-g", "--emit graph"}) {
    const Ran ran = ingot("compile " + loop + " " + option);
    EXPECT_EQ(ran.status, 1) << option;
    expect_in("a loop program has no graph", ran.err);
  }
  expect_in("there is no stage 'nothing'", ingot("compile " + loop + " --skip nothing").err);
  expect_in("stage 'memory' cannot be skipped", ingot("compile " + loop + " --skip memory").err);
  expect_in("expected one loop program", ingot("compile " + loop + " " + loop).err);
}

}  // namespace
}  // namespace ingot
