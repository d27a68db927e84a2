// The Argument union of exported programs: constants, names of values, and lists of both.
#pragma once
#include "graph/graph.hpp"
#include "import/json.hpp"

namespace ingot {

// What arguments refer to. `where` is the JSON that does, for the message.
class ArgumentScope {
 public:
  virtual Node* value(const std::string& name, const Json& where) = 0;
  // The node that fetches a subgraph written in place: {"name": …, "graph": …}.
  virtual Node* subgraph(const Json& graph) = 0;

 protected:
  ~ArgumentScope() = default;
};

// The argument, in the form the parameter's type wants: ints for a float list become floats, an empty list is a list of
// the right kind. Without a type it stays as written. User error for a tag the format does not have.
Argument read_argument(const Json& j, const SchemaType* type, ArgumentScope& scope);

// The name a value-defining argument (graph input or node output) defines; empty for a constant or None.
std::string defined_name(const Json& j);

// Operators, maps and custom objects are no values: only operators that Ingot does not have take them.
bool is_opaque(const Json& j);

}  // namespace ingot
