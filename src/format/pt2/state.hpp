// The weights and constants of an exported program (section 2 of the format's description).
#pragma once
#include <map>
#include <string>

#include "format/pt2/archive.hpp"
#include "program/program.hpp"

namespace ingot {

// Every weight and constant of the program. Names that share a payload share its storage, which is
// the file's own bytes where they are aligned; writing to it is private to the process. A payload
// that is absent or empty, and a custom object, leave the tensor undefined. User error naming entry
// and place for payloads that do not fit what is said about them.
std::map<std::string, StateEntry> read_all_state(const Pt2Archive& a, const std::string& model);

}  // namespace ingot
