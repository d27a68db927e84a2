// What the readable text of a graph says about a value: "f32[3, s0]", "f32[3, s0][s0, 1]cpu",
// "Sym(s0)".
#pragma once
#include <string_view>

#include "expr/text.hpp"
#include "op/value.hpp"

namespace ingot {

// A tensor without bytes, or a symbolic number. Names that `symbols` lacks are added to it, with
// the ranges that ParseOptions::symbols tells. User error for anything else, and for sizes whose
// product would be a huge expression.
Value parse_annotation(std::string_view text, Names& symbols);

}  // namespace ingot
