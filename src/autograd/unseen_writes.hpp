// Whether writes of this thread are hidden from autograd, for layers; programs have a scope
// (ingot/unseen_writes.hpp).
#pragma once
#include "ingot/unseen_writes.hpp"

namespace ingot {

bool& unseen_writes();  // of this thread

}  // namespace ingot
