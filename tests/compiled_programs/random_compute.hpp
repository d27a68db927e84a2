// Random programs of values for the compiler: pointwise ops, reductions, views, joins, products, indexing, conversions, over a
// size that stays open. A program is a list of choices, so that one that fails can be made smaller.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ingot/ingot.hpp"
#include "ingot/transforms.hpp"

namespace ingot::testing {

struct ComputeStep {
  enum class Kind : uint8_t {
    // clang-format off
    unary, binary, compare_select, reduce, softmax, permute, flatten, slice, select, unsqueeze_expand, flip, cat, pad, product, gather, convert, cumulate, last
    // clang-format on
  };
  Kind kind = Kind::unary;
  uint32_t a = 0, b = 0, how = 0;  // operands among the values so far, and which of the kind: each modulo what there is
};
struct ComputeProgram {
  uint64_t seed = 0;  // of the inputs
  std::vector<ComputeStep> steps;
};

ComputeProgram random_compute(uint64_t seed);

// The inputs for an open size of n: f32[n, 6], f32[6], f64[n, 3], i64[n].
TensorList compute_inputs(const ComputeProgram& p, int64_t n);
// All values that nobody reads further, and the last three. A step that does not fit its operands' shapes passes one on.
TensorFunction compute_function(const ComputeProgram& p);

// Compiles the program once and runs it at three sizes: the first difference from eager, or nothing.
std::string compare_compiled(const ComputeProgram& p);
// The program with every step taken out that is not needed for it to go wrong.
ComputeProgram shrunk(ComputeProgram p);
std::string to_text(const ComputeProgram& p);

}  // namespace ingot::testing
