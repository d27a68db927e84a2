// The texts of symbolic numbers in exported programs: the constructor form SymPy prints for exact
// reconstruction (Mul(Integer(2), Symbol('s77', integer=True))), the readable form of older files
// and of range keys (2*s77), and guards, which are Python (L['y'].size()[0] == 2*L['x'].size()[0]).
// One grammar reads all three; section 9 of the format's description says what the functions mean.
//
// Rationals are exact: a quotient stays a numerator and a denominator until something asks for an
// integer (it is then known to divide) or for a double.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ingot/expr.hpp"

namespace ingot {

// What the names of a text stand for.
class SymScope {
 public:
  virtual Expr symbol(std::string_view name) = 0;
  // A fact about an input in a guard: `path` is what follows L ("['d'][0]"), `fact` is "size",
  // "stride", "storage_offset" or, for the input itself (an integer), empty; `dim` of the first
  // two. User error where there is none.
  virtual Expr input_fact(std::string_view path, std::string_view fact, int64_t dim);

 protected:
  ~SymScope() = default;
};

// A function that the reader does not know: only the caller can say whether that matters.
struct UnknownSymFunction {
  std::string name;
};

// The expression: i64, f64 or b8. User error with the position for text that is none, that nests
// deeper than 500, is longer than 32768 characters, or whose numbers leave 64 bits. Throws
// UnknownSymFunction.
Expr parse_sym_expression(std::string_view text, SymScope& scope);
// The same, but an integer: a quotient is known to divide. User error for another type.
Expr parse_sym_int(std::string_view text, SymScope& scope);

// The constructor form of an integer or bool expression over symbols.
std::string sym_expression_text(const Expr& e);

}  // namespace ingot
