// The two kinds of failure. A user error says what was expected, what was found and what to do; an
// internal error is a defect of Ingot. Messages start lower-case and end without a period unless
// PyTorch's own text is reproduced.
#pragma once
#include <concepts>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ingot {

struct Error : std::runtime_error {
  using runtime_error::runtime_error;
  bool names_op = false;  // set once the message says which op refused (op/call.cpp)
};
struct UserError : Error {
  using Error::Error;
};
// An index or dimension outside its range: PyTorch raises IndexError where it raises RuntimeError
// elsewhere.
struct IndexError : UserError {
  using UserError::UserError;
};
struct InternalError : Error {
  using Error::Error;
};

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
