// Graphs that Ingot compiled, kept on disk for the AOT cache (aot/cache.hpp), and for whoever compiles the same graph again.
//
//   const auto store = std::make_shared<aot::GraphStore>();
//   AotOptions options;
//   options.forward = store->compiler();
//   options.cache = std::make_shared<aot::AotCache>(aot::AotCache::Options{.artifacts = store});
#pragma once
#include "aot/cache.hpp"
#include "compiler/pipeline.hpp"

namespace ingot::aot {

class GraphStore final : public ArtifactStore, public std::enable_shared_from_this<GraphStore> {
 public:
  // Entries and artifacts may lie in one folder, and then share its size.
  explicit GraphStore(std::string folder = default_cache_folder(), int64_t most_bytes = int64_t{1} << 30,
                      CompileOptions options = {});

  // ingot_compiler with a memory: what the store has is not compiled again.
  Compiler compiler();

  std::optional<Boxed> load(const std::string& key) override;
  std::string settings() const override;

 private:
  CacheFolder folder_;
  CompileOptions options_;
};

}  // namespace ingot::aot
