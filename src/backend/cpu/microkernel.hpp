// The sums of products that this backend has microkernels for: loops over k with a block of sums in
// registers from the first product to the last (product_code.hpp).
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/target.hpp"
#include "loop/program.hpp"

namespace ingot::cpu {

// Code that makes the sums of a block: so many rows, and a panel of so many columns.
struct Microkernel {
  std::string name;  // loop::Product::microkernel; of its instruction and its block
  loop::ProductTypes types;
  int rows = 0, columns = 0;
  // How many k a step takes. That many elements of a row, and of a column, lie side by side, with
  // zeros after the last k: 1 where every k is multiplied and added by itself.
  int k_group = 1;
  int cost = 100;  // of one sum, in hundredths of the least

  bool operator==(const Microkernel&) const = default;
};

// What an instruction is for, on which processors, and the blocks that are made with it.
struct MicrokernelRow {
  std::string_view instruction;
  loop::ProductTypes types;
  int k_group;
  Arch arch;
  std::string_view feature;  // that a processor must have; empty: none
  struct {
    int rows, vectors;  // vectors of sums in a row of the block; no rows: no block
    int cost = 100;     // Microkernel::cost
  } blocks[3];
};

// The microkernels of this backend. Of several rows for the same types, a processor has the
// microkernels of the first that fits it.
std::span<const MicrokernelRow> microkernel_table();

// Those of the table that a processor has. No types of factors and sums are in two rows of them,
// and where they are in none, plain loops make the sums.
std::vector<Microkernel> microkernels(const Target& target, std::span<const MicrokernelRow> table = microkernel_table());
// Those of them for these types.
std::vector<Microkernel> of_types(const std::vector<Microkernel>& all, const loop::ProductTypes& types);

}  // namespace ingot::cpu
