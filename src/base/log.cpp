#include "base/log.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/error.hpp"

namespace ingot {

bool is_logged(std::string_view what) {
  const char* list = std::getenv("INGOT_LOG");
  if (!list) return false;
  std::string_view rest = list;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    if (rest.substr(0, end) == what) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

void log_line(std::string_view what, const std::string& line) {
  if (!is_logged(what)) return;
  const std::string all = text("[", what, "] ", line, "\n");
  std::fwrite(all.data(), 1, all.size(), stderr);
}

}  // namespace ingot
