// How close a result must be to PyTorch's.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ingot/tensor.hpp"

namespace ingot {

// |got - want| <= absolute + relative * |want|
struct Tolerance {
  double absolute = 0, relative = 0;
};

// For a case ("add/f32_0") of these operators ("aten.add.Tensor") and a result or gradient of this
// dtype: the bound of single operators, or a wider one that a table grants to some, with the
// reason.
Tolerance tolerance_for(DType dtype, bool is_gradient, std::string_view case_name, const std::vector<std::string>& targets);

// For a result of a whole model: differences are measured against the spread of PyTorch's values.
Tolerance model_tolerance(const Tensor& want);

struct Difference {
  std::string message;  // empty: within bounds
  double worst = 0;     // greatest |difference| / bound
  double largest = 0;   // greatest |difference|
};
// Elements, size and dtype. Integers and bools exactly; NaN equals NaN, infinities only themselves.
Difference compare(const Tensor& got, const Tensor& want, Tolerance tolerance);
// Size and dtype only.
Difference compare_kind(const Tensor& got, const Tensor& want);

// `got` with PyTorch's elements in the place of those that are no further than these from `exact`,
// the result in float64: what separates them is PyTorch's rounding. Of a whole program all are
// replaced, where as a whole they are no further: neither the furthest nor the mean square. (In a
// half's few bits each element is off at random, in one order of rounding as in another.)
Tensor no_further(const Tensor& got, const Tensor& want, const Tensor& exact, bool is_whole_program);

// No fault where `nearer`, the difference of what no_further leaves, is none. Where the exact
// result is that of our own program in float64, only up to a few bounds: a wrong formula is as near
// to itself as can be.
enum class Exact : uint8_t { pytorchs, ours };
Difference unless_rounding(Difference d, const Difference& nearer, Exact exact);

}  // namespace ingot
