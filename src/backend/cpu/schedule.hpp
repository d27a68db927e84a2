// Loop programs for a processor with vectors.
#pragma once
#include "codegen/target.hpp"
#include "loop/program.hpp"

namespace ingot::cpu {

// loop/schedule.hpp says what it requires and ensures.
void schedule(loop::Program& p, const Target& target);

}  // namespace ingot::cpu
