// Programs of ops that go from row to row.
#pragma once
#include <optional>

#include "ingot/control_flow.hpp"

namespace ingot {

// scan of these as one call, if whoever records this thread's calls keeps loops and no layer asks
// for more than the values: neither gradients nor members of a batch nor another precision. Nothing
// otherwise, and the program calls `combine` itself.
std::optional<Scanned> recorded_scan(const TensorFunction& combine, const TensorList& init, const TensorList& rows,
                                     const TensorList& others, bool reverse);

}  // namespace ingot
