// A graph of the AOT layer as a library: compiled, kept in a folder, and read from there again.
#pragma once
#include <map>
#include <memory>
#include <mutex>

#include "compiler/pipeline.hpp"
#include "graph/interpret.hpp"
#include "graph/shape_env.hpp"
#include "runner/model_container_runner.hpp"

namespace ingot::aot {

// The part of a graph that a library computes.
class GraphLibrary {
 public:
  // How the library is called; the rest of what is known of it is in the file.
  struct Plan {
    std::vector<std::size_t> taken;    // arguments that it takes
    std::vector<std::size_t> written;  // … and writes
    std::vector<bool> is_number;       // by output
    bool draws = false;                // from the random stream of the thread
    std::map<std::size_t, int64_t> fixed;  // outputs that are the same for all sizes it is for: the library does not return them
  };

  // Compiles `graph`, which returns tensors and numbers that are computed, or does something, to the file.
  GraphLibrary(const Graph& graph, const Values& examples, const CompileOptions& options, const std::string& file);
  GraphLibrary(Plan plan, const std::string& file);

  const Plan& plan() const { return plan_; }
  // One value for each output of the graph.
  Values run(const Values& arguments);

 private:
  Plan plan_;
  std::unique_ptr<ModelContainerRunner> runner_;
  std::mutex drawing_;

  void open(const std::string& file);
  void note_written(const Graph& graph, const Node* target);
  TensorList run_drawing(TensorList given);
};

class CompiledGraph {
 public:
  // Compiles it. The library is left in `folder`, and once this is made nobody needs it.
  CompiledGraph(const Graph& graph, const Values& examples, const CompileOptions& options, const std::string& folder);
  // Adds what is needed to read it from the folder again; `graph` as before.
  void save(const Graph& graph, const std::string& folder) const;
  // Reads it. User error where files are missing or are none of these.
  explicit CompiledGraph(const std::string& folder);

  Values run(Values& given) const;

 private:
  struct Source {
    enum Kind : uint8_t { constant, argument, computed, view } kind = constant;
    std::size_t index = 0;  // among the arguments, what the library returns, or the outputs of views_
    Value value = {};  // of a constant
  };
  std::vector<Source> outputs_;
  std::vector<const Node*> computed_;  // what the library returns
  // Of that, what has gaps between its elements (slice_scatter keeps those of its argument): the library's tensors are dense.
  std::vector<std::pair<std::size_t, Shape>> with_gaps_;
  std::map<std::string, SizeSource> sizes_;  // where a symbol of their strides is read
  std::vector<const Node*> taken_;  // outputs that are taken as views
  Graph views_;  // takes them
  std::vector<Source> bases_;  // what it takes them of
  std::unique_ptr<Interpreter> views_interpreter_;
  std::unique_ptr<GraphLibrary> library_;

  Source source_of(const Graph& graph, const Node* n);
  void collect(const Graph& graph);
  void find_gaps(const Graph& graph);
  void lay_out(const Values& arguments, Values& computed) const;
};

}  // namespace ingot::aot
