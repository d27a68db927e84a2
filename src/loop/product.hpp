// Matrix products among computations: sums over k of a factor that varies with rows and one that varies with columns.
// Nothing is said about ops: mm, linear, bmm, attention and convolution are all found by what they compute.
#pragma once
#include <optional>

#include "loop/machine.hpp"
#include "loop/program.hpp"

namespace ingot::loop {

// The two steps of a product: the columns' factor laid out in panels of a tile's width, then the tiles.
struct ProductSteps {
  Computation pack;
  Kernel kernel;
};

// Nothing where the computation is no product, or one too small for tiles. Adds the buffers that the steps need.
std::optional<ProductSteps> as_product(Program& p, const Computation& c, const Machine& machine);

}  // namespace ingot::loop
