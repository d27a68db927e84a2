// Computations to kernels: which are done together, in which order their loops run, and which
// neighbours are computed together. What holds on every machine is here; the rest is what a backend
// says.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "loop/program.hpp"

namespace ingot::loop {

// The steps of a product: factors that are laid out for it, then the kernel that it is in.
struct ProductSteps {
  std::vector<Computation> packs;
  Kernel kernel;
};

// What the machine decides.
struct MachineRules {
  // How it does a computation that is a sum of products; nothing where plain loops do it, as they
  // do all others. Adds the buffers that the steps need.
  std::function<std::optional<ProductSteps>(Program&, const Computation&)> product;
  // Fewer neighbours than this are not worth computing together (Kernel::across).
  int64_t fewest_neighbours = 1;
};

// Requires: the computations stand in an order in which each buffer is written before it is read.
// Ensures: no Computation is left; buffers that one kernel alone uses are scratch or gone.
void schedule(Program& p, const MachineRules& machine);

// The same for one kernel: what addresses divide becomes two variables, variables that run on
// without a gap become one, the variable that loads and stores follow best becomes the last, and
// `across` is decided.
void arrange_loops(Kernel& k, int64_t fewest_neighbours);

}  // namespace ingot::loop
