// Float where nothing is symbolic. Defines what expr/float.cpp defines elsewhere, without the
// expressions.
#include "ingot/float.hpp"

#include <cmath>

#include "expr/float_steps.hpp"

namespace ingot {

Int count_steps(Float start, Float end, Float step) {
  return Float(std::ceil((end.value() - start.value()) / step.value())).truncated();
}

Float::Float(Int v) : number_(static_cast<double>(v.number())) {}
double Float::slow_value() const { return number_; }
Int Float::slow_truncated() const { return truncated(); }
bool Float::slow_is_zero() const { return number_ == 0; }
std::string Float::slow_text() const { return to_text(Float(number_)); }

}  // namespace ingot
