// What the readable text of a graph says about a value: "f32[3, s0]", "f32[3, s0][s0, 1]cpu",
// "Sym(s0)". Of an input whose name does not tell whether it is a tangent texts of any form say
// that as well: "tangent f32[3]", "value". The full form has every role, of results too: "saved
// f32[3]".
#pragma once
#include <optional>
#include <string_view>

#include "expr/text.hpp"
#include "graph/graph.hpp"

namespace ingot {

// A tensor without bytes, or a symbolic number. Names that `symbols` lacks are added to it, with
// the ranges that ParseOptions::symbols tells. User error for anything else, and for sizes whose
// product would be a huge expression.
Value parse_annotation(std::string_view text, Names& symbols);

// What listings say by an input's name: tangents_1, … are tangents.
Role role_of_name(std::string_view name);
// What is left of the role in the forms that are FX's: whether an input is a tangent.
Role told_by_fx(Role role);
std::string_view word_of(Role role);
// Takes the role that the annotation begins with off it; none where it does not begin with one of
// an input, or of any other node.
std::optional<Role> take_role(std::string_view& annotation, bool of_input);

}  // namespace ingot
