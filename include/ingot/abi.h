/* What the C headers share. */
#ifndef INGOT_ABI_H
#define INGOT_ABI_H
#include <stdint.h>

/* Before functions that a library shows. Also right inside a library compiled with hidden
 * visibility; a compiler that has no such word shows them without one. */
#if defined(__GNUC__) || defined(__clang__)
#define INGOT_EXPORT __attribute__((visibility("default")))
#else
#define INGOT_EXPORT
#endif

/* What a line of the log is. */
typedef enum ingot_log_level {
  INGOT_LOG_ERROR = 1, /* a failure that nobody is told of in another way */
  INGOT_LOG_WARNING = 2, /* something was done, perhaps not what was meant */
  INGOT_LOG_INFO = 3 /* what INGOT_LOG in the environment asks for */
} ingot_log_level;

/* Takes a line of the log, which ends in a zero alone and is valid during the call. Any thread may
 * call it. It returns, and calls no function of Ingot. */
typedef void (*ingot_log_function)(void* context, ingot_log_level level, const char* line);

/* A size that is open until the run, and what it may be. */
typedef struct ingot_symbol_info {
  const char* name;
  int64_t min, max;
} ingot_symbol_info;

#endif
