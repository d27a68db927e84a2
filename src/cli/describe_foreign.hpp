// What a library for another machine says about itself, read from its file.
#pragma once
#include <string>

#include "cli/library_description.hpp"

namespace ingot {

// Of a library that Ingot did not make, only that.
LibraryDescription describe_foreign(const std::string& path);

}  // namespace ingot
