// Graph to graph, one named step at a time: what every rewrite of a graph has in common (docs/adding-a-pass.md).
#pragma once
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "graph/graph.hpp"

namespace ingot {

struct Pass {
  std::string_view name;
  std::function<Graph(const Graph&)> run;
};

// A pass that has run.
struct PassDone {
  std::string_view name;
  const Graph& graph;  // that it made
  std::size_t nodes_before = 0;
  double seconds = 0;
};

// What holds for the passes that this thread runs, as long as the value lives; in place of what an outer one says.
class PassScope {
 public:
  struct Options {
    std::set<std::string, std::less<>> skip = {};  // passes of these names are left out
    std::function<void(const PassDone&)> after = {};  // called after each one that runs
  };
  explicit PassScope(Options options);
  ~PassScope();
  PassScope(const PassScope&) = delete;
  PassScope& operator=(const PassScope&) = delete;

 private:
  Options options_;
  const Options* outer_;
};

// Whether everything that is made is verified: with INGOT_VERIFY in the environment, and in debug builds.
bool verifies();

// The graph after these passes, in order. INGOT_LOG=passes says of each how long it took and how many nodes it left.
// Where everything is verified, every graph is held to the rules of docs/ir.md (graph/verify.hpp) as soon
// as a pass has made it of one that kept them (results of a function that are no values of a graph, generators say, break one): internal
// error that names the pass.
Graph run_passes(const Graph& g, std::span<const Pass> passes);

}  // namespace ingot
