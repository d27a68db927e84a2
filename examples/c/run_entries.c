/* Runs every entry point of a compiled library from plain C, all of them at the same time, each on
 * a thread of its own: they share one set of weights. Each has run alone before, in the library's
 * order, and every run must return that again, bit for bit: an entry that reads a cache follows in
 * the library those that write it, and these write the same each time. Inputs are filled with
 * fives, open sizes are as small as they may be.
 *   cc run_entries.c $(pkg-config --cflags --libs ingot) -pthread -o run_entries && ./run_entries model.so */
#define _POSIX_C_SOURCE 200809L /* barriers */
#include <ingot/ingot.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMost = 16, kRuns = 100, kFill = 5 };

typedef struct {
  ingot_session* session; /* of one entry point */
  const char* name;
  size_t inputs, outputs;
  DLTensor tensors[kMost];
  const DLTensor* in[kMost];
  DLManagedTensorVersioned* expected[kMost]; /* what it returned alone */
  pthread_barrier_t* start;
  int done; /* runs that returned the same */
  char failure[256]; /* of the one that did not */
} Entry;

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, ingot_error());
  return 1;
}

/* A size as the model names it: a number, or the least that a symbol may be. */
static int64_t size_of(const ingot_session* s, const char* text) {
  for (size_t k = 0; k < ingot_session_symbol_count(s); k++) {
    ingot_symbol_info symbol;
    if (ingot_session_symbol(s, k, &symbol) == INGOT_OK && strcmp(symbol.name, text) == 0) return symbol.min;
  }
  return strtoll(text, NULL, 10);
}

static int64_t count_of(const DLTensor* t) {
  int64_t count = 1;
  for (int d = 0; d < t->ndim; d++) count *= t->shape[d];
  return count;
}

/* An input without its elements. */
static int make(const ingot_session* s, size_t k, DLTensor* tensor) {
  ingot_value value;
  if (ingot_session_input(s, k, &value)) return fail("input");
  if (!(value.dtype.code == kDLFloat && value.dtype.bits == 32) && !(value.dtype.code == kDLInt && value.dtype.bits == 64)) {
    fprintf(stderr, "input %s is neither float32 nor int64, which is all that this example fills\n", value.name);
    return 1;
  }
  int64_t* sizes = malloc(sizeof(int64_t) * (size_t)(value.rank + 1));
  for (int d = 0; d < value.rank; d++) sizes[d] = size_of(s, value.sizes[d]);
  *tensor = (DLTensor){.device = {kDLCPU, 0}, .ndim = value.rank, .dtype = value.dtype, .shape = sizes};
  tensor->data = malloc(sizeof(int64_t) * (size_t)(count_of(tensor) + 1));
  return 0;
}

/* With inputs as new: the model may write them. */
static ingot_status run(Entry* e, DLManagedTensorVersioned** out) {
  for (size_t k = 0; k < e->inputs; k++) {
    for (int64_t i = count_of(e->in[k]); i-- > 0;) {
      if (e->in[k]->dtype.code == kDLFloat) ((float*)e->in[k]->data)[i] = kFill;
      else ((int64_t*)e->in[k]->data)[i] = kFill;
    }
  }
  return ingot_session_run(e->session, e->in, e->inputs, out, e->outputs);
}

/* Opens the entry point and runs it alone. */
static int open_entry(const ingot_session* s, size_t k, pthread_barrier_t* start, Entry* e) {
  *e = (Entry){.start = start};
  if (ingot_session_entry_name(s, k, &e->name) || ingot_session_open_entry(s, e->name, &e->session)) return fail("entry");
  e->inputs = ingot_session_input_count(e->session);
  e->outputs = ingot_session_output_count(e->session);
  if (e->inputs > kMost || e->outputs > kMost) {
    fprintf(stderr, "%s has more inputs or outputs than this example has room for\n", e->name);
    return 1;
  }
  for (size_t i = 0; i < e->inputs; i++) {
    if (make(e->session, i, &e->tensors[i])) return 1;
    e->in[i] = &e->tensors[i];
  }
  return run(e, e->expected) ? fail(e->name) : 0;
}

/* Element i of a tensor, counted row by row. */
static const char* element(const DLTensor* t, int64_t i) {
  int64_t at = 0;
  for (int d = t->ndim; d-- > 0; i /= t->shape[d]) at += i % t->shape[d] * t->strides[d];
  return (const char*)t->data + at * (t->dtype.bits / 8);
}

/* The first element that is not the same in both, bit for bit; -1: there is none. */
static int64_t difference(const DLTensor* a, const DLTensor* b) {
  for (int d = 0; d < a->ndim; d++)
    if (a->shape[d] != b->shape[d]) return 0;
  for (int64_t i = 0; i < count_of(a); i++)
    if (memcmp(element(a, i), element(b, i), a->dtype.bits / 8)) return i;
  return -1;
}

static void* run_often(void* argument) {
  Entry* e = argument;
  DLManagedTensorVersioned* out[kMost];
  pthread_barrier_wait(e->start);
  while (e->done < kRuns && !e->failure[0]) {
    if (run(e, out)) {
      snprintf(e->failure, sizeof e->failure, "run %d: %s", e->done, ingot_error()); /* of this thread */
      break;
    }
    for (size_t k = e->outputs; k-- > 0;) {
      const int64_t i = difference(&out[k]->dl_tensor, &e->expected[k]->dl_tensor);
      if (i >= 0)
        snprintf(e->failure, sizeof e->failure, "run %d: element %lld of output %zu is not what it was", e->done, (long long)i,
                 k);
      out[k]->deleter(out[k]);
    }
    e->done += !e->failure[0];
  }
  return NULL;
}

static void close_entry(Entry* e) {
  for (size_t k = 0; k < e->inputs; k++) {
    free(e->tensors[k].data);
    free(e->tensors[k].shape);
  }
  for (size_t k = 0; k < e->outputs; k++) e->expected[k]->deleter(e->expected[k]);
  ingot_session_close(e->session);
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: run_entries MODEL.so\n");
    return 2;
  }
  ingot_options options = INGOT_OPTIONS_INIT;
  options.models = kMost; /* so many runs at the same time */
  ingot_session* first = NULL;
  if (ingot_session_open(argv[1], &options, &first)) return fail(argv[1]);

  Entry entries[kMost];
  pthread_t threads[kMost];
  pthread_barrier_t start;
  const size_t count = ingot_session_entry_count(first) < kMost ? ingot_session_entry_count(first) : kMost;
  pthread_barrier_init(&start, NULL, (unsigned)count);
  for (size_t k = 0; k < count; k++)
    if (open_entry(first, k, &start, &entries[k])) return 1;

  for (size_t k = 0; k < count; k++)
    if (pthread_create(&threads[k], NULL, run_often, &entries[k])) return fputs("no thread is to be had\n", stderr), 1;
  int failed = 0;
  for (size_t k = 0; k < count; k++) {
    pthread_join(threads[k], NULL);
    failed |= entries[k].done < kRuns;
    printf("%s: %d runs%s%s\n", entries[k].name, entries[k].done, entries[k].failure[0] ? ", then " : "", entries[k].failure);
    close_entry(&entries[k]);
  }
  pthread_barrier_destroy(&start);
  ingot_session_close(first);
  return failed;
}
