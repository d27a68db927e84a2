// scaled_dot_product_attention beside the same attention written out of products and a softmax, in
// one run: eager and compiled, forward and with gradients. Neither should be slower than what is
// written out. INGOT_NUM_THREADS says on how many threads.
#include <benchmark/benchmark.h>

#include <cmath>
#include <string>
#include <utility>

#include "compiler/aot_compiler.hpp"
#include "ingot/autograd.hpp"
#include "ingot/ingot.hpp"

namespace ingot {
namespace {

struct Sizes {
  int64_t batch, heads, rows, keys, embed;
};

TensorList fused(const TensorList& in) { return {scaled_dot_product_attention(in[0], in[1], in[2])}; }
TensorList written_out(const TensorList& in) {
  const double scale = 1 / std::sqrt(static_cast<double>(in[0].size(3).value()));
  return {matmul((matmul(in[0], in[1].transpose(-2, -1)) * scale).softmax(-1), in[2])};
}

TensorFunction as_function(const aot::AotFunction& f) {
  return [f](const TensorList& in) { return f(in); };
}

void attention(benchmark::State& state, const Sizes& s, const TensorFunction& f, bool compiled, bool gradients) {
  manual_seed(1);
  const auto random = [&](int64_t length) { return randn({s.batch, s.heads, length, s.embed}).requires_grad_(gradients); };
  const TensorList in{random(s.rows), random(s.keys), random(s.keys)};
  const Tensor tangent = randn({s.batch, s.heads, s.rows, s.embed});
  const TensorFunction run = compiled ? as_function(aot::memory_efficient_fusion(f)) : f;
  const auto step = [&] {
    const TensorList y = run(in);
    benchmark::DoNotOptimize(gradients ? grad(y, in, {tangent}) : y);
  };
  step();  // compiles
  for (auto _ : state) step();
}

const int kRegistered = [] {
  const std::pair<const char*, Sizes> all_sizes[] = {{"1x12x128x64", {1, 12, 128, 128, 64}},
                                                     {"8x16x512x64", {8, 16, 512, 512, 64}},
                                                     {"decode_1x8x1x64_of_1024", {1, 8, 1, 1024, 64}}};
  for (const auto& [name, sizes] : all_sizes)
    for (const bool gradients : {false, true})
      for (const bool compiled : {false, true})
        for (const bool is_fused : {true, false}) {
          const std::string full = std::string("attention/") + name + (gradients ? "/gradients" : "/forward") +
                                   (compiled ? "/compiled" : "/eager") + (is_fused ? "/sdpa" : "/written_out");
          benchmark::RegisterBenchmark(full.c_str(),
                                       [sizes = sizes, gradients, compiled, is_fused](benchmark::State& state) {
                                         attention(state, sizes, is_fused ? fused : written_out, compiled, gradients);
                                       })
              ->UseRealTime()
              ->Unit(benchmark::kMillisecond);
        }
  return 0;
}();

}  // namespace
}  // namespace ingot
