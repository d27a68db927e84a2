// The numbers that open sizes had at export (P091 of the format's description).
#pragma once
#include "expr/evaluate.hpp"
#include "format/pt2/spelling.hpp"

namespace ingot {

// By symbol, as far as the hints that the file has for sizes and integers of the graph tell.
SymbolValues read_hints(const Graph& graph, const SpelledGraph& spelled);

}  // namespace ingot
