// Control flow that a traced program keeps: which function runs, and how often, is decided when the program runs. Run
// eagerly, each is the C++ it stands for. A function gets the operands as arguments and returns new tensors: it may not write
// them or return them as they are while it is traced. Gradients flow to the operands and to tensors that a function captures;
// what it captures it must own, since a backward that is traced too runs it again.
// Under vmap, where the predicate of cond differs by member, both functions run and each member takes its result.
#pragma once
#include "ingot/transforms.hpp"

namespace ingot {

// One of the two functions, by a one-element tensor. Both return the same number of tensors of the same sizes and dtypes.
TensorList cond(const Tensor& predicate, const TensorFunction& if_true, const TensorFunction& if_false,
                const TensorList& operands);
// The same by a truth value that is known already, such as a comparison of sizes: a traced program keeps both functions all the same.
TensorList cond(bool predicate, const TensorFunction& if_true, const TensorFunction& if_false, const TensorList& operands);

// Calls body with what it returned last, beginning with `carried`, while `condition` of the same arguments is true.
// `others` come after what is carried, in every call. No gradients.
TensorList while_loop(const TensorFunction& condition, const TensorFunction& body, const TensorList& carried,
                      const TensorList& others = {});

// Calls f on each row (along dim 0) of `rows`, followed by `others`, and stacks the results.
TensorList map(const TensorFunction& f, const TensorList& rows, const TensorList& others = {});

// Calls combine(carried…, row of each of rows…, others…) row after row, the last first if `reverse`. It returns what is
// carried on, then results, which are stacked. Returns what was carried last and the stacks.
struct Scanned {
  TensorList carried, stacked;
};
Scanned scan(const TensorFunction& combine, const TensorList& init, const TensorList& rows, const TensorList& others = {},
             bool reverse = false);

}  // namespace ingot
