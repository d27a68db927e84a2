// Objects as they are before a program is linked with them. For this folder.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "codegen/emit.hpp"

namespace ingot {

// The relocatable object with new names for those of its symbols that `shown` has; all others that
// it defines are local. Without `keeps_locals` their names are left out where nothing needs them.
std::string with_names(std::string_view object, const std::map<std::string, std::string>& shown, bool keeps_locals);

// An archive with an index, as compilers take it; the same bytes for the same object.
std::string archive_of(const Object& object);

}  // namespace ingot
