// The threads of the process: eager ops, the compiler and compiled models share them.
#pragma once
#include "base/thread_pool.hpp"
#include "ingot/abi.h"

namespace ingot {

// Made when it is first asked for. Its threads end when the process does, or the library that this
// code is in is unloaded.
ThreadPool& process_pool();
// The same as model libraries take it.
const ingot_thread_pool& shared_process_pool();

}  // namespace ingot
