#include "backend/cpu/kernel_set.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "backend/cpu/kernel.hpp"
#include "backend/cpu/kernel_decisions.hpp"
#include "base/error.hpp"
#include "base/index.hpp"

namespace ingot::cpu {
namespace {

// What is worth a module of its own, in nodes of expressions: several milliseconds of work, where a
// module costs half of one.
constexpr int64_t kGroup = 300, kKernel = 40;

// What holds of all of the kernels, which have one form.
std::vector<int64_t> common_multiples(const std::vector<const loop::LoneKernel*>& kernels) {
  std::vector<int64_t> common = multiples_of(kernels[0]->kernel);
  for (const loop::LoneKernel* k : kernels) {
    const std::vector<int64_t> own = multiples_of(k->kernel);
    for (std::size_t i = 0; i < common.size(); i++) common[i] = std::gcd(common[i], own[i]);
  }
  return common;
}

// The kernels of the programs, those that are alike once.
class Distinct {
 public:
  struct Member {
    const loop::Kernel* kernel;
    std::size_t number;  // among the distinct ones
    std::vector<int> buffers;
    std::vector<Expr> from;
  };
  std::vector<loop::LoneKernel> kernels;
  std::vector<Member> members;

  void add(const loop::Program& program) {
    loop::each_step(program.steps, [&](const loop::Step& step) {
      if (const auto* k = std::get_if<loop::Kernel>(&step)) add(program, *k);
    });
  }

 private:
  std::unordered_multimap<std::size_t, std::size_t> known_;  // by hash

  void add(const loop::Program& program, const loop::Kernel& k) {
    loop::LoneKernel lone = by_itself(program, k);
    members.push_back({&k, 0, lone.buffers, lone.from});
    members.back().number = number_of(std::move(lone));
  }
  std::size_t number_of(loop::LoneKernel lone) {
    const std::size_t hash = hash_of(lone);
    const auto [first, last] = known_.equal_range(hash);
    for (auto it = first; it != last; ++it)
      if (alike(kernels[it->second], lone)) return it->second;
    known_.emplace(hash, kernels.size());
    kernels.push_back(std::move(lone));
    return kernels.size() - 1;
  }
};

}  // namespace

KernelSet::KernelSet(const std::vector<const loop::Program*>& runs, const std::vector<const loop::Program*>& folds,
                     const Target& target, const std::string& prefix) {
  Distinct distinct;
  for (const loop::Program* p : runs) distinct.add(*p);
  const std::size_t in_runs = distinct.kernels.size();
  for (const loop::Program* p : folds) distinct.add(*p);
  // Those that differ by numbers alone, in the order of the first.
  std::map<std::vector<uint64_t>, std::size_t> forms;
  std::vector<std::vector<std::size_t>> classes;
  for (std::size_t k = 0; k < distinct.kernels.size(); k++) {
    std::vector<uint64_t> form = form_of(distinct.kernels[k], k >= in_runs);
    for (const int64_t n : decisions_of(distinct.kernels[k].program, distinct.kernels[k].kernel, target))
      form.push_back(static_cast<uint64_t>(n));
    const auto [known, is_new] = forms.try_emplace(std::move(form), classes.size());
    if (is_new) classes.emplace_back();
    classes[known->second].push_back(k);
  }

  int64_t size = kGroup, count = 0;
  std::vector<std::string> symbols(distinct.kernels.size());
  std::vector<std::vector<int64_t>> numbers(distinct.kernels.size());
  const auto add_code = [&](loop::LoneKernel kernel, std::vector<Expr> parameters, loop::Kernel example,
                            std::vector<int64_t> multiples) {
    if (size >= kGroup) {
      groups_.emplace_back();
      size = 0;
    }
    size += kKernel + size_of_code(kernel.program, parameters.empty() ? kernel.kernel : example, target);
    std::string symbol = text(prefix, count++, ".", kernel.kernel.name);
    groups_.back().push_back({std::move(kernel), symbol, std::move(parameters), std::move(example), std::move(multiples)});
    return symbol;
  };
  for (const std::vector<std::size_t>& members : classes) {
    std::vector<const loop::LoneKernel*> kernels;
    for (const std::size_t k : members) kernels.push_back(&distinct.kernels[k]);
    if (std::optional<loop::SizedKernel> sized = members.size() > 1 ? sized_kernel(kernels) : std::nullopt) {
      const std::string symbol =
          add_code(std::move(sized->kernel), std::move(sized->parameters), kernels[0]->kernel, common_multiples(kernels));
      for (std::size_t i = 0; i < members.size(); i++) {
        symbols[members[i]] = symbol;
        numbers[members[i]] = std::move(sized->values[i]);
      }
      continue;
    }
    for (const std::size_t k : members)
      symbols[k] = add_code(distinct.kernels[k], {}, {}, multiples_of(distinct.kernels[k].kernel));
  }

  for (const Distinct::Member& m : distinct.members) {
    const loop::LoneKernel& lone = distinct.kernels[m.number];
    const Tasks tasks = tasks_of(lone.program, lone.kernel, lone.kernel, target);
    KernelUse& use = uses_[m.kernel];
    use = {symbols[m.number], {}, numbers[m.number], "ingot_rt_parallel", {tasks.count, tasks.grain, lone.kernel.scratch_bytes}};
    for (const int b : arguments_of(lone.program, lone.kernel)) use.places.push_back({m.buffers[at(b)], m.from[at(b)]});
  }
}

}  // namespace ingot::cpu
