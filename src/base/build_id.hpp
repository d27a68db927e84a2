// Which build of Ingot is running.
#pragma once
#include <string>

namespace ingot {

// The linker's digest of the program or library that this code is part of, in hexadecimal digits;
// empty where it was linked without.
std::string build_id();

}  // namespace ingot
