// Graphs of the AOT layer as a library: compiled, kept in a folder, and read from there again.
#pragma once
#include <map>
#include <memory>
#include <span>

#include "compiler/graph_library.hpp"
#include "graph/interpret.hpp"
#include "graph/shape_env.hpp"

namespace ingot::aot {

class CompiledGraph {
 public:
  // Of which nothing is compiled yet.
  explicit CompiledGraph(const Graph& graph) { collect(graph); }
  // Reads those of the folder that were saved as these entries, over one library. User error where
  // files are missing or are none of these.
  static std::vector<std::shared_ptr<const CompiledGraph>> read(const std::string& folder,
                                                                std::span<const std::string_view> entries);
  // Adds to the folder in which its library is what is needed to read it again; `graph` as before.
  void save(const Graph& graph, const std::string& entry, const std::string& folder) const;

  // What a library computes of the graph, which is the one that this was made of.
  Graph computed(const Graph& graph) const;
  // … and which library does.
  void run_by(std::shared_ptr<GraphLibrary> library, std::size_t entry, GraphPlan plan);

  Values run(Values& given) const;

 private:
  struct Source {
    enum Kind : uint8_t { constant, argument, computed, view } kind = constant;
    std::size_t index = 0;  // among the arguments, what the library returns, or the outputs of views_
    Value value = {};  // of a constant
  };
  std::vector<Source> outputs_;
  std::vector<const Node*> computed_;  // what the library returns
  // Of that, what has gaps between its elements (slice_scatter keeps those of its argument): the
  // library's tensors are dense.
  std::vector<std::pair<std::size_t, Shape>> with_gaps_;
  std::map<std::string, SizeSource> sizes_;  // where a symbol of their strides is read
  std::vector<const Node*> taken_;  // outputs that are taken as views
  Graph views_;  // takes them
  std::vector<Source> bases_;  // what it takes them of
  std::unique_ptr<Interpreter> views_interpreter_;
  std::shared_ptr<GraphLibrary> library_;  // null: nothing is computed
  std::size_t entry_ = 0;
  GraphPlan plan_;

  Source source_of(const Graph& graph, const Node* n);
  void collect(const Graph& graph);
  void find_gaps(const Graph& graph);
  void lay_out(const Values& arguments, Values& computed) const;
};

struct GraphToCompile {
  std::string entry;
  const Graph& graph;
  const Values& examples;
};
// Compiles them into one library, each an entry point of its own. The library is left in `folder`,
// and once they are made nobody needs it.
std::vector<std::shared_ptr<const CompiledGraph>> compile_graphs(std::span<const GraphToCompile> graphs,
                                                                 const CompileOptions& options, const std::string& folder);

// The same for a forward and its backward; for the forward alone where the backward has no compiled
// form.
struct CompiledForwardBackward {
  std::shared_ptr<const CompiledGraph> forward, backward;
  std::string why_alone;  // without a backward
};
CompiledForwardBackward compile_forward_backward(const GraphToCompile& forward, const GraphToCompile& backward,
                                                 const CompileOptions& options, const std::string& folder);

}  // namespace ingot::aot
