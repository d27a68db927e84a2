// Control flow that a traced program keeps: which function runs, and how often, is decided when the
// program runs. Run eagerly, each is the C++ it stands for. A function gets the operands as
// arguments and returns new tensors: it may not write them or return them as they are while it is
// traced. Gradients flow to the operands and to tensors that a function captures; what it captures
// it must own, since a backward that is traced too runs it again. Under vmap, where the predicate
// of cond differs by member, both functions run and each member takes its result; a loop runs while
// any member's condition holds, and the others stay as they are.
#pragma once
#include "ingot/transforms.hpp"

namespace ingot {

// One of the two functions, by a one-element tensor. Both return the same number of tensors of the
// same sizes and dtypes.
TensorList cond(const Tensor& predicate, const TensorFunction& if_true, const TensorFunction& if_false,
                const TensorList& operands);
// The same by a truth value that is known already, such as a comparison of sizes: a traced program
// keeps both functions all the same.
TensorList cond(bool predicate, const TensorFunction& if_true, const TensorFunction& if_false, const TensorList& operands);

// Calls body with what it returned last, beginning with `carried`, while `condition` of the same
// arguments is true. `others` come after what is carried, in every call. A traced backward runs the
// loop anew, once to know how often it runs, and keeps what was carried into each step.
TensorList while_loop(const TensorFunction& condition, const TensorFunction& body, const TensorList& carried,
                      const TensorList& others = {});

// Calls f on each row (along dim 0) of `rows`, followed by `others`, and stacks the results.
TensorList map(const TensorFunction& f, const TensorList& rows, const TensorList& others = {});

// Calls combine(carried…, row of each of rows…, others…) row after row, the last first if
// `reverse`. It returns what is carried on, then results, which are stacked. Returns what was
// carried last and the stacks.
struct Scanned {
  TensorList carried, stacked;
};
Scanned scan(const TensorFunction& combine, const TensorList& init, const TensorList& rows, const TensorList& others = {},
             bool reverse = false);

// Attention whose scores a function changes: softmax(score_mod(q kᵀ · scale)) v over the last two
// dims of [batch, heads, length, embedding], over the elements that take part. The functions are
// called for all elements at once, in place of one: with a score, and the indices of batch, head,
// query and key, tensors without dims. Key and value may have fewer heads, each of which serves
// several of the query's, and one batch for all.
using ScoreMod = std::function<Tensor(const Tensor& score, const Tensor& b, const Tensor& h, const Tensor& q, const Tensor& k)>;
using MaskMod = std::function<Tensor(const Tensor& b, const Tensor& h, const Tensor& q, const Tensor& k)>;
struct FlexOptions {
  ScoreMod score_mod = {};  // none: the score
  MaskMod mask_mod = {};  // whether the element takes part; none: all do. A row without any is 0
  std::optional<double> scale;  // none: 1 / sqrt(embedding)
};
struct FlexResult {
  Tensor output, logsumexp, max_scores;  // the last two by row: of the scores of what takes part
};
FlexResult flex_attention(const Tensor& query, const Tensor& key, const Tensor& value, const FlexOptions& options = {});

}  // namespace ingot
