// How a compiler says that its code lays results out in another way than the graph it was given (R072, R073).
#pragma once
#include <optional>

#include "op/value.hpp"

namespace ingot::aot {

// Strides by output of the graph; none: as traced, or no tensor.
using OutputStrides = std::vector<std::optional<Shape>>;

// For a compiler, while it compiles a forward: what its code will return. The backward is then compiled for saved tensors that look so.
// Outside of such a compilation it says nothing.
void report_output_strides(OutputStrides strides);

// What compilers called in the scope report, on this thread.
class OutputStridesScope {
 public:
  OutputStridesScope();
  ~OutputStridesScope();
  OutputStridesScope(const OutputStridesScope&) = delete;
  OutputStridesScope& operator=(const OutputStridesScope&) = delete;

  const OutputStrides& reported() const { return reported_; }

 private:
  OutputStrides reported_;
  OutputStrides* old_;
};

// A fake of the tensor as it was reported, or the tensor itself where that is no news. Sizes of the example are compared and no guard
// is made: what the compiler says is no question about them.
Tensor with_strides(const Tensor& fake, const std::optional<Shape>& strides);

}  // namespace ingot::aot
