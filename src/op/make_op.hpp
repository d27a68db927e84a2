// From a definition to the op that calls name: what every registry of ops does.
#pragma once
#include <memory>

#include "op/op.hpp"

namespace ingot {

// `def` must outlive the op.
std::unique_ptr<Op> make_op(const OpDef& def, Schema schema);
// The in-place or out= form of an op, with its own schema and the functional one's rules.
std::unique_ptr<Op> make_variant(const Op& functional, Variant variant, Schema schema);

}  // namespace ingot
