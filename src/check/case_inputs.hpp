// The tensors that a golden case calls its program with.
#pragma once
#include "check/suite.hpp"
#include "io/safetensors.hpp"

namespace ingot {

// A program may write to its inputs, so each is a copy; an op's have PyTorch's strides.
// `gradients`: those that a gradient is stored for require grad. User error for an op case whose
// index lacks strides.
TensorList case_inputs(const Case& c, const SafeTensors& data, bool gradients);

}  // namespace ingot
