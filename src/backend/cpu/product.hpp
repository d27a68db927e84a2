// Matrix products among computations: sums over k of a factor that varies with rows and one that varies with columns.
// Nothing is said about ops: mm, linear, bmm, attention and convolution are all found by what they compute.
#pragma once
#include <optional>

#include "backend/cpu/machine.hpp"
#include "loop/schedule.hpp"

namespace ingot::cpu {

// Nothing where the computation is no product, or one too small for tiles. Adds the buffers that the steps need.
//
// The columns' factor is read where it lies if the elements of a row of columns follow each other there and it is no
// constant; else it is laid out in panels of a tile's width. Columns of several variables (the pixels of an image) are then
// taken as one run of memory, with the few elements between one row and the next: they are computed, and nobody looks at them.
// The rows' factor is laid out in tiles, by the task itself where it is the only one to read them. What is constant of all that
// is done once for each set of weights (fold.hpp).
std::optional<loop::ProductSteps> as_product(loop::Program& p, const loop::Computation& c, const Machine& machine);

}  // namespace ingot::cpu
