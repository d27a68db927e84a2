// Weights that golden zoo models leave out of their files: pure functions of their names, the same on every machine.
#pragma once
#include <string>

#include "import/exported_program.hpp"

namespace ingot {

// `sizes` float32 values around `offset`, at most `scale` away.
Tensor zoo_weight(std::string_view name, float offset, float scale, const Shape& sizes);

// Gives every weight that weights.json describes, and the program lacks, to the program.
void supply_zoo_weights(ExportedProgram& p, const std::string& weights_json);

}  // namespace ingot
