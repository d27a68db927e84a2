/* A program in plain C whose process has a host out of the global scope, as Python has libtorch:
 * hidden_host HOST AFFINE. HOST is a library of any name; the model must find its functions and use
 * its tensors. Prints `ok`. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ingot/aoti_host.h"
#include "ingot/model.h"

#define REQUIRE(condition)                                            \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "hidden_host.c:%d: not so: %s\n", __LINE__, #condition); \
      exit(1);                                                        \
    }                                                                 \
  } while (0)

#define LOOK_UP(library, name)                    \
  __typeof__(&name) name##_ = NULL;               \
  *(void**)&name##_ = dlsym(library, #name);      \
  REQUIRE(name##_)

/* The program has an operator new and delete of its own, by which everything in the process makes
 * and frees memory (an allocator that is linked in, a sanitizer): what a model puts into a map of
 * its host is made by them too, or the host frees what it did not make. */
enum { kHeader = 16 }; /* before what is made here: who made it */
void* _Znwm(size_t bytes) {
  char* memory = malloc(bytes + kHeader);
  if (!memory) abort();
  strcpy(memory, "hidden_host.c");
  return memory + kHeader;
}
static int is_made_here(const void* memory) { return strcmp((const char*)memory - kHeader, "hidden_host.c") == 0; }
void _ZdlPv(void* memory) {
  if (!memory) return;
  REQUIRE(is_made_here(memory));
  free((char*)memory - kHeader);
}
void _ZdlPvm(void* memory, size_t bytes) {
  (void)bytes;
  _ZdlPv(memory);
}

/* std::unordered_map<std::string, AtenTensorHandle> of libstdc++. */
struct map {
  void** buckets;
  size_t bucket_count;
  struct node {
    struct node* next;
    char* name; /* `local` where it is short */
    size_t length;
    char local[16];
    AtenTensorHandle tensor;
    size_t hash;
  }* first;
  size_t size;
  float load;
  size_t next_resize;
  void* single_bucket;
};

/* As its destructor does: operator delete is given all that the model made. */
static void destroy(struct map* m) {
  for (struct node *n = m->first, *next; n; n = next) {
    next = n->next;
    if (n->name != n->local) _ZdlPv(n->name);
    _ZdlPv(n);
  }
  if (m->buckets != &m->single_bucket) _ZdlPv(m->buckets);
}

int main(int argc, char** argv) {
  REQUIRE(argc == 3);
  void* host = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  void* model = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
  REQUIRE(host && model);
  LOOK_UP(host, aoti_torch_get_dtype);
  LOOK_UP(host, aoti_torch_dtype_float32);
  LOOK_UP(model, ingot_tensor_is_own);
  LOOK_UP(model, ingot_tensor_from_memory);
  LOOK_UP(model, ingot_tensor_delete);
  LOOK_UP(model, AOTInductorModelContainerCreateWithDevice);
  LOOK_UP(model, AOTInductorModelContainerRun);
  LOOK_UP(model, AOTInductorModelContainerDelete);
  LOOK_UP(model, AOTInductorModelContainerExtractConstantsMap);
  REQUIRE(!ingot_tensor_is_own_());

  static float x[16];
  const int64_t sizes[2] = {1, 16};
  AOTInductorModelContainerHandle container = NULL;
  AtenTensorHandle input = NULL, outputs[2];
  int32_t dtype = -1;
  REQUIRE(ingot_tensor_from_memory_(x, INGOT_FLOAT32, 2, sizes, NULL, &input) == 0);
  REQUIRE(AOTInductorModelContainerCreateWithDevice_(&container, 1, "cpu", NULL) == 0);
  REQUIRE(AOTInductorModelContainerRun_(container, &input, 1, outputs, 2, NULL, NULL) == 0);
  REQUIRE(aoti_torch_get_dtype_(outputs[0], &dtype) == 0 && dtype == aoti_torch_dtype_float32_());
  REQUIRE(ingot_tensor_delete_(outputs[0]) == 0 && ingot_tensor_delete_(outputs[1]) == 0);

  struct map constants = {&constants.single_bucket, 1, NULL, 0, 1.0f, 0, NULL};
  REQUIRE(AOTInductorModelContainerExtractConstantsMap_(container, (AOTInductorConstantMapHandle)&constants, false) == 0);
  REQUIRE(constants.size > 0 && is_made_here(constants.first));
  destroy(&constants);
  REQUIRE(AOTInductorModelContainerDelete_(container) == 0);
  puts("ok");
  return 0;
}
