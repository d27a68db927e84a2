#include "ingot/aot/cache.hpp"

#include <mutex>

#include "aot/cache_entry.hpp"
#include "aot/cache_key.hpp"
#include "aot/capture.hpp"
#include "aot/compile.hpp"
#include "aot/compiler_run.hpp"
#include "aot/log.hpp"
#include "aot/tracing_context.hpp"
#include "base/error.hpp"
#include "base/sha256.hpp"
#include "expr/text.hpp"
#include "io/cache_folder.hpp"
#include "io/file.hpp"

namespace ingot::aot {
namespace {

// R193.
constexpr const char* kKind = "aotautograd";
std::string name_of(const std::string& key) { return text(kKind, "/", key); }

std::string_view to_text(CacheEvent::Kind kind) {
  switch (kind) {
    case CacheEvent::Kind::hit: return "hit";
    case CacheEvent::Kind::miss: return "miss";
    case CacheEvent::Kind::bypass: return "bypass";
    case CacheEvent::Kind::saved: return "saved";
  }
  return "";
}

// The file: a digest of the rest, and the rest. What a disk or somebody else made of it is noticed.
std::string sealed(const std::string& json) { return sha256(json) + "\n" + json; }
std::string unsealed(const MappedFile& file) {
  const std::string_view bytes = file.bytes();
  const std::size_t line = bytes.find('\n');
  INGOT_REQUIRE(line != std::string_view::npos && sha256(bytes.substr(line + 1)) == bytes.substr(0, line), file.path(),
                ": the entry is damaged");
  return std::string(bytes.substr(line + 1));
}

// Of the caller's sizes: what the function was compiled for.
std::vector<CacheEntry::Condition> guards_since(const ShapeEnv* sizes, std::size_t first) {
  std::vector<CacheEntry::Condition> guards;
  for (std::size_t k = first; sizes && k < sizes->guards().size(); k++)
    guards.push_back({print(sizes->guards()[k].condition), sizes->guards()[k].answer});
  return guards;
}

// Asks the caller's sizes again (R191). False, and nothing is asked, where an answer would be
// another one.
bool guards_hold(const CacheEntry& e, ShapeEnv* sizes) {
  if (e.guards.empty()) return true;
  if (!sizes) return false;
  Names names;
  for (const auto& [name, hint] : sizes->hints()) names.add(sizes->find(name)->expr);
  std::vector<Expr> conditions;
  for (const CacheEntry::Condition& c : e.guards) {
    conditions.push_back(parse(c.text, names));
    if ((sizes->hint(conditions.back()) != 0) != c.answer) return false;
  }
  for (const Expr& c : conditions) sizes->decide(c);
  return true;
}

}  // namespace

std::string to_text(const CacheEvent& e) {
  return text(to_text(e.kind), e.key.empty() ? "" : " ", e.key, e.why.empty() ? "" : ": ", e.why);
}

struct AotCache::State {
  explicit State(Options o) : options(std::move(o)), folder(options.folder, options.most_bytes) {}

  const Options options;
  const CacheFolder folder;
  mutable std::mutex mutex;
  CacheCounters counters;
  CacheEvent last;

  void note(CacheEvent event);
  std::optional<Compiled> find(const std::string& key, const Values& arguments, const Values& fakes, const AotOptions& with,
                               int id);
};

AotCache::AotCache(Options options) : state_(std::make_unique<State>(std::move(options))) {}
AotCache::~AotCache() = default;

CacheCounters AotCache::counters() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->counters;
}
CacheEvent AotCache::last() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->last;
}

void AotCache::clear() { state_->folder.clear(kKind); }

void AotCache::State::note(CacheEvent event) {
  log_line("cache", to_text(event));
  const std::lock_guard<std::mutex> lock(mutex);
  switch (event.kind) {
    case CacheEvent::Kind::hit: counters.hit++; break;
    case CacheEvent::Kind::miss: counters.miss++; break;
    case CacheEvent::Kind::bypass: counters.bypass++; break;
    case CacheEvent::Kind::saved: counters.saved++; break;
  }
  last = std::move(event);
}

