// The text of TreeSpecs: of files of exported programs (section 12 of docs/spec/pt2_format.md), and
// the call spec of libraries.
#pragma once
#include "graph/tree.hpp"
#include "io/json.hpp"

namespace ingot {

// Names of the fields of namedtuples, by registered type name.
using NamedTupleFields = std::vector<std::pair<std::string, std::vector<std::string>>>;

// Reads the text of in_spec or out_spec, a two-element array [1, tree]. `where` is the field that
// holds it, for messages.
TreeSpec read_tree_spec(const Json& where, const NamedTupleFields& fields);
// The text again.
std::string tree_spec_text(const TreeSpec& spec);

}  // namespace ingot
