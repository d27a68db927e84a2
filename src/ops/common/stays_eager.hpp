// For OpDef::lower of ops whose body is a kernel: it makes the results itself instead of calling
// other ops, because some of them may be None. Such an op does not come apart (pass/decompose.hpp),
// and a call of it is one of the eager library.
#pragma once

namespace ingot {

struct Lowering;

inline void stays_eager(Lowering&) {}

}  // namespace ingot
