/* Runs a compiled model on a machine that has nothing but libc: plain C, the functions looked up in
 * the library.
 *   model_runner LIBRARY FOLDER
 * Reads FOLDER/in0, in1, …: the memory of each input, beside it a text file in0.shape with `dtype
 * rank`, sizes and strides; and `draw`, where there is one: seed and offset of the random stream.
 * Writes out0, out1, … row-major with their shapes, the inputs as they are after the run, `draw`,
 * `level0` (of the processor, the code for which ran), and for each buffer constant0, its shape,
 * and constant0.name.
 * Exit status: 0 done, 2 the model refused the inputs and said why, 1 anything else. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ingot/model.h"

enum { kMost = 16, kMaxRank = 16 };

static void fail(const char* what) {
  fprintf(stderr, "model_runner: %s\n", what);
  exit(1);
}

static void* function(void* library, const char* name) {
  void* f = dlsym(library, name);
  if (!f) fail(name);
  return f;
}
/* ISO C has no cast from an object's address to a function's; POSIX does. */
#define GET(name) \
  __typeof__(&name) name##_ = NULL; \
  *(void**)&name##_ = function(library, #name)

static FILE* open_file(const char* folder, const char* kind, size_t k, const char* suffix, const char* mode) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s%zu%s", folder, kind, k, suffix);
  FILE* f = fopen(path, mode);
  if (!f) fail(path);
  return f;
}

struct input {
  int dtype, rank;
  int64_t sizes[kMaxRank], strides[kMaxRank];
  void* data;
  size_t bytes;
};

static struct input read_input(const char* folder, size_t k) {
  struct input in = {0};
  FILE* f = open_file(folder, "in", k, ".shape", "r");
  if (fscanf(f, "%d %d", &in.dtype, &in.rank) != 2 || in.rank < 0 || in.rank > kMaxRank) fail("cannot read a shape");
  for (int d = 0; d < 2 * in.rank; d++) {
    long long number;
    if (fscanf(f, "%lld", &number) != 1) fail("cannot read a size or stride");
    if (d < in.rank) in.sizes[d] = number;
    else in.strides[d - in.rank] = number;
  }
  fclose(f);
  f = open_file(folder, "in", k, "", "rb");
  fseek(f, 0, SEEK_END);
  in.bytes = (size_t)ftell(f);
  rewind(f);
  in.data = malloc(in.bytes + 1);
  if (!in.data || fread(in.data, 1, in.bytes, f) != in.bytes) fail("cannot read an input");
  fclose(f);
  return in;
}

static size_t item_size(int dtype) {
  switch (dtype) {
    case INGOT_BOOL: case INGOT_UINT8: case INGOT_INT8: case INGOT_FLOAT8_E4M3FN: case INGOT_FLOAT8_E5M2: return 1;
    case INGOT_FLOAT16: case INGOT_BFLOAT16: case INGOT_INT16: case INGOT_UINT16: return 2;
    case INGOT_FLOAT32: case INGOT_INT32: case INGOT_UINT32: return 4;
    case INGOT_FLOAT64: case INGOT_INT64: case INGOT_UINT64: case INGOT_COMPLEX64: return 8;
    case INGOT_COMPLEX128: return 16;
    default: fail("an output of a dtype that this program does not know"); return 0;
  }
}

static void write_tensor(const char* folder, const char* kind, size_t k, const ingot_tensor_info* t) {
  FILE* f = open_file(folder, kind, k, ".shape", "w");
  fprintf(f, "%d %d", (int)t->dtype, (int)t->rank);
  int64_t count = 1, index[kMaxRank] = {0};
  if (t->rank > kMaxRank) fail("an output of too many dimensions");
  for (int d = 0; d < t->rank; d++) {
    fprintf(f, " %lld", (long long)t->sizes[d]);
    count *= t->sizes[d];
  }
  fclose(f);
  f = open_file(folder, kind, k, "", "wb");
  const size_t size = item_size(t->dtype);
  for (int64_t i = 0; i < count; i++) {
    int64_t at = 0;
    for (int d = 0; d < t->rank; d++) at += index[d] * t->strides[d];
    if (fwrite((const char*)t->data + at * (int64_t)size, size, 1, f) != 1) fail("cannot write an output");
    for (int d = t->rank; d-- > 0 && ++index[d] == t->sizes[d];) index[d] = 0;
  }
  fclose(f);
}

