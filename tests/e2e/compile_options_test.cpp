// What a compile can be asked for, and what must not depend on it.
#include <malloc.h>

#include "base/parallel.hpp"
#include "e2e/compiled_model.hpp"
#include "ingot/expr.hpp"
#include "support/error_text.hpp"
#include "support/sanitized.hpp"

namespace ingot {
namespace {

class CompileOptionsTest : public CompiledModel {
 protected:
  CompileOptionsTest() : threads_(num_threads()) {}
  ~CompileOptionsTest() override { set_num_threads(threads_); }

 private:
  int threads_;
};

int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at++) n++;
  return n;
}

// Layers that differ in their weights alone, and one of another size.
TensorList layers(const TensorList& in) {
  Tensor x = in[0];
  for (std::size_t k = 1; k + 1 < in.size(); k++) x = aten<"relu">(x.mm(in[k])) + 1;
  return {x.mm(in.back()).softmax(1)};
}
TensorList layer_inputs() {
  manual_seed(3);
  TensorList in{randn({6, 24})};
  for (int k = 0; k < 8; k++) in.push_back(randn({24, 24}) * 0.3);
  in.push_back(randn({24, 10}));
  return in;
}

TEST_F(CompileOptionsTest, ThreadsDoNotChangeTheBytes) {
  std::vector<Bytes> made;
  for (const int threads : {1, 2, 5}) {
    set_num_threads(threads);
    aot_compile(layers, layer_inputs(), path("f.so"));
    made.push_back(read("f.so"));
  }
  EXPECT_TRUE(made[0] == made[1] && made[0] == made[2]);
}

// Positions among no elements are never simplified: each view of a view took them apart once more,
// and the text of a few dozen was never written to its end.
TEST_F(CompileOptionsTest, TextsOfViewsOfNothingStayShort) {
  const TensorFunction views = [](const TensorList& in) {
    Tensor x = in[0];
    for (int k = 0; k < 20; k++) x = x.transpose(0, 1).unsqueeze(0).squeeze(0).sin();
    return TensorList{x};
  };
  std::size_t length = 0;
  CompileOptions options;
  options.after = [&](const StageDone& done) {
    if (done.name == "lower") length = done.text().size();
  };
  aot_compile(views, {zeros({0, 0, 0})}, path("f.so"), options);
  EXPECT_GT(length, 0U);
  EXPECT_LT(length, 20000U);
}

// What is in use, not what the process holds: the heap keeps what was freed. What threads keep at
// hand for their next allocations counts as in use, and comes up to a megabyte.
std::size_t bytes_in_use() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

TEST_F(CompileOptionsTest, CompilingAgainKeepsNoMemory) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer's heap does not say what is in use";
  const TensorList in = layer_inputs();
  const auto compile_often = [&](int times) {
    for (int k = 0; k < times; k++) aot_compile(layers, in, path("f.so"));
    return bytes_in_use();
  };
  const std::size_t before = compile_often(20), after = compile_often(60);
  EXPECT_LT(after, before + (3 << 20));
}

// x < y and x > y under one mask, of halves: they are compared as floats, in vectors, whatever a
// processor has for halves.
TEST_F(CompileOptionsTest, HalvesAreComparedAsFloats) {
  const auto f = [](const TensorList& in) -> TensorList {
    const Tensor inside = aten<"logical_and">(aten<"ge.Scalar">(in[0], -1), aten<"le.Scalar">(in[1], 1));
    const Tensor less = aten<"logical_and">(inside, aten<"lt.Tensor">(in[0], in[1]));
    const Tensor more = aten<"logical_and">(inside, aten<"gt.Tensor">(in[0], in[1]));
    return {aten<"where.self">(less, in[0], in[2]) + aten<"where.self">(more, in[1], in[2])};
  };
  manual_seed(5);
  const TensorList in = {randn({33}).to(DType::f16), randn({33}).to(DType::f16), randn({33}).to(DType::f16)};
  expect_close(f(in), ModelContainerRunner(aot_compile(f, in, path("here.so"))).run(in));
  for (const auto& [name, cpu] : {std::pair{"x86_64", "x86-64-v4"}, {"x86_64", "sapphirerapids"}, {"aarch64", "neoverse-n1"}}) {
    std::string llvm;
    aot_compile(f, in, path("there.so"),
                {.targets = {parse_target(name, cpu)}, .code = [&](const std::string&, const CodeText& t) { llvm += t.llvm; }});
    EXPECT_GT(count(llvm, "fcmp"), 0);
    for (std::size_t at = 0; (at = llvm.find("fcmp", at)) != llvm.npos; at++)
      EXPECT_EQ(llvm.substr(at, llvm.find('\n', at) - at).find("half"), std::string::npos) << cpu << ": " << llvm.substr(at, 80);
  }
}

