// What the linker must know of the ops that a model runs by ingot_eager_call (model/program.h):
// each call's op is a variable of the eager archive (src/eager), and the model's table of them is
// what pulls it in, with all that it calls.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "codegen/emit.hpp"
#include "codegen/target.hpp"

namespace ingot {

// The symbol of the op "topk", "sort.stable" or "prims::sum".
std::string eager_op_symbol(std::string_view name);

// The table `ingot_eager_ops` of these functional ops, named as in Op::name (op/call_text.hpp gives
// the op of a call). A library whose code refers to ingot_eager_call has one. A name the archive
// does not have is an undefined symbol of the link.
Object eager_ops(std::span<const std::string> names, const Target& target);

}  // namespace ingot
