// Random numbers that a backward makes again are those of the forward.
#pragma once
#include "aot/partition.hpp"

namespace ingot::aot {

// R127. Every random call that both graphs make: the forward's saves the state of the stream, which
// is one more saved tensor, after the others; the backward's runs with that state. Inputs of the
// backward for them are rng_state_output_0, … before the tangents.
void share_random_states(Parts& parts);

}  // namespace ingot::aot
