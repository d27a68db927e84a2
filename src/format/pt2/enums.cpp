#include "format/pt2/enums.hpp"

#include <string>
#include <utility>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "io/dense.hpp"

namespace ingot {

namespace {

constexpr std::pair<int, DType> kScalarTypes[] = {{1, DType::u8},   {2, DType::i8},        {3, DType::i16},    {4, DType::i32},
                                                  {5, DType::i64},  {6, DType::f16},       {7, DType::f32},    {8, DType::f64},
                                                  {10, DType::c64}, {11, DType::c128},     {12, DType::b8},    {13, DType::bf16},
                                                  {28, DType::u16}, {29, DType::f8e4m3fn}, {30, DType::f8e5m2}};
// Those the format has and Ingot has not.
constexpr std::pair<int, std::string_view> kOtherScalarTypes[] = {
    {9, "complex32"}, {31, "float8_e4m3fnuz"}, {32, "float8_e5m2fnuz"}};

constexpr std::pair<int, MemoryFormat> kMemoryFormats[] = {{1, MemoryFormat::contiguous},
                                                           {2, MemoryFormat::channels_last},
                                                           {3, MemoryFormat::channels_last_3d},
                                                           {4, MemoryFormat::preserve}};

}  // namespace

DType dtype_of(const Json& j) {
  const int64_t n = j.integer();
  for (const auto& [number, dtype] : kScalarTypes)
    if (number == n) return dtype;
  for (const auto& [number, name] : kOtherScalarTypes)
    if (number == n) j.fail(text("dtype ", name, " is not supported"));
  j.fail(text("unknown ScalarType ", n));
}

MemoryFormat memory_format_of(const Json& j) {
  const int64_t n = j.integer();
  for (const auto& [number, format] : kMemoryFormats)
    if (number == n) return format;
  j.fail(text("unknown MemoryFormat ", n));
}

Layout layout_of(const Json& j) {
  constexpr int64_t kLast = 7;
  const int64_t n = j.integer();
  if (n < 1 || n > kLast) j.fail(text("unknown Layout ", n));
  if (n != kStridedLayout) j.fail(text("layout ", n, " is not supported; only strided tensors (7) are"));
  return Layout::strided;
}

Device device_of(const Json& j) {
  const std::string type = j.of("Device").field("type").string();
  if (type != "cpu" && type != "cuda") j.fail(text("unknown device type ", shown_name(type)));
  return {};
}

std::string device_text(const Json& j) {
  const std::string type = j.of("Device").field("type").string();
  const auto index = j.optional("index");
  return index ? text(type, ":", index->integer()) : type;
}

int schema_number(DType t) {
  for (const auto& [number, dtype] : kScalarTypes)
    if (dtype == t) return number;
  throw_user_error(text("the format has no dtype ", t));
}
int schema_number(MemoryFormat f) {
  for (const auto& [number, format] : kMemoryFormats)
    if (format == f) return number;
  throw_internal_error(__FILE__, __LINE__, "a memory format without a number");
}

}  // namespace ingot
