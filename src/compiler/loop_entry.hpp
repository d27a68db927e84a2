// A loop program that somebody wrote, or a stage printed, as an entry point of a library.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "codegen/target.hpp"
#include "compiler/describe.hpp"

namespace ingot {

// What its inputs, outputs and constants are called: as their buffers are. Of a constant that
// `tensors` does not have, nothing is known but its type and sizes. User error for a tensor that is
// no constant of the program, or of another type or size.
ProgramNames names_of(const loop::Program& program, const std::map<std::string, Tensor>& tensors);
// `names` must outlive it.
LoweredEntry entry_of(const loop::Program& program, const ProgramNames& names);

// User error for a product that a target's backend has no code for: a program that was scheduled
// for another machine, or by hand.
void require_microkernels(const loop::Program& program, const std::vector<Target>& targets);

}  // namespace ingot
