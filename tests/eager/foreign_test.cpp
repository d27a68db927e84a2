// Eager calls in a library for the architecture this machine is not, under qemu.
#include "eager/library.hpp"

namespace ingot::testing {
namespace {

class Writer {
 public:
  explicit Writer(const std::string& path) : out_(path, std::ios::binary) {}
  void number(int64_t v) { bytes(&v, 8); }
  void text(const std::string& s) {
    number(static_cast<int64_t>(s.size()));
    bytes(s.data(), s.size());
  }
  void tensor(const Tensor& t) {
    number(t.dim());
    number(aoti_code(t.dtype()));
    for (const Int s : t.sizes()) number(s.number());
    for (const Int s : t.strides()) number(s.number());
    Geometry g = t->geom;
    g.offset = 0;
    const int64_t n = required_bytes(g).number();
    number(n);
    bytes(t->bytes(), static_cast<std::size_t>(n));
  }

 private:
  std::ofstream out_;
  void bytes(const void* p, std::size_t n) { out_.write(static_cast<const char*>(p), static_cast<std::streamsize>(n)); }
};

class Reader {
 public:
  explicit Reader(std::string bytes) : bytes_(std::move(bytes)) {}
  int64_t number() {
    int64_t v = 0;
    std::memcpy(&v, take(8), 8);
    return v;
  }
  std::string text() {
    const auto n = static_cast<std::size_t>(number());
    return {take(n), n};
  }
  Tensor tensor() {
    const int64_t rank = number();
    Geometry g;
    g.dtype = dtype_of_code(static_cast<int32_t>(number())).value();
    for (int64_t i = 0; i < rank; i++) g.sizes.push_back(number());
    const Tensor t = make_tensor(Geometry::contiguous(g.sizes, g.dtype));
    const auto n = static_cast<std::size_t>(number());
    std::memcpy(t.data_ptr(), take(n), n);
    return t;
  }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
  const char* take(std::size_t n) {
    if (at_ + n > bytes_.size()) throw std::runtime_error("the runner's answer is too short");
    at_ += n;
    return bytes_.data() + at_ - n;
  }
};

TEST(EagerForeign, CallsRunUnderQemu) {
  const std::string arch = arch_of(native_target()) == Arch::x86_64 ? "aarch64" : "x86_64", qemu = "qemu-" + arch;
  if (!std::filesystem::exists(INGOT_FOREIGN_RUNNER)) GTEST_SKIP() << "no cross compiler for " << arch;
  if (std::system(("command -v " + qemu + " >/dev/null").c_str()) != 0) GTEST_SKIP() << "no " << qemu;
  manual_seed(3);
  const Tensor x = randn({5, 7}), image = randn({2, 4, 9, 9});
  const std::vector<EagerCase> cases = {
      {"aten.sort.default(%0, 0, True)", {x.t()}, {}},
      {"aten.topk.default(%0, #0, -1, True, True)", {x.to(bfloat16)}, {3}},
      {"aten._linalg_svd.default(%0, False)", {randn({4, 3}, {.dtype = float64})}, {}},
      {"aten._fft_r2c.default(%0, [1], 0, True)", {x}, {}},
      {"aten.nonzero.default(%0)", {x > Scalar(0.0)}, {}},
      {"aten._unique2.default(%0, True, True, True)", {randint(0, 6, {40})}, {}},
      {"aten.convolution.default(%0, %1, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)", {image, randn({3, 4, 3, 3})}, {}},
      {"aten.index.Tensor(%0, [None, %1])", {x, randint(0, 7, {4})}, {}},
      {"aten.rand.default([1000])", {}, {}},
      {"aten.randint.low(-5, 9, [3, 3], dtype = torch.int32)", {}, {}},
      {"aten.mul.Tensor(%0, %1)", {randn({3, 2}, {.dtype = complex64}), x.select(1, 0).slice(0, 0, 2)}, {}},
      {"aten.gather.default(%0, 1, %1)", {x, full({5, 1}, 7, {.dtype = int64})}, {}},  // refuses
  };
  const TestFolder folder;
  std::set<std::string> names;
  for (const EagerCase& c : cases) names.insert(op_of(c));
  link_eager_library({names.begin(), names.end()}, parse_target(arch), folder.file("eager.so"));

  std::vector<TensorList> host;
  std::vector<std::string> refusals;
  {
    Writer out(folder.file("calls"));
    out.number(static_cast<int64_t>(cases.size()));
    for (const EagerCase& c : cases) {
      try {
        host.push_back(host_results(c));
        refusals.emplace_back();
      } catch (const UserError& e) {
        host.push_back({Tensor()});
        refusals.emplace_back(e.what());
      }
      out.text(c.text);
      out.number(static_cast<int64_t>(c.tensors.size()));
      for (const Tensor& t : c.tensors) out.tensor(t);
      out.number(static_cast<int64_t>(c.integers.size()));
      for (const int64_t i : c.integers) out.number(i);
      out.number(static_cast<int64_t>(host.back().size()));
      out.number(static_cast<int64_t>(kTestDraw.seed));
      out.number(static_cast<int64_t>(kTestDraw.offset));
    }
  }
  const std::string command = text(qemu, " -L /usr/", arch, "-linux-gnu ", INGOT_FOREIGN_RUNNER, " ", folder.file("eager.so"),
                                   " ", folder.file("calls"), " ", folder.file("results"));
  ASSERT_EQ(std::system(command.c_str()), 0);
  Reader in(bytes_of_file(folder.file("results")));
  for (std::size_t i = 0; i < cases.size(); i++) {
    SCOPED_TRACE(cases[i].text);
    const int64_t status = in.number();
    EXPECT_EQ(in.text(), refusals[i]);
    ASSERT_EQ(status, refusals[i].empty() ? 0 : 1);
    for (std::size_t k = 0; status == 0 && k < host[i].size(); k++) {
      const Tensor found = in.tensor();
      ASSERT_TRUE(found.sizes().same(host[i][k].sizes()));
      // Products may be rounded once or twice, as the processor has it.
      if (found.is_floating_point() || found.is_complex()) EXPECT_TRUE(allclose(found, host[i][k], 1e-5, 1e-5)) << "result " << k;
      else EXPECT_TRUE(same_elements(found, host[i][k])) << "result " << k;
    }
  }
  EXPECT_TRUE(in.at_end());
}

}  // namespace
}  // namespace ingot::testing
