// The sums of products that this backend has microkernels for: loops over k with a block of sums in
// registers from the first product to the last (emit_product of kernel.cpp).
#pragma once
#include <vector>

#include "codegen/target.hpp"
#include "loop/program.hpp"

namespace ingot::cpu {

// The blocks that are made at a time, all about as fast. Empty where there is no microkernel for
// these types on this processor, so that plain loops make the sums.
std::vector<loop::Product::Block> microkernels(const Target& target, const loop::ProductTypes& types);
// Those of all types.
std::vector<loop::Microkernel> microkernels(const Target& target);

}  // namespace ingot::cpu
