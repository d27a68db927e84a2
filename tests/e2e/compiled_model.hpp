// A small model of every form of op, compiled into a folder of the test's own, and run in this
// process or by a plain C program.
#pragma once
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
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "support/test_folder.hpp"
#include "tensor/impl.hpp"

namespace ingot {

namespace fs = std::filesystem;

using Bytes = std::vector<char>;

inline const std::vector<OpenSize> kOpen = {{.input = 0, .dim = 0}};
inline constexpr int64_t kTracedSize = 5;
inline constexpr int64_t kSizes[] = {2, 7, 100};

// A matrix product, a view of a view, a pointwise op, a reduction, an external kernel; a view is
// returned.
inline TensorList all_forms(const TensorList& in) {
  const Tensor y = in[0].mm(in[1]);
  const Tensor z = y + y.t().t();
  const TensorList sorted = atens<"sort">(z.sum({1}));
  return {sorted[0], sorted[1], y.t()};
}
inline TensorList inputs(int64_t n, DType dtype) {
  manual_seed(static_cast<uint64_t>(n));
  const Tensor x = randn({n, 4}), w = randn({4, 3});
  if (is_floating(dtype)) return {x.to(dtype), w.to(dtype)};
  return {(x * 100).to(dtype), (w * 100).to(dtype)};
}

inline void expect_close(const TensorList& expected, const TensorList& found, double relative = 1e-6) {
  ASSERT_EQ(expected.size(), found.size());
  for (std::size_t k = 0; k < expected.size(); k++) {
    EXPECT_EQ(to_text(found[k].sizes()), to_text(expected[k].sizes())) << "output " << k;
    EXPECT_EQ(found[k].dtype(), expected[k].dtype()) << "output " << k;
    const std::vector<double> e = expected[k].to_vector<double>(), f = found[k].to_vector<double>();
    ASSERT_EQ(e.size(), f.size());
    // Sums that cancel are as wrong as their terms are large, so the bound is of the largest
    // result.
    double largest = 1;
    for (const double x : e) largest = std::max(largest, std::abs(x));
    const double tolerance = is_floating(expected[k].dtype()) ? relative * largest : 0;
    for (std::size_t i = 0; i < e.size(); i++) ASSERT_NEAR(f[i], e[i], tolerance) << "output " << k << " element " << i;
  }
}

// The loops of the compiled function, which does what the function does.
inline std::string schedule_of(const TensorFunction& f, const TensorList& in) {
  std::string loops;
  CompileOptions options;
  options.after = [&](const StageDone& done) {
    if (done.name == "schedule") loops = done.text();
  };
  expect_close(f(in), aot_run("cpu", f, in, options));
  return loops;
}

class CompiledModel : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.file(name); }

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
    const int status =
        std::system((before + program + " " + library + " " + folder_.path().string() + " 2>" + path("stderr")).c_str());
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
  const testing::TestFolder folder_;
};

}  // namespace ingot
