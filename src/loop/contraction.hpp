// Sums of products among computations. Nothing is said about ops: mm, linear, bmm, attention and
// convolution are all found by what they compute.
#pragma once
#include <optional>
#include <vector>

#include "loop/program.hpp"

namespace ingot::loop {

// What the one fold of a computation sums up: a factor that varies with rows times one that varies
// with columns.
struct Contraction {
  Expr a, b;
  // The computation's variables: `batch` are those of both factors, `columns` those of b alone,
  // `rows` all others.
  std::vector<Expr> batch, rows, columns;
  ProductTypes types;
};

// Nothing where the computation is none, or where how long a sum is depends on which it is. Columns
// are what the result is contiguous in.
std::optional<Contraction> contraction_of(const Computation& c);

}  // namespace ingot::loop
