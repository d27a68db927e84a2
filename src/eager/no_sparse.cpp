// Sparse tensors, where there are none: compiled code is of plain ones. Elsewhere
// ops/sparse/sparse_tensor.cpp defines this.
#include "base/error.hpp"
#include "ops/sparse/sparse_tensor.hpp"

namespace ingot {

Tensor make_sparse(const Tensor&, const Tensor&, const Shape&, bool) {
  throw_user_error("there are no sparse tensors in a model; make dense ones (sparse=False)");
}

}  // namespace ingot
