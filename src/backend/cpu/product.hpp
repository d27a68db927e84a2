// Sums of products (loop/contraction.hpp) laid out for a microkernel, and for caches.
#pragma once
#include <optional>
#include <vector>

#include "backend/cpu/microkernel.hpp"
#include "loop/schedule.hpp"

namespace ingot::cpu {

// Nothing where the computation is no contraction, one too small for blocks, or one of types that
// none of the microkernels is for. Adds the buffers that the steps need.
//
// The columns' factor is read where it lies if the elements of a row of columns follow each other
// there, each k is a step of its own and it is no constant; else it is laid out in panels of a
// block's width. Columns of several variables (the pixels of an image) are then taken as one run of
// memory, with the few elements between one row and the next: they are computed, and nobody looks
// at them. The rows' factor is laid out in blocks, by the task itself where it is the only one to
// read them. What is constant of all that is done once for each set of weights (loop/fold.hpp).
std::optional<loop::ProductSteps> as_product(loop::Program& p, const loop::Computation& c,
                                             const std::vector<Microkernel>& microkernels);

}  // namespace ingot::cpu
