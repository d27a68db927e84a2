#include "model/host_op.hpp"

#include <dlfcn.h>

#include "model/error.hpp"
#include "model/host_op.h"

namespace ingot::model {
namespace {

template <class Function>
Function* in_process(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

void* allocate(void* run, int64_t bytes) { return ingot_rt_alloc(static_cast<ingot_frame*>(run), bytes); }
int32_t fail_run(void* run, const char* text) { return ingot_rt_fail(static_cast<ingot_frame*>(run), text); }

}  // namespace

bool check_host_ops() {
  const char* const* names = ingot_the_program.host_ops;
  if (!names) return true;
  auto* has_op = in_process<decltype(ingot_host_has_op)>("ingot_host_has_op");
  for (; *names; names++) {
    if (!has_op)
      return fail(
          "the model calls the operator %s, which was registered in the process that compiled it and has no code in this library: "
          "expected a process that links Ingot's runner and has registered it, found one without operators",
          *names);
    if (!has_op(*names))
      return fail(
          "the model calls the operator %s, which was registered in the process that compiled it and is not known to this one; "
          "register it (register_ops) before the model is loaded",
          *names);
  }
  return true;
}

}  // namespace ingot::model

using namespace ingot::model;

int32_t ingot_host_op_call(ingot_frame* frame, const char* call, const ingot_view* tensors, const int64_t* integers,
                           ingot_view* results, int32_t result_count) {
  auto* run_op = in_process<decltype(ingot_host_run_op)>("ingot_host_run_op");
  if (!run_op) return ingot_rt_fail(frame, "the process that the model was loaded into has no operators any more");
  const ingot_host_call c = {call, tensors, integers, results, result_count, frame, allocate, fail_run};
  return run_op(&c);
}
