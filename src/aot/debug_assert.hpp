// Checks of what was assumed when a function was compiled: their texts, and those that only
// AotOptions::debug_assert makes.
#pragma once
#include "aot/prepared.hpp"

namespace ingot::aot {

// R078, R197: "parameter/buffer 0", "input 1".
std::string argument_name(std::size_t argument, int params_and_buffers);
// "At compilation time, graph 2 was compiled under the assumption that " and so on.
std::string broken_assumption(int id, const std::string& assumption);

// R080, R092: what the metadata pass finds out about a function without repeated or overlapping
// arguments is what it found out about the function as it was given, and it finds out the same each
// time.
void require_record(const Metadata& expected, const Metadata& found, std::string_view of);

// R154: user error in a call whose arguments require grad where those at compile time did not, or
// are tensors where those were none. The other way round is no error.
FlatCallable with_gradients_as_assumed(FlatCallable inner, const Values& fakes, int params_and_buffers, int id);

}  // namespace ingot::aot
