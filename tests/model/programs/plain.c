/* A program in plain C, with no library but libc, that uses a model: plain AFFINE MANY [UPDATES].
 * AFFINE is a library of affine.c that counts its runs, MANY one of many.c. It has no tensors of
 * its own, so it uses the library's. Prints `ok`. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ingot/model.h"

#define REQUIRE(condition)                                                                     \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      fprintf(stderr, "plain.c:%d: not so: %s (%s)\n", __LINE__, #condition, last_error());    \
      exit(1);                                                                                 \
    }                                                                                          \
  } while (0)

#define FUNCTIONS(X)                                                                                                           \
  X(AOTInductorModelContainerCreateWithDevice) X(AOTInductorModelContainerDelete) X(AOTInductorModelContainerRun)              \
  X(AOTInductorModelContainerRunConstantFolding) X(AOTInductorModelContainerSwapConstantBuffer)                                \
  X(AOTInductorModelContainerUpdateUserManagedConstantBufferPairs) X(ingot_last_error) X(ingot_container_update)               \
  X(ingot_container_constant) X(ingot_container_set_threads) X(ingot_tensor_from_memory) X(ingot_tensor_new)                   \
  X(ingot_tensor_share) X(ingot_tensor_describe) X(ingot_tensor_delete) X(ingot_tensor_is_own) X(ingot_model_level_used)

static struct Api {
#define MEMBER(name) __typeof__(&name) name;
  FUNCTIONS(MEMBER)
#undef MEMBER
} api;

static const char* last_error(void) { return api.ingot_last_error ? api.ingot_last_error() : "nothing loaded"; }

static void* load(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "plain.c: %s\n", dlerror());
    exit(1);
  }
#define LOOK_UP(name) *(void**)&api.name = dlsym(library, #name); \
  REQUIRE(api.name);
  FUNCTIONS(LOOK_UP)
#undef LOOK_UP
  return library;
}

enum { kRows = 4, kIn = 16, kOut = 8 };

static float w[3][kOut * kIn], b[3][kOut], x[kRows * kIn], expected[3][kRows * kOut];

/* Weights 0 are the library's own, 1 and 2 are two and three times as large. */
static void make_values(void) {
  for (int i = 0; i < kRows * kIn; i++) x[i] = (float)(i % 5);
  for (int v = 0; v < 3; v++) {
    for (int j = 0; j < kOut; j++) {
      for (int k = 0; k < kIn; k++) w[v][j * kIn + k] = (float)((j + k) * (v + 1));
      b[v][j] = (float)(10 * j * (v + 1));
    }
    for (int i = 0; i < kRows * kOut; i++) {
      float sum = 0;
      for (int k = 0; k < kIn; k++) sum += x[i / kOut * kIn + k] * 2 * w[v][i % kOut * kIn + k];
      expected[v][i] = sum + b[v][i % kOut] + 0.5f;
    }
  }
}

static AtenTensorHandle floats(float* data, int32_t rank, int64_t first, int64_t second) {
  const int64_t sizes[2] = {first, second};
  AtenTensorHandle tensor = NULL;
  REQUIRE(api.ingot_tensor_from_memory(data, INGOT_FLOAT32, rank, sizes, NULL, &tensor) == 0);
  return tensor;
}

/* Which weights a run used; -1 for none of them. */
static int run(AOTInductorModelContainerHandle container, float* steps) {
  AtenTensorHandle input = floats(x, 2, kRows, kIn), outputs[2];
  ingot_tensor_info y, count;
  int which = -1;
  REQUIRE(api.AOTInductorModelContainerRun(container, &input, 1, outputs, 2, NULL, NULL) == 0);
  REQUIRE(api.ingot_tensor_describe(outputs[0], &y) == 0 && api.ingot_tensor_describe(outputs[1], &count) == 0);
  REQUIRE(y.dtype == INGOT_FLOAT32 && y.rank == 2 && y.sizes[0] == kRows && y.sizes[1] == kOut && y.strides[0] == kOut);
  REQUIRE(count.rank == 0 && (size_t)y.data % 64 == 0);
  for (int v = 0; v < 3; v++) {
    if (memcmp(y.data, expected[v], sizeof expected[v]) == 0) which = v;
  }
  if (steps) *steps = *(float*)count.data;
  REQUIRE(api.ingot_tensor_delete(outputs[0]) == 0 && api.ingot_tensor_delete(outputs[1]) == 0);
  return which;
}

static void update(AOTInductorModelContainerHandle container, int v, bool use_inactive, bool user_managed) {
  AOTInductorConstantMapEntry pairs[2] = {{"p_layer_weight", floats(w[v], 2, kOut, kIn)}, {"p_layer_bias", floats(b[v], 1, kOut, 0)}};
  const __typeof__(api.ingot_container_update) call =
      user_managed ? api.AOTInductorModelContainerUpdateUserManagedConstantBufferPairs : api.ingot_container_update;
  REQUIRE(call(container, pairs, 2, use_inactive, false) == 0);
  REQUIRE(api.ingot_tensor_delete(pairs[0].handle) == 0 && api.ingot_tensor_delete(pairs[1].handle) == 0);
}

