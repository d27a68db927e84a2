// Facts about element types. Everything a rule may ask of a dtype is asked here.
#pragma once
#include <string>
#include <string_view>

#include "ingot/dtype.hpp"

namespace ingot {

constexpr int size_of(DType t) {
  switch (t) {
    // clang-format off
    case DType::u8: case DType::i8: case DType::b8: case DType::f8e4m3fn: case DType::f8e5m2: return 1;
    case DType::i16: case DType::u16: case DType::f16: case DType::bf16: return 2;
    case DType::i32: case DType::u32: case DType::f32: return 4;
    case DType::i64: case DType::u64: case DType::f64: case DType::c64: return 8;
    case DType::c128: return 16;
    // clang-format on
  }
  return 0;
}
constexpr bool is_complex(DType t) { return t == DType::c64 || t == DType::c128; }
constexpr bool is_float8(DType t) { return t == DType::f8e4m3fn || t == DType::f8e5m2; }
constexpr bool is_floating(DType t) {
  return t == DType::f64 || t == DType::f32 || t == DType::f16 || t == DType::bf16 || is_float8(t);
}
constexpr bool is_reduced_floating(DType t) { return t == DType::f16 || t == DType::bf16 || is_float8(t); }
constexpr bool is_integral(DType t) { return !is_floating(t) && !is_complex(t) && t != DType::b8; }  // bool is not
constexpr bool is_differentiable(DType t) { return is_floating(t) || is_complex(t); }
constexpr bool is_signed_integral(DType t) { return t == DType::i8 || t == DType::i16 || t == DType::i32 || t == DType::i64; }
// c64 -> f32, c128 -> f64, every other type is itself.
constexpr DType real_of(DType t) { return t == DType::c64 ? DType::f32 : t == DType::c128 ? DType::f64 : t; }
// f32/f16/bf16 -> c64, f64 -> c128.
constexpr DType complex_of(DType t) { return t == DType::f64 || t == DType::c128 ? DType::c128 : DType::c64; }

// The type elements are computed in: float for f32 and everything smaller, int64 for all integers,
// complex<double> for both complex types. Rows are converted to it on the way in and rounded once
// on the way out.
enum class Compute : uint8_t { f32, f64, i64, b8, c128 };
inline constexpr int kComputes = 5;
constexpr Compute compute_type(DType t) {
  switch (t) {
    case DType::f64: return Compute::f64;
    case DType::c64:
    case DType::c128: return Compute::c128;
    case DType::b8: return Compute::b8;
    case DType::f32:
    case DType::f16:
    case DType::bf16:
    case DType::f8e4m3fn:
    case DType::f8e5m2: return Compute::f32;
    default: return Compute::i64;
  }
}

// The element type expressions of a compute type have.
constexpr DType dtype_of(Compute c) {
  switch (c) {
    case Compute::f32: return DType::f32;
    case Compute::f64: return DType::f64;
    case Compute::i64: return DType::i64;
    case Compute::b8: return DType::b8;
    case Compute::c128: return DType::c128;
  }
  return DType::f32;
}

std::string_view name_of(DType t);         // "float32"
std::string_view scalar_type_name(DType t);// "Float", as ATen's messages say it
std::string_view short_name_of(DType t);   // "f32", as FX listings say it
DType dtype_from_name(std::string_view name);  // takes all three spellings; user error otherwise

std::string to_text(DType t);        // "torch.float32", as PyTorch prints it
std::string to_text(Device d);       // "cpu", "cuda:0"
std::string to_text(MemoryFormat f); // "torch.channels_last"
Device device_from_text(std::string_view text);

// The type two operands of one category meet in (ATen's table).
DType promote(DType a, DType b);

}  // namespace ingot
