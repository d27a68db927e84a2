// What libraries compute of graphs of the AOT layer, and how they are called for it.
#pragma once
#include <map>
#include <memory>
#include <mutex>

#include "compiler/pipeline.hpp"
#include "graph/shape_env.hpp"
#include "host/torch/model_container_runner.hpp"

namespace ingot::aot {

// How an entry point is called for a graph; the rest of what is known of it is in the library.
struct GraphPlan {
  bool computes = false;                 // otherwise there is none
  std::vector<std::size_t> taken;        // arguments that it takes
  std::vector<std::size_t> written;      // … and writes
  std::vector<bool> is_number;           // by output
  bool draws = false;                    // from the random stream of the thread
  std::map<std::size_t, int64_t> fixed;  // outputs that are the same for all sizes it is for: the library does not return them
};
void write_plan(const std::string& path, const GraphPlan& plan);
// User error for a file that is no plan of the graph.
GraphPlan read_plan(const std::string& path, const Graph& graph);

// A graph on its way into a library, which returns tensors and numbers that are computed, or does
// something.
using NamedSizes = std::map<std::string, Expr>;
struct GraphPart {
  GraphPlan plan;
  EntryPoint entry;  // as it is lowered
  NamedSizes named;  // sizes that it has names of its own for, and what they are in the environment of this thread
};
GraphPart part_of(std::string entry, const Graph& graph, const Values& examples);
// What the compiled part needs of sizes the function needs as well: then its guards say so before
// the library has to.
void pass_on_guards(const ShapeEnv& sizes, const NamedSizes& named);

// A library whose entry points compute parts of graphs, loaded: the file may go. They may run at
// the same time.
class GraphLibrary {
 public:
  GraphLibrary(const std::string& file, const std::vector<std::string>& entries);

  // One value for each output of the graph of entry point number `entry`.
  Values run(std::size_t entry, const GraphPlan& plan, const Values& arguments);

 private:
  std::vector<std::unique_ptr<ModelContainerRunner>> runners_;  // by entry point, over one container
  std::mutex drawing_;

  TensorList run_drawing(ModelContainerRunner& runner, TensorList given);
};

}  // namespace ingot::aot
