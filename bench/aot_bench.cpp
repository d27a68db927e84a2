// What the AOT layer costs: a call around a graph that costs nothing (bound: 5 us for ten inputs),
// the guards that each call is checked against (bound: 1 us for ten inputs), and the way from BERT
// to its two graphs, before any code is generated (bound: 0.5 s).
#include <benchmark/benchmark.h>

#include <filesystem>

#include "aot/compile.hpp"
#include "aot/min_cut.hpp"
#include "compiler/aot_compiler.hpp"
#include "format/pt2/load.hpp"
#include "ingot/decompositions.hpp"
#include "ingot/ingot.hpp"
#include "ingot/nn.hpp"
#include "tensor/impl.hpp"

namespace ingot::aot {
namespace {

// A graph that computes nothing: it returns its arguments, and what its other results would look
// like.
Boxed only_looks(std::shared_ptr<const Graph> graph, const Values&) {
  Values looks;
  std::vector<std::size_t> arguments_of;  // by result; past the arguments: none
  for (const Argument& a : graph->outputs) {
    looks.push_back(a.is_node() ? a.node()->meta : a.value());
    arguments_of.push_back(a.is_node() ? static_cast<std::size_t>(a.node()->id)
                                       : graph->inputs().size());  // placeholders come first
  }
  return [looks, arguments_of](Values& arguments) {
    Values results = looks;
    for (std::size_t k = 0; k < results.size(); k++)
      if (arguments_of[k] < arguments.size()) results[k] = std::move(arguments[arguments_of[k]]);
    arguments.clear();
    return results;
  };
}

TensorList ten_inputs(bool requires_grad) {
  TensorList inputs;
  for (int k = 0; k < 10; k++) inputs.push_back(ones({2, 3}).requires_grad_(requires_grad));
  return inputs;
}
TensorList products(const TensorList& in) {
  Tensor sum = in[0] * in[1];
  for (std::size_t k = 2; k < in.size(); k += 2) sum = sum + in[k] * in[k + 1];
  return {sum};
}

void call_list(benchmark::State& state, bool training) {
  const TensorList inputs = ten_inputs(training);
  const AotFunction f = aot_function(TensorFunction(products), {.forward = only_looks});
  benchmark::DoNotOptimize(f(inputs));  // compiles
  for (auto _ : state) benchmark::DoNotOptimize(f(inputs));
}
void call_tree(benchmark::State& state, bool training) {
  const TensorList inputs = ten_inputs(training);
  const Tree tree = Tree::list({inputs.begin(), inputs.end()});
  const AotFunction f = aot_function(TensorFunction(products), {.forward = only_looks});
  benchmark::DoNotOptimize(f(tree));
  for (auto _ : state) benchmark::DoNotOptimize(f(tree));
}

// The guards alone. What holds for ten inputs of which one is written takes the most: it must lie
// apart from the other nine.
void check_guards(benchmark::State& state, bool training, bool writes, bool open) {
  const TensorList inputs = ten_inputs(training);
  const Values arguments(inputs.begin(), inputs.end());
  const FlatFunction f = [writes](const Values& in) {
    TensorList l;
    for (const Value& v : in) l.push_back(v.tensor());
    if (writes) Tensor(l[0]).add_(1);
    return Values{products(l)[0]};
  };
  const Guards guards = compile(f, arguments, {.forward = only_looks, .dynamic = open}, 0).guards;
  if (guards.check(arguments)) return state.SkipWithError("a guard is broken by what it was made of");
  for (auto _ : state) benchmark::DoNotOptimize(guards.check(arguments));
}
// Ten inputs, and ten modules that the function brings along.
void guards_of_modules(benchmark::State& state) {
  const TensorList inputs = ten_inputs(true);
  const Values arguments(inputs.begin(), inputs.end());
  std::vector<std::unique_ptr<nn::Dropout>> modules;
  for (int k = 0; k < 10; k++) modules.push_back(std::make_unique<nn::Dropout>(0.5));
  const FlatFunction f = [&](const Values& in) {
    TensorList l;
    for (std::size_t k = 0; k < in.size(); k++) l.push_back((*modules[k])(in[k].tensor()));
    return Values{products(l)[0]};
  };
  const Guards guards = compile(f, arguments, {.forward = only_looks}, 0).guards;
  if (guards.check(arguments)) return state.SkipWithError("a guard is broken by what it was made of");
  for (auto _ : state) benchmark::DoNotOptimize(guards.check(arguments));
}
void guards_of_inference(benchmark::State& state) { check_guards(state, false, false, false); }
void guards_of_training(benchmark::State& state) { check_guards(state, true, false, false); }
void guards_of_a_write(benchmark::State& state) { check_guards(state, false, true, false); }
void guards_of_open_sizes(benchmark::State& state) { check_guards(state, false, true, true); }

void inference_of_list(benchmark::State& state) { call_list(state, false); }
void inference_of_tree(benchmark::State& state) { call_tree(state, false); }
void training_of_list(benchmark::State& state) { call_list(state, true); }
void training_of_tree(benchmark::State& state) { call_tree(state, true); }

// Forward and backward, with the engine and its accumulation of ten gradients.
void training_step(benchmark::State& state) {
  const TensorList inputs = ten_inputs(true);
  const AotFunction f = aot_function(TensorFunction(products), {});
  const Tensor tangent = ones({2, 3});
  grad(f(inputs), inputs, {tangent});
  for (auto _ : state) benchmark::DoNotOptimize(grad(f(inputs), inputs, {tangent}));
}

// BERT as a function of its inputs and weights, which require grad. Nothing where the zoo is not
// unpacked.
struct Bert {
  Program program;
  TreeFunction f;
  Tree arguments;
};
std::unique_ptr<Bert> load_bert() {
  const std::string path = INGOT_GOLDEN_DIR "/zoo/bert_base/model.pt2";
  if (!std::filesystem::exists(path)) return nullptr;
  std::unique_ptr<Bert> bert(new Bert{load_pt2(path), {}, {}});
  Program& program = bert->program;
  program.check_inputs = false;
  std::vector<Tree> given;
  for (const InputSpec* s : program.main().user_inputs()) given.emplace_back(make_tensor(s->node->meta.tensor()->geom, {}, true));
  const std::size_t users = given.size();
  for (auto& [name, entry] : program.state) {
    entry.tensor = make_tensor(Geometry::contiguous(entry.sizes, entry.dtype), {}, true);
    if (entry.is_parameter) entry.tensor.requires_grad_();
    given.emplace_back(entry.tensor);
  }
  bert->f = [&program, users](const Tree& in) {
    Values user;
    for (std::size_t k = 0; k < users; k++) user.push_back(in[k].leaf());
    std::size_t next = users;
    for (auto& [name, entry] : program.state) entry.tensor = in[next++].leaf().tensor();
    std::vector<Tree> results;
    for (const Value& v : program.run(user)) results.emplace_back(v);
    return Tree::list(std::move(results));
  };
  bert->arguments = Tree::list(std::move(given));
  return bert;
}

// Metadata, joint graph and min-cut.
void compile_bert(benchmark::State& state) {
  const std::unique_ptr<Bert> bert = load_bert();
  if (!bert) return state.SkipWithError("the golden zoo is not unpacked");
  std::size_t nodes = 0;
  const Partitioner partition = [&](const Joint& joint) {
    nodes = joint.graph.nodes().size();
    return partition_min_cut(joint);
  };
  for (auto _ : state)
    benchmark::DoNotOptimize(aot_function(bert->f, {.forward = only_looks, .partition = partition})(bert->arguments));
  state.counters["nodes of the program"] = static_cast<double>(bert->program.main().graph.nodes().size());
  state.counters["nodes of the joint graph"] = static_cast<double>(nodes);
}

// Its two graphs.
GraphPair graphs_of_bert(const Bert& bert) {
  GraphPair graphs;
  AotOptions options{.forward = only_looks, .partition = MinCutPartitioner(), .decompositions = &default_decompositions()};
  options.together = [&](const GraphPair& given) -> BoxedPair {
    graphs = given;
    return {only_looks(given.forward, {}), only_looks(given.backward, {})};
  };
  benchmark::DoNotOptimize(aot_function(bert.f, options)(bert.arguments));
  return graphs;
}

// From there to loaded code, in one library or in one for each.
void code_of_bert(benchmark::State& state, bool in_one) {
  const std::unique_ptr<Bert> bert = load_bert();
  if (!bert) return state.SkipWithError("the golden zoo is not unpacked");
  const GraphPair graphs = graphs_of_bert(*bert);
  for (auto _ : state) {
    if (in_one) {
      benchmark::DoNotOptimize(ingot_pair_compiler()(graphs));
    } else {
      benchmark::DoNotOptimize(ingot_compiler()(graphs.forward, graphs.forward_examples));
      benchmark::DoNotOptimize(ingot_compiler()(graphs.backward, graphs.backward_examples));
    }
  }
}
void bert_in_one_library(benchmark::State& state) { code_of_bert(state, true); }
void bert_in_two_libraries(benchmark::State& state) { code_of_bert(state, false); }

BENCHMARK(inference_of_list)->Unit(benchmark::kMicrosecond);
BENCHMARK(inference_of_tree)->Unit(benchmark::kMicrosecond);
BENCHMARK(training_of_list)->Unit(benchmark::kMicrosecond);
BENCHMARK(training_of_tree)->Unit(benchmark::kMicrosecond);
BENCHMARK(guards_of_inference)->Unit(benchmark::kMicrosecond);
BENCHMARK(guards_of_training)->Unit(benchmark::kMicrosecond);
BENCHMARK(guards_of_modules)->Unit(benchmark::kMicrosecond);
BENCHMARK(guards_of_a_write)->Unit(benchmark::kMicrosecond);
BENCHMARK(guards_of_open_sizes)->Unit(benchmark::kMicrosecond);
BENCHMARK(training_step)->Unit(benchmark::kMicrosecond);
BENCHMARK(compile_bert)->Unit(benchmark::kMillisecond);
BENCHMARK(bert_in_one_library)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();
BENCHMARK(bert_in_two_libraries)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

}  // namespace
}  // namespace ingot::aot
