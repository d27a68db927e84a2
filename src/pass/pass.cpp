#include "pass/pass.hpp"

#include <chrono>
#include <cstdlib>
#include <optional>

#include "base/error.hpp"
#include "base/log.hpp"
#include "graph/copy.hpp"
#include "graph/verify.hpp"

namespace ingot {

bool verifies() {
#ifdef NDEBUG
  return std::getenv("INGOT_VERIFY") != nullptr;
#else
  return true;
#endif
}

namespace {

thread_local const PassScope::Options* current = nullptr;

Graph run(const Pass& pass, const Graph& g) {
  const auto start = std::chrono::steady_clock::now();
  Graph made = pass.run(g);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  if (verifies()) {
    const std::string fault = find_fault(made);
    INGOT_ENSURE(fault.empty() || !find_fault(g).empty(), "pass '", pass.name, "' made a graph that breaks a rule: ", fault);
  }
  if (is_logged("passes"))
    log_line("passes", text(pass.name, ": ", g.nodes().size(), " nodes, then ", made.nodes().size(), ", in ",
                            static_cast<int64_t>(time.count() * 1e6), " us"));
  if (current && current->after) current->after({pass.name, made, g.nodes().size(), time.count()});
  return made;
}

}  // namespace

PassScope::PassScope(Options options) : options_(std::move(options)), outer_(current) { current = &options_; }
PassScope::~PassScope() { current = outer_; }

Graph run_passes(const Graph& g, std::span<const Pass> passes) {
  std::optional<Graph> now;
  for (const Pass& p : passes)
    if (!current || !current->skip.contains(p.name)) now = run(p, now ? *now : g);
  return now ? std::move(*now) : clone(g);
}

}  // namespace ingot
