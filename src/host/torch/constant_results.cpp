#include "host/torch/constant_results.hpp"

#include <charconv>

#include "base/error.hpp"
#include "io/json.hpp"
#include "io/json_writer.hpp"

namespace ingot {
namespace {

// A kind, and after a space the value: "int 3".
std::string spelled(const Value& v) {
  if (v.is_none()) return "none";
  if (v.is_bool()) return v.to_bool() ? "bool true" : "bool false";
  if (v.is_int()) return text("int ", v.to_int64());
  if (v.is_string()) return text("str ", v.string());
  INGOT_REQUIRE(v.is_float(), "a result that is ", v.kind_name(), " and not computed cannot be returned by a library");
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof digits, v.to_double()).ptr;
  return text("float ", std::string_view(digits, static_cast<std::size_t>(end - digits)));
}

template <class T>
Value number(std::string_view digits, const Json& where) {
  T v{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), v);
  if (error != std::errc() || end != digits.data() + digits.size()) where.fail(text("expected a number, found ", digits));
  return v;
}

Value value_of(const Json& j) {
  const std::string s = j.string();
  const std::size_t space = s.find(' ');
  const std::string kind = s.substr(0, space), rest = space == s.npos ? "" : s.substr(space + 1);
  if (kind == "none") return {};
  if (kind == "bool") return rest == "true";
  if (kind == "int") return number<int64_t>(rest, j);
  if (kind == "float") return number<double>(rest, j);
  if (kind == "str") return rest;
  j.fail(text("unknown kind of result ", kind));
}

}  // namespace

std::string to_metadata(const ConstantResults& results) {
  JsonWriter w;
  w.begin_object();
  for (const auto& [k, v] : results) w.field(std::to_string(k), spelled(v));
  return w.end().take();
}

ConstantResults constant_results_of(const std::string& json, const std::string& what) {
  const JsonDocument document(json, what);
  ConstantResults results;
  for (const auto& [key, value] : document.root().fields())
    results.emplace(static_cast<std::size_t>(number<int64_t>(key, value).to_int64()), value_of(value));
  return results;
}

}  // namespace ingot
