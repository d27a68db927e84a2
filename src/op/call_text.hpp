#pragma once
#include <string>
#include <vector>
#include "op/op.hpp"
namespace ingot {
struct CallText { std::string text; TensorList tensors; std::vector<Int> integers; };
CallText text_of(const Call& call);
}
