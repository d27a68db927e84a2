/* Runs a compiled program on a machine that has nothing but libc: the test runs it under qemu for the foreign target.
 *   skeleton_runner LIBRARY SIZE INPUTS OUTPUTS FOLDER
 * Reads FOLDER/in0, in1, … and writes FOLDER/out0, out1, …, all raw elements. SIZE is the one open size. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef int (*Query)(const int64_t* sizes, int64_t* arena_bytes, int64_t* output_bytes, int64_t* output_sizes);
typedef int (*Run)(void** buffers, const int64_t* sizes, void* arena);

static void fail(const char* what) {
  fprintf(stderr, "skeleton_runner: %s\n", what);
  exit(1);
}

static void* allocate(int64_t bytes) {
  void* p = aligned_alloc(64, ((size_t)bytes + 127) / 64 * 64);
  if (!p) fail("out of memory");
  return p;
}

static FILE* open_file(const char* folder, const char* kind, int k, const char* mode) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s%d", folder, kind, k);
  FILE* f = fopen(path, mode);
  if (!f) fail(path);
  return f;
}

static void* read_input(const char* folder, int k) {
  FILE* f = open_file(folder, "in", k, "rb");
  fseek(f, 0, SEEK_END);
  const long bytes = ftell(f);
  rewind(f);
  void* p = allocate(bytes);
  if (fread(p, 1, (size_t)bytes, f) != (size_t)bytes) fail("cannot read an input");
  fclose(f);
  return p;
}

int main(int argc, char** argv) {
  enum { kMost = 16 };
  void* buffers[2 * kMost];
  int64_t arena_bytes, output_bytes[kMost], output_sizes[8 * kMost];
  if (argc != 6) fail("expected LIBRARY SIZE INPUTS OUTPUTS FOLDER");
  const int64_t size = atoll(argv[2]);
  const int inputs = atoi(argv[3]), outputs = atoi(argv[4]);
  const char* folder = argv[5];
  if (inputs > kMost || outputs > kMost) fail("too many buffers");

  void* library = dlopen(argv[1], RTLD_NOW);
  if (!library) fail(dlerror());
  const Query query = (Query)dlsym(library, "ingot_query");
  const Run run = (Run)dlsym(library, "ingot_run");
  if (!query || !run) fail("the library has no ingot_query or no ingot_run");
  if (query(&size, &arena_bytes, output_bytes, output_sizes)) return 2;

  for (int k = 0; k < inputs; k++) buffers[k] = read_input(folder, k);
  for (int k = 0; k < outputs; k++) buffers[inputs + k] = allocate(output_bytes[k]);
  if (run(buffers, &size, allocate(arena_bytes))) return 2;
  for (int k = 0; k < outputs; k++) {
    FILE* f = open_file(folder, "out", k, "wb");
    if (fwrite(buffers[inputs + k], 1, (size_t)output_bytes[k], f) != (size_t)output_bytes[k]) fail("cannot write an output");
    fclose(f);
  }
  return 0;
}