// What a loop does alike each time is computed before it, also where it has nothing to do. x86_64
// ends a process that divides by 0.
TEST_F(CompileOptionsTest, SizesOfNothingDivideNothing) {
  const auto f = [](const TensorList& in) -> TensorList {
    const Tensor last = aten<"gt.Scalar">(aten<"select.int">(in[0], 0, -1), 0.25);
    return {aten<"where.self">(last, in[0], last)};
  };
  std::string llvm;
  aot_compile(f, {zeros({4, 0}).to(DType::i64)}, path("f.so"),
              {.targets = {parse_target("x86_64")}, .code = [&](const std::string&, const CodeText& t) { llvm += t.llvm; }},
              {OpenSize{0, 0}});
  EXPECT_GT(count(llvm, "ingot_rt_parallel"), 0);
  for (const char* division : {" udiv ", " urem ", " sdiv ", " srem "})
    for (std::size_t at = 0; (at = llvm.find(division, at)) != llvm.npos; at++)
      EXPECT_FALSE(llvm.substr(at, llvm.find('\n', at) - at).ends_with(", 0")) << llvm.substr(at, 60);
}

// Single elements are left where an extent is no multiple of what is done at a time, and nowhere
// else; also where one code does several sizes.
TEST_F(CompileOptionsTest, WholeVectorsLeaveNoSingleElements) {
  const auto f = [](const TensorList& in) {
    TensorList out;
    for (const Tensor& x : in) out.push_back((x * 2 + 1).exp() * x);
    return out;
  };
  manual_seed(3);
  for (const auto& [sizes, leaves_some] : {std::pair{std::vector<int64_t>{4096}, false},
                                           {{64}, false},
                                           {{4096, 8192}, false},
                                           {{4099}, true},
                                           {{4096, 4099}, true},
                                           {{}, true}}) {
    TensorList in;
    for (const int64_t n : sizes.empty() ? std::vector<int64_t>{4096} : sizes) in.push_back(randn({n}));
    const std::vector<OpenSize> open = sizes.empty() ? std::vector<OpenSize>{{0, 0}} : std::vector<OpenSize>{};
    std::string llvm;
    for (const auto& [arch, cpu] : {std::pair{"x86_64", "x86-64-v4"}, {"x86_64", "x86-64-v3"}, {"aarch64", "neoverse-n1"}}) {
      llvm.clear();
      aot_compile(f, in, path("there.so"),
                  {.targets = {parse_target(arch, cpu)}, .code = [&](const std::string&, const CodeText& t) { llvm += t.llvm; }},
                  open);
      EXPECT_EQ(count(llvm, " load float,") > 0, leaves_some) << ::testing::PrintToString(sizes) << " for " << cpu << "\n"
                                                              << llvm;
    }
    expect_close(f(in), ModelContainerRunner(aot_compile(f, in, path("here.so"), {}, open)).run(in));
  }
}

TEST_F(CompileOptionsTest, AlikeKernelsShareTheirCode) {
  std::string assembly;
  const TensorList in = layer_inputs();
  const std::string library =
      aot_compile(layers, in, path("f.so"), {.code = [&](const std::string&, const CodeText& t) { assembly += t.assembly; }});
  // Of eight layers: the packing of a weight and the product; then those of the last product, and
  // the softmax.
  const int kernels = count(assembly, "\nkernel.0.") - count(assembly, ".body:");
  EXPECT_GE(kernels, 4) << assembly;
  EXPECT_LE(kernels, 8) << assembly;
  expect_close(layers(in), ModelContainerRunner(library).run(in));
}

// A recurrence that the program writes step by step: each step reads another row, and writes one.
TensorList steps(const TensorList& in) {
  Tensor state = in[1];
  TensorList states;
  for (const Tensor& row : in[0].unbind(0)) {
    state = (row + state.mm(in[2])).tanh();
    states.push_back(state);
  }
  return {stack(states, 0), state + 1};
}

