// Functions that own the list of arguments they are called with, and others as such (R130).
#pragma once
#include "aot/aot.hpp"

namespace ingot::aot {

// What a compiler returns, of a function that leaves its arguments alone: the list is emptied when
// it is done. Of several results, or of one.
Boxed make_boxed(std::function<Values(const Values&)> f);
Boxed make_boxed(std::function<Tensor(const Values&)> f);

}  // namespace ingot::aot
