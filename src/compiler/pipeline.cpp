#include "compiler/pipeline.hpp"

#include <chrono>

#include "codegen/generate.hpp"
#include "codegen/link.hpp"
#include "loop/lower.hpp"

namespace ingot {
namespace {

// The text of a stage's result, where it has one.
template <class T>
std::string text_of(const T&) { return {}; }
std::string text_of(const loop::Program& p) { return to_text(p); }

// Runs one stage.
template <class F>
auto stage(std::string_view name, const CompileOptions& options, const F& f) {
  const auto start = std::chrono::steady_clock::now();
  auto result = f();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  if (options.after) options.after(name, time.count(), text_of(result));
  return result;
}

}  // namespace

void compile(const TensorFunction& f, const TensorList& examples, const std::vector<OpenSize>& open, const std::string& output,
             const CompileOptions& options) {
  Traced traced = stage("trace", options, [&] { return trace(f, examples, {.open = open}); });
  compile(traced.graph, traced.sizes, output, options);
}

void compile(const Graph& graph, ShapeEnv& sizes, const std::string& output, const CompileOptions& options) {
  const loop::Program program = stage("lower", options, [&] { return loop::lower(graph, sizes); });
  const Object object = stage("codegen", options, [&] { return generate(program, options.target); });
  stage("link", options, [&] { return link_library({&object, 1}, options.target, output), output; });
}

}  // namespace ingot
