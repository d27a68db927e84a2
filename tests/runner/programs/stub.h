/* What programs/stub.c saw, and what it is told. */
#ifndef INGOT_TESTS_RUNNER_STUB_H
#define INGOT_TESTS_RUNNER_STUB_H
#include <stdbool.h>
#include <stddef.h>

struct stub_record {
  char failing[96]; /* the function that fails; empty: none */
  size_t models, inputs;
  char device[32], cubin_dir[256], blob[4];
  bool has_cubin_dir, use_inactive, full_update;
  void *stream, *proxy, *input_data;
  int deleted;
};

#endif
