#include "base/log.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/error.hpp"
#include "base/log_function.hpp"

namespace ingot {
namespace {

LogFunction function;
thread_local bool is_quiet = false;

}  // namespace

void set_log(ingot_log_function write, void* context) { function.set(write, context); }

void say(ingot_log_level level, const char* line) noexcept {
  function.call(level, line, [&] {
    if (!is_quiet) std::fprintf(stderr, "%s%s\n", level == INGOT_LOG_WARNING ? "[WARNING] " : "", line);
  });
}

void write_log(void*, ingot_log_level level, const char* line) { say(level, line); }
void write_log_if_heard(void*, ingot_log_level level, const char* line) {
  const QuietLog quiet;
  say(level, line);
}

QuietLog::QuietLog() : was_quiet_(is_quiet) { is_quiet = true; }
QuietLog::~QuietLog() { is_quiet = was_quiet_; }

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
  if (is_logged(what)) say(INGOT_LOG_INFO, text("[", what, "] ", line).c_str());
}

}  // namespace ingot
