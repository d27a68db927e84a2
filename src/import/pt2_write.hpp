// Exported programs as files that PyTorch and Ingot read.
#pragma once
#include <string>

#include "import/exported_program.hpp"

namespace ingot {

// The program's JSON, an archive's models/NAME.json. What the graph, the signature and the facts hold is written from
// them; how it is spelled (tags, which defaults are written out, texts of expressions) follows the file the program came
// from where there was one, so that an unchanged program is written as the same JSON value. A node or value without a
// spelling gets the reference's usual one.
std::string program_json(const ExportedProgram& p);

}  // namespace ingot
