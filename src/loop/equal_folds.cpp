#include "loop/equal_folds.hpp"

#include <algorithm>

#include "base/index.hpp"

namespace ingot::loop {
namespace {

bool has(const std::vector<int>& list, int b) { return std::find(list.begin(), list.end(), b) != list.end(); }

bool are_equal(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Expr& x, const Expr& y) { return same(x, y); });
}

}  // namespace

std::vector<int64_t> FoldNumbers::numbers_after(LoneKernel kernel, std::vector<int64_t> before, const std::vector<int>& written) {
  for (const Known& k : known_)
    if (k.before == before && are_equal(k.kernel.from, kernel.from) && alike(k.kernel, kernel)) return k.after;
  std::vector<int64_t> after = before;
  for (std::size_t i = 0; i < after.size(); i++)
    if (has(written, kernel.buffers[i])) after[i] = next_++;
  known_.push_back({std::move(kernel), std::move(before), after});
  return after;
}

std::vector<int64_t> FoldNumbers::add(const Program& fold, const std::vector<std::size_t>& constants) {
  std::vector<int64_t> number(fold.buffers.size(), -1);
  for (std::size_t k = 0; k < fold.constants.size(); k++) number[at(fold.constants[k])] = static_cast<int64_t>(constants[k]);
  for (const Step& s : fold.steps) {
    const std::vector<int> written = written_by(s);
    if (const auto* kernel = std::get_if<Kernel>(&s)) {
      LoneKernel lone = by_itself(fold, *kernel);
      const std::vector<int> buffers = lone.buffers;
      std::vector<int64_t> before;
      for (const int b : buffers) before.push_back(number[at(b)]);
      const std::vector<int64_t> after = numbers_after(std::move(lone), std::move(before), written);
      for (std::size_t i = 0; i < buffers.size(); i++) number[at(buffers[i])] = after[i];
    } else {
      for (const int b : written) number[at(b)] = next_++;
    }
  }
  std::vector<int64_t> outputs;
  for (const int b : fold.outputs) outputs.push_back(number[at(b)]);
  return outputs;
}

void keep_outputs(Program& fold, const std::vector<bool>& kept) {
  std::vector<int> outputs;
  for (std::size_t k = 0; k < fold.outputs.size(); k++) {
    // What others may still need is memory of the fold's own.
    if (kept[k]) outputs.push_back(fold.outputs[k]);
    else fold.buffers[at(fold.outputs[k])].place = Place::lent;
  }
  fold.outputs = std::move(outputs);
  std::vector<bool> needed(fold.buffers.size());
  for (const int b : fold.outputs) needed[at(b)] = true;
  Steps steps;
  for (std::size_t k = fold.steps.size(); k-- > 0;) {
    const std::vector<int> written = written_by(fold.steps[k]);
    if (std::none_of(written.begin(), written.end(), [&](int b) { return needed[at(b)]; })) continue;
    for (const int b : buffers_of(fold.steps[k])) needed[at(b)] = true;
    steps.insert(steps.begin(), std::move(fold.steps[k]));
  }
  fold.steps = std::move(steps);
}

}  // namespace ingot::loop
