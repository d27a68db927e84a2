// Element types as the C interface numbers them (I072 of the specification).
#pragma once
#include <cstdint>

#include "base/error.hpp"
#include "ingot/dtype.hpp"

namespace ingot {

inline constexpr int32_t kDTypeCodes[kDTypes] = {
    0, 1, 2, 3, 4,  // uint8, int8, int16, int32, int64
    5, 6, 7,        // float16, float32, float64
    9, 10,          // complex64, complex128
    11, 15,         // bool, bfloat16
    24, 23,         // float8_e4m3fn, float8_e5m2
    27, 28, 29,     // uint16, uint32, uint64
};
constexpr int32_t code_of(DType t) { return kDTypeCodes[static_cast<int>(t)]; }
inline DType dtype_of_code(int32_t code) {
  for (int i = 0; i < kDTypes; i++)
    if (kDTypeCodes[i] == code) return static_cast<DType>(i);
  throw_user_error(text("there is no element type with the code ", code));
}

}  // namespace ingot
