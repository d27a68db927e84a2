// The walking skeleton: one op of each form goes the whole way, call → trace → loop program → LLVM → lld → library →
// dlopen → results, with one open size, on this machine and on the other architecture under qemu.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "codegen/target.hpp"
#include "compiler/pipeline.hpp"
#include "graph/interpret.hpp"
#include "ingot/ingot.hpp"
#include "loop/lower.hpp"
#include "op/call.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

namespace fs = std::filesystem;

using Bytes = std::vector<char>;
using Query = int (*)(const int64_t*, int64_t*, int64_t*, int64_t*);
using Run = int (*)(void**, const int64_t*, void*);

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

Bytes bytes_of(const Tensor& t) {
  const char* begin = static_cast<const char*>(t.data_ptr());
  return {begin, begin + t.numel().value() * t.itemsize()};
}

// The compiled results are what the eager ones are: `eager` tells sizes and strides.
void expect_close(const TensorList& eager, std::vector<Bytes>& compiled) {
  ASSERT_EQ(eager.size(), compiled.size());
  for (std::size_t k = 0; k < eager.size(); k++) {
    ASSERT_EQ(compiled[k].size(), static_cast<std::size_t>(eager[k].numel().value() * eager[k].itemsize()));
    const auto size = static_cast<int64_t>(compiled[k].size());
    const Tensor result(make_ref<TensorImpl>(Storage::wrap(compiled[k].data(), size, [] {}), eager[k]->geom));
    const std::vector<double> expected = eager[k].to_vector<double>(), found = result.to_vector<double>();
    // Sums that cancel are as wrong as their terms are large, so the bound is of the largest result.
    double largest = 1;
    for (const double e : expected) largest = std::max(largest, std::abs(e));
    const double tolerance = is_floating(eager[k].dtype()) ? 1e-6 * largest : 0;
    for (std::size_t i = 0; i < expected.size(); i++) ASSERT_NEAR(found[i], expected[i], tolerance) << "output " << k << " element " << i;
  }
}

