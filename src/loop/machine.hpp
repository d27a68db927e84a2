// What scheduling needs to know of the processor that code is made for.
#pragma once

namespace ingot::loop {

struct Machine {
  int lanes = 8;      // floats in a vector register
  int tile_rows = 6;  // rows and columns of a matrix product that stay in registers
  int tile_vectors = 2;
};

}  // namespace ingot::loop
