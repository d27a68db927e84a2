// What a function that was compiled for open sizes needs of them: the ranges of its symbols, sizes
// and strides that follow from others, and the guards that its trace left in the environment
// (graph/shape_env.hpp), in a form that is checked at every call.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "graph/shape_env.hpp"

namespace ingot::aot {

class SizeGuards {
 public:
  SizeGuards() = default;
  // `fakes`: what the function was traced on, one for each argument, with symbols of `env` for the
  // numbers that are open.
  SizeGuards(const Values& fakes, const ShapeEnv& env);

  bool empty() const { return steps_.empty(); }
  // The number of the first that the arguments break. They are tensors and integers where the fakes
  // are, of the same rank. Allocates nothing but where a guard is none of sums, products,
  // quotients, remainders and comparisons.
  std::optional<uint32_t> broken(const Values& arguments) const;
  struct Text {
    std::optional<uint32_t> argument;  // none: several
    std::string words;  // "size of dim 0: expected at least 2, found 1"
  };
  Text to_text(uint32_t broken, const Values& arguments) const;

 private:
  // A number of an argument.
  struct Place {
    uint32_t argument = 0;
    int dim = -1;  // -1: an integer itself
    bool is_stride = false;
  };
  // An expression over the symbols, for a machine with a stack.
  struct Formula {
    struct Instruction {
      ExprOp op;
      int64_t number;  // of Const; of Sym: the number of the symbol
    };
    Expr expr;
    std::vector<Instruction> code;  // none: the expression is evaluated as such
  };
  struct Step {
    enum Kind : uint8_t { reads, follows, holds } kind = reads;
    uint32_t symbol = 0;  // reads
    Place place = {};  // reads, follows
    Formula formula = {};  // follows, holds
    Guard guard = {};  // holds
  };
  struct Symbol {
    Expr expr;
    Place place;
  };
  std::vector<Symbol> symbols_;
  std::vector<Step> steps_;

  std::optional<uint32_t> find(const Expr& symbol) const;
  bool knows_all_of(const Expr& e) const;
  Formula formula(const Expr& e) const;
  bool assemble(const Expr& e, std::size_t depth, std::vector<Formula::Instruction>& code) const;
  void read_symbols(const Int& open, Place place);
  void follow(const Int& open, Place place);

  static std::optional<int64_t> number_at(Place place, const Values& arguments);
  std::optional<int64_t> value(const Formula& f, const int64_t* values) const;
  bool does_hold(const Step& s, const Values& arguments, int64_t* values) const;
};

}  // namespace ingot::aot
