// Values on the stack of a library's operators: eight bytes each (I088). ingot/aoti_host.h says
// what stands for what.
#pragma once
#include "ingot/aoti_host.h"
#include "op/schema.hpp"

namespace ingot {

// Takes over the handles, lists, strings and addresses that it meets. User error for a type without
// a form on the stack.
Value take_stable(StableIValue bits, const SchemaType& type);
// Handles, lists, strings and addresses are the taker's.
StableIValue give_stable(const Value& v, const SchemaType& type);

}  // namespace ingot
