#include "ops/pointwise/result_strides.hpp"

#include <algorithm>

#include "expr/if_known.hpp"
#include "tensor/dim_order.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

// The operands' strides over the dims of the result, 0 where they repeat. An operand of one element
// repeats unless the result has one as well, where its own stride counts. Of an open size nobody
// may know: those dims are `unclear`, and taken for more than one element.
struct Strides {
  std::vector<Shape> over_result;
  std::vector<int> unclear;
};

Strides strides_over(const Shape& sizes, const std::vector<Tensor>& tensors) {
  Strides r;
  for (const Tensor& t : tensors) {
    Shape s = Shape::filled(sizes.size(), 0);
    const int lead = sizes.dim() - static_cast<int>(t.dim());
    for (int i = 0; i < t.dim(); i++) {
      const int d = lead + i;
      if (t.sizes()[i].same(sizes[d]) || !(t.sizes()[i] == 1)) s[d] = t.strides()[i];
      else if (!sizes[d].is_number() && std::ranges::count(r.unclear, d) == 0) r.unclear.push_back(d);
    }
    r.over_result.push_back(std::move(s));
  }
  return r;
}

// The same where one of the dims has one element after all.
std::vector<Shape> with_own_strides(std::vector<Shape> over_result, int d, const std::vector<Tensor>& tensors) {
  for (std::size_t k = 0; k < tensors.size(); k++) {
    const int i = d - (over_result[k].dim() - static_cast<int>(tensors[k].dim()));
    if (i >= 0) over_result[k][d] = tensors[k].strides()[i];
  }
  return over_result;
}

// Whether the dims that have many elements would lie in another order if those of the set, bits of
// `unclear`, had one. Where a dim of one element lies is nothing.
bool reorders(unsigned set, const Shape& sizes, const Strides& strides, const std::vector<Tensor>& tensors) {
  std::vector<int> as_many = inner_first(sizes, strides.over_result);
  Shape smaller = sizes;
  std::vector<Shape> own = strides.over_result;
  for (std::size_t k = 0; k < strides.unclear.size(); k++) {
    if (!(set >> k & 1)) continue;
    const int d = strides.unclear[k];
    smaller[d] = 1;
    own = with_own_strides(std::move(own), d, tensors);
    std::erase(as_many, d);
  }
  std::vector<int> as_one = inner_first(smaller, own);
  std::erase_if(as_one, [&](int d) { return std::ranges::count(as_many, d) == 0; });
  return as_many != as_one;
}

}  // namespace

Shape elementwise_strides(const Shape& sizes, const std::vector<Tensor>& tensors) {
  bool all_contiguous = true, all_equal = true;
  for (const Tensor& t : tensors) {
    const bool full = t.sizes().same(sizes);
    all_contiguous &= full && is_contiguous(t.sizes(), t.strides());
    all_equal &= full && t.strides().same(tensors[0].strides());
  }
  if (tensors.empty() || all_contiguous) return contiguous_strides(sizes);
  if (all_equal && is_non_overlapping_and_dense(sizes, tensors[0].strides())) return tensors[0].strides();
  Strides strides = strides_over(sizes, tensors);
  // Asked only where it matters: a program is one for the sizes that have the same answer.
  constexpr std::size_t kMostTried = 12;  // of each further dim twice as many sets would be tried
  bool matters = strides.unclear.size() > kMostTried;
  for (unsigned set = 1; !matters && set < 1u << strides.unclear.size(); set++) matters = reorders(set, sizes, strides, tensors);
  for (const int d : strides.unclear)
    if (matters && equal_if_known(sizes[d], 1).value_or(false))
      strides.over_result = with_own_strides(std::move(strides.over_result), d, tensors);
  return strides_in_order_of(sizes, strides.over_result);
}

}  // namespace ingot
