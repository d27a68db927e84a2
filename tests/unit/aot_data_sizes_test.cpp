// Functions with sizes that only data decides.
#include "aot/min_cut.hpp"
#include "support/aot_harness.hpp"

namespace ingot::aot {
namespace {

using AotDataSizes = AotHarness;

// The metadata pass, and every pass after it, means the same by such a size: the gradient of a
// result has the size of the result.
TEST_F(AotDataSizes, R020_TangentsHaveTheSizeOfTheResult) {
  const auto f = [](const TensorList& in) {
    const Tensor picked = aten<"masked_select">(in[0], in[0] > 0);
    return TensorList{picked * picked, picked.sum(), aten<"masked_select">(in[1], in[1] < 0)};
  };
  const TensorList x{tensor({1., -2, 3, 4}).requires_grad_(), tensor({-1., -2, 3}).requires_grad_()};
  verify(f, x);
  verify(f, x, {.partition = [](const Joint& joint) { return partition_min_cut(joint); }});
  verify(f, {tensor({1., -2, 3, 4}), tensor({-1., -2, 3})});
}

TEST_F(AotDataSizes, A193_CombinationsAreCountedByTheData) {
  for (const int r : {1, 2})
    verify([r](const TensorList& in) { return TensorList{aten<"combinations">(in[0], r)}; },
           {tensor({1., -2, 3, 4}).requires_grad_()});
}

}  // namespace
}  // namespace ingot::aot
