// What an exported program demands of its inputs: dtypes, ranks, sizes that bind symbols or must agree with them, ranges
// and guards (sections 9.3 and 9.4 of the format's description). Decided before anything is computed.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "expr/evaluate.hpp"
#include "format/pt2/symbols.hpp"

namespace ingot {

class InputCheck {
 public:
  struct Input {
    std::string path;  // "d['k'][0]"
    Value meta;        // a fake tensor or a number; None: anything goes
  };
  InputCheck() = default;
  // A guard that cannot be read is left out with a warning.
  InputCheck(std::vector<Input> inputs, std::map<std::string, SymbolRange> ranges, const std::vector<std::string>& guards,
             std::vector<std::string>& warnings);

  // One value for each input; returns what the inputs make of the symbols. User error for the first that does not fit.
  SymbolValues check(Args given) const;

 private:
  // A fact about an input that guards name by a symbol of their own.
  struct Fact {
    std::size_t input;
    std::string kind;  // "size", "stride", "storage_offset"; empty: the number itself
    int64_t dim;
  };
  struct Condition {
    std::string shown;
    Expr holds;
    std::map<std::string, Fact> facts;  // by symbol
  };
  class GuardScope;

  std::vector<Input> inputs_;
  std::map<std::string, SymbolRange> ranges_;
  std::vector<Condition> guards_;

  class Binding;
  void check_kind(const Input& input, const Value& v) const;
  void check_guards(Args given) const;
};

}  // namespace ingot
