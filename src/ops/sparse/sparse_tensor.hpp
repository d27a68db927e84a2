// The class of sparse tensors in coordinate form (ingot/sparse.hpp): a wrapper of indices [sparse
// dims, n] and values [n, dense dims…] without a storage of its own. What is not a sum of such
// tensors, a product with a number or a conversion refuses to run.
#pragma once
#include "op/wrapper.hpp"

namespace ingot {

const Ref<const WrapperClass>& sparse_class();
// Nothing is checked: indices lie in `size`, and where `coalesced` each place is given once, in
// order.
Tensor make_sparse(const Tensor& indices, const Tensor& values, const Shape& size, bool coalesced);

}  // namespace ingot
