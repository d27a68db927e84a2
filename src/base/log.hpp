// Lines for people: on stderr, or where a program wants them instead. Some are there if the
// environment asks for them: INGOT_LOG is a list of words with commas.
#pragma once
#include <string>
#include <string_view>

#include "ingot/abi.h"

namespace ingot {

// Lines go to `write` from now on, a line a call and one call at a time; null: to stderr, as at
// first. When it returns the function before it is called no more.
void set_log(ingot_log_function write, void* context);

// A line, which those of other threads do not mix with; "[WARNING] …" where a warning goes to
// stderr. Needs no memory.
void say(ingot_log_level level, const char* line) noexcept;
inline void warn(const std::string& line) { say(INGOT_LOG_WARNING, line.c_str()); }

// For a library's ingot_model_set_log: its lines become ours; those of `write_if_heard` only where
// set_log gave a function.
void write_log(void*, ingot_log_level level, const char* line);
void write_log_if_heard(void*, ingot_log_level level, const char* line);

// While it lives, lines of its thread go to the function of set_log or nowhere, not to stderr: for
// an interface whose users hear by that function alone.
class QuietLog {
 public:
  QuietLog();
  ~QuietLog();
  QuietLog(const QuietLog&) = delete;
  QuietLog& operator=(const QuietLog&) = delete;

 private:
  bool was_quiet_;
};

// Whether INGOT_LOG has the word. Asked anew each time, so that a program can turn it on around
// what it is curious about.
bool is_logged(std::string_view what);
// A line, where it has: "[cache] …".
void log_line(std::string_view what, const std::string& line);

}  // namespace ingot