static void check_bad_calls(AOTInductorModelContainerHandle container) {
  static double doubles[kIn];
  const int64_t one_row[2] = {1, kIn}, negative[2] = {1, -1};
  AtenTensorHandle input = NULL, outputs[2];
  REQUIRE(api.ingot_tensor_from_memory(doubles, INGOT_FLOAT64, 2, one_row, NULL, &input) == 0);
  REQUIRE(api.AOTInductorModelContainerRun(container, &input, 1, outputs, 2, NULL, NULL) == 1);
  REQUIRE(strcmp(last_error(), "input 0 (x): dtype: expected float32, found float64") == 0);
  input = floats(x, 2, 1, 8);
  REQUIRE(api.AOTInductorModelContainerRun(container, &input, 1, outputs, 2, NULL, NULL) == 1);
  REQUIRE(strcmp(last_error(), "input 0 (x): size of dim 1: expected 16, found 8") == 0);
  input = NULL;
  REQUIRE(api.AOTInductorModelContainerRun(container, &input, 1, outputs, 2, NULL, NULL) == 1);
  REQUIRE(strcmp(last_error(), "input 0 (x): expected a tensor, found null") == 0);

  /* Of a host that this process does not show, as libtorch's: one word that points on. It stays its
   * owner's. */
  static void* word = &word;
  const AtenTensorHandle foreign = (AtenTensorHandle)&word;
  input = foreign;
  REQUIRE(api.AOTInductorModelContainerRun(container, &input, 1, outputs, 2, NULL, NULL) == 1);
  REQUIRE(strstr(last_error(), "input 0 (x): expected a tensor of this library") && strstr(last_error(), "found a handle of somebody else"));
  REQUIRE(input == foreign && word == &word);
  ingot_tensor_info info;
  REQUIRE(api.ingot_tensor_describe(foreign, &info) == 1 && api.ingot_tensor_delete(foreign) == 1 && word == &word);

  REQUIRE(api.ingot_tensor_new(INGOT_FLOAT32, 2, negative, &input) == 1);
  REQUIRE(api.ingot_tensor_new(99, 2, one_row, &input) == 1 && api.ingot_tensor_new(-1, 2, one_row, &input) == 1);
  REQUIRE(api.ingot_tensor_new(INGOT_FLOAT32, 65, one_row, &input) == 1);
  REQUIRE(api.ingot_tensor_new(INGOT_FLOAT32, 2, NULL, &input) == 1);
  REQUIRE(api.ingot_tensor_describe(NULL, NULL) == 1);
}

static void check_tensors(void) {
  const int64_t sizes[2] = {3, 2};
  AtenTensorHandle first = NULL, second = NULL;
  ingot_tensor_info one, two;
  REQUIRE(api.ingot_tensor_is_own());
  REQUIRE(api.ingot_tensor_new(INGOT_INT64, 2, sizes, &first) == 0 && api.ingot_tensor_share(first, &second) == 0);
  REQUIRE(api.ingot_tensor_describe(first, &one) == 0 && api.ingot_tensor_describe(second, &two) == 0);
  REQUIRE(one.data == two.data && (size_t)one.data % 64 == 0 && two.dtype == INGOT_INT64 && two.strides[0] == 2);
  ((int64_t*)one.data)[5] = 7;
  REQUIRE(api.ingot_tensor_delete(first) == 0);
  REQUIRE(((int64_t*)two.data)[5] == 7); /* the elements live as long as one of the handles */
  REQUIRE(api.ingot_tensor_delete(second) == 0 && api.ingot_tensor_delete(NULL) == 0);
}

/* ---- callers from several threads */

static AOTInductorModelContainerHandle shared;
static int stop, wrong; /* both atomic */

static void* call_until_stop(void* unused) {
  (void)unused;
  do {
    const int which = run(shared, NULL);
    if (which < 0) __atomic_add_fetch(&wrong, 1, __ATOMIC_SEQ_CST);
  } while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST));
  return NULL;
}

