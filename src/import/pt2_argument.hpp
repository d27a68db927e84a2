// The Argument union of exported programs: constants, names of values, and lists of both.
#pragma once
#include <functional>

#include "graph/graph.hpp"
#include "import/json.hpp"

namespace ingot {

// Finds the node of a name; `where` is the JSON that uses it, for the message.
using NameLookup = std::function<Node*(const std::string& name, const Json& where)>;

// The argument, in the form the parameter's type wants: ints for a float list become floats, an empty list is a list of
// the right kind. Without a type it stays as written. User error for a tag the format does not have.
Argument read_argument(const Json& j, const SchemaType* type, const NameLookup& lookup);

// The name a value-defining argument (graph input or node output) defines; empty for a constant or None.
std::string defined_name(const Json& j);

// Subgraphs, operators and custom objects are no values: only operators that Ingot does not have take them.
bool is_opaque(const Json& j);

}  // namespace ingot
