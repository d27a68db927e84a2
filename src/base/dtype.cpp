#include "base/dtype.hpp"

#include <charconv>

#include "base/error.hpp"

namespace ingot {
namespace {

struct Names {
  std::string_view name, scalar_type, short_name;
};
// Indexed by DType.
// clang-format off
constexpr Names kNames[kDTypes] = {
    {"uint8", "Byte", "u8"},        {"int8", "Char", "i8"},
    {"int16", "Short", "i16"},      {"int32", "Int", "i32"},
    {"int64", "Long", "i64"},       {"float16", "Half", "f16"},
    {"float32", "Float", "f32"},    {"float64", "Double", "f64"},
    {"complex64", "ComplexFloat", "c64"}, {"complex128", "ComplexDouble", "c128"},
    {"bool", "Bool", "b8"},         {"bfloat16", "BFloat16", "bf16"},
    {"float8_e4m3fn", "Float8_e4m3fn", "f8e4m3fn"}, {"float8_e5m2", "Float8_e5m2", "f8e5m2"},
    {"uint16", "UInt16", "u16"},    {"uint32", "UInt32", "u32"},
    {"uint64", "UInt64", "u64"},
// clang-format on
};
const Names& names(DType t) { return kNames[static_cast<int>(t)]; }

}  // namespace

std::string_view name_of(DType t) { return names(t).name; }
std::string_view scalar_type_name(DType t) { return names(t).scalar_type; }
std::string_view short_name_of(DType t) { return names(t).short_name; }

DType dtype_from_name(std::string_view name) {
  std::string_view bare = name.starts_with("torch.") ? name.substr(6) : name;
  for (int i = 0; i < kDTypes; i++)
    if (bare == kNames[i].name || bare == kNames[i].scalar_type || bare == kNames[i].short_name) return static_cast<DType>(i);
  throw_user_error(text("unknown dtype '", name, "'; expected one of float32, float64, float16, bfloat16, int64, …"));
}

std::string to_text(DType t) { return "torch." + std::string(name_of(t)); }

std::string to_text(Device d) {
  std::string s = d.type == DeviceType::cpu ? "cpu" : "cuda";
  return d.index < 0 ? s : s + ":" + std::to_string(d.index);
}

std::string to_text(MemoryFormat f) {
  switch (f) {
    case MemoryFormat::contiguous: return "torch.contiguous_format";
    case MemoryFormat::preserve: return "torch.preserve_format";
    case MemoryFormat::channels_last: return "torch.channels_last";
    case MemoryFormat::channels_last_3d: return "torch.channels_last_3d";
  }
  return "";
}

Device device_from_text(std::string_view s) {
  std::string_view type = s.substr(0, s.find(':'));
  Device d;
  if (type == "cuda") d.type = DeviceType::cuda;
  else INGOT_REQUIRE(type == "cpu", "unknown device '", s, "'; expected cpu, cuda or cuda:N");
  if (type.size() < s.size()) {
    std::string_view number = s.substr(type.size() + 1);
    int n = -1;
    auto r = std::from_chars(number.data(), number.data() + number.size(), n);
    INGOT_REQUIRE(r.ec == std::errc() && r.ptr == number.data() + number.size() && n >= 0 && n < 128, "bad device index in '", s,
                  "'; expected a number from 0 to 127");
    d.index = static_cast<int8_t>(n);
  }
  return d;
}

namespace {
// Position in the ladder inside one kind: the later of two wins.
int rank(DType t) {
  switch (t) {
    case DType::b8: return 0;
    case DType::u8:
    case DType::i8: return 1;
    case DType::i16:
    case DType::u16: return 2;
    case DType::i32:
    case DType::u32: return 3;
    case DType::i64:
    case DType::u64: return 4;
    default: return 5;
  }
}
}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  INGOT_REQUIRE(!is_float8(a) && !is_float8(b), "Promotion for Float8 Types is not supported, attempted to promote ",
                scalar_type_name(a), " and ", scalar_type_name(b));
  auto unsigned_wide = [](DType t) { return t == DType::u16 || t == DType::u32 || t == DType::u64; };
  if (unsigned_wide(a) || unsigned_wide(b)) {
    if (is_floating(a)) return a;
    if (is_floating(b)) return b;
    throw_user_error(text("Promotion for uint16, uint32, uint64 types is not supported, attempted to promote ",
                          scalar_type_name(a), " and ", scalar_type_name(b)));
  }
  if (is_complex(a) || is_complex(b)) {
    const bool wide = a == DType::c128 || b == DType::c128 || a == DType::f64 || b == DType::f64;
    return wide ? DType::c128 : DType::c64;
  }
  if (is_floating(a) || is_floating(b)) {
    if (!is_floating(a)) return b;
    if (!is_floating(b)) return a;
    return a == DType::f64 || b == DType::f64 ? DType::f64 : DType::f32;  // f32 with anything, and f16 with bf16
  }
  if (a == DType::b8) return b;
  if (b == DType::b8) return a;
  // Two signed: the wider. u8 with a signed type: the signed type, but i8 is widened to hold both.
  if (a == DType::u8 || b == DType::u8) {
    DType other = a == DType::u8 ? b : a;
    return other == DType::i8 ? DType::i16 : other;
  }
  return rank(a) > rank(b) ? a : b;
}

}  // namespace ingot
