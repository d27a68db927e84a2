// What the inputs and outputs of an exported program stand for (section 11 of the format's
// description).
#pragma once
#include "format/pt2/graph.hpp"
#include "format/pt2/program.hpp"

namespace ingot {

// Fills inputs and outputs of the entry point, whose graph `g` was read with. The state must be
// there: names are looked up in it.
void read_signature(const Json& signature, const ReadGraph& g, Pt2Program& p);

}  // namespace ingot
