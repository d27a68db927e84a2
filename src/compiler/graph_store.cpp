#include "ingot/compile.hpp"

#include <array>
#include <span>

#include "aot/cache_key.hpp"
#include "aot/compile_report.hpp"
#include "aot/log.hpp"
#include "base/build_id.hpp"
#include "base/error.hpp"
#include "base/sha256.hpp"
#include "compiler/aot_compiler.hpp"
#include "compiler/compiled_graph.hpp"
#include "ingot/autograd.hpp"
#include "io/cache_folder.hpp"
#include "pass/pass.hpp"

namespace ingot::aot {
namespace {

constexpr std::array<std::string_view, 1> kAlone{"graph"};
constexpr std::array<std::string_view, 2> kPair{"forward", "backward"};
using CompiledGraphs = std::vector<std::shared_ptr<const CompiledGraph>>;

std::string name_of(const std::string& key) { return "graphs/" + key; }
std::string name_of_pair(const std::string& key) { return "pairs/" + key; }

std::string named_by(const Graph& graph, const Values& examples) {
  std::string named = keyed_text(graph);
  for (const Value& v : examples) named += keyed_text(v);
  return named;
}

void note_not_kept(const UserError& e) { log_line("cache", text("a compiled graph is not kept: ", e.what())); }

}  // namespace

struct GraphStore::State {
  CacheFolder folder;
  CompileOptions options;

  // Those of a thing of the folder that has these entries; none where it is not there, or not
  // whole.
  std::optional<CompiledGraphs> read(const std::string& name, std::span<const std::string_view> entries) const;
};

GraphStore::GraphStore(std::string folder, int64_t most_bytes, CompileOptions options)
    : state_(std::make_unique<State>(State{{std::move(folder), most_bytes}, std::move(options)})) {}
GraphStore::~GraphStore() = default;

std::string GraphStore::settings() const {
  std::string s = text("ingot ", build_id(), " weights=", static_cast<int>(state_->options.weights),
                       " debug_info=", state_->options.debug_info);
  for (const Target& t : state_->options.targets) s += text(" ", t.triple, " ", t.cpu, " ", t.features);
  for (const std::string& name : state_->options.skip) s += text(" without ", name);
  for (const std::string& name : skipped_passes()) s += text(" skipping ", name);
  return s + "\n";
}

std::optional<CompiledGraphs> GraphStore::State::read(const std::string& name, std::span<const std::string_view> entries) const {
  const std::optional<std::string> found = folder.find(name);
  if (!found) return {};
  try {
    return CompiledGraph::read(*found, entries);
  } catch (const UserError& e) {  // cut short, or taken away meanwhile
    log_line("cache", text("a compiled graph is not read: ", e.what()));
    folder.remove(name);
    return {};
  }
}

std::optional<Boxed> GraphStore::load(const std::string& key) {
  const std::optional<CompiledGraphs> found = state_->read(name_of(key), kAlone);
  if (!found) return {};
  return boxed((*found)[0]);
}

std::optional<BoxedPair> GraphStore::load_pair(const std::string& key) {
  const std::optional<CompiledGraphs> found = state_->read(name_of_pair(key), kPair);
  if (!found) return {};
  return BoxedPair{boxed((*found)[0]), boxed((*found)[1])};
}

Compiler GraphStore::compiler() {
  return [self = shared_from_this()](const std::shared_ptr<const Graph>& graph, const Values& examples) -> Boxed {
    const GradModeGuard no_grad(false);
    std::string key;
    try {
      key = "g" + sha256(self->settings() + named_by(*graph, examples));
    } catch (const UserError& e) {
      note_not_kept(e);
      return ingot_compiler(self->state_->options)(graph, examples);
    }
    std::optional<Boxed> run = self->load(key);
    if (!run) {
      try {
        self->state_->folder.put(name_of(key), [&](const std::string& folder) {
          const auto compiled = compile_graphs(std::array{GraphToCompile{std::string(kAlone[0]), *graph, examples}},
                                               self->state_->options, folder)[0];
          run = boxed(compiled);
          compiled->save(*graph, std::string(kAlone[0]), folder);
        });
      } catch (const UserError& e) {
        note_not_kept(e);
        return run ? *run : ingot_compiler(self->state_->options)(graph, examples);
      }
    }
    report_artifact(key);
    return *run;
  };
}

PairCompiler GraphStore::pair_compiler() {
  return [self = shared_from_this()](const GraphPair& pair) -> BoxedPair {
    const GradModeGuard no_grad(false);
    std::string key;
    try {
      key = "p" + sha256(self->settings() + named_by(*pair.forward, pair.forward_examples) +
                         named_by(*pair.backward, pair.backward_examples));
    } catch (const UserError& e) {
      note_not_kept(e);
      return ingot_pair_compiler(self->state_->options)(pair);
    }
    std::optional<BoxedPair> run = self->load_pair(key);
    bool can_be_written = false;
    if (!run) {
      try {
        self->state_->folder.put(name_of_pair(key), [&](const std::string& folder) {
          can_be_written = true;
          const std::array both{GraphToCompile{std::string(kPair[0]), *pair.forward, pair.forward_examples},
                                GraphToCompile{std::string(kPair[1]), *pair.backward, pair.backward_examples}};
          const CompiledGraphs compiled = compile_graphs(both, self->state_->options, folder);
          run = BoxedPair{boxed(compiled[0]), boxed(compiled[1])};
          for (std::size_t k = 0; k < both.size(); k++) compiled[k]->save(both[k].graph, both[k].entry, folder);
        });
      } catch (const UserError& e) {
        note_not_kept(e);
        if (run) return *run;
        if (!can_be_written) return ingot_pair_compiler(self->state_->options)(pair);
        return {self->compiler()(pair.forward, pair.forward_examples), {}, e.what()};
      }
    }
    report_artifact(key);
    return *run;
  };
}

}  // namespace ingot::aot
