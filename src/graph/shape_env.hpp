// The shape environment of a trace: symbols for the sizes that stay open, what the program was
// found to need of them, and who asked. It answers by hints, which are the example's sizes, and
// every answer that does not follow from what it knows becomes a guard: the traced program is right
// wherever all guards hold. One thread at a time.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "expr/evaluate.hpp"
#include "expr/facts.hpp"
#include "expr/guards.hpp"
#include "ingot/value.hpp"

namespace ingot {

// Where the caller of a program gives a size: of a tensor among its inputs, or a number itself.
struct SizeSource {
  int input = -1;  // -1: no input has it
  int dim = -1;    // -1: the number itself
};
std::string to_text(const SizeSource& s);  // "size 0 of input 1", "input 2"

class ShapeEnv final : public GuardEnv {
 public:
  struct Symbol {
    Expr expr;
    std::optional<int64_t> hint;  // none: only data decides it
    SizeSource source;
    std::string made_by;   // where data decides it: the op that read it
    bool by_data = false;  // data decided it before the program is called: the hint answers no question
  };

  // A new symbol in [lo, hi], with a value to answer by. User error when the name is taken or the
  // hint is out of range. Other kinds than inputs are for those that the data of another program
  // decided, of which a program takes nothing for granted.
  Int symbol(std::string_view name, int64_t hint, int64_t lo = 2, int64_t hi = kUnbounded, SizeSource source = {},
             Facts::Kind kind = Facts::Kind::input);
  // A size of an input that other symbols decide (2*b). User error if that is not its value for the
  // hints.
  Int derived(const Expr& e, int64_t hint, SizeSource source);

  // A question about a symbol that only data decides has an answer where it follows from what is
  // known, and, asked by the rules of an op, where it follows for sizes of two and more: a graph is
  // made for sizes that neither are empty nor broadcast, as PyTorch's are. That two sizes are
  // equal, an op may take for granted, and the program checks it when it runs (`deferred`), as
  // PyTorch's does. Any other question is a user error that says how to promise the answer (`check`
  // below).
  bool decide(const Expr& condition) override;
  int64_t specialise(const Expr& e) override;
  std::optional<bool> known(const Expr& condition) override;
  bool needs_data(const Expr& e) const override;
  // What a program that is given the value of `e` has to know of it.
  Facts::Kind kind(const Expr& e) const;
  bool assume(const Expr& condition, const std::string& message) override;
  void defer(const Expr& condition, const std::string& message) override;
  Expr simplify(const Expr& e) override;
  Int fresh_symbol(int64_t lo = 0, int64_t hi = kUnbounded, bool is_size = true) override;
  Float fresh_float() override;
  void becomes_size(const Expr& e) override;
  // The same with what its symbols are known to equal in their place. Nothing else that is known is
  // made use of: a guard stays one.
  Expr with_known_symbols(const Expr& e) const;
  // What another environment was found to need, said of symbols of this one: a guard here, too,
  // unless it follows.
  void learn(const Guard& g);
  // The program is run once more: what its data decides is what it was in the run before, in the
  // order in which it is asked for.
  void run_again() { fresh_ = fresh_floats_ = 0; }

  Int simplify(Int v) { return v.is_number() ? v : Int(simplify(v.expr())); }
  Shape simplify(const Shape& s);
  bool any_equalities() const { return facts_.any_equalities(); }
  // The value of `e` under the hints; never records a guard. User error where only data decides it.
  int64_t hint(const Expr& e) const;
  SymbolValues hints() const;
  // Where the values of `e` lie, by declared ranges and guards.
  Range range(const Expr& e) const { return facts_.range(e); }
  // By name; null if there is none.
  const Symbol* find(std::string_view name) const;
  // Whether the program holds for one value of the symbol alone.
  bool is_specialised(std::string_view name);

  // In the order first asked; none follows from those before it.
  const std::vector<Guard>& guards() const { return guards_; }
  // What data decides and was taken for granted, by ops or by the program's own assertions: a run
  // checks each as soon as it knows the symbols, before anything relies on it.
  struct Deferred {
    Expr condition;
    std::string message;
  };
  const std::vector<Deferred>& deferred() const { return deferred_; }
  // A line each: the symbols with their ranges and sources, then the guards.
  std::string listing() const;

  // What keeps a program traced here from being right for these values of the symbols: the range or
  // guard that is violated, with its text. Empty: nothing.
  std::string violation(const SymbolValues& values) const;
  // The same for the arguments of a call, in the order of the placeholders.
  std::string violation(Args inputs) const;

 private:
  struct Derived {
    Expr expr;
    SizeSource source;
  };
  std::map<std::string, Symbol, std::less<>> symbols_;
  std::vector<std::string> order_;  // names of symbols, as they were made
  std::vector<Derived> derived_;
  std::vector<Guard> guards_;
  std::vector<Deferred> deferred_;
  Facts facts_;
  int fresh_ = 0, fresh_floats_ = 0;

  // A number that data decides and ops computed, which may be the size of a tensor: what a slice
  // leaves.
  bool is_computed_size(const Expr& e) const;
  void record(const Guard& g);
  std::optional<bool> by_rule(const Expr& condition);
  [[noreturn]] void refuse(std::string_view start, const Expr& e, bool is_condition) const;
};

// torch._check: the program is right only where `condition`, a bool expression, holds. Of sizes of
// inputs that is a guard; of what data decides the program checks it each time it runs, and from
// here on it is known. User error with the message where it does not hold.
void check(const Expr& condition, std::string_view message = "");
// torch._check_is_size: a number that was read from data is used as a size in [lo, hi].
void check_is_size(Int size, int64_t lo = 0, int64_t hi = kUnbounded);

}  // namespace ingot
