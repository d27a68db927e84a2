// Graphs that Ingot compiled, kept on disk for the AOT cache (aot/cache.hpp), and for whoever
// compiles the same graph again.
//
//   const auto store = std::make_shared<aot::GraphStore>();
//   AotOptions options;
//   options.forward = store->compiler();
//   options.together = store->pair_compiler();   // forward and backward as one library
//   options.cache = std::make_shared<aot::AotCache>(aot::AotCache::Options{.artifacts = store});
#pragma once
#include "aot/cache.hpp"
#include "compiler/compiled_graph.hpp"
#include "compiler/pipeline.hpp"

namespace ingot::aot {

class GraphStore final : public ArtifactStore, public std::enable_shared_from_this<GraphStore> {
 public:
  // Entries and artifacts may lie in one folder, and then share its size.
  explicit GraphStore(std::string folder = default_cache_folder(), int64_t most_bytes = int64_t{1} << 30,
                      CompileOptions options = {});

  // ingot_compiler with a memory: what the store has is not compiled again.
  Compiler compiler();
  // ingot_pair_compiler with a memory: a forward and its backward are one library in the store,
  // too. Where the backward has no compiled form, the forward is kept by itself.
  PairCompiler pair_compiler();

  std::optional<Boxed> load(const std::string& key) override;
  std::optional<BoxedPair> load_pair(const std::string& key) override;
  std::string settings() const override;

 private:
  CacheFolder folder_;
  CompileOptions options_;

  using CompiledGraphs = std::vector<std::shared_ptr<const CompiledGraph>>;
  // Those of a thing of the folder that has these entries; none where it is not there, or not
  // whole.
  std::optional<CompiledGraphs> read(const std::string& name, std::span<const std::string_view> entries);
};

}  // namespace ingot::aot
