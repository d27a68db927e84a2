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

/* A size that is open until the run, and what it may be. */
typedef struct ingot_symbol_info {
  const char* name;
  int64_t min, max;
} ingot_symbol_info;

#endif
