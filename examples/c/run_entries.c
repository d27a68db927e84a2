/* Runs every entry point of a compiled library from plain C, all of them at the same time, each on a thread of its own: they share one
 * set of weights. Inputs are filled with ones, open sizes are as small as they may be.
 *   cc run_entries.c $(pkg-config --cflags --libs ingot) -pthread -o run_entries && ./run_entries model.so */
#include <ingot/ingot.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMost = 16, kRuns = 100 };

typedef struct {
  ingot_session* session; /* of one entry point */
  const char* name;
  int done; /* runs that went well */
  char failure[256]; /* of the one that did not */
} Entry;

/* A size as the model names it: a number, or the least that a symbol may be. */
static int64_t size_of(const ingot_session* s, const char* text) {
  for (size_t k = 0; k < ingot_session_symbols(s); k++) {
    ingot_open_size symbol;
    if (ingot_session_symbol(s, k, &symbol) == INGOT_OK && strcmp(symbol.name, text) == 0) return symbol.min;
  }
  return strtoll(text, NULL, 10);
}

static int fill(const ingot_session* s, size_t k, DLTensor* tensor) {
  ingot_value value;
  if (ingot_session_input(s, k, &value)) return 1;
  const int is_real = value.dtype.code == kDLFloat && value.dtype.bits == 32;
  const int is_integer = value.dtype.code == kDLInt && value.dtype.bits == 64;
  if (!is_real && !is_integer) return 1;
  int64_t count = 1, *sizes = malloc(sizeof(int64_t) * (size_t)(value.rank + 1));
  for (int d = 0; d < value.rank; d++) count *= sizes[d] = size_of(s, value.sizes[d]);
  void* data = malloc(sizeof(int64_t) * (size_t)(count + 1));
  for (int64_t i = 0; i < count; i++) {
    if (is_real) ((float*)data)[i] = 1.0f;
    else ((int64_t*)data)[i] = 1;
  }
  *tensor = (DLTensor){.data = data, .device = {kDLCPU, 0}, .ndim = value.rank, .dtype = value.dtype, .shape = sizes};
  return 0;
}

static void* run(void* argument) {
  Entry* e = argument;
  const size_t inputs = ingot_session_inputs(e->session), outputs = ingot_session_outputs(e->session);
  DLTensor tensors[kMost];
  const DLTensor* in[kMost];
  DLManagedTensorVersioned* out[kMost];
  size_t filled = 0;
  if (inputs <= kMost && outputs <= kMost)
    while (filled < inputs && fill(e->session, filled, &tensors[filled]) == 0) in[filled] = &tensors[filled], filled++;
  if (filled < inputs) snprintf(e->failure, sizeof e->failure, "this example cannot fill its inputs");
  else {
    for (; e->done < kRuns; e->done++) {
      if (ingot_session_run(e->session, in, inputs, out, outputs)) {
        snprintf(e->failure, sizeof e->failure, "%s", ingot_error()); /* of this thread */
        break;
      }
      for (size_t k = 0; k < outputs; k++) out[k]->deleter(out[k]);
    }
  }
  for (size_t k = 0; k < filled; k++) {
    free(tensors[k].data);
    free(tensors[k].shape);
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: run_entries MODEL.so\n");
    return 2;
  }
  ingot_session* first = NULL;
  if (ingot_session_open(argv[1], NULL, &first)) {
    fprintf(stderr, "%s: %s\n", argv[1], ingot_error());
    return 1;
  }
  Entry entries[kMost];
  pthread_t threads[kMost];
  const size_t count = ingot_session_entries(first) < kMost ? ingot_session_entries(first) : kMost;
  for (size_t k = 0; k < count; k++) {
    entries[k] = (Entry){0};
    if (ingot_session_entry_name(first, k, &entries[k].name) ||
        ingot_session_open_entry(first, entries[k].name, &entries[k].session)) {
      fprintf(stderr, "entry %zu: %s\n", k, ingot_error());
      return 1;
    }
  }
  for (size_t k = 0; k < count; k++) pthread_create(&threads[k], NULL, run, &entries[k]);
  int failed = 0;
  for (size_t k = 0; k < count; k++) {
    pthread_join(threads[k], NULL);
    failed |= entries[k].done < kRuns;
    printf("%s: %d runs%s%s\n", entries[k].name, entries[k].done, entries[k].failure[0] ? ", then " : "", entries[k].failure);
    ingot_session_close(entries[k].session);
  }
  ingot_session_close(first);
  return failed;
}
