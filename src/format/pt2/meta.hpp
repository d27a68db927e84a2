// What a program's file says about its values: TensorMeta and the value maps of a graph (sections 7
// and 9).
#pragma once
#include <string>
#include <string_view>

#include "format/pt2/spelling.hpp"

namespace ingot {

// The fake tensor a TensorMeta describes. Sizes must be readable; a stride or offset that is not
// becomes unknown, which is said by contiguous strides. User error for unknown enums, negative
// sizes, and lists of different lengths.
Tensor read_tensor_meta(const Json& meta, std::string_view name, Pt2Symbols& symbols, SpelledValue& spelled);

}  // namespace ingot
