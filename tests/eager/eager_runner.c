/* Runs eager calls of a library on the foreign machine: eager_runner LIBRARY CALLS RESULTS.
 * CALLS, numbers in 8 bytes: the number of calls; each: text, tensors, integers, the number of
 * results, the draw's seed and offset. A text is its length and bytes; a tensor rank, dtype, sizes,
 * strides, bytes of memory, the memory.
 * RESULTS: for each call the status and the error's text, then (status 0) each result as a
 * tensor. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/program.h"

static FILE *calls, *answers;

static void fail(const char* what) {
  fprintf(stderr, "eager_runner: %s\n", what);
  exit(1);
}
static void* bytes(int64_t n) {
  void* p = aligned_alloc(64, ((size_t)n + 64) / 64 * 64);
  if (!p || fread(p, 1, (size_t)n, calls) != (size_t)n) fail("cannot read the calls");
  ((char*)p)[n] = 0;
  return p;
}
static int64_t number(void) { return *(int64_t*)bytes(8); }
static void put(const void* p, int64_t n) {
  if (fwrite(p, 1, (size_t)n, answers) != (size_t)n) fail("cannot write a result");
}
static void put_number(int64_t v) { put(&v, 8); }

static ingot_view tensor(void) {
  ingot_view v;
  v.rank = (int32_t)number();
  v.dtype = (int32_t)number();
  v.sizes = bytes(8 * v.rank);
  v.strides = bytes(8 * v.rank);
  v.data = bytes(number());
  return v;
}

/* Row-major and dense: that is how an op that decides for itself leaves its results. */
static void put_tensor(const ingot_view* v) {
  static const int64_t kSizes[30] = {1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, [15] = 2, [23] = 1, [24] = 1, [27] = 2, [28] = 4, [29] = 8};
  int64_t n = kSizes[v->dtype];
  for (int i = 0; i < v->rank; i++) n *= v->sizes[i];
  put_number(v->rank);
  put_number(v->dtype);
  put(v->sizes, 8 * v->rank);
  put_number(n);
  put(v->data, n);
}

int main(int argc, char** argv) {
  if (argc != 4) fail("usage: eager_runner LIBRARY CALLS RESULTS");
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) fail(dlerror());
  void* (*make)(uint64_t, uint64_t, int) = (void* (*)(uint64_t, uint64_t, int))dlsym(library, "harness_new");
  const char* (*error)(void*) = (const char* (*)(void*))dlsym(library, "harness_error");
  int32_t (*call)(void*, const char*, const ingot_view*, const int64_t*, ingot_view*, int32_t) =
      (int32_t(*)(void*, const char*, const ingot_view*, const int64_t*, ingot_view*, int32_t))dlsym(library, "harness_call");
  calls = fopen(argv[2], "rb");
  answers = fopen(argv[3], "wb");
  if (!make || !error || !call || !calls || !answers) fail("cannot open the library or the files");
  for (int64_t count = number(); count > 0; count--) {
    const char* text = bytes(number());
    const int64_t tensor_count = number();
    ingot_view* tensors = calloc((size_t)tensor_count + 1, sizeof *tensors);
    for (int64_t i = 0; i < tensor_count; i++) tensors[i] = tensor();
    const int64_t* integers = bytes(8 * number());
    const int64_t result_count = number(), seed = number(), offset = number();
    ingot_view* results = calloc((size_t)result_count + 1, sizeof *results);
    void* frame = make((uint64_t)seed, (uint64_t)offset, 0);
    const int32_t status = call(frame, text, tensors, integers, results, (int32_t)result_count);
    put_number(status);
    int64_t length = 0;
    while (error(frame)[length]) length++;
    put_number(length);
    put(error(frame), length);
    for (int64_t k = 0; status == 0 && k < result_count; k++) put_tensor(&results[k]);
  }
  return fclose(answers) == 0 ? 0 : 1;
}
