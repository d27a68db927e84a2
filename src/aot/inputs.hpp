// The arguments of a call as the compiler sees them.
#pragma once
#include "graph/fake.hpp"

namespace ingot::aot {

// Fakes of the tensors, which may be fakes already, with open sizes as symbols of `env`; what
// shares storage or is one object stays so, and so does what requires grad and what is a leaf: a
// tensor that is none gets a history that refuses to run (R013, R014). Not `as_leaves`: what
// requires grad is no leaf, so that a write to it is seen as one and not refused.
Values fake_inputs(const Values& inputs, const std::vector<OpenSize>& open, ShapeEnv& env, bool as_leaves = true);

// What autograd takes the tensor for a view of; undefined: for none.
Tensor view_base(const Tensor& t);

// A fake whose sizes some environment knows.
bool has_open_sizes(const Value& v);

// A functional tensor over `value`, which has no history, on a storage of its own whatever shares
// the input's memory (R036). It requires grad as the input's fake does, and is a leaf where that is
// one.
Tensor functional_input(const Tensor& value, const Tensor& fake);

// The fake without history and on a storage of its own: a run may resize it.
Tensor plain_input(const Tensor& fake);

}  // namespace ingot::aot
