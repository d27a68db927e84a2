// The sums of products that this backend has microkernels for: loops over k with a block of sums in
// registers from the first product to the last (emit_product of kernel.cpp).
#pragma once
#include <string>
#include <vector>

#include "codegen/target.hpp"
#include "loop/program.hpp"

namespace ingot::cpu {

// Code that makes the sums of a block: so many rows, and a panel of so many columns.
struct Microkernel {
  std::string name;  // loop::Product::microkernel; of its instruction and its block
  loop::ProductTypes types;
  int rows = 0, columns = 0;

  bool operator==(const Microkernel&) const = default;
};

// Those for these types, all about as fast. Empty where there is none on this processor, so that
// plain loops make the sums.
std::vector<Microkernel> microkernels(const Target& target, const loop::ProductTypes& types);
// Those for all types.
std::vector<Microkernel> microkernels(const Target& target);

}  // namespace ingot::cpu
