// Element types between the C ABI of models (I072) and DLPack.
#pragma once
#include <cstdint>
#include <optional>

#include "base/dtype.hpp"
#include "base/dtype_code.hpp"
#include "ingot/dlpack.h"

namespace ingot {

constexpr DLDataType dlpack_type(DType t) {
  const auto bits = static_cast<uint8_t>(8 * size_of(t));
  if (t == DType::b8) return {kDLBool, 8, 1};
  if (t == DType::bf16) return {kDLBfloat, 16, 1};
  if (t == DType::f8e4m3fn) return {kDLFloat8_e4m3fn, 8, 1};
  if (t == DType::f8e5m2) return {kDLFloat8_e5m2, 8, 1};
  if (is_complex(t)) return {kDLComplex, bits, 1};
  if (is_floating(t)) return {kDLFloat, bits, 1};
  return {static_cast<uint8_t>(is_signed_integral(t) ? kDLInt : kDLUInt), bits, 1};
}

// Nothing for a type that models have not.
constexpr std::optional<DType> dtype_of_dlpack(DLDataType d) {
  for (int k = 0; k < kDTypes; k++) {
    const DLDataType known = dlpack_type(static_cast<DType>(k));
    if (known.code == d.code && known.bits == d.bits && known.lanes == d.lanes) return static_cast<DType>(k);
  }
  return std::nullopt;
}

}  // namespace ingot
