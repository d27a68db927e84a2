// Element types, memory formats and devices, as users name them.
#pragma once
#include <cstdint>
#include <string>

namespace ingot {

enum class DType : uint8_t {
  // clang-format off
  u8, i8, i16, i32, i64, f16, f32, f64, c64, c128, b8, bf16, f8e4m3fn, f8e5m2, u16, u32, u64,
  // clang-format on
};
inline constexpr int kDTypes = 17;

inline constexpr DType uint8 = DType::u8, int8 = DType::i8, int16 = DType::i16, int32 = DType::i32, int64 = DType::i64,
                       float16 = DType::f16, float32 = DType::f32, float64 = DType::f64, complex64 = DType::c64,
                       complex128 = DType::c128, boolean = DType::b8, bfloat16 = DType::bf16, float8_e4m3fn = DType::f8e4m3fn,
                       float8_e5m2 = DType::f8e5m2, uint16 = DType::u16, uint32 = DType::u32, uint64 = DType::u64;

enum class MemoryFormat : uint8_t { contiguous, preserve, channels_last, channels_last_3d };

enum class DeviceType : uint8_t { cpu, cuda };

struct Device {
  DeviceType type = DeviceType::cpu;
  int8_t index = -1;  // -1: the current one
  bool operator==(const Device&) const = default;
};

}  // namespace ingot
