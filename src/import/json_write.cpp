#include "import/json_write.hpp"

#include <cmath>

#include "base/error.hpp"

namespace ingot {

namespace {

void append_escape(std::string& out, uint32_t unit) {
  constexpr char kHex[] = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[unit >> shift & 15];
}

// The code point that starts at s[at], which moves past it. Bytes that are no UTF-8 become U+FFFD.
uint32_t next_code_point(std::string_view s, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char lead = byte(at++);
  const int more = lead >= 0xF0 && lead < 0xF8   ? 3
                   : lead >= 0xE0 && lead < 0xF0 ? 2
                   : lead >= 0xC0 && lead < 0xE0 ? 1
                                                 : 0;
  if (more == 0) return lead < 0x80 ? lead : 0xFFFD;
  uint32_t point = lead & (0x3F >> more);
  for (int i = 0; i < more; i++) {
    if (at >= s.size() || (byte(at) & 0xC0) != 0x80) return 0xFFFD;
    point = point << 6 | (byte(at++) & 0x3F);
  }
  return point;
}

void append_quoted(std::string& out, std::string_view s) {
  out += '"';
  for (std::size_t at = 0; at < s.size();) {
    const uint32_t c = next_code_point(s, at);
    if (c == '"' || c == '\\') (out += '\\') += static_cast<char>(c);
    else if (c == '\n') out += "\\n";
    else if (c == '\t') out += "\\t";
    else if (c == '\r') out += "\\r";
    else if (c >= 0x20 && c < 0x7f) out += static_cast<char>(c);
    else if (c < 0x10000) append_escape(out, c);
    else {
      append_escape(out, 0xD800 + ((c - 0x10000) >> 10));
      append_escape(out, 0xDC00 + ((c - 0x10000) & 0x3FF));
    }
  }
  out += '"';
}

}  // namespace

void JsonWriter::separate() {
  if (!after_key_ && !has_members_.empty()) {
    if (has_members_.back()) out_ += ", ";
    has_members_.back() = true;
  }
  after_key_ = false;
}

JsonWriter& JsonWriter::open(char c) {
  separate();
  out_ += c;
  has_members_.push_back(false);
  return *this;
}
JsonWriter& JsonWriter::close(char c) {
  INGOT_ENSURE(!has_members_.empty() && !after_key_, "nothing to close");
  has_members_.pop_back();
  out_ += c;
  return *this;
}
JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_quoted(out_, name);
  out_ += ": ";
  after_key_ = true;
  return *this;
}
JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  out_ += json;
  return *this;
}
JsonWriter& JsonWriter::string(std::string_view v) {
  separate();
  append_quoted(out_, v);
  return *this;
}
JsonWriter& JsonWriter::real(double v) {
  if (std::isnan(v)) return string("NaN");
  if (std::isinf(v)) return string(v > 0 ? "Infinity" : "-Infinity");
  std::string s = to_text(v);
  if (s.find_first_of(".e") == s.npos) s += ".0";
  return raw(s);
}

std::string JsonWriter::take() {
  INGOT_ENSURE(has_members_.empty(), "an object or list is still open");
  return std::move(out_);
}

}  // namespace ingot
