#include "pass/pass.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <unordered_map>

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

// What comes after it needs what it makes. `steps`: those that may be skipped in its place.
void refuse_to_skip(const StepName& s, std::span<const StepName> steps) {
  INGOT_REQUIRE(!s.required, "pass '", s.name,
                "' cannot be skipped: what comes after it needs what it makes; those that can be skipped are ",
                names_of_skippable(steps));
}

// What a graph hands on without knowing anything of it (R004): a random stream that the function
// brings along or was given, and a function among the results. Neither has a text, which is a fault
// (docs/ir.md), and no pass's.
bool is_handed_on(const Argument& a, bool is_result) {
  return a.is_value() && (a.value().is_generator() || (is_result && a.value().is_function()));
}
bool hands_on(const Graph& g) {
  const auto is_argument = [](const Argument& a) { return is_handed_on(a, false); };
  return std::ranges::any_of(g.outputs, [](const Argument& a) { return is_handed_on(a, true); }) ||
         std::ranges::any_of(g.nodes(), [&](const auto& n) { return std::ranges::any_of(n->args, is_argument); }) ||
         std::ranges::any_of(g.attributes, [](const auto& entry) {
           const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&entry.second);
           return inner && *inner && hands_on(**inner);
         });
}

// The graph with None in the place of all that, and with every other fault that it has: a clone
// would give nodes names of their own, and take one of another graph for its own.
Graph without_handed_on(const Graph& g) {
  Graph to;
  std::unordered_map<const Node*, Node*> copies;
  for (const auto& n : g.nodes())
    copies.emplace(n.get(), copies.size() < g.inputs().size() ? to.placeholder("input") : to.unsupported("node", {}));
  const auto of_copies = [&](const auto& self, const Argument& a) -> Argument {
    if (a.is_value()) return a;
    if (a.is_node()) {
      const auto copy = copies.find(a.node());
      return copy == copies.end() ? a.node() : copy->second;
    }
    std::vector<Argument> elements;
    for (const Argument& e : a.elements()) elements.push_back(self(self, e));
    return Argument::list(std::move(elements));
  };
  const auto now = [&](const Argument& a, bool is_result) {
    return is_handed_on(a, is_result) ? Argument() : of_copies(of_copies, a);
  };
  for (const auto& n : g.nodes()) {
    Node& copy = *copies.at(n.get());
    copy = *n;
    for (Argument& a : copy.args) a = now(a, false);
  }
  for (const Argument& a : g.outputs) to.outputs.push_back(now(a, true));
  to.returns = g.returns;
  to.attributes = g.attributes;
  for (const auto& [key, held] : g.attributes)
    if (const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&held); inner && *inner)
      to.attributes.set(key, std::make_shared<const Graph>(without_handed_on(**inner)));
  return to;
}
std::string fault_of(const Graph& g, GraphForm records) {
  return hands_on(g) ? find_fault(without_handed_on(g), records) : find_fault(g, records);
}

// Whether a graph that keeps all other rules records what its ops do not make: one whose sizes were
// made up.
bool has_other_records(const Graph& g) { return fault_of(g, GraphForm::plain).empty() && !fault_of(g, GraphForm::full).empty(); }

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
  for (const std::string& name : skipped_passes()) {
    const auto found = std::ranges::find(steps, std::string_view(name), &StepName::name);
    INGOT_REQUIRE(found != steps.end(), "there is no pass '", name, "' to skip; those that can be skipped are ",
                  names_of_skippable(steps));
    refuse_to_skip(*found, steps);
  }
}

void verify_made(std::string_view maker, const Graph& made, const Graph& from) {
  if (!verifies()) return;
  std::string fault = fault_of(made, GraphForm::full);
  // A pass makes no better records than it was given: of two equal calls it keeps one, with what is
  // recorded of that.
  if (!fault.empty() && has_other_records(from)) fault = fault_of(made, GraphForm::plain);
  INGOT_ENSURE(fault.empty(), "pass '", maker, "' made a graph that breaks a rule: ", fault);
}

Graph run_passes(const Graph& g, std::span<const Pass> passes) {
  if (innermost) {
    std::vector<StepName> names;
    for (const Pass& p : passes) names.push_back(name_of(p));
    for (const StepName& s : names)
      if (is_skipped(s.name)) refuse_to_skip(s, names);
  }
  std::optional<Graph> now;
  for (const Pass& p : passes)
    if (!is_skipped(p.name)) now = run(p, now ? *now : g);
  return now ? std::move(*now) : clone(g);
}

}  // namespace ingot
