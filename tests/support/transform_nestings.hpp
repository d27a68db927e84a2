// Transforms nested in every way that matters, over functions that should be the same: one that
// does something special (a custom function, a hook, a write, …), and its formula of ops alone.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "ingot/transforms.hpp"

namespace ingot::testing {

// A member of a batch and a weight, both vectors of two, to one of two.
using Member = std::function<Tensor(const Tensor& x, const Tensor& w)>;
struct SameFunction {
  const char* name;
  Member special, plain;
};

// What becomes of a function, at members `x` of size {3, 4, 2} and a weight.
struct Nesting {
  const char* name;
  std::function<TensorList(const Member& m, const Tensor& x, const Tensor& w)> run;
};
const std::vector<Nesting>& nestings();

Tensor counted(const Shape& sizes);  // different numbers of either sign, in double
void expect_near(const Tensor& got, const Tensor& want, double tolerance = 1e-12);
// Fails the test where a nesting makes different values of the two, or an error of the special one.
// `but`: nestings left out, by name.
void expect_same_in_every_nesting(const std::vector<SameFunction>& functions, const std::vector<std::string>& but = {});

// The same of `count` random compositions of three of them, each in a random nesting.
void expect_same_in_random_nestings(const std::vector<SameFunction>& functions, int count, unsigned seed);

TensorFunction vector_of(const Member& m);
TensorFunction scalar_of(const Member& m);
TensorFunction total(const TensorFunction& f);  // one number of all results
extern const VmapOptions kFirst;  // over the first of two arguments

}  // namespace ingot::testing
