// Writes exported programs in the layout of torch.export.save (P203 of the format's description).
#pragma once
#include <string>
#include <string_view>

#include "import/exported_program.hpp"

namespace ingot {

// Writes the program, whose JSON is `program_json`, with its weights and constants: stored entries at multiples of 64 bytes,
// which readers can map in place. Names that share a storage share its payload; a name without a tensor is written
// without a payload, as in archives whose weights were left out. The same program gives the same bytes, and the file
// appears whole or not at all. User error for a tensor that has no bytes here or a dtype the format does not have.
void save_pt2(const std::string& path, const ExportedProgram& program, std::string_view program_json);

}  // namespace ingot
