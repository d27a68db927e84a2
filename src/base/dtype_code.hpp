// The number of an element type at the C interface of compiled models (I072: PyTorch's own codes).
#pragma once
#include <cstdint>
#include <optional>

#include "ingot/dtype.hpp"

namespace ingot {

constexpr int32_t aoti_code(DType t) {
  switch (t) {
    case DType::u8: return 0;
    case DType::i8: return 1;
    case DType::i16: return 2;
    case DType::i32: return 3;
    case DType::i64: return 4;
    case DType::f16: return 5;
    case DType::f32: return 6;
    case DType::f64: return 7;
    case DType::c64: return 9;
    case DType::c128: return 10;
    case DType::b8: return 11;
    case DType::bf16: return 15;
    case DType::f8e5m2: return 23;
    case DType::f8e4m3fn: return 24;
    case DType::u16: return 27;
    case DType::u32: return 28;
    case DType::u64: return 29;
  }
  return -1;
}

// The type of a code; nothing for a code Ingot has no type for.
constexpr std::optional<DType> dtype_of_code(int32_t code) {
  for (int k = 0; k < kDTypes; k++)
    if (aoti_code(static_cast<DType>(k)) == code) return static_cast<DType>(k);
  return std::nullopt;
}

}  // namespace ingot
