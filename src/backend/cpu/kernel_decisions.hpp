// What the numbers of a kernel decide about its code.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "backend/cpu/blocks.hpp"
#include "codegen/target.hpp"
#include "loop/program.hpp"

namespace ingot::cpu {

// Whether the length of a fold costs digits in the type of its body: a sum of floats, but for one
// of narrower numbers.
bool is_summed_in_blocks(const loop::Fold& f);

// How the loops of a nest are cut if one of its folds is summed in blocks; `step` values of the
// last variable are one iteration.
std::optional<Blocks> blocks_for(const loop::Nest& n, int step);

// Several vectors at once hide latencies, as many as there are registers for.
int copies_of(const Target& target);
// The same of a kernel: where a single vector keeps the processor busy, more are only more code.
// Sums stay in as many parts as ever, which their rounding depends on.
int copies_of(const loop::Kernel& kernel, const Target& target);

// Of the variable that is done in vectors, a number that its extent is a multiple of: of the last
// outer one of a kernel across, else of the last one of each nest, in order. 1 where nothing is
// known.
std::vector<int64_t> multiples_of(const loop::Kernel& kernel);

// Of a kernel across that reads what lies side by side along the last but one of its outer
// variables, and writes what does along the last: a copy that turns a matrix, rows that are laid
// out for a product. Blocks of as many values of the one as there are lanes, and of all of the
// other, go through registers.
struct Turn {
  int64_t neighbours;  // values of the last variable
};
std::optional<Turn> turn_of(const loop::Kernel& kernel, int lanes);

// How sums are cut into blocks and loops written out: what code does with numbers depends on this,
// so that kernels whose decisions differ have no code in common.
std::vector<int64_t> decisions_of(const loop::Program& program, const loop::Kernel& kernel, const Target& target);

// What a kernel costs to compile, in nodes of its expressions, roughly. Most of it are the
// multiplications of a product that are written out.
int64_t size_of_code(const loop::Program& program, const loop::Kernel& kernel, const Target& target);

}  // namespace ingot::cpu
