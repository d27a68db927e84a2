// What happens around a compiled graph in every call: writes to the caller's tensors, and outputs
// that are views of them (sections 10.2 and 11).
//
// Not the write-back of programs (program/write_back.hpp): here autograd may see a write, the
// argument may look otherwise after it, and views of the argument are taken again and not copied.
// Nor does a value have to be saved from the writes before it: functionalize makes every value that
// is written by an op, in memory of its own.
#pragma once
#include "aot/metadata.hpp"

namespace ingot::aot {

// `results`: what the graph returned, in the order (inputs that are written back, outputs,
// intermediate bases). Does to `arguments` what the function would have done, and returns what it
// would have returned (R135 to R138). `node` saved tensors for the backward; it may be none.
Values finish_call(const Metadata& meta, const Values& arguments, const Values& results, const Ref<GradNode>& node = {});

// R131: of the arguments those that finish_call asks for, None in the place of the others. The
// graph may let the others go.
Values needed_afterwards(const Metadata& meta, const Values& arguments);

}  // namespace ingot::aot
