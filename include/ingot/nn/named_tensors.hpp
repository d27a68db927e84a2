// What state is kept and stored as: tensors by name, in an order.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "ingot/tensor.hpp"

namespace ingot::nn {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

}  // namespace ingot::nn
