#include "aot/dedupe.hpp"

#include <algorithm>

#include "aot/debug_assert.hpp"
#include "base/error.hpp"
#include "ingot/autograd.hpp"

namespace ingot::aot {
namespace {

// Nothing was done to it that another name of it could see, not even what is undone later.
bool is_untouched(const InputInfo& i) { return !i.mutates_data && !i.mutates_metadata && i.steps.empty(); }

bool are_same(const Value& a, const Value& b) { return a.is_tensor() && b.is_tensor() && a.tensor().is_same(b.tensor()); }

}  // namespace

void separate_repeats(Values& fakes) {
  const Values given = fakes;
  for (std::size_t i = 0; i < fakes.size(); i++) {
    if (std::none_of(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(i),
                     [&](const Value& v) { return are_same(v, given[i]); }))
      continue;
    Tensor leaf = detached(given[i].tensor());
    fakes[i] = requires_grad(given[i].tensor()) ? leaf.requires_grad_() : leaf;
  }
}

Dedupe::Dedupe(Prepared& p, int params_and_buffers, int id) : params_and_buffers_(params_and_buffers), id_(id) {
  Values kept, arguments;
  bool all_untouched = true;
  for (std::size_t i = 0; i < p.fakes.size(); i++) {
    const auto same = std::find_if(kept.begin(), kept.end(), [&](const Value& v) { return are_same(v, p.fakes[i]); });
    keep_.push_back(same == kept.end());
    place_.push_back(static_cast<std::size_t>(same - kept.begin()));
    if (same == kept.end()) {
      kept.push_back(p.fakes[i]);
      arguments.push_back(p.arguments[i]);
    } else {
      all_untouched = all_untouched && is_untouched(p.meta.inputs[i]);
    }
  }
  if (kept.size() == p.fakes.size()) return;
  if (all_untouched) {
    separate_repeats(p.fakes);
  } else {
    // R077
    INGOT_REQUIRE(
        !p.meta.has_wrappers,
        "Encountered duplicate inputs that are mutated in the graph, but at least one input/output to the graph is a tensor subclass. "
        "This is not supported today. You can try to remove the aliasing yourself as a workaround, or otherwise file an issue on github.");
    drops_ = true;
    p.fakes = std::move(kept);
    p.arguments = std::move(arguments);
    p.f = [f = p.f, place = place_](const Values& given) {
      Values all;
      for (const std::size_t k : place) all.push_back(given[k]);
      return f(all);
    };
  }
  p.collect_again();
}

Dedupe::Dedupe(std::vector<std::size_t> places, int params_and_buffers, int id)
    : params_and_buffers_(params_and_buffers), id_(id), place_(std::move(places)), drops_(!place_.empty()) {
  std::size_t kept = 0;
  for (const std::size_t p : place_) keep_.push_back(p == kept ? (kept++, true) : false);
}

std::optional<Metadata> Dedupe::expected_record(const Metadata& with_repeats) const {
  if (!drops_) return {};
  Metadata m = with_repeats;
  m.inputs.clear();
  m.tangents.clear();
  std::size_t tangent = 0;
  for (std::size_t i = 0; i < with_repeats.inputs.size(); i++) {
    const InputInfo& info = with_repeats.inputs[i];
    if (keep_[i]) m.inputs.push_back(info);
    if (info.mutation() != Mutation::out_of_graph || !info.mutates_data || !info.requires_grad) continue;
    if (keep_[i]) m.tangents.push_back(with_repeats.tangents[tangent]);
    tangent++;
  }
  m.tangents.insert(m.tangents.end(), with_repeats.tangents.begin() + static_cast<std::ptrdiff_t>(tangent),
                    with_repeats.tangents.end());
  for (OutputInfo& o : m.outputs)
    if (o.base_is_input()) o.base = static_cast<int>(place_[static_cast<std::size_t>(o.base)]);
  return m;
}

FlatCallable Dedupe::around(FlatCallable inner) const {
  if (!drops_) return inner;
  return [inner = std::move(inner), self = *this](Values arguments) {
    Values kept;
    for (std::size_t i = 0; i < arguments.size(); i++)
      if (self.keep_[i]) kept.push_back(arguments[i]);
    for (std::size_t i = 0; i < arguments.size(); i++) {
      const auto first =
          static_cast<std::size_t>(std::find(self.place_.begin(), self.place_.end(), self.place_[i]) - self.place_.begin());
      INGOT_REQUIRE(self.keep_[i] || are_same(arguments[i], kept[self.place_[i]]),
                    broken_assumption(self.id_, text(argument_name(i, self.params_and_buffers_), " would be a duplicate of ",
                                                     argument_name(first, self.params_and_buffers_))));
    }
    arguments.clear();
    return inner(std::move(kept));
  };
}

}  // namespace ingot::aot
