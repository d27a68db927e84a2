// Float: a real number among a program's numbers. A double, or while a program is traced an
// interned expression of what open sizes or data decide: a quotient of sizes, an element that was
// read.
#pragma once
#include <string>

#include "ingot/int.hpp"

namespace ingot {

class Float {
 public:
  constexpr Float() = default;
  constexpr Float(double v) : number_(v) {}
  explicit Float(Int v);
  // An expression of type f64; a constant one becomes the plain number.
  explicit Float(const Expr& e);

  constexpr bool is_number() const { return node_ == nullptr; }
  constexpr bool is_symbolic() const { return node_ != nullptr; }
  // The plain number; for an expression of sizes what it is for the shape environment's, with
  // guards that they stay so.
  double value() const { return is_number() ? number_ : slow_value(); }
  Expr expr() const;
  // Rounded towards zero. User error for a plain number that has no 64-bit integer.
  Int truncated() const;
  bool is_zero() const { return is_number() ? number_ == 0 : slow_is_zero(); }

  // Structural: 0.0 is not -0.0, and every NaN is one number. Never guards.
  bool same(Float o) const;

 private:
  double number_ = 0;
  const ExprNode* node_ = nullptr;

  double slow_value() const;
  Int slow_truncated() const;
  bool slow_is_zero() const;
  std::string slow_text() const;
  friend std::string to_text(Float v);
};

std::string to_text(Float v);  // Python's repr: "0.5", "1.0"; an expression as such

}  // namespace ingot
