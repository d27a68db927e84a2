// What a library says of how it was made, for those who find one: the same program, version and
// options give the same words.
#pragma once
#include <string>

#include "compiler/pipeline.hpp"

namespace ingot {

// The lines of the library's note (base/library_note.hpp). `weights`: the checksum of the file
// beside it; empty: it has none.
std::string maker_lines(const CompileOptions& options, const std::string& weights);

}  // namespace ingot
