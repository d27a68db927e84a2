// JSON text, written in order: w.begin_object().key("n").value(3).end();
#pragma once
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

// The text is pure ASCII and deterministic; floats have the shortest text that reads back the same,
// those that are not finite are the strings "Infinity", "-Infinity" and "NaN". With `indent`,
// containers of containers get a line for each member.
class JsonWriter {
 public:
  explicit JsonWriter(bool indent = false) : indent_(indent) {}

  JsonWriter& begin_object() { return open('{', '}'); }
  JsonWriter& begin_list() { return open('[', ']'); }
  JsonWriter& end();
  JsonWriter& key(std::string_view name);
  JsonWriter& value(std::string_view s);
  JsonWriter& value(const char* s) { return value(std::string_view(s)); }
  JsonWriter& value(bool b) { return raw(b ? "true" : "false"); }
  JsonWriter& value(double d);
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  JsonWriter& value(T i) {
    return raw(std::to_string(i));
  }
  JsonWriter& null() { return raw("null"); }
  JsonWriter& raw(std::string_view json);  // text that is JSON already
  template <class T>
  JsonWriter& field(std::string_view name, const T& v) {
    return key(name).value(v);
  }

  // What has been written. Everything that was opened must be closed.
  std::string take();

 private:
  struct Level {
    char close;
    bool empty = true, lines = false;
  };
  bool indent_;
  bool after_key_ = false;
  std::vector<Level> levels_;
  std::string text_;

  JsonWriter& open(char begin, char close);
  void separate(bool is_container);
  void line();
};

// The string as JSON has it, with its quotes. What is no UTF-8 becomes U+FFFD.
std::string json_string(std::string_view s);
// The same for a name that must read back as itself: user error, starting with `what`, if it is no
// UTF-8.
std::string json_name(std::string_view s, std::string_view what);

}  // namespace ingot
