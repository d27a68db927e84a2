// Programs as records that scripts/torch_programs.py runs in PyTorch, with what eager showed of
// them here.
#pragma once
#include <string>

#include "support/compare_functionalized.hpp"
#include "support/random_program.hpp"

namespace ingot::testing {

// One line of JSON: the program, how it was judged, and of every setting what a caller sees of an
// eager run.
std::string program_record(const Program& p, const Comparison& judged, bool gradients);
// A program whose last call eager refuses with these words.
std::string refusal_record(const Program& p, const std::string& refusal);

}  // namespace ingot::testing
