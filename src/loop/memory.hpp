// Where buffers live: one arena a run, in which buffers that are never alive together share bytes.
#pragma once
#include "loop/program.hpp"

namespace ingot::loop {

// Gives every arena buffer its offset and the program its arena_bytes, both expressions of the
// symbols. A buffer's bytes are free again only after the step that reads it last, so no step ever
// writes what it reads. Buffers whose sizes a step decides get memory of their own (Place::lent).
void plan_memory(Program& p);

}  // namespace ingot::loop
