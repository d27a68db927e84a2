// How close a result must be to PyTorch's.
#pragma once
#include <string>
#include <vector>

#include "ingot/tensor.hpp"

namespace ingot {

// |got - want| <= absolute + relative * |want|
struct Tolerance {
  double absolute = 0, relative = 0;
};

// For a program of these operators ("aten.add.Tensor") with results of this dtype: the bound of single operators, or a
// wider one that a table grants to some operators, with the reason.
Tolerance tolerance_for(DType dtype, const std::vector<std::string>& targets);

struct Difference {
  std::string message;  // empty: within bounds
  double worst = 0;     // greatest |difference| / bound
};
// Elements, size and dtype. Integers and bools exactly; NaN equals NaN, infinities only themselves. `want` is contiguous;
// a large one may be flattened and cut to its first elements (60000): then only these are compared.
Difference compare(const Tensor& got, const Tensor& want, Tolerance tolerance);
// Size and dtype only.
Difference compare_kind(const Tensor& got, const Tensor& want);

}  // namespace ingot
