// How outputs that are new values of a graph's inputs get there: one way for whoever runs the
// graph, op by op or to record it.
//
// What looks like it and is not: a compiled library writes its caller's inputs and its own buffers
// itself (src/model), of which `take_back_state` of compiler/program_calls.hpp copies what is in
// other memory; AOT (aot/runtime.hpp) writes values that its own graphs made, which lie in memory
// of their own, and moves history and looks along with each.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "program/entry_point.hpp"

namespace ingot {

// The tensor gets this value.
struct Write {
  Tensor target, value;
};
// Writes them in order, as if at once: every value is the one from before the first write, and so
// is what `results` holds. What lives in a tensor that is written before it is read is copied
// first. Autograd hears of it where the thread's grad mode says so.
void write_at_once(std::vector<Write> writes, Values& results);

// `given`: the values of the graph's placeholders, in order; `returned`: one value for each of
// `entry.outputs`. Writes mutations to the inputs that they name, at once, and returns the other
// outputs but tokens (OutputSpec::is_returned): results, losses and gradients. User error, which
// starts with `what`, where something else than a tensor would be written, or written to.
Values write_back(const EntryPoint& entry, const std::string& what, Args given, Args returned);

// The placeholders, by place, that the entry point says it writes: by the roles of its outputs, and
// in calls whose schemas tell. Programs of ops may write more (batch_norm its statistics), or less:
// what is known to have no effect.
std::set<std::size_t> declared_writes(const EntryPoint& entry);

}  // namespace ingot
