// Kernels that differ by numbers alone, as one kernel that is given them.
#pragma once
#include <optional>

#include "loop/lone_kernel.hpp"

namespace ingot::loop {

struct SizedKernel {
  LoneKernel kernel;                         // in terms of the parameters
  std::vector<Expr> parameters;              // symbols that are none of the program's
  std::vector<std::vector<int64_t>> values;  // of each member: the parameters
};

// What kernels have in common that may become one: all but extents, factors of indices and bounds.
// Where code for numbers that are not known would be slower, they belong to it: what is divided by,
// also to find where among the outer loops one is (in a product there is much to do for each), and
// extents of the loops whose neighbours are computed together. A kernel that runs once for each set
// of weights may be slower.
std::vector<uint64_t> form_of(const LoneKernel& k, bool runs_once);

// Of kernels of one form. Nothing where they differ by more than numbers after all.
std::optional<SizedKernel> sized_kernel(const std::vector<const LoneKernel*>& members);

}  // namespace ingot::loop
