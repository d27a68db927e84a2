// The parts of a table line, without the blanks around them.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

namespace ingot::testing {

inline std::vector<std::string> split(const std::string& s, const std::string& by) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= s.size();) {
    const std::size_t next = std::min(s.find(by, at), s.size());
    std::string p = s.substr(at, next - at);
    while (!p.empty() && p.front() == ' ') p.erase(0, 1);
    while (!p.empty() && p.back() == ' ') p.pop_back();
    parts.push_back(p);
    at = next + by.size();
  }
  return parts;
}

}  // namespace ingot::testing
