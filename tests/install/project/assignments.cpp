// Assignments through an index, whose operators are members of expressions (`&&`) alone.
#include <ingot/ingot.hpp>

#include "parts.hpp"

using namespace ingot;

void assign_by_indices() {
  Tensor x = zeros({2, 2});
  const Tensor y = tensor({1.0, 2.0}), m = tensor({true, false});
  x[0] = y;
  x[1] = 3;
  x.index({indexing::Slice(), 1}) = 5;
  expect(equal(x, tensor({1.0, 5.0, 3.0, 5.0}, {2, 2})), "x[0] = y writes x");
  x[m] = 0;
  x[m] += 2;
  x[x == 3] = y[m];
  x[~m] %= 4;
  x[tensor({0})] = y;
  expect(equal(x, tensor({1.0, 2.0, 1.0, 1.0}, {2, 2})), "x[mask] = v writes x");
}
