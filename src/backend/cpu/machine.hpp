// What scheduling needs to know of the processor that code is made for.
#pragma once
#include <vector>

#include "codegen/target.hpp"

namespace ingot::cpu {

struct Machine {
  // Rows of a matrix product, and vectors of its columns, whose sums stay in registers.
  struct Tile {
    int rows, vectors;
  };
  int lanes = 8;                      // floats in a vector register
  std::vector<Tile> tiles = {{6, 2}};  // all about as fast: the one that leaves the least over is taken
};

Machine machine_of(const Target& target);

}  // namespace ingot::cpu