TEST_F(CompileOptionsTest, StepsOfARecurrenceShareTheirCode) {
  for (const bool open : {false, true}) {
    std::vector<int> kernels;
    for (const int64_t rows : {6, 20}) {
      manual_seed(5);
      const TensorList in{randn({rows, 5, 24}), randn({5, 24}), randn({24, 24}) * 0.3};
      std::string assembly;
      const std::vector<OpenSize> sizes{{.input = 0, .dim = 1, .name = "b"}, {.input = 1, .dim = 0, .name = "b"}};
      const std::string library = aot_compile(steps, in, path(text("f", rows, open, ".so")),
                                              {.code = [&](const std::string&, const CodeText& t) { assembly += t.assembly; }},
                                              open ? sizes : std::vector<OpenSize>{});
      kernels.push_back(count(assembly, "\nkernel.0.") - count(assembly, ".body:"));
      expect_close(steps(in), ModelContainerRunner(library).run(in));
    }
    EXPECT_EQ(kernels[0], kernels[1]) << (open ? "with an open batch" : "");
    EXPECT_LE(kernels[0], 8);
  }
}

// Layers over the same pixels that differ by how many channels they have.
Tensor mix(const Tensor& x, const Tensor& w) { return aten<"relu">(aten<"conv2d">(x, w)) + 0.5; }
TensorFunction mixes(const TensorList& weights) {
  return [weights](const TensorList& in) {
    Tensor x = in[0];
    for (const Tensor& w : weights) x = mix(x, w);
    return TensorList{x};
  };
}

TEST_F(CompileOptionsTest, KernelsOfOtherSizesShareTheirCode) {
  std::vector<int> kernels;
  for (const std::vector<int64_t>& channels :
       {std::vector<int64_t>{24, 48, 72, 312, 336, 360}, {24, 48, 72, 96, 120, 144, 168, 312, 336, 360, 384, 408, 432}}) {
    manual_seed(7);
    Tensor x = randn({2, channels[0], 6, 6});
    TensorList weights;
    for (std::size_t k = 1; k < channels.size(); k++) weights.push_back(randn({channels[k], channels[k - 1], 1, 1}) * 0.1);
    const TensorFunction all = mixes(weights);
    std::string assembly;
    const std::string library = aot_compile(all, {x}, path(text("f", channels.size(), ".so")),
                                            {.code = [&](const std::string&, const CodeText& t) { assembly += t.assembly; }});
    kernels.push_back(count(assembly, "\nkernel.0.") - count(assembly, ".body:"));
    const TensorList found = ModelContainerRunner(library).run({x});
    expect_close(all({x}), found);
    // Not a bit is other than in libraries of one layer each, whose code knows all sizes.
    for (std::size_t k = 0; k < weights.size(); k++)
      x = ModelContainerRunner(aot_compile(mixes({weights[k]}), {x}, path(text("g", channels.size(), ".", k, ".so"))))
              .run({x})[0];
    EXPECT_EQ(x.to_vector<float>(), found[0].to_vector<float>());
  }
  EXPECT_EQ(kernels[0], kernels[1]);
  EXPECT_LE(kernels[0], 6);
}

// Weights that several products use: how these are laid out depends on the level, how many
// constants there are does not.
TEST_F(CompileOptionsTest, LevelsHaveTheSameConstants) {
  manual_seed(4);
  const Tensor w = randn({40, 40}) * 0.2;
  const TensorFunction f = [w](const TensorList& in) { return TensorList{in[0].mm(w).mm(w), in[1].mm(w), in[2].mm(w)}; };
  const TensorList in{randn({4, 40}), randn({7, 40}), randn({30, 40})};
  compile(f, in, {}, path("f.so"),
          {.targets = {parse_target("x86_64", "x86-64-v4"), parse_target("x86_64", "x86-64-v3"),
                       parse_target("x86_64", "x86-64-v2")}});
  expect_close(f(in), ModelContainerRunner(aot_compile(f, in, path("g.so"))).run(in));
}

TEST_F(CompileOptionsTest, CodeIsShownForEveryLevel) {
  const std::vector<Target> targets{parse_target("x86_64", "x86-64-v4"), parse_target("x86_64", "x86-64-v2")};
  std::string levels;
  compile(all_forms, inputs(kTracedSize, float32), kOpen, path("f.so"),
          {.targets = targets, .code = [&](const std::string& level, const CodeText& t) {
             levels += level + " ";
             EXPECT_NE(t.llvm.find("define hidden i32 @ingot_run."), std::string::npos) << t.llvm.substr(0, 500);
             EXPECT_EQ(t.assembly.find("zmm") != t.assembly.npos, level == "x86-64-v4");
           }});
  EXPECT_EQ(levels, "x86-64-v4 x86-64-v2 ");
}

