// Graph to graph, one named step at a time: what every rewrite of a graph has in common
// (docs/adding-a-pass.md).
#pragma once
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.hpp"

namespace ingot {

struct Pass {
  std::string_view name;
  std::function<Graph(const Graph&)> run;
  // What comes after it needs what it makes: it cannot be skipped. The others make the result
  // better, not right.
  bool required = false;
};

// A pass, or another step of a compilation, by its name, for who lists them and skips some.
struct StepName {
  std::string_view name;
  bool required = false;
};
inline StepName name_of(const Pass& p) { return {p.name, p.required}; }
// The names of those that can be skipped, each once: "dead_code, merge_equal".
std::string names_of_skippable(std::span<const StepName> steps);

// A pass that has run.
struct PassDone {
  std::string_view name;
  const Graph& graph;  // that it made
  std::size_t nodes_before = 0;
  double seconds = 0;
};

// What holds for the passes that this thread runs as long as the value lives, the compiler's and
// those of AOT. Scopes nest: a pass is left out if any of them says so, and each is told of those
// that run, the innermost first.
class PassScope {
 public:
  struct Options {
    // Passes of these names are left out. AOT refuses to compile where there is none of such a name
    // (require_skippable).
    std::set<std::string, std::less<>> skip = {};
    std::function<void(const PassDone&)> after = {};  // called after each one that runs
  };
  explicit PassScope(Options options);
  ~PassScope();
  PassScope(const PassScope&) = delete;
  PassScope& operator=(const PassScope&) = delete;

  const Options& options() const { return options_; }
  const PassScope* outer() const { return outer_; }

 private:
  Options options_;
  const PassScope* outer_;
};

// The names that the scopes of this thread leave out.
std::set<std::string, std::less<>> skipped_passes();
// User error that names what can be skipped where the scopes of this thread leave out one of
// `steps` that is required, or what is none of them. `steps`: all that the compilation may come by
// (AOT's pass_names).
void require_skippable(std::span<const StepName> steps);

// Whether everything that is made is verified: with INGOT_VERIFY in the environment, and in debug
// builds.
bool verifies();
// Where everything is verified: internal error that names `maker` if the graph breaks a rule of
// docs/ir.md (graph/verify.hpp), but for two things. Random streams may be arguments and results,
// and functions results (R004), though neither has a text. And where `from`, which it was made of,
// breaks no rule but the one of records (its sizes were made up), that rule is not asked of the
// graph.
void verify_made(std::string_view maker, const Graph& made, const Graph& from);

// The graph after these passes, in order. INGOT_LOG=passes says of each how long it took and how
// many nodes it left. Every graph is verified as soon as a pass has made it. User error where a
// scope of this thread leaves a required one out.
Graph run_passes(const Graph& g, std::span<const Pass> passes);

}  // namespace ingot
