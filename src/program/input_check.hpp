// What a program demands of its inputs: dtypes, ranks, sizes that bind symbols or must agree with
// them, ranges and conditions (sections 9.3 and 9.4 of docs/spec/pt2_format.md). Decided before
// anything is computed.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "expr/evaluate.hpp"
#include "ingot/value.hpp"

namespace ingot {

// What a program declares about a symbol; an end that is not there is not bounded.
struct SymbolRange {
  std::optional<int64_t> min, max;
};

// A number that an input has.
struct InputFact {
  enum class Kind : uint8_t { value, size, stride, storage_offset };
  std::size_t input = 0;  // which of those that the caller gives, constants left out
  Kind kind = Kind::value;
  int64_t dim = 0;  // of a size or stride
};
// What must hold of the inputs beside their own sizes.
struct InputCondition {
  std::string shown;                       // for messages: "x.size()[0] == 2"
  Expr holds;                              // over symbols of its own
  std::map<std::string, InputFact> facts;  // what they stand for
};

class InputCheck {
 public:
  struct Input {
    std::string path;  // "d['k'][0]"
    Value meta;        // a fake tensor or a number; None: anything goes
  };
  InputCheck() = default;
  InputCheck(std::vector<Input> inputs, std::map<std::string, SymbolRange> ranges, std::vector<InputCondition> conditions)
      : inputs_(std::move(inputs)), ranges_(std::move(ranges)), conditions_(std::move(conditions)) {}

  // One value for each input; returns what the inputs make of the symbols. User error for the first
  // that does not fit.
  SymbolValues check(Args given) const;

 private:
  std::vector<Input> inputs_;
  std::map<std::string, SymbolRange> ranges_;
  std::vector<InputCondition> conditions_;

  class Binding;
  void check_kind(const Input& input, const Value& v) const;
  void check_conditions(Args given) const;
};

}  // namespace ingot
