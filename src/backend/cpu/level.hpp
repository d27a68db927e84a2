// What a processor must have to run code for a target.
#pragma once
#include "codegen/model.hpp"

namespace ingot::cpu {

// The target's level without its programs. A library has several, and picks one when it is loaded
// (src/model/cpu.h).
Model::Level level_for(const Target& target);

}  // namespace ingot::cpu
