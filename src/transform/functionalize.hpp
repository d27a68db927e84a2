// Functionalize as a transform: a function without views of its arguments and without writes, that does what `f` does.
#pragma once
#include "graph/trace.hpp"

namespace ingot {

// The function runs `f` on functional tensors and then, in this order: writes what `f` wrote into its arguments with one
// copy_ each (arguments that share storage are written as one), gives arguments the sizes, strides or storage that `f` gave
// them, and makes results that are views of arguments again as views of them. So a caller sees the same values, the same writes and
// the same aliasing as from `f`; what runs, and what a trace of it records, is a program of values with copy_, in-place views and set_ on the
// arguments alone. Gradients flow through it. Examples in docs/ir.md.
// User errors: those of R052, R055 and R056; a write to a tensor that `f` brings along.
TensorFunction functionalize(TensorFunction f);

}  // namespace ingot
