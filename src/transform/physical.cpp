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

std::vector<int> levels_in(const BatchDims& dims) {
  std::vector<int> levels;
  for (const BatchDim& d : dims) levels.push_back(d.level);
  return levels;
}
std::vector<Int> sizes_in(const BatchDims& dims) {
  std::vector<Int> sizes;
  for (const BatchDim& d : dims) sizes.push_back(d.size);
  return sizes;
}

Tensor wrapped(Tensor p, const std::vector<int>& levels) {
  for (const int level : levels) p = make_batched(p, level);
  return p;
}

// The leading dims of p, which are those of `have`, in the order of `want`; a level that p does not
// have gets a dim of its size from `sizes`.
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
  BatchDims all;
  for (const VmapLevel& l : vmap_levels()) all.push_back({l.level, l.size});
  return batched_at(t, all);
}

BatchDims batch_dims(const Tensor& t) {
  BatchDims dims;
  if (!t.defined()) return dims;
  const std::vector<int> levels = levels_of(t);
  const Tensor whole = physical(t);
  for (std::size_t k = 0; k < levels.size(); k++) dims.push_back({levels[k], whole.sizes()[k]});
  return dims;
}

bool has_level(const BatchDims& dims, int level) {
  return std::any_of(dims.begin(), dims.end(), [&](const BatchDim& d) { return d.level == level; });
}

BatchDims united(const BatchDims& a, const BatchDims& b) {
  BatchDims all = a;
  for (const BatchDim& d : b)
    if (!has_level(a, d.level)) all.push_back(d);
  std::sort(all.begin(), all.end(), [](const BatchDim& x, const BatchDim& y) { return x.level < y.level; });
  return all;
}

Tensor with_dims(const Tensor& p, const BatchDims& dims) { return wrapped(p, levels_in(dims)); }

Tensor batched_at(const Tensor& t, const BatchDims& dims) {
  const std::vector<int> have = levels_of(t), want = levels_in(dims);
  return have == want ? t : wrapped(rearranged(physical(t), have, want, sizes_in(dims)), want);
}

Tensor physical_gradient(const Tensor& gradient, const BatchDims& of) {
  const std::vector<int> have = levels_of(gradient), inner = levels_in(of);
  if (have == inner) return physical(gradient);
  BatchDims extra, want;
  for (const BatchDim& d : batch_dims(gradient))
    if (!has_level(of, d.level)) extra.push_back(d);
  want = extra;
  want.insert(want.end(), of.begin(), of.end());
  return wrapped(rearranged(physical(gradient), have, levels_in(want), sizes_in(want)), levels_in(extra));
}

Tensor batched_gradient(const Tensor& gradient, const BatchDims& of) {
  const BatchDims extra = batch_dims(gradient);
  if (extra.empty()) return with_dims(gradient, of);
  BatchDims have = extra;
  have.insert(have.end(), of.begin(), of.end());
  const BatchDims want = united(extra, of);
  return with_dims(rearranged(physical(gradient), levels_in(have), levels_in(want), sizes_in(want)), want);
}

Tensor summed_over_members(const Tensor& t, const BatchDims& over) {
  const std::vector<int> have = levels_of(t);
  Tensor p = physical(t);
  Shape dims;
  std::vector<int> left;
  Int same = 1;
  for (std::size_t k = 0; k < have.size(); k++) {
    if (has_level(over, have[k])) dims.push_back(static_cast<int64_t>(k));
    else left.push_back(have[k]);
  }
  for (const BatchDim& d : over)
    if (!contains(have, d.level)) same = same * d.size;
  if (!dims.empty()) p = aten<"sum.dim_IntList">(p, dims);
  if (!same.same(1)) p = aten<"mul.Scalar">(p, Scalar(same));
  return wrapped(p, left);
}

}  // namespace ingot
