// Small programs that random ones were made of when compiled functions differed from eager.
#include "aot/min_cut.hpp"
#include "support/aot_harness.hpp"

namespace ingot::aot {
namespace {

using testing::two;

class AotFound : public AotHarness {};

// The graph writes the inner tensors; the caller's wrapper was written (PyTorch counts it, too).
TEST_F(AotFound, AWriteInTheGraphIsAWriteOfTheWrapper) {
  for (const bool keep : {false, true}) {
    const AotFunction f = aot_function(TensorFunction([](const TensorList& in) {
                                         Tensor t = in[0];
                                         t.mul_(Scalar(2));
                                         return TensorList{t + 1};
                                       }),
                                       {.keep_inference_input_mutations = keep});
    const Tensor x = two({1, 2}, {2});
    const uint32_t before = x.version();
    f(TensorList{x});
    EXPECT_EQ(x.version(), before + 1) << (keep ? "keep" : "");
    expect_same(two({2, 4}, {2}), x, "input");
  }
}

// Both results are views of clones that are equal, which no schema says of _unsafe_view: merged, a write to one would be seen in the other.
TEST_F(AotFound, ResultsOnEqualClonesStayApart) {
  const AotFunction f = aot_function(TensorFunction([](const TensorList& in) {
                                       const Tensor x = in[0].transpose(0, 1);
                                       return TensorList{aten<"unfold">(aten<"flatten.using_ints">(x, 0, 1), 0, 2, 2),
                                                         aten<"reshape">(x, Shape{-1})};
                                     }),
                                     {.partition = [](const Joint& j) { return partition_min_cut(j); }});
  const TensorList r = f(TensorList{aten<"arange">(4, DType::f32).view({2, 2, 1}).requires_grad_()});
  const NoGrad no_grad;
  r[0].detach().add_(Scalar(10));
  EXPECT_EQ(r[1].to_vector<double>(), (std::vector<double>{0, 2, 1, 3}));
}

}  // namespace
}  // namespace ingot::aot