std::optional<Compiled> AotCache::State::find(const std::string& key, const Values& arguments, const Values& fakes,
                                              const AotOptions& with, int id) {
  const auto miss = [&](const std::string& why, bool is_failure) -> std::optional<Compiled> {
    note({CacheEvent::Kind::miss, key, why});
    INGOT_REQUIRE(!is_failure || !options.strict, why);
    return {};
  };
  const std::optional<std::string> entry = folder.find(name_of(key));
  if (!entry) return miss("there is no entry", false);
  try {
    const Ref<MappedFile> file = MappedFile::open(*entry + "/entry");
    const CacheEntry e = read_entry(unsealed(*file), file->path(), DenseLayout(arguments), with.params_and_buffers, id);
    if (!guards_hold(e, with.sizes.get())) return miss("the entry is for other sizes", false);
    std::vector<Boxed> graphs;
    const auto gone = [&](const std::string& key_of) {
      return miss(text("the store does not have the artifact ", key_of, " any more"), true);
    };
    if (e.forward == e.backward) {
      std::optional<BoxedPair> both = options.artifacts->load_pair(e.forward);
      if (!both) return gone(e.forward);
      for (Boxed* run : {&both->forward, &both->backward}) graphs.push_back(without_autocast(std::move(*run)));
    } else {
      for (const std::string& artifact : {e.forward, e.backward}) {
        if (artifact.empty()) continue;
        std::optional<Boxed> run = options.artifacts->load(artifact);
        if (!run) return gone(artifact);
        graphs.push_back(without_autocast(std::move(*run)));
      }
    }
    std::shared_ptr<Backward> backward;
    if (graphs.size() > 1) backward = std::make_shared<Backward>(std::move(graphs[1]), e.assembly.writes_tracked);
    FlatCallable f = around_arguments(e.assembly, around_graphs(e.assembly, std::move(graphs[0]), std::move(backward)));
    note({CacheEvent::Kind::hit, key, ""});
    return Compiled{std::move(f),
                    guards_of(arguments, fakes, with.sizes ? *with.sizes : ShapeEnv(), e.assembly, with, Surroundings::now())};
  } catch (const UserError& e) {
    if (options.strict) throw;
    folder.remove(name_of(key));  // nobody will ever read it
    return miss(e.what(), false);
  }
}

Compiled AotCache::compiled(const FlatFunction& f, const Values& arguments, const AotOptions& options, int id) {
  std::string key;
  Values fakes;
  FlatFunction captured_function = f;
  const nn::TrainingReads reads;  // of capturing: what is compiled then, or found, is a graph
  const auto guarded = [&](Compiled c) {
    c.guards.add_modules(reads.reads());
    return c;
  };
  const std::size_t asked = options.sizes ? options.sizes->guards().size() : 0;  // capturing asks, too
  try {
    INGOT_REQUIRE(state_->options.artifacts, "FX graph cache is not enabled");
    INGOT_REQUIRE(!options.context || !options.context->fakify_first_call, "Won't cache a graph with fakify_first_call enabled");
    const std::string settings = state_->options.artifacts->settings() + (options.sizes ? options.sizes->listing() : "");
    ShapeEnv own;
    ShapeEnv& sizes = options.sizes ? *options.sizes : own;
    const Values given = fakes_of(arguments, options, sizes);
    for (const Value& v : given) fakes.push_back(v.is_tensor() ? Value(detached(v.tensor())) : v);  // as they look before the run
    Captured captured = capture(f, given, sizes);
    key = cache_key(captured, arguments, options, settings);
    if (!captured.inputs.has_wrappers() && !captured.results.has_wrappers()) captured_function = function_of(std::move(captured));
  } catch (const UserError& e) {
    state_->note({CacheEvent::Kind::bypass, "", e.what()});
    if (state_->options.strict) throw;
    return compile(f, arguments, options, id);
  }
  if (std::optional<Compiled> hit = state_->find(key, arguments, fakes, options, id)) return guarded(*std::move(hit));
  // The backward may be compiled when nobody else knows the cache any more.
  const WhenCompiled save = [self = options.cache, key, asked, sizes = options.sizes, layout = DenseLayout(arguments)](
                                const Assembly& a, const std::string& forward, const std::string& backward) {
    try {
      const std::string entry = sealed(to_json({forward, backward, a, guards_since(sizes.get(), asked)}, layout));
      self->state_->folder.put(name_of(key), [&](const std::string& folder) {
        PendingFile file(folder + "/entry");
        file.write(entry);
        file.commit();
      });
      self->state_->note({CacheEvent::Kind::saved, key, ""});
    } catch (const UserError& e) {
      self->state_->note({CacheEvent::Kind::bypass, key, e.what()});
      if (self->state_->options.strict) throw;
    }
  };
  return guarded(compile(captured_function, arguments, options, id, save));
}

}  // namespace ingot::aot
