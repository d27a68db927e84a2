// The Argument union of exported programs: constants, names of values, and lists of both.
#pragma once
#include "graph/graph.hpp"
#include "io/json.hpp"
#include "format/pt2/spelling.hpp"

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

// The argument, in the form the parameter's type wants: ints for a float list become floats, an
// empty list is a list of the right kind. Without a type it stays as written. An operator is its
// name ("aten::add.Tensor"), a map the list of what its keys stand for. User error for a tag the
// format does not have.
Argument read_argument(const Json& j, const SchemaType* type, ArgumentScope& scope, SpelledArgument& spelled);

// Whether a parameter of this type may be written as this tag. The tag comes from the exporter's
// value and not from the schema, so numbers stand for tensors, ints for floats, and an empty list
// for any list.
bool tag_fits(const SpelledArgument& spelled, const Argument& argument, const SchemaType& type);

// The name a value-defining argument (graph input or node output) defines; empty for a constant or
// None.
std::string defined_name(const Json& j);

}  // namespace ingot
