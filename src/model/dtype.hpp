// Element types by the codes of program.h.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace ingot::model {

inline constexpr int kDtypeCodes = 30;

// clang-format off
#define INGOT_DTYPES(X)                                                                                          \
  X(uint8, 0, 1) X(int8, 1, 1) X(int16, 2, 2) X(int32, 3, 4) X(int64, 4, 8)                                      \
  X(float16, 5, 2) X(float32, 6, 4) X(float64, 7, 8) X(complex32, 8, 4) X(complex64, 9, 8) X(complex128, 10, 16) \
  X(bool, 11, 1) X(bfloat16, 15, 2)                                                                              \
  X(float8_e5m2, 23, 1) X(float8_e4m3fn, 24, 1) X(float8_e5m2fnuz, 25, 1) X(float8_e4m3fnuz, 26, 1)              \
  X(uint16, 27, 2) X(uint32, 28, 4) X(uint64, 29, 8)
// clang-format on

// 0: no such type.
constexpr int64_t element_size(int32_t dtype) {
  switch (dtype) {
#define INGOT_DTYPE_SIZE(name, code, size) \
  case code: return size;
    INGOT_DTYPES(INGOT_DTYPE_SIZE)
#undef INGOT_DTYPE_SIZE
    default: return 0;
  }
}

constexpr const char* dtype_name(int32_t dtype) {
  switch (dtype) {
#define INGOT_DTYPE_NAME(name, code, size) \
  case code: return #name;
    INGOT_DTYPES(INGOT_DTYPE_NAME)
#undef INGOT_DTYPE_NAME
    default: return "an unknown dtype";
  }
}

}  // namespace ingot::model