int main(int argc, char** argv) {
  if (argc != 3) fail("expected LIBRARY FOLDER");
  const char* folder = argv[2];
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) fail(dlerror());
  GET(AOTInductorModelContainerCreateWithDevice);
  GET(AOTInductorModelContainerDelete);
  GET(AOTInductorModelContainerRun);
  GET(AOTInductorModelContainerGetNumInputs);
  GET(AOTInductorModelContainerGetNumOutputs);
  GET(ingot_last_error);
  GET(ingot_tensor_from_memory);
  GET(ingot_tensor_describe);
  GET(ingot_tensor_delete);
  GET(ingot_tensor_is_own);
  GET(ingot_model_level_used);
  GET(ingot_container_set_draw);
  GET(ingot_container_get_draw);
  GET(ingot_container_constant);
  GET(AOTInductorModelContainerGetNumConstants);
  GET(AOTInductorModelContainerGetConstantName);
  GET(AOTInductorModelContainerGetConstantOriginalFQN);
  GET(AOTInductorModelContainerGetConstantType);
  if (!ingot_tensor_is_own_()) fail("this program has no tensors, yet the library found some");

  AOTInductorModelContainerHandle container = NULL;
  if (AOTInductorModelContainerCreateWithDevice_(&container, 1, "cpu", NULL)) fail(ingot_last_error_());
  const char* level = NULL;
  if (ingot_model_level_used_(&level)) fail(ingot_last_error_());
  FILE* level_file = open_file(folder, "level", 0, "", "w");
  fputs(level, level_file);
  fclose(level_file);
  size_t inputs = 0, outputs = 0;
  AOTInductorModelContainerGetNumInputs_(container, &inputs);
  AOTInductorModelContainerGetNumOutputs_(container, &outputs);
  if (inputs > kMost || outputs > kMost) fail("too many inputs or outputs");

  struct input given[kMost];
  AtenTensorHandle in[kMost], out[kMost];
  for (size_t k = 0; k < inputs; k++) {
    given[k] = read_input(folder, k);
    if (ingot_tensor_from_memory_(given[k].data, given[k].dtype, given[k].rank, given[k].sizes, given[k].strides, &in[k])) fail(ingot_last_error_());
  }
  char draw_path[4096];
  snprintf(draw_path, sizeof draw_path, "%s/draw", folder);
  unsigned long long seed = 0, offset = 0;
  FILE* draw = fopen(draw_path, "r");
  if (draw) {
    if (fscanf(draw, "%llu %llu", &seed, &offset) != 2) fail("cannot read the draw");
    fclose(draw);
    ingot_container_set_draw_(container, seed, offset);
  }
  if (AOTInductorModelContainerRun_(container, in, inputs, out, outputs, NULL, NULL)) return 2; /* the library has said why */
  for (size_t k = 0; k < outputs; k++) {
    ingot_tensor_info info;
    if (ingot_tensor_describe_(out[k], &info)) fail(ingot_last_error_());
    write_tensor(folder, "out", k, &info);
    ingot_tensor_delete_(out[k]);
  }
  for (size_t k = 0; k < inputs; k++) {
    FILE* f = open_file(folder, "in", k, "", "wb");
    if (fwrite(given[k].data, 1, given[k].bytes, f) != given[k].bytes) fail("cannot write an input back");
    fclose(f);
    free(given[k].data);
  }
  size_t constants = 0, buffers = 0;
  AOTInductorModelContainerGetNumConstants_(container, &constants);
  for (size_t k = 0; k < constants; k++) {
    const char *name = NULL, *fqn = NULL;
    int32_t type = 0;
    AtenTensorHandle tensor = NULL;
    ingot_tensor_info info;
    AOTInductorModelContainerGetConstantType_(container, k, &type);
    if (type != 2 || AOTInductorModelContainerGetConstantName_(container, k, &name)) continue;
    AOTInductorModelContainerGetConstantOriginalFQN_(container, k, &fqn);
    if (ingot_container_constant_(container, name, false, &tensor) || ingot_tensor_describe_(tensor, &info)) fail(ingot_last_error_());
    write_tensor(folder, "constant", buffers, &info);
    FILE* f = open_file(folder, "constant", buffers++, ".name", "w");
    fprintf(f, "%s\n", fqn);
    fclose(f);
  }
  draw = fopen(draw_path, "w");
  if (!draw) fail(draw_path);
  uint64_t next_seed = 0, next_offset = 0;
  ingot_container_get_draw_(container, &next_seed, &next_offset);
  fprintf(draw, "%llu %llu\n", (unsigned long long)next_seed, (unsigned long long)next_offset);
  fclose(draw);
  if (AOTInductorModelContainerDelete_(container)) fail(ingot_last_error_());
  return 0;
}
