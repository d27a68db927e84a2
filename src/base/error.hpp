// How errors (ingot/error.hpp) are made: conditions with messages, and values as texts of messages.
#pragma once
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "ingot/error.hpp"

namespace ingot {

std::string to_text(double v);  // shortest text that reads back: "1", "0.5", "1e-05"
inline std::string to_text(bool v) { return v ? "True" : "False"; }
template <std::integral T>
  requires(!std::same_as<T, bool>)
std::string to_text(T v) {
  return std::to_string(v);
}
inline const std::string& to_text(const std::string& s) { return s; }
inline std::string_view to_text(std::string_view s) { return s; }
inline std::string_view to_text(const char* s) { return s; }

// Joins the texts of its arguments. Any type with a `to_text` found by its namespace takes part.
template <class... T>
std::string text(const T&... parts) {
  std::string s;
  (s.append(to_text(parts)), ...);
  return s;
}

[[noreturn]] void throw_user_error(std::string message);
[[noreturn]] void throw_index_error(std::string message);
[[noreturn]] void throw_internal_error(const char* file, int line, std::string message);

}  // namespace ingot

// The message parts are evaluated only on failure.
// clang-format off
#define INGOT_REQUIRE(cond, ...) \
  do { if (!(cond)) [[unlikely]] ::ingot::throw_user_error(::ingot::text(__VA_ARGS__)); } while (0)
#define INGOT_REQUIRE_INDEX(cond, ...) \
  do { if (!(cond)) [[unlikely]] ::ingot::throw_index_error(::ingot::text(__VA_ARGS__)); } while (0)
#define INGOT_ENSURE(cond, ...) \
  do { if (!(cond)) [[unlikely]] ::ingot::throw_internal_error(__FILE__, __LINE__, ::ingot::text(__VA_ARGS__)); } while (0)
// clang-format on
