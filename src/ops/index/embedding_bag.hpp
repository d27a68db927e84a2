// What the dense and the sparse gradient of embedding_bag share.
#pragma once
#include "ingot/tensor.hpp"

namespace ingot {

enum class BagMode : int64_t { sum, mean, max };

// offset2bag, computed where the forward left it out.
Tensor offset2bag_of(const Tensor& offset2bag, const Tensor& indices, const Tensor& offsets);

}  // namespace ingot
