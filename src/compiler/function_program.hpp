// A C++ function as a program, which is compiled like any that a file brought.
#pragma once
#include <vector>

#include "graph/fake.hpp"
#include "ingot/transforms.hpp"
#include "program/program.hpp"

namespace ingot {

// The function, traced on the examples, as the entry point "forward" of a program without state;
// sizes in `open` stay open. Its inputs are different tensors in storages of their own, whatever
// the examples share: a library takes its inputs for apart. Tensors that the function brings along
// are in its graph. User errors: those of `trace`.
Program function_program(const TensorFunction& f, const TensorList& examples, const std::vector<OpenSize>& open = {});

// What a program takes its examples for: different tensors in storages of their own, each as large
// as it is, whatever they share.
TensorList lying_apart(const TensorList& examples);

}  // namespace ingot
