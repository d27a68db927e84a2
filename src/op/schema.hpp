// ATen schema strings: parsed, and printed back identically.
//   aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ingot/value.hpp"
#include "op/schema_type.hpp"

namespace ingot {

struct SchemaArg : SchemaArgText {
  Value default_value;      // the default as a value of the argument's type
};
struct Schema : SchemaOf<SchemaArg> {};

// User error with the position of the fault.
Schema parse_schema(std::string_view text);
std::string to_text(const Schema& s);

// Every ATen schema of the reference, embedded in the library: "schema<TAB>tags", one a line.
std::string_view aten_schema_table();
// The lines of the table whose op is called `name` (without overload), in table order: schema texts
// only. A plain name means aten's op, or where aten has none the one of another namespace;
// "prims::sum" names exactly that one.
std::vector<std::string_view> find_aten_schemas(std::string_view name);
// The tags of one "name.overload", where a namespace may be written as above; empty if unknown.
std::string_view aten_schema_tags(std::string_view qualified);

}  // namespace ingot
