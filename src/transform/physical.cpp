#include "transform/physical.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "op/call.hpp"

namespace ingot {
namespace {

// Outermost first: the order of the physical tensor's leading dims.
std::vector<int> levels_of(const Tensor& t) {
  std::vector<int> levels;
  for (Tensor x = t; const BatchedState* b = batched_state(x); x = b->value) levels.insert(levels.begin(), b->level);
  return levels;
}
bool contains(const std::vector<int>& l, int level) { return std::find(l.begin(), l.end(), level) != l.end(); }

Int size_of_level(int level, const Tensor& t, const std::vector<int>& levels) {
  for (std::size_t k = 0; k < levels.size(); k++)
    if (levels[k] == level) return t.sizes()[k];
  for (const VmapLevel& l : vmap_levels())
    if (l.level == level) return l.size;
  throw_user_error(text("vmap: a tensor of a vmap that has ended is used outside of it"));
}

Tensor wrapped(Tensor p, const std::vector<int>& levels) {
  for (const int level : levels) p = make_batched(p, level);
  return p;
}

// The leading dims of p, which are those of `have`, in the order of `want`; a level that p does not have gets a dim of its size
// from `sizes`.
Tensor rearranged(Tensor p, std::vector<int> have, const std::vector<int>& want, const std::vector<Int>& sizes) {
  Shape order, expanded;
  for (std::size_t k = 0; k < want.size(); k++) {
    const auto at = std::find(have.begin(), have.end(), want[k]);
    order.push_back(static_cast<int64_t>(at - have.begin()));
    expanded.push_back(sizes[k]);
    if (at != have.end()) continue;
    p = aten<"unsqueeze">(p, static_cast<int64_t>(have.size()));
    have.push_back(want[k]);
  }
  const auto leading = static_cast<std::size_t>(order.size());
  INGOT_ENSURE(leading == have.size(), "levels were lost");
  for (std::size_t d = leading; d < static_cast<std::size_t>(p.dim()); d++) {
    order.push_back(static_cast<int64_t>(d));
    expanded.push_back(p.sizes()[d]);
  }
  bool in_order = true;
  for (std::size_t d = 0; d < order.size(); d++) in_order &= order[d].same(static_cast<int64_t>(d));
  if (!in_order) p = aten<"permute">(p, order);
  return p.sizes().same(expanded) ? p : aten<"expand">(p, expanded);
}

}  // namespace

Tensor physical(const Tensor& t) {
  Tensor x = t;
  while (const BatchedState* b = batched_state(x)) x = Tensor(b->value);
  return x;
}

Tensor with_physical(const Tensor& like, const Tensor& p) { return wrapped(p, levels_of(like)); }

Tensor batched_at_every_level(const Tensor& t) {
  const std::vector<int> have = levels_of(t);
  std::vector<int> want;
  std::vector<Int> sizes;
  for (const VmapLevel& l : vmap_levels()) {
    want.push_back(l.level);
    sizes.push_back(l.size);
  }
  return have == want ? t : wrapped(rearranged(physical(t), have, want, sizes), want);
}

Tensor physical_gradient(const Tensor& gradient, const Tensor& of) {
  const std::vector<int> have = levels_of(gradient), inner = levels_of(of);
  if (have == inner) return physical(gradient);
  const Tensor p = physical(gradient), target = physical(of);
  std::vector<int> extra, want;
  std::vector<Int> sizes;
  for (const int level : have)
    if (!contains(inner, level)) extra.push_back(level);
  for (const int level : extra) want.push_back(level), sizes.push_back(size_of_level(level, p, have));
  for (const int level : inner) want.push_back(level), sizes.push_back(size_of_level(level, target, inner));
  return wrapped(rearranged(p, have, want, sizes), extra);
}

Tensor batched_gradient(const Tensor& gradient, const Tensor& of) {
  const std::vector<int> extra = levels_of(gradient), inner = levels_of(of);
  if (extra.empty()) return wrapped(gradient, inner);
  const Tensor p = physical(gradient);
  std::vector<int> have = extra;
  have.insert(have.end(), inner.begin(), inner.end());
  std::vector<int> want = have;
  std::sort(want.begin(), want.end());
  std::vector<Int> sizes;
  for (const int level : want) sizes.push_back(size_of_level(level, p, have));
  return wrapped(rearranged(p, have, want, sizes), want);
}

}  // namespace ingot
