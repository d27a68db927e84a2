#include "pass/pass.hpp"

#include <algorithm>
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

thread_local const PassScope* innermost = nullptr;

bool is_skipped(std::string_view name) {
  for (const PassScope* s = innermost; s; s = s->outer())
    if (s->options().skip.contains(name)) return true;
  return false;
}

Graph run(const Pass& pass, const Graph& g) {
  const auto start = std::chrono::steady_clock::now();
  Graph made = pass.run(g);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  verify_made(pass.name, made, g);
  if (is_logged("passes"))
    log_line("passes", text(pass.name, ": ", g.nodes().size(), " nodes, then ", made.nodes().size(), ", in ",
                            static_cast<int64_t>(time.count() * 1e6), " us"));
  for (const PassScope* s = innermost; s; s = s->outer())
    if (s->options().after) s->options().after({pass.name, made, g.nodes().size(), time.count()});
  return made;
}

}  // namespace

PassScope::PassScope(Options options) : options_(std::move(options)), outer_(innermost) { innermost = this; }
PassScope::~PassScope() { innermost = outer_; }

std::string names_of_skippable(std::span<const StepName> steps) {
  std::vector<std::string_view> names;
  for (const StepName& s : steps)
    if (!s.required && std::ranges::find(names, s.name) == names.end()) names.push_back(s.name);
  std::string all;
  for (const std::string_view name : names) all += text(all.empty() ? "" : ", ", name);
  return all.empty() ? "none" : all;
}

std::set<std::string, std::less<>> skipped_passes() {
  std::set<std::string, std::less<>> names;
  for (const PassScope* s = innermost; s; s = s->outer()) names.insert(s->options().skip.begin(), s->options().skip.end());
  return names;
}

void require_skippable(std::span<const StepName> steps) {
  for (const StepName& s : steps)
    INGOT_REQUIRE(!s.required || !is_skipped(s.name), "pass '", s.name,
                  "' cannot be skipped: what comes after it needs what it makes; those that can be skipped are ",
                  names_of_skippable(steps));
}

void verify_made(std::string_view maker, const Graph& made, const Graph& from) {
  if (!verifies()) return;
  const std::string fault = find_fault(made);
  INGOT_ENSURE(fault.empty() || !find_fault(from).empty(), "pass '", maker, "' made a graph that breaks a rule: ", fault);
}

Graph run_passes(const Graph& g, std::span<const Pass> passes) {
  if (innermost) {
    std::vector<StepName> names;
    for (const Pass& p : passes) names.push_back(name_of(p));
    require_skippable(names);
  }
  std::optional<Graph> now;
  for (const Pass& p : passes)
    if (!is_skipped(p.name)) now = run(p, now ? *now : g);
  return now ? std::move(*now) : clone(g);
}

}  // namespace ingot
