#include "codegen/kernel_set.hpp"

#include "base/error.hpp"
#include "codegen/kernel.hpp"

namespace ingot {
namespace {

// What is worth a module of its own, in nodes of expressions: several milliseconds of work, where a module costs half of one.
constexpr int64_t kGroup = 150, kKernel = 40;

}  // namespace

KernelSet::KernelSet(const std::vector<const loop::Program*>& programs, const Target& target, const std::string& prefix) {
  struct Place {
    std::size_t group, position;
  };
  std::unordered_multimap<std::size_t, Place> known;  // by hash
  int64_t size = kGroup, count = 0;
  const auto place_of = [&](loop::LoneKernel& lone) {
    const std::size_t hash = hash_of(lone);
    const auto [first, last] = known.equal_range(hash);
    for (auto it = first; it != last; ++it)
      if (alike(groups_[it->second.group][it->second.position].kernel, lone)) return it->second;
    if (size >= kGroup) {
      groups_.emplace_back();
      size = 0;
    }
    size += kKernel + size_of_code(lone.kernel);
    const Place p{groups_.size() - 1, groups_.back().size()};
    std::string symbol = text(prefix, count++, ".", lone.kernel.name);
    groups_.back().push_back({std::move(lone), std::move(symbol)});
    known.emplace(hash, p);
    return p;
  };
  for (const loop::Program* program : programs)
    loop::each_step(program->steps, [&](const loop::Step& step) {
      const auto* k = std::get_if<loop::Kernel>(&step);
      if (!k) return;
      loop::LoneKernel lone = by_itself(*program, *k);
      const std::vector<int> buffers = lone.buffers;
      const std::vector<Expr> from = lone.from;
      const Place p = place_of(lone);
      const Code& code = groups_[p.group][p.position];
      const Tasks tasks = tasks_of(code.kernel.program, code.kernel.kernel, target);
      Use& use = uses_[k];
      use = {code.symbol, {}, tasks.count, tasks.grain, code.kernel.kernel.scratch_bytes};
      for (const int b : arguments_of(code.kernel.program, code.kernel.kernel))
        use.places.push_back({buffers[static_cast<std::size_t>(b)], from[static_cast<std::size_t>(b)]});
    });
}

}  // namespace ingot
