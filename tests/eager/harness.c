/* A model library's runtime in small, for tests of ingot_eager_call: memory, an error text, random
 * numbers, two threads. Linked with the eager library, for this machine and the foreign one. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "model/program.h"

#define EXPORT __attribute__((visibility("default")))

typedef struct frame {
  ingot_frame frame;
  char error[2048];
  uint64_t seed, offset;
  void** blocks;
  int block_count;
  int refuse_memory;
} frame;

EXPORT void* harness_new(uint64_t seed, uint64_t offset, int refuse_memory) {
  frame* f = calloc(1, sizeof *f);
  f->seed = seed;
  f->offset = offset;
  f->refuse_memory = refuse_memory;
  return f;
}

EXPORT void harness_free(void* p) {
  frame* f = p;
  for (int i = 0; i < f->block_count; i++) free(f->blocks[i]);
  free(f->blocks);
  free(f);
}

EXPORT const char* harness_error(void* p) { return ((frame*)p)->error; }
EXPORT uint64_t harness_offset(void* p) { return ((frame*)p)->offset; }

EXPORT int32_t harness_call(void* p, const char* call, const ingot_view* tensors, const int64_t* integers, ingot_view* results,
                            int32_t result_count) {
  return ingot_eager_call(p, call, tensors, integers, results, result_count);
}

/* ---- what generated code and the eager library call */

void* ingot_rt_alloc(ingot_frame* p, int64_t bytes) {
  frame* f = (frame*)p;
  if (f->refuse_memory) return NULL;
  f->blocks = realloc(f->blocks, sizeof(void*) * (size_t)(f->block_count + 1));
  return f->blocks[f->block_count++] = aligned_alloc(64, ((size_t)bytes + 63) / 64 * 64);
}

int32_t ingot_rt_fail(ingot_frame* p, const char* text) {
  strncpy(((frame*)p)->error, text, sizeof ((frame*)p)->error - 1);
  return 1;
}

void ingot_rt_random(ingot_frame* p, uint64_t* seed, uint64_t* offset) {
  *seed = ((frame*)p)->seed;
  *offset = ((frame*)p)->offset++;
}

void ingot_rt_random_state(ingot_frame* p, uint64_t* seed, uint64_t* offset) {
  *seed = ((frame*)p)->seed;
  *offset = ((frame*)p)->offset;
}

void ingot_rt_set_random_state(ingot_frame* p, uint64_t seed, uint64_t offset) {
  ((frame*)p)->seed = seed;
  ((frame*)p)->offset = offset;
}

typedef struct half {
  ingot_kernel* kernel;
  void* const* buffers;
  int64_t begin, end;
} half;

static void* run_half(void* p) {
  half* h = p;
  h->kernel(h->buffers, NULL, NULL, h->begin, h->end);
  return NULL;
}

void ingot_rt_parallel(ingot_frame* f, ingot_kernel* kernel, void* const* buffers, int64_t tasks, int64_t grain, int64_t scratch_bytes) {
  (void)f, (void)grain, (void)scratch_bytes;
  half first = {kernel, buffers, 0, tasks / 2}, second = {kernel, buffers, tasks / 2, tasks};
  pthread_t thread;
  const int two = tasks > 1 && pthread_create(&thread, NULL, run_half, &first) == 0;
  if (!two) second.begin = 0;
  run_half(&second);
  if (two) pthread_join(thread, NULL);
}
