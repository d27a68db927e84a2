// Threads that a program gives, checked: by the runtime that hands them on, and by the model
// libraries that use them. Needs libc alone.
#pragma once
#include <stdio.h>

#include "base/sized_structure.hpp"
#include "ingot/abi.h"

namespace ingot {

// The pool as this version knows it. False where it is none, and `why` says so; `pool` is undefined
// then.
template <size_t N>
bool read_pool(const ingot_thread_pool& given, ingot_thread_pool* pool, char (&why)[N]) {
  *pool = {};
  const StructureFault fault = copy_structure(given, offsetof(ingot_thread_pool, begin), pool);
  if (fault.kind == StructureFault::size) {
    snprintf(why, N, "ingot_thread_pool: size: expected sizeof(ingot_thread_pool), which is %zu, found %zu", sizeof *pool,
             fault.at);
  } else if (fault.kind == StructureFault::unknown_field) {
    snprintf(
        why, N,
        "ingot_thread_pool: a field at byte %zu is set, of a later ingot/abi.h than that of this library, which knows the first "
        "%zu bytes",
        fault.at, sizeof *pool);
  } else if (!pool->parallel_for) {
    snprintf(why, N, "ingot_thread_pool: parallel_for: expected a function, found null");
  } else if (!pool->begin != !pool->end) {
    snprintf(why, N, "ingot_thread_pool: begin and end: expected both or neither, found %s alone", pool->begin ? "begin" : "end");
  } else {
    return true;
  }
  return false;
}

}  // namespace ingot
