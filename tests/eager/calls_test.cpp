// Calls of ingot_eager_call, over the families of ops, against this process's own eager library:
// the same bits.
#include <atomic>
#include <cmath>
#include <thread>

#include "eager/library.hpp"
#include "support/error_text.hpp"

namespace ingot::testing {
namespace {

Tensor normal(const Shape& size, DType dtype = float32) {
  const Tensor t = randn(size, {.dtype = is_complex(dtype) ? dtype : float32});
  return t.to(dtype);
}
Tensor ints(int64_t low, int64_t high, const Shape& size, DType dtype = int64) { return randint(low, high, size).to(dtype); }

std::vector<EagerCase> all_cases() {
  manual_seed(1);
  const Tensor x = normal({5, 7}), wide = normal({3, 4000}), image = normal({2, 4, 9, 9});
  const Tensor matrix = normal({6, 6}), spd = matrix.matmul(matrix.t()) + eye(6) * 6.0;
  const Tensor strided = normal({8, 10, 6}).permute({2, 0, 1}).slice(1, 1, 7, 2);
  const Tensor bits = normal({6, 5}) > Scalar(0.0);
  std::vector<EagerCase> cases = {
      // sorting and selection
      {"aten.sort.default(%0, -1, True)", {x}, {}},
      {"aten.sort.stable(%0, stable = True, dim = 0, descending = False)", {ints(0, 4, {40, 3})}, {}},
      {"aten.topk.default(%0, #0, -1, True, True)", {wide}, {11}},
      {"aten.topk.default(%0, #1, #0)", {strided}, {1, 2}},
      {"aten.kthvalue.default(%0, 2)", {x}, {}},
      {"aten.median.dim(%0, 1, True)", {x}, {}},
      {"aten.argsort.default(%0)", {x}, {}},
      {"aten.searchsorted.Tensor(%0, %1, right = True)", {arange(10).to(float32), normal({4, 3})}, {}},
      {"aten.unique_dim.default(%0, 0, True, True, True)", {ints(0, 2, {9, 2})}, {}},
      {"aten._unique2.default(%0, True, True, True)", {ints(-3, 3, {50}, int32)}, {}},
      // scans and statistics
      {"aten.cumsum.default(%0, 1)", {strided}, {}},
      {"aten.cumsum.default(%0, 0, dtype = torch.float64)", {ints(0, 9, {6, 3}, uint8)}, {}},
      {"aten.cummax.default(%0, 0)", {x}, {}},
      {"aten.logcumsumexp.default(%0, 1)", {x}, {}},
      {"aten.histc.default(%0, 8, -1, 1.5)", {x}, {}},
      {"aten.bincount.default(%0, None, 12)", {ints(0, 9, {30})}, {}},
      // linear algebra
      {"aten._linalg_svd.default(%0, True)", {normal({2, 5, 3}, float64)}, {}},
      {"aten._linalg_eigh.default(%0, 'U', True)", {spd}, {}},
      {"aten.linalg_qr.default(%0, 'reduced')", {normal({6, 4}, complex64)}, {}},
      {"aten.linalg_eig.default(%0)", {matrix.to(float64)}, {}},
      {"aten.linalg_cholesky_ex.default(%0)", {spd}, {}},
      {"aten.linalg_lu_factor_ex.default(%0)", {matrix}, {}},
      {"aten.linalg_solve_triangular.default(%0, %1, upper = False)", {aten<"tril">(spd), normal({6, 2})}, {}},
      {"aten.linalg_inv_ex.default(%0)", {spd}, {}},
      {"aten.matrix_exp.default(%0)", {matrix * 0.1}, {}},
      {"aten.mm.default(%0, %1)", {normal({33, 50}), normal({50, 21})}, {}},
      {"aten.addmm.default(%0, %1, %2, beta = 0.5, alpha = 2)", {normal({4}), normal({3, 5}, float32), normal({5, 4})}, {}},
      {"aten.bmm.default(%0, %1)", {normal({2, 3, 4}, bfloat16), normal({2, 4, 5}, bfloat16)}, {}},
      {"aten.einsum.default('bij,bjk->ik', [%0, %1])", {normal({2, 3, 4}), normal({2, 4, 5})}, {}},
      // fft
      {"aten._fft_r2c.default(%0, [1], 0, True)", {normal({3, 30}, float64)}, {}},
      {"aten._fft_c2c.default(%0, [0, 1], 0, False)", {normal({6, 10}, complex64)}, {}},
      {"aten.fft_irfft.default(%0, #0)", {normal({2, 9}, complex64)}, {16}},
      // indexing
      {"aten.index.Tensor(%0, [None, %1])", {x, ints(0, 7, {4, 2})}, {}},
      {"aten.index.Tensor(%0, [%1])", {normal({6, 5, 2}), bits}, {}},
      {"aten.index_put.default(%0, [%1, None], %2, True)", {x, ints(0, 5, {6}), normal({6, 7})}, {}},
      {"aten.index_select.default(%0, 1, %1)", {strided, ints(0, 3, {5})}, {}},
      {"aten.gather.default(%0, 1, %1)", {x, ints(0, 7, {5, 3})}, {}},
      {"aten.scatter.src(%0, 1, %1, %2)", {x, ints(0, 3, {5, 1}), normal({5, 1})}, {}},
      {"aten.scatter_reduce.two(%0, 0, %1, %2, 'amax', include_self = False)", {x, ints(0, 5, {5, 7}), normal({5, 7})}, {}},
      {"aten.nonzero.default(%0)", {bits}, {}},
      {"aten.masked_select.default(%0, %1)", {normal({6, 5}, float16), bits}, {}},
      {"aten.embedding_bag.default(%0, %1, %2, False, 1)", {normal({10, 4}), ints(0, 10, {7}), tensor({0, 3, 3}, int64)}, {}},
      // images
      {"aten.convolution.default(%0, %1, %2, [1, 2], [1, 0], [1, 1], False, [0, 0], 2)",
       {image, normal({6, 2, 3, 3}), normal({6})},
       {}},
      {"aten.convolution.default(%0, %1, None, [2], [1], [1], True, [1], 1)", {normal({2, 4, 9}), normal({4, 3, 3})}, {}},
      {"aten.convolution_backward.default(%0, %1, %2, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, False])",
       {normal({2, 3, 9, 9}), image, normal({3, 4, 3, 3})},
       {}},
      {"aten.max_pool2d_with_indices.default(%0, 3, [2, 2], 1)", {image}, {}},
      {"aten.avg_pool2d.default(%0, [3, 3], [2, 2], [1, 1], False, False)", {image}, {}},
      {"aten._adaptive_avg_pool2d.default(%0, [#0, 3])", {image}, {2}},
      {"aten.grid_sampler_2d.default(%0, %1, 0, 1, True)", {image, rand({2, 3, 3, 2}) * 2.0 - 1.0}, {}},
      {"aten.upsample_bilinear2d.vec(%0, None, False, [1.5, 2.0])", {image}, {}},
      {"aten.constant_pad_nd.default(%0, [1, 2], -inf)", {x}, {}},
      {"aten.reflection_pad2d.default(%0, [1, 2, 0, 1])", {image}, {}},
      // random
      {"aten.rand.default([#0, 3], dtype = torch.float64, device = device(type='cpu'), pin_memory = False)", {}, {5}},
      {"aten.randn.default([4000])", {}, {}},
      {"aten.randint.low(-5, 9, [3, 3], dtype = torch.int32)", {}, {}},
      {"aten.randperm.default(20)", {}, {}},
      {"aten.bernoulli.p(%0, 0.3)", {x}, {}},
      {"aten.native_dropout.default(%0, 0.5, True)", {x}, {}},
      {"aten.multinomial.default(%0, 4)", {rand({3, 9})}, {}},
      {"aten.normal.Tensor_Tensor(%0, %1)", {x, x.abs()}, {}},
      // dtypes, sizes and layouts
      {"aten.add.Tensor(%0, %1, alpha = 2)", {x.to(bfloat16), normal({7}, bfloat16)}, {}},
      {"aten.mul.Tensor(%0, %1)", {normal({3, 2}, complex128), normal({2}, complex64)}, {}},
      {"aten.mul.Scalar(%0, (1-2.5j))", {normal({3, 2}, complex64)}, {}},
      {"aten.pow.Tensor_Scalar(%0, 3)", {ints(-9, 9, {11}, int16)}, {}},
      {"aten._to_copy.default(%0, dtype = torch.float8_e4m3fn)", {x}, {}},
      {"aten.clone.default(%0, memory_format = torch.channels_last)", {image}, {}},
      {"aten.sum.dim_IntList(%0, [0], True)", {normal({0, 4})}, {}},
      {"aten.sort.default(%0)", {normal({3, 0})}, {}},
      {"aten.cat.default([%0, %1, %0], 1)", {x, normal({5, 0})}, {}},
      {"aten.cumprod.default(%0, 0)", {scalar_tensor(2.5)}, {}},
      {"aten.nonzero.default(%0)", {zeros({4, 4})}, {}},
      // several and other results
      {"aten.split_with_sizes.default(%0, [1, #0], 0)", {x}, {4}},
      {"aten._local_scalar_dense.default(%0)", {scalar_tensor(7.25)}, {}},
      {"aten._scaled_dot_product_flash_attention_for_cpu.default(%0, %1, %2, 0.0, True)",
       {normal({1, 2, 5, 8}), normal({1, 2, 5, 8}), normal({1, 2, 5, 8})},
       {}},
      {"aten.native_layer_norm.default(%0, [7], %1, None, 1e-05)", {x, normal({7})}, {}},
      {"aten._ctc_loss.default(%0, %1, [10, 9], [3, 2])",
       {aten<"_log_softmax">(normal({10, 2, 5}), 2, false), ints(1, 5, {2, 3})},
       {}},
      {"aten.lstm.input(%0, [%1, %2], [%3, %4, %5, %6], True, 1, 0.0, False, False, False)",
       {normal({4, 2, 3}), zeros({1, 2, 5}), zeros({1, 2, 5}), normal({20, 3}), normal({20, 5}), normal({20}), normal({20})},
       {}},
      {"aten.special_bessel_j0.default(%0)", {x}, {}},
  };
  return cases;
}

std::vector<std::string> ops_of(const std::vector<EagerCase>& cases) {
  std::set<std::string> names;
  for (const EagerCase& c : cases) names.insert(op_of(c));
  return {names.begin(), names.end()};
}

TEST(EagerCalls, HaveTheBitsOfThisProcessesEagerLibrary) {
  const std::vector<EagerCase> cases = all_cases();
  const EagerLibrary library(ops_of(cases));
  for (const EagerCase& c : cases) expect_same_as_host(library, c);
}

TEST(EagerCalls, SeeNothingOfTheThreadThatCalls) {
  Tensor x = normal({3, 4});
  x.requires_grad_();
  const EagerCase c{"aten.mm.default(%0, %1)", {x, normal({4, 5})}, {}};
  const EagerLibrary library({"mm"});
  const Tensor expected = host_results(c)[0].detach(), place = empty({3, 5});
  {
    ThreadState& state = thread_state();
    const Scoped<Layer> layer(state.layer, Layer::trace);
    const Scoped<bool> fakes(state.fake_factories, true);
    const auto r = library.run(c, {place});
    EXPECT_EQ(r.status, 0) << r.error;
  }
  EXPECT_TRUE(same_elements(place, expected));
}

TEST(EagerCalls, FailWithTheTextOfTheRefusal) {
  const EagerLibrary library({"gather", "mm", "topk", "nonzero", "rand"});
  const auto error = [&](const EagerCase& c, const TensorList& places = {Tensor()}, bool refuse_memory = false) {
    const auto r = library.run(c, places, refuse_memory);
    EXPECT_EQ(r.status, 1) << c.text;
    return r.error;
  };
  const Tensor x = ones({2, 3});
  const auto host_error = [](const EagerCase& c) { return error_of([&] { host_results(c); }); };
  const EagerCase out_of_range{"aten.gather.default(%0, 1, %1)", {x, full({2, 1}, 3, {.dtype = int64})}, {}};
  EXPECT_EQ(error(out_of_range), host_error(out_of_range));
  const EagerCase shapes{"aten.mm.default(%0, %0)", {x}, {}};
  EXPECT_EQ(error(shapes), host_error(shapes));
  EXPECT_NE(error(shapes), "");
  EXPECT_EQ(error({"aten.topk.default(%0, #0)", {x}, {9}}, {Tensor(), Tensor()}),
            host_error({"aten.topk.default(%0, #0)", {x}, {9}}));
  EXPECT_NE(error({"aten.sort.default(%0)", {x}, {}}).find("there is no op 'aten.sort.default' here"), std::string::npos);
  EXPECT_NE(error({"aten.mm.default(%0", {x}, {}}).find("expected ',' or ')'"), std::string::npos);
  EXPECT_NE(error({"aten.mm.default(%0)", {x}, {}}).find("argument 'mat2' is missing"), std::string::npos);
  EXPECT_NE(error({"aten.mm.default(%0, 'two')", {x}, {}}).find("must be Tensor, not str"), std::string::npos);
  EXPECT_NE(error({"aten.nonzero.default(%0)", {x}, {}}, {Tensor(), Tensor()}).find("the caller wants 2"), std::string::npos);
  EXPECT_NE(error({"aten.nonzero.default(%0)", {x}, {}}, {zeros({6, 2})}).find("the caller has memory for"), std::string::npos);
  EXPECT_EQ(error({"aten.nonzero.default(%0)", {x}, {}}, {Tensor()}, true), "out of memory");
  EXPECT_NE(error({"aten.rand.default([#0])", {}, {int64_t{1} << 60}}), "");
  expect_same_as_host(library, {"aten.mm.default(%0, %1)", {x, ones({3, 2})}, {}});  // a failure leaves nothing behind
}

// The library finds the digits of a number in its own way (src/eager/number_text.cpp).
TEST(EagerCalls, WriteNumbersAsThisProcessDoes) {
  const EagerLibrary library({"bernoulli.p"});
  std::vector<std::string> numbers = {"-0.1",
                                      "1.5",
                                      "-1e-05",
                                      "1e22",
                                      "123456789.125",
                                      "1e+300",
                                      "-4.9e-324",
                                      "100000.0",
                                      "1000000.0",
                                      "12345678901234567890.0",
                                      "-0.001",
                                      "-0.0001",
                                      "3.0000000000000004",
                                      "1.7976931348623157e+308",
                                      "-2.2250738585072014e-308",
                                      "inf",
                                      "nan"};
  manual_seed(5);
  const Tensor digits = randn({200}, {.dtype = float64}), scale = randint(-60, 60, {200});
  for (int i = 0; i < 200; i++) {
    const double v = std::ldexp(std::abs(digits.data<double>()[i]), static_cast<int>(scale.data<int64_t>()[i]));
    numbers.push_back(to_text(Scalar(v > 1 ? v : -v)));
  }
  int refused = 0;
  for (const std::string& n : numbers) {
    const EagerCase c{text("aten.bernoulli.p(%0, ", n, ")"), {ones({2})}, {}};
    const std::string host = error_of([&] { host_results(c); });
    const auto r = library.run(c, {Tensor()});
    EXPECT_EQ(r.error, host) << c.text;
    refused += r.status;
  }
  EXPECT_EQ(refused, static_cast<int>(numbers.size()));
}

TEST(EagerCalls, RunInSeveralLibrariesAndThreadsAtOnce) {
  const std::vector<EagerCase> cases = all_cases();
  const EagerLibrary one(ops_of(cases)), two(ops_of(cases));
  std::vector<TensorList> host;
  for (const EagerCase& c : cases) host.push_back(host_results(c));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; t++)
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < cases.size(); i++) {
        const std::size_t k = (i + static_cast<std::size_t>(t) * 7) % cases.size();
        const auto r = (t % 2 ? one : two).run(cases[k], TensorList(host[k].size()));
        bool same = r.status == 0;
        for (std::size_t n = 0; same && n < host[k].size(); n++)
          same = !host[k][n].defined() || same_elements(r.results[n], host[k][n]);
        wrong += !same;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(EagerCalls, LibrariesComeAndGo) {
  for (int i = 0; i < 3; i++) {
    const EagerLibrary library({"sort", "randn"});
    expect_same_as_host(library, {"aten.sort.default(%0)", {normal({4, 5})}, {}});
    std::thread([&] {
      EXPECT_NE(library.run({"aten.sort.default(%0, 9)", {ones({3})}, {}}, {Tensor(), Tensor()}).error, "");
    }).join();
  }
}

}  // namespace
}  // namespace ingot::testing
