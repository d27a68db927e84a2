// A place in the text of a graph or a call, and the tokens that stand there. Tokens never reach
// over the end of a line.
#pragma once
#include <string>
#include <string_view>

#include "ingot/value.hpp"

namespace ingot {

class TextCursor {
 public:
  TextCursor(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  // Every fault ends here: file, line, column, what is wrong, and the lines around.
  [[noreturn]] void fail(std::size_t at, std::string_view what) const;
  // "expected …, found …"
  [[noreturn]] void expected(std::string_view what) const;
  std::size_t line_of(std::size_t at) const;

  std::size_t position() const { return at_; }
  void go_to(std::size_t at) { at_ = at; }

  // ---- lines. The cursor is at the start of one.
  bool at_end() const { return at_ >= text_.size(); }
  // Steps over the spaces before the first token; returns their number.
  std::size_t indent();
  bool is_blank() const;  // nothing but spaces is left on the line
  std::string_view rest_of_line() const;
  void next_line();
  // The line holds nothing more but a comment; goes to the next.
  void end_line();

  // ---- tokens, after any spaces
  char peek();  // '\0' at the end of the line
  bool accept(std::string_view token);
  void expect(std::string_view token);
  std::string_view accept_identifier();  // empty if there is none
  std::string_view expect_identifier(std::string_view what);
  // "torch.ops.aten.add.Tensor", "self.weight", `getattr(self.layers, "0").weight`; empty if none
  // begins here. Parts are joined by dots.
  std::string accept_path();
  bool at_keyword_argument();  // `name =`, and not `name ==`
  std::string string();        // with either quote
  // An int, float or imaginary number, with a sign; `real`: what looks like an int is a float too.
  Value number(bool real = false);

 private:
  std::string_view text_, file_;
  std::size_t at_ = 0;

  char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void digits();
  char escape();
};

}  // namespace ingot
