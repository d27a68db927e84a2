// Reductions and products go on to what is done with their results.
#pragma once
#include "loop/program.hpp"

namespace ingot::loop {

// Where one computation alone reads the result of a reduction, each element exactly once, the
// reduction moves into it: the result is never in memory. The index map may be any that takes
// elements to elements one to one (a permutation, a dim that is split or joined), so a permuted
// store costs nothing. `readers[b]`: how many steps of the program read buffer b.
void fuse_epilogues(const Program& p, std::vector<Computation>& run, const std::vector<int>& readers);

}  // namespace ingot::loop
