// How far rounding takes the numbers of a program, found by rounding otherwise.
#pragma once
#include "transform/mode.hpp"

namespace ingot::testing {

// A number from 0 up to 1, as the seed says.
double drawn(uint64_t seed, uint64_t i);
// The type in which the same program is next to exact.
DType widened(DType t);
// The distance from one to the next number of the type.
double unit_of(DType t);

// While it is on, whatever a call computes is off by up to one unit of its last place, each element
// by chance, and next to zero by the least number that there is; what is written in place, too. A
// call that adds up (a reduction, a product, any op that is no formula) reads operands that are off
// by as much: another order of its sums is off as if they were, however much they cancel. What is
// in a backward that runs meanwhile is off likewise. gelu, logsumexp, logaddexp and gradients of
// softmax, its logarithm and attention, which cancel inside, are off by a unit of their operands,
// finite ones where the result is. Sums of doubles, which nothing wider carries, are off by the
// rounding of each partial sum as well: an operand by that of all additions after it.
class Perturbing final : public Mode {
 public:
  enum Operands : uint8_t { also_of_sums, as_they_are };
  explicit Perturbing(uint64_t seed, Operands operands = also_of_sums) : seed_(seed), operands_(operands) {}
  Value call(const Op& op, Args args) override;

 private:
  uint64_t seed_;
  Operands operands_;

  Tensor off(const Tensor& t);
  Tensor off_as_summed(const Tensor& t);
};

}  // namespace ingot::testing
