// What the inputs and outputs of an exported program stand for (section 11 of the format's description).
#pragma once
#include "format/pt2/exported_program.hpp"
#include "format/pt2/graph.hpp"

namespace ingot {

// Fills p.inputs and p.outputs for p.graph, which `g` was read with. p.state must be there: names are looked up in it.
void read_signature(const Json& signature, const ReadGraph& g, ExportedProgram& p);

}  // namespace ingot
