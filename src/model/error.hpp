// Failures inside a model library. There are no exceptions here: a function that can fail returns
// false (or null) after it has left a text for its thread; the C functions turn that into a status.
#pragma once

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

// Whether the C functions write the text of a failure to standard error, too.
bool prints_errors();
void set_prints_errors(bool enabled);

// A line on standard error.
void print_line(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace ingot::model
