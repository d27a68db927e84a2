#include "tensor/dim_order.hpp"

#include <numeric>
#include <utility>

#include "expr/if_known.hpp"

namespace ingot {

std::vector<int> inner_first(const Shape& sizes, const std::vector<Shape>& strides) {
  const int rank = sizes.dim();
  std::vector<int> perm(static_cast<std::size_t>(rank));
  std::iota(perm.rbegin(), perm.rend(), 0);
  auto should_swap = [&](int a, int b) {
    for (const Shape& s : strides) {
      if (s[a] == 0 || s[b] == 0) continue;
      if (less_if_known(s[a], s[b]).value_or(false)) return -1;
      if (less_if_known(s[b], s[a]).value_or(false)) return 1;
      if (less_if_known(sizes[b], sizes[a]).value_or(false)) return 1;
    }
    return 0;
  };
  for (int i = 1; i < rank; i++) {
    int dim1 = i;
    for (int dim0 = i - 1; dim0 >= 0; dim0--) {
      const int c = should_swap(perm[dim0], perm[dim1]);
      if (c > 0) {
        std::swap(perm[dim0], perm[dim1]);
        dim1 = dim0;
      } else if (c < 0) {
        break;
      }
    }
  }
  return perm;
}

}  // namespace ingot
