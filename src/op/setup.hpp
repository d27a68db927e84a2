// How a process gets its ops without static constructors: the first look-up has the layers above
// register every family and install their handlers (UpperLayers::set_up).
#pragma once

namespace ingot {

void setup_once();

struct Op;
// Whether somebody else than UpperLayers::set_up registered the op: a model library has no code for
// it, nor what it is linked with.
bool is_from_outside(const Op& op);

}  // namespace ingot