TEST_F(CompileOptionsTest, AssertionsStopTheRun) {
  const TensorFunction f = [](const TensorList& in) {
    const Int n = aten_value<"_local_scalar_dense">(in[1].select(0, 0)).to_int();
    aten_value<"sym_constrain_range">(n, 0, 7);
    aten_value<"_assert_scalar">(Int(cast(DType::i64, n.expr() != Expr(3))), "three is refused");
    aten_value<"_assert_async.msg">(aten<"lt.Scalar">(in[0].sum(), 100), "the sum is too large");
    return TensorList{in[0] * 2};
  };
  const auto numbers = [](int64_t n) { return (ones({2}) * n).to(DType::i64); };
  ModelContainerRunner runner(aot_compile(f, {ones({4}), numbers(1)}, path("f.so")));
  EXPECT_EQ(runner.run({ones({4}), numbers(5)})[0].to_vector<double>(), (std::vector<double>{2, 2, 2, 2}));
  const auto refusal = [&](const Tensor& x, int64_t n) { return error_of([&] { runner.run({x, numbers(n)}); }); };
  EXPECT_NE(refusal(ones({4}), 3).find("three is refused"), std::string::npos) << refusal(ones({4}), 3);
  EXPECT_NE(refusal(ones({4}), 8).find("between [0, 7]"), std::string::npos) << refusal(ones({4}), 8);
  EXPECT_NE(refusal(ones({4}) * 50, 1).find("the sum is too large"), std::string::npos) << refusal(ones({4}) * 50, 1);
}

// The machine decides which level of a file runs; qemu can be any machine.
struct Machine {
  const char* qemu;
  const char* level;  // empty: none fits
};

TEST_F(CompileOptionsTest, AMachineRunsTheBestLevelItHas) {
  const auto try_machines = [&](const std::string& arch, const std::string& runner, const std::vector<const char*>& levels,
                                const std::vector<Machine>& machines) {
    const std::string qemu = "qemu-" + arch;
    if (!fs::exists(runner) || std::system(("command -v " + qemu + " >/dev/null").c_str()) != 0) return false;
    std::vector<Target> targets;
    for (const char* l : levels) targets.push_back(parse_target(arch, l));
    const std::string library =
        aot_compile(all_forms, inputs(kTracedSize, float32), path(arch + ".so"), {.targets = targets}, kOpen);
    const bool native = arch == to_text(arch_of(native_target()));
    const TensorList in = inputs(7, float32);
    for (std::size_t k = 0; k < in.size(); k++) write(k, in[k]);
    for (const Machine& m : machines) {
      fs::remove(path("level0"));
      const int status =
          run_c(text(qemu, " -cpu ", m.qemu, native ? " " : text(" -L /usr/", arch, "-linux-gnu ")), runner, library);
      if (*m.level) {
        EXPECT_EQ(status, 0) << m.qemu << ": " << said();
        const Bytes level = read("level0");
        EXPECT_EQ(std::string(level.begin(), level.end()), m.level) << m.qemu;
        expect_close(all_forms(in), {read_output(0), read_output(1), read_output(2)});
      } else {
        EXPECT_EQ(status, 1) << m.qemu;
        EXPECT_NE(said().find("which needs"), std::string::npos) << m.qemu << ": " << said();
      }
    }
    return true;
  };
  const bool is_x86 = arch_of(native_target()) == Arch::x86_64;
  const bool x86 =
      try_machines("x86_64", is_x86 ? INGOT_MODEL_RUNNER : INGOT_FOREIGN_RUNNER, {"x86-64-v4", "x86-64-v3", "x86-64-v2"},
                   {{"max", "x86-64-v3"}, {"Nehalem", "x86-64-v2"}, {"core2duo", ""}});
  const bool arm =
      try_machines("aarch64", is_x86 ? INGOT_FOREIGN_RUNNER : INGOT_MODEL_RUNNER, {"neoverse-v1", "neoverse-n1", "cortex-a57"},
                   {{"neoverse-n1", "neoverse-n1"}, {"cortex-a57", "cortex-a57"}});
  if (!x86 && !arm) GTEST_SKIP() << "no qemu-user";
}

}  // namespace
}  // namespace ingot
