// How outputs that are new values of a graph's inputs get there: one way for whoever runs the
// graph, op by op or to record it.
#pragma once
#include <string>

#include "program/entry_point.hpp"

namespace ingot {

// `given`: the values of the graph's placeholders, in order; `returned`: one value for each of
// `entry.outputs`. Writes mutations to the inputs that they name, in order, and returns the other
// outputs but tokens: results, losses and gradients. All of them were computed before the first
// write, so that what lives in a tensor which is about to be written is copied first. User error,
// which starts with `what`, where something else than a tensor would be written, or written to.
Values write_back(const EntryPoint& entry, const std::string& what, Args given, Args returned);

}  // namespace ingot
