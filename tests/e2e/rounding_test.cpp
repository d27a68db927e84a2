// Compiled code rounds where eager does: between one op and the next.
#include "compiler/aot_compiler.hpp"
#include "e2e/compiled_model.hpp"
#include "ingot/autograd.hpp"
#include "host/torch/model_container_runner.hpp"

namespace ingot {
namespace {

using Rounding = CompiledModel;

// Next to 1 the rounding of x*x is what is left of 1 - x*x: an instruction that multiplies and adds
// at once gives another number.
Tensor next_to_one() {
  std::vector<double> near;
  for (int k = 1; k <= 40; k++) near.push_back((k % 2 ? 1 : -1) * (1 - k * 1.1e-5));
  return tensor(near, float32);
}

TEST_F(Rounding, ADifferenceFromAProductIsEagers) {
  const TensorFunction f = [](const TensorList& in) {
    return TensorList{1 / (1 - in[0] * in[0]), in[0] * in[0] - 1, (in[0] * 3 + in[0]).sum()};
  };
  const Tensor x = next_to_one();
  ModelContainerRunner model(aot_compile(f, {x}, path("f.so")));
  const TensorList eager = f({x}), compiled = model.run({x});
  for (std::size_t k = 0; k < 2; k++) EXPECT_EQ(compiled[k].to_vector<double>(), eager[k].to_vector<double>()) << k;
}

TEST_F(Rounding, GradientOfAtanhNextToOne) {
  const TensorFunction f = [](const TensorList& in) { return TensorList{aten<"atanh">(in[0])}; };
  const aot::AotFunction compiled = aot::memory_efficient_fusion(f);
  Tensor x = next_to_one().requires_grad_(), y = next_to_one().requires_grad_();
  f({x})[0].sum().backward();
  compiled(TensorList{y})[0].sum().backward();
  const std::vector<double> e = x.grad().to_vector<double>(), c = y.grad().to_vector<double>();
  for (std::size_t i = 0; i < e.size(); i++) EXPECT_NEAR(c[i], e[i], 1e-6 * std::abs(e[i]));
}

}  // namespace
}  // namespace ingot
