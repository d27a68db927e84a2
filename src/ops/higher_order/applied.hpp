// Ops that apply another op, whose name they are given (op/applied.hpp).
#pragma once
#include "ingot/op/vjp.hpp"
#include "op/op.hpp"

namespace ingot {

Value auto_functionalized(const Call& c);
Value auto_functionalized_v2(const Call& c);
Value with_effects(const Call& c);
Value run_and_save_rng_state(const Call& c);
Value run_with_rng_state(const Call& c);
Value out_dtype(const Call& c);

// What is copied has the gradient of its copy, as if the op had not written it: the tape sees no
// write of an op that has no rule.
void auto_functionalized_v2_vjp(Vjp& v);

}  // namespace ingot
