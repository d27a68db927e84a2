// Calls of random ops beside the state of the stream they draw from.
#pragma once
#include "op/op.hpp"

namespace ingot {

// run_and_save_rng_state and run_with_rng_state: where what runs has a stream of its own (a
// library), they come apart into the call and into ops that read and set the stream.
bool calls_beside_stream(const Op& op);

}  // namespace ingot
