// Failures inside a model library. There are no exceptions here: a function that can fail returns
// false (or null) after it has left a text for its thread; the C functions turn that into a status.
#pragma once
#include "ingot/abi.h"

namespace ingot::model {

// A text of bounded length; what does not fit is cut off.
class Text {
 public:
  void add(const char* format, ...) __attribute__((format(printf, 2, 3)));
  const char* c_str() const { return buffer_; }

 private:
  char buffer_[4096] = {};
  unsigned used_ = 0;
};

// Leaves the text for this thread. Always false, so that `return fail(…)` says it all.
bool fail(const char* format, ...) __attribute__((format(printf, 1, 2)));
bool fail_for_memory(unsigned long long bytes);  // "out of memory: …"

// What this thread's last failure was; empty before the first, and after clear_error.
const char* last_error();
void clear_error();

// Whether the C functions put the text of a failure into the log, too.
bool prints_errors();
void set_prints_errors(bool enabled);

// Where the log goes; null: to standard error.
void set_log(ingot_log_function write, void* context);
// A line of the log. `mark` stands before it on standard error alone: "[WARNING] ".
void log_line(ingot_log_level level, const char* mark, const char* format, ...) __attribute__((format(printf, 3, 4)));

}  // namespace ingot::model
