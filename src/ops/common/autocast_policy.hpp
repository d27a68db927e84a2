// Autocast policies are PyTorch's for CPU tensors; tests/data/autocast_cpu.txt has every op that
// has one. A program of other ops may have one: its arguments are cast before it comes apart, and
// the ops inside take what they get.
#pragma once
#include "op/op.hpp"

namespace ingot {

constexpr OpDef under_autocast(Autocast policy, OpDef d) {
  d.autocast = policy;
  return d;
}
constexpr OpDef in_lower_precision(OpDef d) { return under_autocast(Autocast::lower_precision, d); }
constexpr OpDef in_float32(OpDef d) { return under_autocast(Autocast::float32, d); }

}  // namespace ingot
