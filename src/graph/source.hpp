// Where the program's author wrote a node: the stack traces that exported programs carry.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "graph/graph.hpp"

namespace ingot {

// One frame of a Python stack trace.
struct SourceFrame {
  std::string file, line, function, code;
};
// The innermost frame, which listings quote; nothing if the text has none.
std::optional<SourceFrame> innermost_frame(std::string_view stack_trace);
// A stack trace with this frame alone.
std::string to_stack_trace(const SourceFrame& f);

// The last line of a stack trace that is not inside an installed package, as file:line; empty if
// there is none.
std::string source_line(std::string_view stack_trace);
// The node that says where `n` was written: an item that says nothing stands where its list was
// made (itself perhaps an item, of a result that is a list).
const Node& source_of(const Node& n);
// " (node add_1, at model.py:12)", for messages.
std::string provenance(const Node& n);

}  // namespace ingot
