// Arguments in the text of a graph: constants, names of values, and lists of both.
#pragma once
#include "graph/graph.hpp"
#include "op/text_cursor.hpp"

namespace ingot {

// What the names in arguments stand for.
class TextScope {
 public:
  // The node of this name, which stands at `at`; a user error where there is none.
  virtual Node* value(const std::string& name, std::size_t at) = 0;

 protected:
  ~TextScope() = default;
};

// The argument that begins here. `type`: what the schema says, where there is one; an empty list
// takes its kind from it.
Argument parse_argument(TextCursor& in, const SchemaType* type, TextScope& scope);

}  // namespace ingot
