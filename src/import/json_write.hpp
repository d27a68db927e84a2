// JSON text, written piece by piece: ASCII, floats by the shortest text that reads back.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& begin_list() { return open('['); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& end_list() { return close(']'); }
  JsonWriter& key(std::string_view name);  // the value follows

  JsonWriter& null() { return raw("null"); }
  JsonWriter& boolean(bool v) { return raw(v ? "true" : "false"); }
  JsonWriter& integer(int64_t v) { return raw(std::to_string(v)); }
  JsonWriter& real(double v);  // "Infinity", "-Infinity" and "NaN" are strings
  JsonWriter& string(std::string_view v);
  JsonWriter& raw(std::string_view json);  // a whole value that is JSON already

  // What has been written; everything that was opened must be closed.
  std::string take();

 private:
  std::string out_;
  std::vector<bool> has_members_;  // of what is open
  bool after_key_ = false;

  JsonWriter& open(char c);
  JsonWriter& close(char c);
  void separate();
};

}  // namespace ingot
