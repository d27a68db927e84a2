// Loop program to object code.
#pragma once
#include "codegen/emit.hpp"
#include "loop/program.hpp"

namespace ingot {

// One object with a function for each step, scalar loops, and three exported functions. They are the walking skeleton's
// interface and go when the model's C ABI comes:
//
//   int ingot_check(const int64_t* sizes);
//       0, or 1 where a symbol is out of its range or a guard does not hold.
//   int ingot_query(const int64_t* sizes, int64_t* arena_bytes, int64_t* output_bytes, int64_t* output_sizes);
//       What a run with these sizes needs: bytes of the arena, bytes of each output, all sizes of all outputs in order.
//   int ingot_run(void** buffers, const int64_t* sizes, void* arena);
//       Buffers: inputs, then outputs, in order. The arena is 64-byte aligned.
//
// `sizes` has the value of each of the program's symbols, in order. Query and run return what check does, and do nothing
// unless that is 0.
Object generate(const loop::Program& program, const Target& target);

}  // namespace ingot
