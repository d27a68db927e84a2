#include "model/error.hpp"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log_function.hpp"

namespace ingot::model {
namespace {

constexpr int kMostText = 4096;

// A key rather than a thread_local: that needs the dynamic linker's own library on some targets.
// The texts go with their threads; the destructor is libc's, so it may run after this library is
// gone.
pthread_once_t made = PTHREAD_ONCE_INIT;
pthread_key_t key;
bool has_key = false;

void make_key() { has_key = pthread_key_create(&key, free) == 0; }

// This thread's text; null where there is no memory for one.
char* thread_text(bool make) {
  pthread_once(&made, make_key);
  if (!has_key) return nullptr;
  char* text = static_cast<char*>(pthread_getspecific(key));
  if (text || !make) return text;
  text = static_cast<char*>(calloc(1, kMostText));
  if (text && pthread_setspecific(key, text) != 0) {
    free(text);
    return nullptr;
  }
  return text;
}

// The thread that unloads the library gives its text back; those of other threads live until these
// end.
__attribute__((destructor)) void drop_key() {
  if (!has_key) return;
  free(pthread_getspecific(key));
  pthread_key_delete(key);
  has_key = false;
}

}  // namespace

void Text::add(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int n = vsnprintf(buffer_ + used_, sizeof buffer_ - used_, format, arguments);
  va_end(arguments);
  if (n > 0) used_ = used_ + n < sizeof buffer_ ? used_ + n : sizeof buffer_ - 1;
}

bool fail(const char* format, ...) {
  char* text = thread_text(true);
  if (!text) return false;
  char fresh[kMostText];  // the arguments may be parts of the old text
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(fresh, sizeof fresh, format, arguments);
  va_end(arguments);
  snprintf(text, kMostText, "%s", fresh);
  return false;
}

bool fail_for_memory(unsigned long long bytes) { return fail("out of memory: %llu bytes are not to be had", bytes); }

const char* last_error() {
  const char* text = thread_text(false);
  return text ? text : "";
}

void clear_error() {
  if (char* text = thread_text(false)) *text = 0;
}

static bool are_printed = true;
bool prints_errors() { return __atomic_load_n(&are_printed, __ATOMIC_RELAXED); }
void set_prints_errors(bool enabled) { __atomic_store_n(&are_printed, enabled, __ATOMIC_RELAXED); }

static LogFunction log_function;
void set_log(ingot_log_function write, void* context) { log_function.set(write, context); }

void log_line(ingot_log_level level, const char* mark, const char* format, ...) {
  char line[kMostText + 64];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  log_function.call(level, line, [&] { fprintf(stderr, "%s%s\n", mark, line); });
}

}  // namespace ingot::model
