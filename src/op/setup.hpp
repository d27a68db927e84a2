// How a process gets its ops without static constructors: the first look-up runs `setup_ops`, which the top of the eager
// stack (autograd/setup.cpp) defines. It registers every family and installs the handlers of the layers.
#pragma once

namespace ingot {

void setup_ops();   // defined in src/autograd/setup.cpp; must only call register_ops and install_once
void setup_once();

struct Op;
// Whether somebody else than setup_ops registered the op: a model library has no code for it, nor what it is linked with.
bool is_from_outside(const Op& op);

}  // namespace ingot
