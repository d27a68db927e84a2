#include "op/text_cursor.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/error.hpp"
#include "base/number_text.hpp"
#include "op/excerpt.hpp"

namespace ingot {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool ends_line(char c) { return c == '\n' || c == '\r' || c == '\0'; }

}  // namespace

void TextCursor::fail(std::size_t at, std::string_view what) const {
  const TextPlace place = place_of(text_, at);
  throw_user_error(text(file_, ":", place.line, ":", place.column, ": ", what, excerpt(text_, place)));
}

void TextCursor::expected(std::string_view what) const {
  constexpr std::size_t kShown = 24;
  const std::string_view rest = rest_of_line();
  const std::string_view end = at_end() ? "the end of the text" : "the end of the line";
  fail(at_, text("expected ", what, ", found ", rest.empty() ? std::string(end) : text("'", rest.substr(0, kShown), "'")));
}

std::size_t TextCursor::line_of(std::size_t at) const { return place_of(text_, at).line; }

std::size_t TextCursor::indent() {
  const std::size_t begin = at_;
  while (here() == ' ') at_++;
  if (here() == '\t') expected("spaces");
  return at_ - begin;
}

std::string_view TextCursor::rest_of_line() const {
  const std::string_view rest = text_.substr(std::min(at_, text_.size()));
  return rest.substr(0, std::min(rest.find('\n'), rest.size()));
}

bool TextCursor::is_blank() const { return rest_of_line().find_first_not_of(" \r") == std::string_view::npos; }

void TextCursor::next_line() {
  const std::size_t newline = text_.find('\n', at_);
  at_ = newline == text_.npos ? text_.size() : newline + 1;
}

void TextCursor::end_line() {
  if (peek() != '#' && !is_blank()) expected("the end of the line");
  next_line();
}

char TextCursor::peek() {
  while (here() == ' ') at_++;
  return ends_line(here()) ? '\0' : here();
}

bool TextCursor::accept(std::string_view token) {
  peek();
  if (text_.substr(at_, token.size()) != token) return false;
  at_ += token.size();
  return true;
}

void TextCursor::expect(std::string_view token) {
  if (!accept(token)) expected(text("'", token, "'"));
}

std::string_view TextCursor::accept_identifier() {
  const std::size_t begin = (peek(), at_);
  if (starts_name(here()))
    while (starts_name(here()) || is_digit(here())) at_++;
  return text_.substr(begin, at_ - begin);
}

std::string_view TextCursor::expect_identifier(std::string_view what) {
  const std::string_view name = accept_identifier();
  if (name.empty()) expected(what);
  return name;
}

std::string TextCursor::accept_path() {
  std::size_t open = 0;
  std::string_view head = accept_identifier();
  while (head == "getattr" && accept("(")) {
    open++;
    head = expect_identifier("'self' or a name");
  }
  std::string path(head);
  while (!path.empty()) {
    if (accept(".")) {
      (path += '.') += expect_identifier("a name after '.'");
    } else if (open > 0) {
      expect(",");
      (path += '.') += string();
      expect(")");
      open--;
    } else {
      break;
    }
  }
  return path;
}

bool TextCursor::at_keyword_argument() {
  const std::size_t begin = at_;
  const bool found = !accept_identifier().empty() && accept("=") && here() != '=';
  at_ = begin;
  return found;
}

std::string TextCursor::string() {
  const char quote = peek();
  const std::size_t begin = at_;
  if (quote != '"' && quote != '\'') expected("a quoted string");
  at_++;
  std::string out;
  while (true) {
    if (here() == '\n' || at_end()) fail(begin, "the string does not end on its line");
    const char c = text_[at_++];
    if (c == quote) return out;
    out += c == '\\' ? escape() : c;
  }
}

// Behind a backslash.
char TextCursor::escape() {
  const std::size_t begin = at_ - 1;
  const char c = here();
  at_ += at_end() ? 0 : 1;
  constexpr std::string_view kLetters = "ntr\\'\"", kMeanings = "\n\t\r\\'\"";
  if (const std::size_t i = kLetters.find(c); c != '\0' && i != kLetters.npos) return kMeanings[i];
  unsigned char code = 0;
  const std::string_view hex = text_.substr(at_, c == 'x' ? 2 : 0);
  const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
  if (hex.size() != 2 || error != std::errc() || end != hex.data() + 2)
    fail(begin, "expected an escape: one of \\n \\t \\r \\\\ \\' \\\" \\x7f");
  at_ += 2;
  return static_cast<char>(code);
}

void TextCursor::digits() {
  while (is_digit(here())) at_++;
}

Value TextCursor::number(bool real) {
  const std::size_t begin = (peek(), at_);
  const bool negative = accept("-");
  const std::size_t unsigned_begin = at_;
  if (starts_name(here())) {
    const std::string_view name = accept_identifier();
    if (name == "inf") return (negative ? -1 : 1) * std::numeric_limits<double>::infinity();
    if (name == "nan") return std::numeric_limits<double>::quiet_NaN();
    fail(begin, "expected a number");
  }
  digits();
  if (at_ == unsigned_begin) fail(begin, "expected a number");
  if (here() == '.') {
    real = true;
    at_++;
    digits();
  }
  if (here() == 'e' || here() == 'E') {
    real = true;
    at_++;
    if (here() == '+' || here() == '-') at_++;
    if (!is_digit(here())) fail(at_, "expected the digits of an exponent");
    digits();
  }
  const std::string_view written = text_.substr(begin, at_ - begin);
  const bool imaginary = here() == 'j';
  if (real || imaginary) {
    const std::optional<double> v = number_of(written);
    if (!v) fail(begin, "expected a number that fits a double");
    if (!imaginary) return *v;
    at_++;
    return std::complex<double>(0, *v);
  }
  int64_t v = 0;
  if (std::from_chars(written.data(), written.data() + written.size(), v).ec != std::errc())
    fail(begin, "expected an integer of 64 bits");
  return v;
}

}  // namespace ingot
