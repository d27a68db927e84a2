// The made-up weights of the golden zoo: published architectures are kept without their weights,
// whose values are a pure function of their names, bit for bit the same everywhere.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "program/program.hpp"

namespace ingot {

struct ZooWeight {
  float offset = 0, scale = 0;
  Shape shape;
};

// The float32 weight called `name`: offset + scale · u, with u in [-1, 1) drawn by a hash of the
// name and the place.
Tensor zoo_weight(std::string_view name, float offset, float scale, const Shape& shape);

// A file weights.json of the zoo: {NAME: {"offset": …, "scale": …, "shape": […]}}. User error
// naming file and place.
std::map<std::string, ZooWeight> read_zoo_weights(const std::string& path);

// Gives every weight that the program's archive left out and `weights` has its values. Names that
// share a payload share one tensor, and one of them in `weights` is enough.
void supply_zoo_weights(Program& program, const std::map<std::string, ZooWeight>& weights);

}  // namespace ingot
