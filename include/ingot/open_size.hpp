// Sizes that a traced or compiled function leaves open.
#pragma once
#include <cstdint>
#include <string>

#include "ingot/expr.hpp"

namespace ingot {

// Who decides the value of a symbol.
enum class SizeKind : uint8_t {
  input,   // decided before the program starts
  number,  // decided by data while the program runs
  size,    // the same, and it is the size of a tensor
};

// Size `dim` of input `input` stays open: it is the symbol `name`, in [lo, hi]. Sizes of one name
// are one symbol. Zero and one are left out of the default range, as PyTorch does, so that no rule
// need ask whether a size broadcasts. Where the name is an expression over other names (2*b, b + 1,
// b // 2) the size is derived from them. An input that is an integer is open itself, and `dim` says
// nothing.
struct OpenSize {
  int input = 0;
  int dim = 0;
  std::string name = "s0";
  int64_t lo = 2;
  int64_t hi = kUnbounded;
  // Another kind: the data of another program decided it, so that its value answers no question.
  SizeKind kind = SizeKind::input;
};

}  // namespace ingot