static void check_callers(int updates) {
  pthread_t callers[4];
  REQUIRE(api.AOTInductorModelContainerCreateWithDevice(&shared, 2, "cpu", NULL) == 0);
  REQUIRE(api.ingot_container_set_threads(shared, 2) == 0);
  for (int i = 0; i < 4; i++) REQUIRE(pthread_create(&callers[i], NULL, call_until_stop, NULL) == 0);
  for (int i = 0; i < updates; i++) {
    update(shared, i % 3, true, false);
    if (i % 2) REQUIRE(api.AOTInductorModelContainerRunConstantFolding(shared, true, NULL, NULL) == 0);
    REQUIRE(api.AOTInductorModelContainerSwapConstantBuffer(shared) == 0);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
  for (int i = 0; i < 4; i++) REQUIRE(pthread_join(callers[i], NULL) == 0);
  REQUIRE(wrong == 0);
  REQUIRE(api.AOTInductorModelContainerDelete(shared) == 0);
}

static void check_affine(const char* path) {
  void* library = load(path);
  AOTInductorModelContainerHandle container = NULL;
  AtenTensorHandle constant = NULL;
  ingot_tensor_info info;
  const char* level = NULL;
  float steps = 0;
  REQUIRE(strcmp(last_error(), "") == 0);
  REQUIRE(api.ingot_model_level_used(&level) == 0 && strcmp(level, "base") == 0);
  check_tensors();
  REQUIRE(api.AOTInductorModelContainerCreateWithDevice(&container, 1, "cpu", NULL) == 0);
  REQUIRE(run(container, &steps) == 0 && steps == 1);
  REQUIRE(run(container, &steps) == 0 && steps == 2);

  update(container, 1, true, false); /* into the inactive buffer: the active one is as it was */
  REQUIRE(run(container, &steps) == 0 && steps == 3);
  REQUIRE(api.AOTInductorModelContainerSwapConstantBuffer(container) == 0);
  REQUIRE(run(container, NULL) == 1);
  REQUIRE(api.AOTInductorModelContainerSwapConstantBuffer(container) == 0);
  REQUIRE(run(container, NULL) == 0);
  update(container, 2, false, true); /* in place of the active buffer, where the user has them */
  REQUIRE(run(container, NULL) == 2);
  REQUIRE(api.ingot_container_constant(container, "p_layer_bias", false, &constant) == 0);
  REQUIRE(api.ingot_tensor_describe(constant, &info) == 0 && info.data == (void*)b[2]);
  REQUIRE(api.ingot_container_constant(container, "no_such", false, &constant) == 1);
  check_bad_calls(container);
  REQUIRE(run(container, NULL) == 2);
  REQUIRE(api.AOTInductorModelContainerDelete(container) == 0);
  REQUIRE(dlclose(library) == 0);
}

static void check_many(const char* path) {
  void* library = load(path);
  AOTInductorModelContainerHandle container = NULL;
  static float a[4];
  static int64_t numbers[2] = {3, -3}, n = 50;
  static double c[4];
  const int64_t two[1] = {2}, four[1] = {4}, square[2] = {2, 2};
  REQUIRE(api.AOTInductorModelContainerCreateWithDevice(&container, 1, "cpu", NULL) == 0);
  REQUIRE(api.ingot_container_set_threads(container, 3) == 0);
  for (int i = 0; i < 20; i++) {
    AtenTensorHandle inputs[4], outputs[4];
    ingot_tensor_info total, positive;
    /* rows first: it is copied, and what the run writes comes back */
    REQUIRE(api.ingot_tensor_from_memory(a, INGOT_FLOAT32, 2, square, NULL, &inputs[0]) == 0);
    REQUIRE(api.ingot_tensor_from_memory(numbers, INGOT_INT64, 1, two, NULL, &inputs[1]) == 0);
    REQUIRE(api.ingot_tensor_from_memory(c, INGOT_FLOAT64, 1, four, NULL, &inputs[2]) == 0);
    REQUIRE(api.ingot_tensor_from_memory(&n, INGOT_INT64, 0, NULL, NULL, &inputs[3]) == 0);
    REQUIRE(api.AOTInductorModelContainerRun(container, inputs, 4, outputs, 4, NULL, NULL) == 0);
    REQUIRE(api.ingot_tensor_describe(outputs[3], &total) == 0 && api.ingot_tensor_describe(outputs[1], &positive) == 0);
    REQUIRE(*(int64_t*)total.data == (int64_t)50000 * 49999 / 2);
    REQUIRE(positive.sizes[0] == 1 && *(int64_t*)positive.data == 3);
    REQUIRE(a[0] == (float)(i + 1) && a[1] == (float)(i + 1));
    for (int k = 0; k < 4; k++) REQUIRE(api.ingot_tensor_delete(outputs[k]) == 0);
  }
  REQUIRE(api.AOTInductorModelContainerDelete(container) == 0);
  REQUIRE(dlclose(library) == 0);
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: plain AFFINE MANY [UPDATES]\n");
    return 2;
  }
  make_values();
  check_affine(argv[1]);
  check_many(argv[2]);
  void* library = load(argv[1]);
  check_callers(argc > 3 ? atoi(argv[3]) : 50);
  REQUIRE(dlclose(library) == 0);
  puts("ok");
  return 0;
}
