/* Runs a compiled model from plain C: every input filled with ones, open sizes as small as they may
 * be; prints what comes out.
 *   cc run_model.c $(pkg-config --cflags --libs ingot) -o run_model && ./run_model model.so */
#include <ingot/ingot.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMost = 16 };

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

/* Only float32 here: what another program passes is its own affair. */
static int fill(const ingot_session* s, size_t k, DLTensor* tensor) {
  ingot_value value;
  if (ingot_session_input(s, k, &value)) return fail("input");
  if (value.dtype.code != kDLFloat || value.dtype.bits != 32) {
    fprintf(stderr, "input %s is not float32, which is all that this example fills\n", value.name);
    return 1;
  }
  int64_t count = 1, *sizes = malloc(sizeof(int64_t) * (size_t)(value.rank + 1));
  for (int d = 0; d < value.rank; d++) {
    sizes[d] = size_of(s, value.sizes[d]);
    count *= sizes[d];
  }
  float* data = malloc(sizeof(float) * (size_t)(count + 1));
  for (int64_t i = 0; i < count; i++) data[i] = 1.0f;
  *tensor = (DLTensor){.data = data, .device = {kDLCPU, 0}, .ndim = value.rank, .dtype = value.dtype, .shape = sizes};
  return 0;
}

static void print(const ingot_session* s, size_t k, const DLTensor* t) {
  ingot_value value;
  ingot_session_output(s, k, &value);
  printf("%s: [", value.name);
  for (int d = 0; d < t->ndim; d++) printf("%s%lld", d ? ", " : "", (long long)t->shape[d]);
  printf("]");
  int64_t count = 1;
  for (int d = 0; d < t->ndim; d++) count *= t->shape[d];
  if (count > 0 && t->dtype.code == kDLFloat && t->dtype.bits == 32) printf(", first element %g", *(const float*)t->data);
  printf("\n");
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: run_model MODEL.so|PACKAGE.pt2\n");
    return 2;
  }
  ingot_session* s = NULL;
  if (ingot_session_open(argv[1], NULL, &s)) return fail(argv[1]);

  const size_t inputs = ingot_session_input_count(s), outputs = ingot_session_output_count(s);
  if (inputs > kMost || outputs > kMost) return 1;
  DLTensor tensors[kMost];
  const DLTensor* in[kMost];
  DLManagedTensorVersioned* out[kMost];
  for (size_t k = 0; k < inputs; k++) {
    if (fill(s, k, &tensors[k])) return 1;
    in[k] = &tensors[k];
  }

  if (ingot_session_run(s, in, inputs, out, outputs)) return fail("run");
  for (size_t k = 0; k < outputs; k++) {
    print(s, k, &out[k]->dl_tensor);
    out[k]->deleter(out[k]);
  }
  for (size_t k = 0; k < inputs; k++) {
    free(tensors[k].data);
    free(tensors[k].shape);
  }
  ingot_session_close(s);
  return 0;
}
