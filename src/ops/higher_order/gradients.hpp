// Gradients of control flow: each is again control flow, over the gradients of the functions.
#pragma once
#include "ingot/op/vjp.hpp"
#include "op/op.hpp"

namespace ingot {

void cond_vjp(Vjp& v);
void map_vjp(Vjp& v);
void scan_vjp(Vjp& v);
void while_loop_vjp(Vjp& v);

}  // namespace ingot
