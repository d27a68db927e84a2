// A place in a schema text, for what parses schemas and their defaults.
#pragma once
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace ingot {

class SchemaCursor {
 public:
  explicit SchemaCursor(std::string_view text) : text_(text) {}

  // Every fault ends here: the position (counted from 0), what was expected, what is there, and the
  // whole text.
  [[noreturn]] void fail(std::string_view expected) const { fail_at(position_, expected); }
  [[noreturn]] void fail_at(std::size_t position, std::string_view expected) const {
    const std::string_view rest = text_.substr(position);
    throw_user_error(text("schema error at position ", position, ": expected ", expected, ", found ",
                          rest.empty() ? std::string("the end of the text") : text("'", rest.substr(0, 12), "'"), " in \"", text_,
                          "\""));
  }

  std::size_t position() const { return position_; }
  bool at_end() const { return position_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[position_]; }
  char take() { return text_[position_++]; }
  std::string_view since(std::size_t start) const { return text_.substr(start, position_ - start); }
  void skip_spaces() {
    while (peek() == ' ') position_++;
  }

  bool at(std::string_view token) const { return text_.substr(position_, token.size()) == token; }
  bool accept(std::string_view token) {
    if (!at(token)) return false;
    position_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail(text("'", token, "'"));
  }

  static bool is_word_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  // An identifier; empty if there is none here.
  std::string_view accept_word() {
    const std::size_t start = position_;
    if (is_word_start(peek()))
      while (is_word_start(peek()) || is_digit(peek())) position_++;
    return since(start);
  }
  std::string_view expect_word(std::string_view what) {
    const std::string_view word = accept_word();
    if (word.empty()) fail(what);
    return word;
  }

 private:
  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace ingot
