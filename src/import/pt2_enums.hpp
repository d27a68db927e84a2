// The numbers exported programs use for dtypes, layouts and memory formats. They are not ATen's.
#pragma once
#include "import/json.hpp"
#include "op/value.hpp"

namespace ingot {

// User error for a number the format does not have, and for a dtype Ingot does not have.
DType dtype_of(const Json& j);
MemoryFormat memory_format_of(const Json& j);
// User error for another layout than strided.
Layout layout_of(const Json& j);
// Where the exporter ran; the index is dropped, since the machine that runs the program has its own.
Device device_of(const Json& j);

}  // namespace ingot
