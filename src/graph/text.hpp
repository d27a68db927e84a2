// The text form of graphs, and back: parse_graph(print(g)) is g. The text is PyTorch FX's
// (docs/ir.md has the grammar).
#pragma once
#include <string>
#include <string_view>

#include "expr/text.hpp"
#include "graph/graph.hpp"

namespace ingot {

enum class GraphForm : uint8_t {
  plain,     // def forward(self, …): the nodes, and nothing else
  readable,  // class <lambda>(torch.nn.Module): with element types and sizes, source lines, and subgraphs as nested classes
  full,      // readable, and the strides and device of every tensor, and the roles of inputs and results
};

// Any graph prints; what does not verify (verify.hpp) may not read back. A node's attributes are
// named, not written out.
std::string print(const Graph& g, GraphForm form = GraphForm::plain);
// One argument as it stands in the text.
std::string print(const Argument& a);

struct ParseOptions {
  std::string file = "<graph>";  // in messages
  // What `self.name` means. Subgraphs written as classes in the text are taken from there, with the
  // attributes of the subgraph that stands here for theirs. A tensor that is not here but has an
  // annotation in the text becomes a tensor without bytes of that type, size and (where the text
  // has them) strides and device.
  const Attributes* attributes = nullptr;
  // Symbols of annotations. A name that is not here is a new symbol: u0, u1, … of any size, all
  // others at least 2.
  const Names* symbols = nullptr;
};

// Reads either form. The graph's attributes are those of the options, then what the text adds, in
// order. A node's `meta` is what its annotation says (contiguous where it has no strides), its
// stack trace the one frame of the comment above. An input is a tangent where its name or its
// annotation says so; the other roles are what annotations say (annotation.hpp). Operators Ingot
// does not know become unsupported nodes. User error with file, line, column, the lines around and
// what was expected for anything that is not such a text; also for arguments that do not fit the
// operator's schema, names that are used before their definition or after their release, lists or
// classes that nest deeper than kMaxGraphTextDepth.
Graph parse_graph(std::string_view text, const ParseOptions& options = {});
inline constexpr int kMaxGraphTextDepth = 64;

}  // namespace ingot
