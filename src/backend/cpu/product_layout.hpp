// How a product lies in memory for a microkernel of this backend.
//
// Elements of the rows of a block lie one after the other for each k, and so do those of a panel of
// columns; where a step of the microkernel takes several k, these lie side by side, and the last
// variable of k counts them. The sums are in a strip: as many rows as a block has, each as wide as
// all panels together, which are made one after the other. So the loop program says it in offsets;
// here they are taken apart again.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "backend/cpu/blocks.hpp"
#include "backend/cpu/unroll.hpp"
#include "codegen/target.hpp"
#include "loop/program.hpp"

namespace ingot::cpu {

struct ProductLayout {
  int64_t rows, columns;  // of a block
  int64_t k_group;  // Microkernel::k_group
  std::vector<Expr> steps;  // variables of k: a step of the microkernel for all of their values
  Expr rows_offset, columns_offset;  // of a block's first elements, for a step
  Expr first_sum;  // of a block
  Expr strip_width;  // from one row of sums to the next, of symbols alone
};

// Nothing where the product lies in another way.
std::optional<ProductLayout> layout_of(const loop::Product& x);

// Whether each step's columns lie behind those of the one before.
bool is_packed(const ProductLayout& l);

// How the steps of a product that lies so are cut: what a block adds up is poured into wider sums.
std::optional<Blocks> blocks_of(const loop::Product& x);
// How the steps of one block are written out.
Unroll unroll_of(const loop::Product& x);

// Why there is no code for a product, as the rest of a sentence about the processor; nothing where
// there is.
std::optional<std::string> why_no_code(const loop::Product& x, const Target& target);

}  // namespace ingot::cpu
