#include "op/excerpt.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace ingot {

namespace {

constexpr std::size_t kShownColumns = 120;

// Columns [from, from + kShownColumns) with what a terminal would act on taken out, so that the
// caret stands right.
std::string shown(std::string_view line, std::size_t from) {
  std::string out(line.substr(std::min(from, line.size()), kShownColumns));
  std::replace_if(out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

}  // namespace

TextPlace place_of(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, position);
  const std::size_t newline = before.rfind('\n');
  return {static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1,
          newline == before.npos ? before.size() + 1 : before.size() - newline};
}

std::string excerpt(std::string_view text_, TextPlace at) {
  // Where the fault is far to the right, all lines are shown from a column somewhat before it.
  const std::size_t from = at.column > kShownColumns - 20 ? at.column - kShownColumns / 2 : 0;
  const std::size_t width = std::to_string(at.line + 1).size();
  std::string out;
  std::size_t line = 1;
  for (std::size_t begin = 0; begin <= text_.size() && line <= at.line + 1; line++) {
    const std::size_t end = std::min(text_.find('\n', begin), text_.size());
    const bool past_end = begin == text_.size() && line > at.line;  // the text ends in a newline
    if (line + 1 >= at.line && !past_end) {
      const std::string number = std::to_string(line);
      out += text("\n", line == at.line ? "> " : "  ", std::string(width - number.size(), ' '), number, " | ",
                  shown(text_.substr(begin, end - begin), from));
      if (line == at.line && at.column > 0)
        out += text("\n  ", std::string(width, ' '), " | ", std::string(at.column - 1 - from, ' '), "^");
    }
    begin = end + 1;
  }
  return out;
}

}  // namespace ingot
