// Programs to put in the place of ops while a function is traced: a call of the op is recorded as
// the calls its program makes.
#pragma once
#include <functional>
#include <unordered_map>

#include "ingot/value.hpp"

namespace ingot {

struct Call;  // ingot/op/definition.hpp
struct Op;

using Decomposition = std::function<Value(const Call&)>;
using Decompositions = std::unordered_map<const Op*, Decomposition>;  // by op(name) of ingot/op/call.hpp

namespace aot {

// The table that functions are compiled with where their compiler is to fuse them (R007; section 7
// of the dispatch specification).
// Activations and their gradients, masked_fill and detach as programs of arithmetic, so that the
// partitioner sees which parts forward and backward have in common. Small floating types are
// computed in float32, as their kernels do. What the table of PyTorch has beside these are
// composites here, which come apart in any case, and ops of another device.
const Decompositions& default_decompositions();

}  // namespace aot
}  // namespace ingot
