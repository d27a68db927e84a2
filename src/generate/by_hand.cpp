// The declarations of a header, as far as overloads depend on them. The headers are ours: a
// declaration begins a line, at the margin or two spaces inside of class Tensor.
#include <algorithm>
#include <cctype>
#include <utility>

#include "generate/function.hpp"

namespace ingot::generate {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The parts between commas outside of brackets.
std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  for (char c : list) {
    if (c == '(' || c == '{' || c == '<') depth++;
    if (c == ')' || c == '}' || c == '>') depth--;
    if (c == ',' && depth == 0) parts.push_back(std::exchange(part, ""));
    else if (c != ' ' || !part.empty()) part += c;
  }
  if (!part.empty()) parts.push_back(part);
  return parts;
}

Parameter parameter_of(const std::string& text) {
  Parameter p;
  const std::size_t equals = text.find('=');
  p.has_default = equals != text.npos;
  std::size_t end = p.has_default ? equals : text.size();
  while (end > 0 && text[end - 1] == ' ') end--;
  std::size_t name = end;
  while (name > 0 && is_word(text[name - 1])) name--;
  p.name = text.substr(name, end - name);
  p.type = text.substr(0, name);
  while (!p.type.empty() && p.type.back() == ' ') p.type.pop_back();
  return p;
}

}  // namespace

void read_header(std::string_view text, ByHand& out) {
  bool in_tensor = false;
  while (!text.empty()) {
    std::string line(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line == "class Tensor {") in_tensor = true;
    if (line == "};") in_tensor = false;
    const std::size_t indent = in_tensor ? 2 : 0;
    if (line.size() <= indent || line.find_first_not_of(' ') != indent || !is_word(line[indent])) continue;
    line = line.substr(0, line.find("//"));
    const auto ends = [&] { return std::count(line.begin(), line.end(), '(') <= std::count(line.begin(), line.end(), ')'); };
    while (!ends() && !text.empty()) {  // goes on in the next line
      const std::string_view more = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(more.size() + 1, text.size()));
      line.append(" ").append(more.substr(std::min(more.find_first_not_of(' '), more.size())));
    }
    const std::size_t open = line.find('(');
    if (open == line.npos || open == 0 || line.find("operator") < open || line.find("template") == indent) continue;
    std::size_t name = open;
    while (name > 0 && is_word(line[name - 1])) name--;
    if (name == open || name <= indent || line[name - 1] == ':' || line[name - 1] == '~') continue;
    std::size_t close = open;
    for (int depth = 0; close < line.size(); close++) {
      depth += line[close] == '(' ? 1 : line[close] == ')' ? -1 : 0;
      if (depth == 0) break;
    }
    Function f;
    f.name = line.substr(name, open - name);
    f.is_method = in_tensor;
    for (const std::string& part : parts_of(std::string_view(line).substr(open + 1, close - open - 1)))
      f.parameters.push_back(parameter_of(part));
    (in_tensor ? out.methods : out.functions).push_back(std::move(f));
  }
}

}  // namespace ingot::generate
