// A back end with a graph cache in memory (section 4.2 of the dispatch specification): what it
// compiled is found again by key.
#pragma once
#include <map>

#include "aot/cache_key.hpp"
#include "aot/compile_report.hpp"
#include "aot/context.hpp"
#include "base/sha256.hpp"
#include "ingot/aot/cache.hpp"

namespace ingot::testing {

class MemoryStore final : public aot::ArtifactStore {
 public:
  // Runs graphs as they are, and keeps them.
  aot::Compiler compiler() {
    return [this](std::shared_ptr<const Graph> graph, const Values& examples) {
      std::string named = aot::keyed_text(*graph);
      for (const Value& v : examples) named += aot::keyed_text(v);
      const std::string key = "m" + sha256(named);
      graphs[key] = graph;
      compiled_backward = compiled_backward || aot::compile_context().names[0].ends_with("_backward");
      aot::report_artifact(key);
      return aot::nop(std::move(graph), examples);
    };
  }
  std::optional<aot::Boxed> load(const std::string& key) override {
    const auto found = graphs.find(key);
    return found == graphs.end() ? std::nullopt : std::optional<aot::Boxed>(aot::nop(found->second, {}));
  }
  std::string settings() const override { return "in memory"; }

  std::map<std::string, std::shared_ptr<const Graph>> graphs;
  bool compiled_backward = false;
};

}  // namespace ingot::testing
