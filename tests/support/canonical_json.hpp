// JSON with the fields of objects sorted by key: their order is free.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "io/json.hpp"

namespace ingot {

inline std::string canonical(const Json& j) {
  if (j.is_list()) {
    std::string out;
    for (const Json& e : j.list()) out += canonical(e) + ",";
    return "[" + out + "]";
  }
  if (!j.is_object()) return j.dump();
  std::map<std::string, std::string> fields;
  for (const auto& [key, value] : j.fields()) fields.emplace(key, canonical(value));
  std::string out;
  for (const auto& [key, value] : fields) out += text(key, ":", value, ",");
  return "{" + out + "}";
}
inline std::string canonical(std::string_view json) {
  const JsonDocument d(json, "json");
  return canonical(d.root());
}

}  // namespace ingot
