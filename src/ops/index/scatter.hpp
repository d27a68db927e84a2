// Shape checks that gather and every kind of scatter share.
#pragma once
#include "op/op.hpp"

namespace ingot {

// (self, dim, index[, src]): index is no larger than self apart from dim and no larger than src.
void check_scatter(std::string_view op, const Tensor& self, int64_t dim, const Tensor& index, const Tensor* src);

}  // namespace ingot
