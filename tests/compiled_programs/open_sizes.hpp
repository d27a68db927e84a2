// Which sizes of a program's inputs stay open when it is compiled.
#pragma once
#include <vector>

#include "graph/trace.hpp"
#include "support/random_program.hpp"

namespace ingot::testing {

// An input that is its base has its open sizes. Of a view of it, a size that is an open one in
// every setting is that one, any other that is not always the same is one of its own. What is below
// the least size in the first setting stays a number.
std::vector<OpenSize> open_sizes(const Program& p);

}  // namespace ingot::testing
