// One op of each form goes the whole way, call → trace → loop program → LLVM → lld → library →
// results, with one open size: in this process, by a plain C program, and on the other architecture
// under qemu.
#include "e2e/compiled_model.hpp"
#include "graph/interpret.hpp"
#include "support/error_text.hpp"

namespace ingot {
namespace {

// Index maps of every kind: a symbolic argument, an offset, a transposed pointwise result, a
// broadcast, a storage view.
TensorList views(const TensorList& in) {
  const Tensor& x = in[0];
  const Int n = x.size(0);
  return {x.view({n * 2, 2}).t(),          x.slice(0, 1, n).select(1, 2), x.t() + 1, x.unsqueeze(1).expand({n, 3, 4}).sum({0}),
          x.as_strided({n, 2}, {4, 2}, 1), x.slice(0, 0, {}, 2)};
}

TEST_F(CompiledModel, TraceRecordsOneNodeForEachCall) {
  Traced traced = trace(all_forms, inputs(kTracedSize, float32), {.open = kOpen});
  std::string names;
  for (const auto& n : traced.graph.nodes()) names += n->name + " ";
  EXPECT_EQ(names, "arg0_1 arg1_1 mm t t_1 add sum_1 sort getitem getitem_1 t_2 ");
  EXPECT_EQ(to_text(traced.graph.outputs[2].node()->meta.tensor().sizes()), "[3, s0]");
  EXPECT_TRUE(traced.sizes.guards().empty());

  const Interpreter interpreter(traced.graph);  // a graph of an open size runs at any size
  for (int64_t n : kSizes) {
    const TensorList in = inputs(n, float32), expected = all_forms(in);
    const Values found = interpreter.run(Values{in[0], in[1]});
    for (std::size_t k = 0; k < expected.size(); k++)
      EXPECT_EQ(found[k].tensor().to_vector<double>(), expected[k].to_vector<double>());
  }
}

TEST_F(CompiledModel, EveryStageSaysWhatItMade) {
  std::string lowered, scheduled;
  for (const bool two : {false, true})
    for (const std::string_view skipped : {"", "merge_equal", "fold"}) {
      std::vector<std::string> stages;
      CompileOptions options;
      if (two) options.targets = {parse_target("x86_64", "x86-64-v4"), parse_target("x86_64", "x86-64-v2")};
      if (!skipped.empty()) options.skip.emplace(skipped);
      options.after = [&](const StageDone& done) {
        stages.emplace_back(done.name);
        if (done.name == "lower") lowered = done.text();
        if (done.name == "schedule") scheduled = done.text();
        EXPECT_GE(done.seconds, 0);
      };
      compile(all_forms, inputs(kTracedSize, float32), kOpen, path("f.so"), options);
      const std::vector<std::string_view> expected = compile_stages(options);
      EXPECT_EQ(stages, std::vector<std::string>(expected.begin(), expected.end()));
      EXPECT_EQ(std::count(stages.begin(), stages.end(), "codegen"), two ? 2 : 1);
      EXPECT_EQ(std::count(stages.begin(), stages.end(), "merge_equal"), skipped == "merge_equal" ? 0 : 1);
      EXPECT_EQ(std::count(stages.begin(), stages.end(), "fold"), skipped == "fold" ? 0 : two ? 2 : 1);
    }
  for (const std::string& program : {lowered, scheduled}) {
    EXPECT_NE(program.find("input arg0_1: f32[s0, 4]"), std::string::npos) << program;
    EXPECT_NE(program.find("input arg1_1: f32[4, 3]"), std::string::npos) << program;
    EXPECT_NE(program.find("ingot_k_sort_rows("), std::string::npos) << program;
  }
  const auto skip_a_stage = [&] { compile(all_forms, inputs(kTracedSize, float32), kOpen, path("f.so"), {.skip = {"lower"}}); };
  EXPECT_EQ(error_of(skip_a_stage),
            "stage 'lower' cannot be skipped: there is no library without it; those that can be skipped are dead_code, "
            "merge_equal, fold");
}

TEST_F(CompiledModel, RunsHereAtEverySize) {
  for (DType dtype : {float32, float64, int64}) {
    const std::string name = std::string(name_of(dtype)) + ".so";
    ModelContainerRunner runner(library(name.c_str(), native_target(), dtype));
    for (int64_t n : kSizes) {
      const TensorList in = inputs(n, dtype);
      expect_close(all_forms(in), runner.run(in));
    }
  }
}

TEST_F(CompiledModel, ViewsAreIndexMaps) {
  std::vector<TensorList> lists = {inputs(kTracedSize, float32)};
  for (int64_t n : kSizes) lists.push_back(inputs(n, float32));
  const std::vector<TensorList> found = aot_run_multiple("cpu", views, lists, {}, kOpen);
  for (std::size_t k = 0; k < lists.size(); k++) expect_close(views(lists[k]), found[k]);
}

// Nothing but what lies so itself: rows of the example are one row, and several cannot be put
// there.
TEST_F(CompiledModel, ElementsThatShareTheirPlaces) {
  const TensorFunction f = [](const TensorList& in) { return TensorList{in[0] * 2}; };
  const Tensor row = randn({1, 4}), expanded = row.expand({3, 4});
  compile(f, {expanded}, {}, path("f.so"));
  ModelContainerRunner runner(path("f.so"));
  expect_close({expanded * 2}, runner.run({row.expand({3, 4})}));
  const std::string message = error_of([&] { runner.run({randn({3, 4})}); });
  EXPECT_TRUE(
      message.starts_with("input 0 (arg0_1): strides: expected [0, 1], found [4, 1]; lying so, elements share their places at "
                          "these sizes, and no copy can be made: compile the program for a contiguous example"))
      << message;
}
// Found by ingot_program_fuzz: the same of a stride that says nothing for other sizes.
TEST_F(CompiledModel, StridesThatAreTooShortForOtherSizes) {
  const TensorFunction f = [](const TensorList& in) { return TensorList{in[0] * 2}; };
  const auto diagonal = [](int64_t n) { return randn({2, n, n}).diagonal(0); };
  compile(f, {diagonal(2)}, {{0, 0, "n"}}, path("f.so"));
  ModelContainerRunner runner(path("f.so"));
  const Tensor x = diagonal(5);
  expect_close(f({x}), runner.run({x}));
  const std::string message = error_of([&] { runner.run({diagonal(7)}); });
  EXPECT_TRUE(
      message.starts_with("input 0 (arg0_1): strides: expected [1, 6], found [1, 56]; lying so, elements share their places at "
                          "these sizes, and no copy can be made: compile the program for a contiguous example"))
      << message;
}

TEST_F(CompiledModel, WritesReachTheCaller) {
  const TensorFunction f = [](const TensorList& in) {
    Tensor x = in[0];
    x.add_(1);
    return TensorList{x.mm(in[1])};
  };
  const TensorList compiled = inputs(3, float32), eager = inputs(3, float32);
  expect_close(f(eager), aot_run("cpu", f, compiled, {}, kOpen));
  expect_close(eager, compiled);
}

TEST_F(CompiledModel, SizesOutsideTheRangeAreRefused) {
  ModelContainerRunner runner(library("f.so", native_target()));
  runner.run(inputs(2, float32));
  const std::string message = error_of([&] { runner.run(inputs(1, float32)); });
  EXPECT_NE(message.find("arg0_1"), std::string::npos) << message;
  EXPECT_NE(message.find("s0"), std::string::npos) << message;
  TensorList wide = inputs(2, float32);
  wide[0] = randn({2, 5});
  EXPECT_NE(error_of([&] { runner.run(wide); }).find("expected 4"), std::string::npos) << error_of([&] { runner.run(wide); });
}

TEST_F(CompiledModel, RunsFromPlainC) { expect_runs_in_c("", INGOT_MODEL_RUNNER, library("f.so", native_target())); }

TEST_F(CompiledModel, RunsOnTheOtherArchitectureAtEverySize) {
  const std::string arch = arch_of(native_target()) == Arch::x86_64 ? "aarch64" : "x86_64";
  const std::string qemu = "qemu-" + arch;
  if (!fs::exists(INGOT_FOREIGN_RUNNER)) GTEST_SKIP() << INGOT_FOREIGN_RUNNER << " is not built: no " << arch << "-linux-gnu-gcc";
  if (std::system(("command -v " + qemu + " >/dev/null").c_str()) != 0) GTEST_SKIP() << "no " << qemu;
  expect_runs_in_c(text(qemu, " -L /usr/", arch, "-linux-gnu "), INGOT_FOREIGN_RUNNER, library("f.so", parse_target(arch)));
}

TEST_F(CompiledModel, NeedsLibcAlone) {
  for (const char* target : {"x86_64", "aarch64"}) {
    const std::string needs = output_of("readelf -dW " + library("f.so", parse_target(target)) + " | grep NEEDED");
    std::string others;
    for (std::size_t at = 0; (at = needs.find('[', at)) != needs.npos; at++) {
      const std::string name = needs.substr(at + 1, needs.find(']', at) - at - 1);
      if (name != "libc.so.6" && name != "libm.so.6") others += name + " ";
    }
    EXPECT_EQ(others, "") << target << ": " << needs;
    EXPECT_NE(needs.find("libc.so.6"), std::string::npos) << needs;
  }
}

TEST_F(CompiledModel, SameProgramSameBytes) {
  for (const char* target : {"x86_64", "aarch64"}) {
    fs::create_directories(path("a"));
    fs::create_directories(path("b"));
    library("a/f.so", parse_target(target));
    library("b/f.so", parse_target(target));
    EXPECT_FALSE(read("a/f.so").empty());
    EXPECT_EQ(read("a/f.so"), read("b/f.so"));
  }
}

TEST_F(CompiledModel, ARewrittenFileIsLoadedAnew) {
  const TensorFunction once = [](const TensorList& in) { return TensorList{in[0] + 1}; };
  const TensorFunction twice = [](const TensorList& in) { return TensorList{in[0] + 2}; };
  const TensorList in = {zeros({4})};
  const ModelContainerRunner first(aot_compile(once, in, path("f.so")));
  for (int k = 0; k < 3; k++) {
    ModelContainerRunner even(aot_compile(once, in, path("f.so")));
    EXPECT_EQ(even.run(in)[0].to_vector<double>()[0], 1);
    ModelContainerRunner odd(aot_compile(twice, in, path("f.so")));
    EXPECT_EQ(odd.run(in)[0].to_vector<double>()[0], 2);
  }
}

}  // namespace
}  // namespace ingot
