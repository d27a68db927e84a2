// One op of each form goes the whole way, call → trace → loop program → LLVM → lld → library → results, with one open size:
// in this process, by a plain C program, and on the other architecture under qemu.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/dtype.hpp"
#include "base/dtype_code.hpp"
#include "base/error.hpp"
#include "codegen/target.hpp"
#include "compiler/compiled_program.hpp"
#include "graph/interpret.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "support/error_text.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

namespace fs = std::filesystem;

using Bytes = std::vector<char>;

const std::vector<OpenSize> kOpen = {{.input = 0, .dim = 0}};
constexpr int64_t kTracedSize = 5;
constexpr int64_t kSizes[] = {2, 7, 100};

// A matrix product, a view of a view, a pointwise op, a reduction, an external kernel; a view is returned.
TensorList all_forms(const TensorList& in) {
  const Tensor y = in[0].mm(in[1]);
  const Tensor z = y + y.t().t();
  const TensorList sorted = atens<"sort">(z.sum({1}));
  return {sorted[0], sorted[1], y.t()};
}
TensorList inputs(int64_t n, DType dtype) {
  manual_seed(static_cast<uint64_t>(n));
  const Tensor x = randn({n, 4}), w = randn({4, 3});
  if (is_floating(dtype)) return {x.to(dtype), w.to(dtype)};
  return {(x * 100).to(dtype), (w * 100).to(dtype)};
}

// Index maps of every kind: a symbolic argument, an offset, a transposed pointwise result, a broadcast, a storage view.
TensorList views(const TensorList& in) {
  const Tensor& x = in[0];
  const Int n = x.size(0);
  return {x.view({n * 2, 2}).t(), x.slice(0, 1, n).select(1, 2), x.t() + 1, x.unsqueeze(1).expand({n, 3, 4}).sum({0}),
          x.as_strided({n, 2}, {4, 2}, 1), x.slice(0, 0, {}, 2)};
}

void expect_close(const TensorList& expected, const TensorList& found) {
  ASSERT_EQ(expected.size(), found.size());
  for (std::size_t k = 0; k < expected.size(); k++) {
    EXPECT_EQ(to_text(found[k].sizes()), to_text(expected[k].sizes())) << "output " << k;
    EXPECT_EQ(found[k].dtype(), expected[k].dtype()) << "output " << k;
    const std::vector<double> e = expected[k].to_vector<double>(), f = found[k].to_vector<double>();
    ASSERT_EQ(e.size(), f.size());
    // Sums that cancel are as wrong as their terms are large, so the bound is of the largest result.
    double largest = 1;
    for (const double x : e) largest = std::max(largest, std::abs(x));
    const double tolerance = is_floating(expected[k].dtype()) ? 1e-6 * largest : 0;
    for (std::size_t i = 0; i < e.size(); i++) ASSERT_NEAR(f[i], e[i], tolerance) << "output " << k << " element " << i;
  }
}

class CompiledModel : public testing::Test {
 protected:
  CompiledModel() {
    std::string name = (fs::temp_directory_path() / "ingot_test_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~CompiledModel() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  Bytes read(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // What model_runner.c reads …
  void write(std::size_t k, const Tensor& t) const {
    std::ofstream shape(path(text("in", k, ".shape")));
    shape << aoti_code(t.dtype()) << ' ' << t.dim();
    const Tensor dense = t.contiguous();
    for (const Int n : dense.sizes()) shape << ' ' << n.value();
    for (const Int n : dense.strides()) shape << ' ' << n.value();
    std::ofstream(path(text("in", k)), std::ios::binary)
        .write(static_cast<const char*>(dense.data_ptr()), static_cast<std::streamsize>(t.numel().value() * t.itemsize()));
  }
  // … and writes.
  Tensor read_output(std::size_t k) const {
    std::ifstream shape(path(text("out", k, ".shape")));
    int dtype = -1, rank = 0;
    shape >> dtype >> rank;
    std::vector<int64_t> sizes(static_cast<std::size_t>(rank));
    for (int64_t& n : sizes) shape >> n;
    const Tensor t = make_tensor(Geometry::contiguous(Shape(sizes), dtype_of_code(dtype).value()));
    const Bytes bytes = read(text("out", k));
    EXPECT_EQ(bytes.size(), static_cast<std::size_t>(t.numel().value() * t.itemsize()));
    std::copy(bytes.begin(), bytes.end(), static_cast<char*>(t.data_ptr()));
    return t;
  }

  std::string library(const char* name, const Target& target, DType dtype = float32) const {
    return aot_compile(all_forms, inputs(kTracedSize, dtype), path(name), {.targets = {target}}, kOpen);
  }

  // The C program's exit status, by itself or under what `before` says.
  int run_c(const std::string& before, const std::string& program, const std::string& library) const {
    const int status = std::system((before + program + " " + library + " " + folder_.string() + " 2>" + path("stderr")).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string said() const {
    const Bytes b = read("stderr");
    return {b.begin(), b.end()};
  }
  void expect_runs_in_c(const std::string& before, const std::string& program, const std::string& library) const {
    for (int64_t n : kSizes) {
      const TensorList in = inputs(n, float32);
      for (std::size_t k = 0; k < in.size(); k++) write(k, in[k]);
      ASSERT_EQ(run_c(before, program, library), 0) << said();
      expect_close(all_forms(in), {read_output(0), read_output(1), read_output(2)});
    }
    // Sizes outside the range are refused, in words.
    const TensorList in = inputs(1, float32);
    write(0, in[0]);
    EXPECT_EQ(run_c(before, program, library), 2) << said();
    EXPECT_NE(said().find("s0"), std::string::npos) << said();
  }

  static std::string output_of(const std::string& command) {
    std::string out;
    FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    char buffer[4096];
    for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
    pclose(pipe);
    return out;
  }

 private:
  fs::path folder_;
};

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
    for (std::size_t k = 0; k < expected.size(); k++) EXPECT_EQ(found[k].tensor().to_vector<double>(), expected[k].to_vector<double>());
  }
}

TEST_F(CompiledModel, EveryStageSaysWhatItMade) {
  std::string stages, lowered, scheduled;
  compile(all_forms, inputs(kTracedSize, float32), kOpen, path("f.so"), {.after = [&](std::string_view stage, double seconds, const std::string& text) {
            stages += std::string(stage) + " ";
            if (stage == "lower") lowered = text;
            if (stage == "schedule") scheduled = text;
            EXPECT_GE(seconds, 0);
          }});
  EXPECT_EQ(stages, "trace lower schedule fold codegen table link ");
  for (const std::string& program : {lowered, scheduled}) {
    EXPECT_NE(program.find("input arg0_1: f32[s0, 4]"), std::string::npos) << program;
    EXPECT_NE(program.find("input arg1_1: f32[4, 3]"), std::string::npos) << program;
    EXPECT_NE(program.find("ingot_k_sort_rows("), std::string::npos) << program;
  }
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
