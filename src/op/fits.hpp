// What may stand where a schema says a type: asked of the values of a call, and of the arguments of
// a graph's nodes.
#pragma once
#include <string>

#include "op/schema.hpp"

namespace ingot {

// Whether a value may stand where the schema says `t`. Numbers may stand for tensors, ints for
// floats and scalars.
bool fits(const SchemaType& t, const Value& v);
// One number may stand for a list of them: int[2] given 3. `call` spreads it out.
bool widens(const SchemaType& t, const Value& v);
// The type of a list's elements.
SchemaType element_type(const SchemaType& list);
// An empty list of the kind the type wants; without a type, of integers.
Value empty_list(const SchemaType* type);

std::string type_text(SchemaArg a);  // "int[2]"

}  // namespace ingot
