// Graphs that were made elsewhere, recorded once more as what can be lowered: over values alone, by
// ops that do not come apart.
#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "graph/trace.hpp"

namespace ingot {

// Inputs to trace a graph on, one for each of its placeholders: tensors without bytes, with the
// sizes that stay open.
class Examples {
 public:
  // `env`: where the symbols are from, if data decides some of them.
  explicit Examples(ShapeEnv* env = nullptr) : env_(env) {}

  Values values;
  std::vector<OpenSize> open;
  std::vector<bool> lies_otherwise;  // by value: row-major in the place of strides that a library could not lay out
  bool any_lies_otherwise() const { return std::ranges::find(lies_otherwise, true) != lies_otherwise.end(); }

  // For a placeholder that looks like `meta`. `hints` has every symbol of it.
  void add(const Value& meta, const SymbolValues& hints);
  // Numbers that are expressions of symbols (2*s0) are derived from them, which must be open by
  // themselves, too. Where they are not, no caller of the compiled program says what they are: from
  // now on such a number has a name of its own. Returns what has.
  std::map<std::string, Expr> name_underived();

 private:
  ShapeEnv* env_;
  std::vector<Expr> numbers_;  // one for each of `open`

  Geometry known(Geometry g) const;
};

// Adds the symbols of a tensor's sizes, or of an integer, by name.
void add_symbols(const Value& meta, std::map<std::string, Expr>& symbols);

// The function without composites, views' writes and in-place ops; what it writes to its arguments
// is written at the end.
Traced trace_functional(const std::function<Values(const Values&)>& f, Examples examples);
// The same over values that are there already, whose symbols are those of `sizes`.
Graph record_functional(const std::function<Values(const Values&)>& f, const Values& fakes, ShapeEnv& sizes);

}  // namespace ingot
