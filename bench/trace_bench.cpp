// Tracing a program of 1000 ops: with fakes, with open sizes, on data; and running what was traced.
#include <benchmark/benchmark.h>

#include "graph/interpret.hpp"
#include "support/long_program.hpp"

namespace ingot::testing {
namespace {

void trace_with(benchmark::State& state, TraceWith with) {
  const TensorList inputs = hundred_rounds_inputs();
  for (auto _ : state) benchmark::DoNotOptimize(trace(hundred_rounds, inputs, {.with = with}));
}
void trace_fakes(benchmark::State& state) { trace_with(state, TraceWith::fakes); }
void trace_symbols(benchmark::State& state) { trace_with(state, TraceWith::symbols); }
void trace_data(benchmark::State& state) { trace_with(state, TraceWith::data); }

void interpret(benchmark::State& state) {
  const TensorList inputs = hundred_rounds_inputs();
  const Traced traced = trace(hundred_rounds, inputs);
  const Interpreter interpreter(traced.graph);
  for (auto _ : state) benchmark::DoNotOptimize(interpreter.run(Values(inputs.begin(), inputs.end())));
}

BENCHMARK(trace_fakes)->Unit(benchmark::kMillisecond);
BENCHMARK(trace_symbols)->Unit(benchmark::kMillisecond);
BENCHMARK(trace_data)->Unit(benchmark::kMillisecond);
BENCHMARK(interpret)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ingot::testing
