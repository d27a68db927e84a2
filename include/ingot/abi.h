/* What the C headers share. */
#ifndef INGOT_ABI_H
#define INGOT_ABI_H
#include <stddef.h>
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

/* Threads that run the parallel parts of runs. Results are the same to the bit whichever thread
 * runs a part, and however many there are. Later versions add fields at the end, as to
 * ingot_options: fields beyond the size are null, and one that the library does not know may not be
 * set. */
typedef struct ingot_thread_pool {
  size_t size; /* sizeof(ingot_thread_pool) where the program was compiled */
  void* context; /* for the functions below */
  /* Calls part(work, k) once for every k from 0 to count - 1 and returns when the last has
   * returned, on any threads, in any order, together or one after the other. Any thread may call
   * it, several at once, and parts of one call may wait for nothing but each other's locks. It may
   * not wait for a busy thread to become free: the calling thread takes the parts that no other one
   * has begun, and runs nothing else that calls Ingot until then. All other threads of the pool may
   * be in first runs of sessions, which wait for what this call computes for all of them. */
  void (*parallel_for)(void* context, void (*part)(void* work, int32_t k), void* work, int32_t count);
  /* Around several calls that follow each other: threads that look for the next one, for a while,
   * are there sooner than those that sleep. Both or neither; null: nobody cares. */
  void (*begin)(void* context);
  void (*end)(void* context);
} ingot_thread_pool;

/* A size that is open until the run, and what it may be. */
typedef struct ingot_symbol_info {
  const char* name;
  int64_t min, max;
} ingot_symbol_info;

/* What memory of a model is counted. */
typedef enum ingot_memory_kind {
  INGOT_MEMORY_CONSTANTS = 0, /* copies of constants: what updates gave, and what runs write */
  INGOT_MEMORY_FOLDED = 1, /* what is computed from constants, weights laid out for the processor among it */
  INGOT_MEMORY_SHARED = 2 /* as much of that as others of the process use, too, and is there once */
} ingot_memory_kind;

#endif
