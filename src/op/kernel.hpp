// The last layer: the shape rule, then the kernel unless there are no bytes. Derived variants run their functional op and
// write the result; composites come apart here before any layer.
#pragma once
#include "op/call.hpp"

namespace ingot {

Value run_kernel(const Op& op, Args args);
Value run_composite(const Op& op, Args args);

// Whether an argument (or the thread, for a factory) makes the call fake.
bool is_fake_call(Args args);

}  // namespace ingot
