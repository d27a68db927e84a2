#include "io/json_writer.hpp"

#include <simdjson.h>

#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "io/dense.hpp"

namespace ingot {

namespace {

void append_unit(std::string& out, uint32_t unit) {
  constexpr char kHex[] = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[(unit >> shift) & 15];
}

// Reads one code point of UTF-8 at `at`, moving past it. What is no UTF-8 is U+FFFD.
uint32_t next_code_point(std::string_view s, std::size_t& at) {
  constexpr uint32_t kBad = 0xFFFD;
  const auto first = static_cast<unsigned char>(s[at++]);
  if (first < 0x80) return first;
  const int more = first >= 0xF0 && first < 0xF8 ? 3 : first >= 0xE0 && first < 0xF0 ? 2 : first >= 0xC2 && first < 0xE0 ? 1 : 0;
  if (more == 0) return kBad;
  uint32_t code = first & (0x3Fu >> more);
  for (int i = 0; i < more; i++, at++) {
    if (at == s.size() || (static_cast<unsigned char>(s[at]) & 0xC0) != 0x80) return kBad;
    code = code << 6 | (static_cast<unsigned char>(s[at]) & 0x3Fu);
  }
  const bool overlong = (more == 2 && code < 0x800) || (more == 3 && code < 0x10000);
  return overlong || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) ? kBad : code;
}

}  // namespace

std::string json_string(std::string_view s) {
  std::string out = "\"";
  for (std::size_t at = 0; at < s.size();) {
    const uint32_t c = next_code_point(s, at);
    if (c == '"' || c == '\\') (out += '\\') += static_cast<char>(c);
    else if (c == '\n') out += "\\n";
    else if (c == '\r') out += "\\r";
    else if (c == '\t') out += "\\t";
    else if (c >= 0x20 && c < 0x7F) out += static_cast<char>(c);
    else if (c < 0x10000) append_unit(out, c);
    else {
      append_unit(out, 0xD800 + ((c - 0x10000) >> 10));
      append_unit(out, 0xDC00 + ((c - 0x10000) & 0x3FF));
    }
  }
  return out += '"';
}

std::string json_name(std::string_view s, std::string_view what) {
  INGOT_REQUIRE(simdjson::validate_utf8(s), what, ": ", shown_name(s), " is not UTF-8");
  return json_string(s);
}

void JsonWriter::line() {
  text_ += '\n';
  text_.append(2 * levels_.size(), ' ');
}

void JsonWriter::separate(bool is_container) {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (levels_.empty()) return;
  Level& level = levels_.back();
  if (!level.empty) text_ += level.lines ? "," : ", ";
  level.lines |= level.empty && is_container && indent_;
  if (level.lines) line();
  level.empty = false;
}

JsonWriter& JsonWriter::open(char begin, char close) {
  separate(true);
  text_ += begin;
  // The outermost object has its fields on lines of their own; below it only arrays of containers
  // do.
  levels_.push_back({close, true, indent_ && levels_.empty() && begin == '{'});
  return *this;
}

JsonWriter& JsonWriter::end() {
  INGOT_ENSURE(!levels_.empty() && !after_key_, "nothing is open");
  const Level level = levels_.back();
  levels_.pop_back();
  if (level.lines && !level.empty) line();
  text_ += level.close;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate(false);
  text_ += json_string(name);
  text_ += ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view s) { return raw(json_string(s)); }

JsonWriter& JsonWriter::value(double d) {
  if (std::isnan(d)) return raw("\"NaN\"");
  if (std::isinf(d)) return raw(d > 0 ? "\"Infinity\"" : "\"-Infinity\"");
  char buffer[40];
  const auto r = std::to_chars(buffer, buffer + sizeof buffer, d);
  std::string number(buffer, r.ptr);
  if (number.find_first_of(".e") == number.npos) number += ".0";  // so that it reads back as a float
  return raw(number);
}

std::string JsonWriter::take() {
  INGOT_ENSURE(levels_.empty() && !after_key_, levels_.size(), " objects or lists are still open");
  return std::move(text_);
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate(false);
  text_ += json;
  return *this;
}

}  // namespace ingot
