// What nobody uses and has no side effect goes (G09), as a pass.
#pragma once
#include "graph/dead_code.hpp"
#include "pass/pass.hpp"

namespace ingot {

inline Pass dead_code_pass() { return {"dead_code", without_dead_code}; }

}  // namespace ingot
