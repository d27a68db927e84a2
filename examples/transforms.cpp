// Transforms of functions: a gradient for every sample, a Hessian, and a graph that runs at other
// sizes.
#include "ingot/transforms.hpp"

#include <cstdio>
#include <string>

#include "ingot/ingot.hpp"

using namespace ingot;

int main() {
  // The squared error of a linear model for one sample: (weight, sample, target).
  const TensorFunction loss = [](const TensorList& in) { return TensorList{((in[0] * in[1]).sum() - in[2]).pow(2)}; };
  const Tensor weight = tensor({1, -2, 0.5}), samples = tensor({1., 0, 2, 3, 1, -1}, {2, 3}), targets = tensor({4., 0});

  const TensorFunction of_samples = vmap(grad(loss), {.in_dims = {std::nullopt, 0, 0}});
  std::printf("gradients by sample  %s\n", of_samples({weight, samples, targets})[0].to_string().c_str());

  const Tensor sample = samples.select(0, 0), target = targets.select(0, 0);
  std::printf("Hessian              %s\n", hessian(loss)({weight, sample, target})[0].to_string().c_str());
  const Pushforward p = jvp(loss, {weight, sample, target}, {ones({3}), zeros({3}), zeros({})});
  std::printf("along all weights    %s\n\n", p.tangents[0].to_string().c_str());

  // A step of gradient descent writes the weight. As a graph of values the write is one copy at the
  // end.
  const TensorFunction step = [&](const TensorList& in) {
    Tensor w = in[0];
    w.sub_(grad(loss)(in)[0] * 0.1);
    return TensorList{};
  };
  const GraphFunction graph = make_fx(functionalize(step), {weight, sample, target});
  std::printf("%s\n", graph.text().c_str());
  for (int i = 0; i < 20; i++) graph({weight, sample, target});
  const double error = loss({weight, sample, target})[0].item_double();
  std::printf("after 20 steps the error is %.1e\n", error);
  return error < 1e-6 ? 0 : 1;
}
