// The arguments of a call as the compiler sees them.
#pragma once
#include "graph/fake.hpp"

namespace ingot::aot {

// Fakes of the tensors with open sizes as symbols of `env`; what shares storage or is one object stays so, and so does what
// requires grad and what is a leaf: a tensor that is none gets a history that refuses to run (R013, R014).
Values fake_inputs(const Values& inputs, const std::vector<OpenSize>& open, ShapeEnv& env);

// A functional tensor over the fake of an input, on a storage of its own whatever shares the input's memory (R036). Where
// `with_history`, it requires grad as the fake does, and is a leaf where that is one.
Tensor functional_input(const Tensor& fake, bool with_history);

}  // namespace ingot::aot
