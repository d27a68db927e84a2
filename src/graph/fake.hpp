// Fake copies of tensors: what they look like and what they share, without bytes.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/shape_env.hpp"
#include "ingot/open_size.hpp"
#include "tensor/impl.hpp"

namespace ingot {

// An open size for every size of the tensors of `examples` but 0 and 1, equal sizes under one name,
// and for every integer but 0 and 1, each under its own: s0, s1, … in order of appearance. A fake
// that has open sizes already is left alone.
std::vector<OpenSize> every_size_open(const Values& examples);

// Strides of the example, of numbers, with open sizes in place: a stride that spans the dim inside
// it goes on doing so, others stay the numbers they are. So fakes have them.
Shape open_strides(const Tensor& example, const Shape& sizes);

// Fakes of the tensors of `examples`, with open sizes as symbols of `env` that have the examples'
// values for hints; other values as they are. Tensors that are one object, or share storage, stay
// so. A fake among the examples keeps the open sizes it has, whose symbols must be those of `env`.
// User error where an open size does not fit its example.
Values make_fakes(const Values& examples, const std::vector<OpenSize>& open, ShapeEnv& env);

}  // namespace ingot
