// The way of the data: every stage named once, in order.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "codegen/target.hpp"
#include "graph/trace.hpp"
#include "loop/program.hpp"

namespace ingot {

struct CompileOptions {
  Target target = native_target();
  // Called after each stage with its name, how long it took, and its result as text (empty where it has no text form yet).
  std::function<void(std::string_view stage, double seconds, const std::string& text)> after = {};
};

// Compiles the function, traced on the examples, into the shared library `output` (codegen/generate.hpp has its interface).
// The library is complete or not there. User errors are those of the stages.
void compile(const TensorFunction& f, const TensorList& examples, const std::vector<OpenSize>& open, const std::string& output,
             const CompileOptions& options = {});

// The same from a graph on; `sizes` is the environment of its symbols (trace.hpp).
void compile(const Graph& graph, ShapeEnv& sizes, const std::string& output, const CompileOptions& options = {});

}  // namespace ingot
