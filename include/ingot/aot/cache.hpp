// Functions compiled before, by this process or another one (section 14): an entry on disk says
// what happens around the compiled graphs, and which artifacts of a store the graphs are.
//
//   AotOptions options = fusing_options();                            // ingot/compile.hpp
//   const auto store = std::make_shared<GraphStore>();                // libraries that Ingot's compiler made
//   options.forward = store->compiler();
//   options.together = store->pair_compiler();
//   options.cache = std::make_shared<AotCache>(AotCache::Options{.artifacts = store});
//   auto f = aot_module_simplified(net, forward, {x}, options);       // compiles, or finds
//   options.cache->last().why                                         // of the latest miss or bypass
//
// Every hit, miss, bypass and save is printed, with the reason, if the environment has
// INGOT_LOG=cache.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "ingot/aot/function.hpp"
#include "ingot/cache_folder.hpp"

namespace ingot::aot {

struct Compiled;  // aot/compile.hpp of Ingot's own folders

// Compiled graphs that can be had again: a compiler puts them there, and says under which key
// (report_artifact of src/aot/compile_report.hpp).
class ArtifactStore {
 public:
  virtual ~ArtifactStore() = default;
  // What runs the graph; none where the store does not have it any more.
  virtual std::optional<Boxed> load(const std::string& key) = 0;
  // The same of a forward and its backward that were compiled together (AotOptions::together) and
  // have one key.
  virtual std::optional<BoxedPair> load_pair(const std::string&) { return {}; }
  // Everything that artifacts depend on beside their graphs: the version of the compiler, its
  // options, the machine.
  virtual std::string settings() const = 0;
};

struct CacheCounters {
  int hit = 0, miss = 0, bypass = 0, saved = 0;  // R192
};

struct CacheEvent {
  enum class Kind : uint8_t { hit, miss, bypass, saved } kind = Kind::miss;
  std::string key;  // of the entry; empty where there is none (bypass)
  std::string why;  // of a miss or bypass
};
std::string to_text(const CacheEvent& e);

// Safe for many threads; its folder is for many processes.
class AotCache {
 public:
  struct Options {
    std::string folder = default_cache_folder();
    int64_t most_bytes = int64_t{1} << 30;  // of the folder; what was not used for the longest time goes first
    std::shared_ptr<ArtifactStore> artifacts = {};  // without one every function is a bypass (R186)
    bool strict = false;  // a bypass, a missing artifact, and a failure to load or save are user errors (R192)
  };
  explicit AotCache(Options options);
  ~AotCache();
  AotCache(const AotCache&) = delete;
  AotCache& operator=(const AotCache&) = delete;

  CacheCounters counters() const;
  CacheEvent last() const;  // the latest
  void clear();  // takes every entry away, and no artifact

  // For Ingot's own folders: what compile() returns for these arguments, from the cache or by
  // compile(), whose result is then kept (R185, R189 to R191). The cache must be that of the
  // options.
  Compiled compiled(const FlatFunction& f, const Values& arguments, const AotOptions& options, int id);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ingot::aot
