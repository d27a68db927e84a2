// What is known of symbols beyond their declared ranges, and what follows from it: equalities put
// one thing in the place of another, inequalities narrow ranges, remainders that are zero let
// quotients cancel.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "expr/polynomial.hpp"
#include "expr/range.hpp"
#include "ingot/expr.hpp"
#include "ingot/open_size.hpp"

namespace ingot {

class Facts {
 public:
  using Kind = SizeKind;
  // Facts are learned about declared symbols alone. Of two equal ones the later is put in terms of
  // the earlier, and one that data decides in terms of inputs, never the other way round.
  void declare(const Expr& symbol, Kind kind);
  void become_size(const Expr& symbol);  // a number turns out to be a size
  bool is_size(const Expr& symbol) const;

  // `condition`, a bool expression, is true.
  void learn(const Expr& condition);

  // The truth of a bool expression, where it follows. With `sizes_are_many` every size that data
  // decides is taken to be two or more, so that it is neither empty nor broadcast.
  std::optional<bool> known(const Expr& condition, bool sizes_are_many = false) const;
  // `e` in terms of what its parts are known to equal. Leaves are symbols as declared.
  Expr simplify(const Expr& e) const;
  // Where the values of an i64 expression lie.
  Range range(const Expr& e) const;
  // Whether simplify can change anything.
  bool any_equalities() const { return !from_.empty(); }

 private:
  struct Symbol {
    Expr expr;
    Kind kind;
    Range range;
    std::size_t age;
  };
  using ExprSet = std::unordered_set<Expr, ExprHash, ExprSame>;
  using ExprMap = std::unordered_map<Expr, Expr, ExprHash, ExprSame>;

  std::map<std::string, Symbol, std::less<>> symbols_;
  std::vector<Expr> from_, to_;        // equalities; `to_` has nothing of `from_`
  std::vector<Expr> wide_, narrow_;    // symbols as declared, and with the range that is known by now
  std::vector<Expr> wide_sizes_, many_;  // sizes that data decides, and the same as two or more
  ExprSet true_;                       // conditions that hold, in terms of `to_`
  std::vector<Expr> nonnegative_;      // i64 expressions that are, the same
  mutable std::unordered_map<Expr, bool, ExprHash, ExprSame> answers_;  // what is known stays known
  mutable ExprMap simplified_;         // until the next fact

  Expr replaced(const Expr& e) const;
  Expr narrowed(const Expr& e, bool sizes_are_many) const;
  std::optional<bool> deduced(const Expr& condition, bool sizes_are_many) const;
  bool follows(const Expr& nonnegative, bool sizes_are_many) const;
  void learn_equal(const Expr& a, const Expr& b);
  void learn_nonnegative(const Expr& e);
  void learn_unequal(const Expr& a, const Expr& b);
  void replace(const Expr& from, const Expr& to);
  void narrow(const std::string& name, Range range);
  std::optional<Expr> solved_for(const Poly& p, const Expr& symbol) const;
};

}  // namespace ingot
