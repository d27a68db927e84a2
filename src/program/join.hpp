// Several programs as one: a library of them all has one set of constants.
#pragma once
#include <vector>

#include "program/program.hpp"

namespace ingot {

// A program with the entry points of all, in order, under the names that they have (compile refuses
// two of one name), over one state. Parameters and buffers of one name are one: the first
// program's, or where that one leaves the bytes out, another's. What exporters count (tensors that
// a program brought along) is one where it is the same, else the later one is called after its
// entry point. User error where programs disagree about a parameter or a buffer, and for no
// programs.
Program join(std::vector<Program> programs);

}  // namespace ingot
