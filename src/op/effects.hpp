// Ops that are called for what they do beside their results: their calls happen in the order in which the program makes them, whatever
// else a compiler exchanges. Graphs say so by tokens (R168).
#pragma once
#include "op/op.hpp"

namespace ingot {

// By qualified name: "aten::_print". Families say so of theirs, users of their own ops.
void set_ordered_effect(std::string_view op);
bool has_ordered_effect(const Op& op);

}  // namespace ingot
