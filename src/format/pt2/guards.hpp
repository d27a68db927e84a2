// The guards of an exported program, which are Python (section 9.4 of the format's description).
#pragma once
#include <string>
#include <vector>

#include "program/entry_point.hpp"

namespace ingot {

// Reads them as conditions of the entry point, whose inputs must be there: guards name them. One
// that cannot be read is left out with a warning.
void read_guards(const std::vector<std::string>& guards, EntryPoint& entry, std::vector<std::string>& warnings);

}  // namespace ingot
