// Where indices come out, tried at values of their variables that surely occur.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "loop/program.hpp"

namespace ingot::loop {

class Reach {
 public:
  // Given symbols are tried at a few sizes for which all guards of the program hold and no input
  // has a negative size; those that steps decide are not known.
  explicit Reach(const Program& p);

  struct Outside {
    int64_t at, end;
    std::string where;  // "where i0 = 3, s0 = 2"
  };
  // Values for which the index is below zero or not below `end`, if some are found: variables at
  // the ends of their ranges that make it smallest and largest, and all values of a few where it is
  // no sum of their multiples. An index that data or a decided symbol is in is not looked at.
  // Variables come after those that their extents have.
  std::optional<Outside> outside(const Expr& index, const Expr& end, const std::vector<Expr>& vars) const;

 private:
  using Values = std::map<const ExprNode*, int64_t>;  // of symbols and variables
  std::vector<Values> samples_;  // of the given symbols
};

}  // namespace ingot::loop
