// The door to files of programs, whatever their format.
#pragma once
#include <string>

#include "program/program.hpp"

namespace ingot {

// Reads the program called `model` (without a name: the file's own, or its only one). The file's
// first bytes say which format it has. User error that names what was found for a file of none, and
// those of the format's own reader (pt2/load.hpp).
Program load_program(const std::string& path, const std::string& model = {});

}  // namespace ingot
