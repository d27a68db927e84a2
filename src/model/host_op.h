/* Ops that a model library has no code for and its process must have: somebody registered them
 * there (register_ops of op/op.hpp), with a kernel that only that process can run. The library
 * looks these functions up by name when it is loaded (host_op.cpp); a program that links Ingot's
 * runner exports them (src/host/torch/host_op.cpp). */
#ifndef INGOT_MODEL_HOST_OP_H
#define INGOT_MODEL_HOST_OP_H
#include "model/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One call, as ingot_host_op_call was given it. `allocate` gives memory until the end of the run,
 * or null; `fail` keeps the text of a failure and returns 1. Both take `run`. */
typedef struct ingot_host_call {
  const char* call;
  const ingot_view* tensors;
  const int64_t* integers;
  ingot_view* results;
  int32_t result_count;
  void* run;
  void* (*allocate)(void* run, int64_t bytes);
  int32_t (*fail)(void* run, const char* text);
} ingot_host_call;

/* Has the process an op of this name ("mine::blend.default" without ".default")? 1 or 0. */
int32_t ingot_host_has_op(const char* name);
/* Runs it: 0, or what `fail` returned. */
int32_t ingot_host_run_op(const ingot_host_call* call);

#ifdef __cplusplus
}
#endif
#endif
