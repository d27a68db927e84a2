#include "compiler/graph_store.hpp"

#include <array>

#include "aot/cache_key.hpp"
#include "aot/compile_report.hpp"
#include "aot/log.hpp"
#include "base/build_id.hpp"
#include "base/error.hpp"
#include "base/sha256.hpp"
#include "compiler/aot_compiler.hpp"
#include "compiler/compiled_graph.hpp"
#include "ingot/autograd.hpp"
#include "pass/pass.hpp"

namespace ingot::aot {
namespace {

constexpr const char* kEntry = "graph";
std::string name_of(const std::string& key) { return "graphs/" + key; }

}  // namespace

GraphStore::GraphStore(std::string folder, int64_t most_bytes, CompileOptions options)
    : folder_(std::move(folder), most_bytes), options_(std::move(options)) {}

std::string GraphStore::settings() const {
  std::string s =
      text("ingot ", build_id(), " weights=", static_cast<int>(options_.weights), " debug_info=", options_.debug_info);
  for (const Target& t : options_.targets) s += text(" ", t.triple, " ", t.cpu, " ", t.features);
  for (const std::string& name : options_.skip) s += text(" without ", name);
  for (const std::string& name : skipped_passes()) s += text(" skipping ", name);
  return s + "\n";
}

std::optional<Boxed> GraphStore::load(const std::string& key) {
  const std::optional<std::string> folder = folder_.find(name_of(key));
  if (!folder) return {};
  try {
    return boxed(CompiledGraph::read(*folder, std::array{std::string_view(kEntry)})[0]);
  } catch (const UserError& e) {  // cut short, or taken away meanwhile
    log_line("cache", text("a compiled graph is not read: ", e.what()));
    folder_.remove(name_of(key));
    return {};
  }
}

Compiler GraphStore::compiler() {
  return [self = shared_from_this()](const std::shared_ptr<const Graph>& graph, const Values& examples) -> Boxed {
    const GradModeGuard no_grad(false);
    std::string key;
    try {
      std::string named = self->settings() + keyed_text(*graph);
      for (const Value& v : examples) named += keyed_text(v);
      key = "g" + sha256(named);
    } catch (const UserError& e) {
      log_line("cache", text("a compiled graph is not kept: ", e.what()));
      return ingot_compiler(self->options_)(graph, examples);
    }
    std::optional<Boxed> run = self->load(key);
    if (!run) {
      try {
        self->folder_.put(name_of(key), [&](const std::string& folder) {
          const auto compiled = compile_graphs(std::array{GraphToCompile{kEntry, *graph, examples}}, self->options_, folder)[0];
          run = boxed(compiled);
          compiled->save(*graph, kEntry, folder);
        });
      } catch (const UserError& e) {
        log_line("cache", text("a compiled graph is not kept: ", e.what()));
        return run ? *run : ingot_compiler(self->options_)(graph, examples);
      }
    }
    report_artifact(key);
    return *run;
  };
}

}  // namespace ingot::aot
