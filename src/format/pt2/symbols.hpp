// The symbols of an exported program (sizes that its inputs, or its data, decide) and the texts of
// numbers over them.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "format/pt2/sym_expression.hpp"
#include "ingot/value.hpp"
#include "io/json.hpp"
#include "program/input_check.hpp"

namespace ingot {

// A number as a file has it: plain, or the text of an expression with the value it had at export.
struct SpelledNumber {
  std::string expression;  // empty: plain
  Value hint;              // None: not known at export
};

class Pt2Symbols final : public SymScope {
 public:
  // Declared ranges by symbol. Keys of range_constraints that are no symbols say nothing new.
  std::map<std::string, SymbolRange> ranges;

  // Reads range_constraints.
  void read_ranges(const Json& constraints);

  // The i64 symbol s77 or u0 in its range, or the f64 one zf1, zuf0. A smallest size of 2 says only
  // that the exporter did not look at 0 and 1: such a symbol starts at 0. User error for other
  // names.
  Expr symbol(std::string_view name) override;

  // A SymInt of the value `name`: as_int or as_expr. `spelled` gets the text. User error for an
  // expression that cannot be read; where it is `only_descriptive`, nothing, and a warning.
  std::optional<Int> read_int(const Json& sym_int, std::string_view name, bool only_descriptive, SpelledNumber& spelled);
  // The same for a SymFloat or SymBool. They are never needed: their nodes compute them. A plain
  // one is a value.
  Value read_scalar(const Json& scalar, std::string_view name, SpelledNumber& spelled);

  // What the reader could not make use of.
  std::vector<std::string> warnings;

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  // Texts already read, as numbers and as scalars: what they say, or what is wrong with them.
  struct Known {
    std::optional<Int> number;
    std::string problem;
  };
  using Texts = std::unordered_map<std::string, Known, TextHash, std::equal_to<>>;
  Texts numbers_, scalars_;

  template <class F>
  const Known& known(Texts& texts, const std::string& expression, F&& parse);
};

// Whether a name is that of a backed integer symbol (s77): one that the inputs decide.
bool is_backed_symbol(std::string_view name);

}  // namespace ingot
