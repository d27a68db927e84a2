#include "import/pt2_enums.hpp"

#include "base/error.hpp"

namespace ingot {

DType dtype_of(const Json& j) {
  switch (j.integer()) {
    case 1: return DType::u8;
    case 2: return DType::i8;
    case 3: return DType::i16;
    case 4: return DType::i32;
    case 5: return DType::i64;
    case 6: return DType::f16;
    case 7: return DType::f32;
    case 8: return DType::f64;
    case 10: return DType::c64;
    case 11: return DType::c128;
    case 12: return DType::b8;
    case 13: return DType::bf16;
    case 28: return DType::u16;
    case 29: return DType::f8e4m3fn;
    case 30: return DType::f8e5m2;
    case 9: j.fail("dtype complex32 is not supported");
    case 31: j.fail("dtype float8_e4m3fnuz is not supported");
    case 32: j.fail("dtype float8_e5m2fnuz is not supported");
    default: j.fail(text("unknown ScalarType ", j.integer()));
  }
}

MemoryFormat memory_format_of(const Json& j) {
  switch (j.integer()) {
    case 1: return MemoryFormat::contiguous;
    case 2: return MemoryFormat::channels_last;
    case 3: return MemoryFormat::channels_last_3d;
    case 4: return MemoryFormat::preserve;
    default: j.fail(text("unknown MemoryFormat ", j.integer()));
  }
}

Layout layout_of(const Json& j) {
  constexpr int64_t kStrided = 7, kLast = 7;
  const int64_t n = j.integer();
  if (n < 1 || n > kLast) j.fail(text("unknown Layout ", n));
  if (n != kStrided) j.fail(text("layout ", n, " is not supported; only strided tensors (7) are"));
  return Layout::strided;
}

Device device_of(const Json& j) {
  const std::string type = j.field("type").string();
  if (type == "cpu") return {DeviceType::cpu};
  if (type == "cuda") return {DeviceType::cuda};
  j.fail(text("unknown device type ", type));
}

}  // namespace ingot