class Skeleton : public testing::Test {
 protected:
  Skeleton() {
    std::string name = (fs::temp_directory_path() / "ingot_test_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~Skeleton() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  Bytes read(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& name, const Bytes& bytes) const {
    std::ofstream(path(name), std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  std::string library(const char* name, const Target& target, DType dtype = float32) const {
    compile(all_forms, inputs(kTracedSize, dtype), kOpen, path(name), {.target = target});
    return path(name);
  }

 private:
  fs::path folder_;
};

// Runs a library in this process.
class Loaded {
 public:
  explicit Loaded(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_TRUE(handle_) << dlerror();
    query_ = reinterpret_cast<Query>(dlsym(handle_, "ingot_query"));
    run_ = reinterpret_cast<Run>(dlsym(handle_, "ingot_run"));
  }
  ~Loaded() { dlclose(handle_); }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  int status(int64_t n) {
    sizes_ = {n};
    return query_(sizes_.data(), &arena_bytes_, output_bytes_, output_sizes_);
  }
  // The results, after a check that the library knows how large they are.
  std::vector<Bytes> run(int64_t n, const TensorList& in, const TensorList& expected) {
    EXPECT_EQ(status(n), 0);
    std::vector<Bytes> outputs;
    std::vector<void*> buffers;
    for (const Tensor& t : in) buffers.push_back(t.data_ptr());
    const int64_t* size = output_sizes_;
    for (std::size_t k = 0; k < expected.size(); k++) {
      for (Int s : expected[k].sizes()) EXPECT_EQ(*size++, s.value()) << "output " << k;
      outputs.emplace_back(static_cast<std::size_t>(output_bytes_[k]));
    }
    for (Bytes& b : outputs) buffers.push_back(b.data());
    const std::unique_ptr<void, decltype(&std::free)> arena(std::aligned_alloc(64, static_cast<std::size_t>(arena_bytes_) + 64), &std::free);
    EXPECT_EQ(run_(buffers.data(), sizes_.data(), arena.get()), 0);
    return outputs;
  }

 private:
  void* handle_;
  Query query_;
  Run run_;
  std::vector<int64_t> sizes_;
  int64_t arena_bytes_ = 0, output_bytes_[8] = {}, output_sizes_[32] = {};
};

TEST_F(Skeleton, TraceRecordsOneNodeForEachCall) {
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

TEST_F(Skeleton, AWriteHasNoCompiledForm) {
  try {
    compile([](const TensorList& in) { Tensor x = in[0]; return TensorList{x.add_(1)}; }, inputs(kTracedSize, float32), kOpen, path("f.so"));
    FAIL() << "no error";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("aten::add_.Tensor writes an argument"), std::string::npos) << e.what();
  }
}

TEST_F(Skeleton, EveryStageSaysWhatItMade) {
  std::string stages, program;
  compile(all_forms, inputs(kTracedSize, float32), kOpen, path("f.so"), {.after = [&](std::string_view stage, double, const std::string& text) {
            stages += std::string(stage) + " ";
            if (stage == "lower") program = text;
          }});
  EXPECT_EQ(stages, "trace lower codegen link ");
  EXPECT_EQ(program, R"(program main(s0 >= 2)
  input arg0_1: f32[s0, 4]
  input arg1_1: f32[4, 3]
  arena mm: f32[s0, 3] at 0
  arena sum_1: f32[s0] at 64*((3*s0 + 15) // 16)
  output sort.0: f32[s0]
  output sort.1: i64[s0]
  arena sort.scratch: u8[32*s0] at 64*((s0 + 15) // 16) + 64*((3*s0 + 15) // 16)
  output output.2: f32[3, s0] strides [1, 3]
  mm[i0 < s0, i1 < 3] = %0 where %0 = sum(i2 < 4) arg0_1[i0, i2]*arg1_1[i2, i1]
  sum_1[i0 < s0] = %0 where %0 = sum(i1 < 3) mm[i0, i1] + mm[i0, i1]
  call ingot_k_sort_rows(6, sum_1, {1, s0, 1, 1}, s0, 0, &sort.0, {1, s0, 1, 1}, &sort.1, {1, s0, 1, 1}, 0, 1, &sort.scratch)
  output.2[i0 < 3, i1 < s0] = mm[i1, i0]
)");
}

TEST_F(Skeleton, RunsHereAtEverySize) {
  for (DType dtype : {float32, float64, int64}) {
    const std::string name = std::string(name_of(dtype)) + ".so";
    Loaded loaded(library(name.c_str(), native_target(), dtype));
    for (int64_t n : kSizes) {
      const TensorList in = inputs(n, dtype), expected = all_forms(in);
      std::vector<Bytes> found = loaded.run(n, in, expected);
      expect_close(expected, found);
    }
  }
}

TEST_F(Skeleton, ViewsAreIndexMaps) {
  Traced traced = trace(views, inputs(kTracedSize, float32), {.open = kOpen});
  const std::string program = to_text(loop::lower(traced.graph, traced.sizes));
  EXPECT_EQ(program.substr(program.find("  add[")), R"(  add[i0 < 4, i1 < s0] = arg0_1[i1, i0] + 1.0
  sum_1[i1 < 3, i2 < 4] = %0 where %0 = sum(i0 < s0) arg0_1[i0, i2]
  output.0[i0 < 2, i1 < 2*s0] = arg0_1[i1 // 2, i0 + 2*(i1 % 2)]
  output.1[i0 < s0 - 1] = arg0_1[i0 + 1, 2]
  output.4[i0 < s0, i1 < 2] = arg0_1[i0, 2*i1 + 1]
  output.5[i0 < (s0 + 1) // 2, i1 < 4] = arg0_1[2*i0, i1]
)");
  compile(traced.graph, traced.sizes, path("views.so"));
  Loaded loaded(path("views.so"));
  for (int64_t n : kSizes) {
    const TensorList in = inputs(n, float32);
    TensorList expected = views(in);
    for (Tensor& t : expected)
      if (t.numel().value() != t->storage->nbytes().value() / t.itemsize()) t = t.clone();  // gaps are not kept
    std::vector<Bytes> found = loaded.run(n, in, expected);
    expect_close(expected, found);
  }
}

TEST_F(Skeleton, SizesOutsideTheRangeAreRefused) {
  Loaded loaded(library("f.so", native_target()));
  EXPECT_EQ(loaded.status(2), 0);
  EXPECT_EQ(loaded.status(1), 1);
  EXPECT_EQ(loaded.status(-3), 1);
}

TEST_F(Skeleton, RunsOnTheOtherArchitectureAtEverySize) {
  const std::string arch = arch_of(native_target()) == Arch::x86_64 ? "aarch64" : "x86_64";
  const std::string qemu = "qemu-" + arch;
  if (!fs::exists(INGOT_FOREIGN_RUNNER)) GTEST_SKIP() << INGOT_FOREIGN_RUNNER << " is not built: no " << arch << "-linux-gnu-gcc";
  if (std::system(("command -v " + qemu + " >/dev/null").c_str()) != 0) GTEST_SKIP() << "no " << qemu;

  const std::string so = library("f.so", parse_target(arch));
  for (int64_t n : kSizes) {
    const TensorList in = inputs(n, float32);
    for (std::size_t k = 0; k < in.size(); k++) write(text("in", k), bytes_of(in[k]));
    const std::string command =
        text(qemu, " -L /usr/", arch, "-linux-gnu ", INGOT_FOREIGN_RUNNER, " ", so, " ", n, " 2 3 ", fs::path(so).parent_path().string());
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    std::vector<Bytes> found = {read("out0"), read("out1"), read("out2")};
    expect_close(all_forms(in), found);
  }
}

TEST_F(Skeleton, SameProgramSameBytes) {
  for (const char* target : {"x86_64", "aarch64"}) {
    fs::create_directories(path("a"));
    fs::create_directories(path("b"));
    library("a/f.so", parse_target(target));
    library("b/f.so", parse_target(target));
    EXPECT_FALSE(read("a/f.so").empty());
    EXPECT_EQ(read("a/f.so"), read("b/f.so"));
  }
}

}  // namespace
}  // namespace ingot
