// A compiled function against itself run eagerly (I118): both without gradients, from the same
// seed, each on copies of its own of the inputs, which must end up equal as well.
#pragma once
#include <gtest/gtest.h>

#include "check/compare.hpp"
#include "compiler/compiled_program.hpp"
#include "ingot/autograd.hpp"
#include "ingot/ingot.hpp"

namespace ingot::testing {

inline TensorList deep_copy(const TensorList& tensors) {
  TensorList copies;
  for (const Tensor& t : tensors) copies.push_back(t.clone());
  return copies;
}

// Elements within these bounds, integers exactly.
inline constexpr Tolerance kCheckTolerance = {.absolute = 1e-5, .relative = 1.3e-6};

// The differences as text; empty: there are none. Compiled from the first of the lists alone,
// loaded once, called on each.
inline std::string differences_with_multiple_inputs(const std::string& device, const TensorFunction& model,
                                                    const std::vector<TensorList>& list_of_inputs,
                                                    const CompileOptions& options = {},
                                                    const std::vector<OpenSize>& dynamic_shapes = {},
                                                    Tolerance tolerance = kCheckTolerance) {
  constexpr uint64_t kSeed = 0;
  const GradModeGuard no_grad(false);
  const TemporaryFolder folder;
  const auto runner = aot_load_runner(
      device, aot_compile(model, deep_copy(list_of_inputs.at(0)), folder.path() + "/model.so", options, dynamic_shapes));
  std::string all;
  for (std::size_t i = 0; i < list_of_inputs.size(); i++) {
    const TensorList eager_inputs = deep_copy(list_of_inputs[i]), compiled_inputs = deep_copy(list_of_inputs[i]);
    manual_seed(kSeed);
    const TensorList want = model(eager_inputs);
    runner->library().ingot_container_set_draw(runner->container(), kSeed, 0);
    const TensorList got = runner->run(compiled_inputs);
    if (got.size() != want.size()) {
      all += text("inputs ", i, ": ", got.size(), " outputs instead of ", want.size(), "\n");
      continue;
    }
    const auto add = [&](const char* what, std::size_t k, const Tensor& g, const Tensor& w) {
      if (const Difference d = compare(g, w, tolerance); !d.message.empty())
        all += text("inputs ", i, ": ", what, " ", k, ": ", d.message, "\n");
    };
    for (std::size_t k = 0; k < want.size(); k++) add("output", k, got[k], want[k]);
    for (std::size_t k = 0; k < eager_inputs.size(); k++) add("input", k, compiled_inputs[k], eager_inputs[k]);
  }
  return all;
}

inline std::string differences(const std::string& device, const TensorFunction& model, const TensorList& example_inputs,
                               const CompileOptions& options = {}, const std::vector<OpenSize>& dynamic_shapes = {},
                               Tolerance tolerance = kCheckTolerance) {
  return differences_with_multiple_inputs(device, model, {example_inputs}, options, dynamic_shapes, tolerance);
}

}  // namespace ingot::testing
