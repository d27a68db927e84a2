// The numbers exported programs use for dtypes, layouts and memory formats. They are not ATen's.
#pragma once
#include "ingot/value.hpp"
#include "io/json.hpp"

namespace ingot {

// User error for a number the format does not have, and for a dtype Ingot does not have.
DType dtype_of(const Json& j);
MemoryFormat memory_format_of(const Json& j);
// User error for another layout than strided.
Layout layout_of(const Json& j);
// Where the program will run, whatever machine the exporter had: its `cpu` and `cuda` (of any
// index) both mean the target, which the graph calls the default device. User error for another
// type.
Device device_of(const Json& j);
// What the exporter had: "cpu", "cuda:1".
std::string device_text(const Json& j);

// The format's numbers again.
int schema_number(DType t);
int schema_number(MemoryFormat f);
inline constexpr int kStridedLayout = 7;

}  // namespace ingot
