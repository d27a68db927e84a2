#include "io/json_text.hpp"

#include <simdjson.h>

#include "base/error.hpp"
#include "io/dense.hpp"

namespace ingot {

void append_json_string(std::string& out, std::string_view s, std::string_view what) {
  INGOT_REQUIRE(simdjson::validate_utf8(s), what, ": ", shown_name(s), " is not UTF-8");
  constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (const char c : s) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') (out += '\\') += c;
    else if (u < 0x20) ((out += "\\u00") += kHex[u >> 4]) += kHex[u & 15];
    else out += c;
  }
  out += '"';
}

}  // namespace ingot
