// Defaults of schema arguments as values.
#pragma once
#include "op/schema_cursor.hpp"
#include "op/schema_type.hpp"
#include "ingot/value.hpp"

namespace ingot {

// Reads the default of an argument of this type, from just behind its '='.
Value parse_schema_default(SchemaCursor& cursor, const SchemaType& type);

}  // namespace ingot
