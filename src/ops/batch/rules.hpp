// Ready-made batching rules (ingot/op/batching.hpp), for the `batch` field of an OpDef where the
// op's form does not say enough, and the rules that follow from the form.
#pragma once
#include "ingot/op/batching.hpp"
#include "ingot/transforms.hpp"
#include "op/call.hpp"

namespace ingot {

using BatchRule = Value (*)(const Batching&);

// An op without a rule of its own: pointwise ops, reductions, views, random ops and factories by
// their form; a loop for the rest.
Value batch_by_form(const Batching& b);

// result element = formula of the operands' elements. Members are aligned behind the batch dim; a
// 0-dim member counts as one in type promotion. Also for the in-place variant, whose first argument
// must have the batch.
Value batch_pointwise(const Batching& b);

// Every tensor gets the batch dim, every `dim` argument of the schema moves behind it. Right for an
// op that treats all dims but the named ones alike: gather, sort, cumsum, softmax, views of one
// dim, …
Value batch_dims(const Batching& b);
// The same for ops that take elements along a dim by an index of the same rank, a 0-dim tensor
// counting as one of size [1] (gather, scatter).
Value batch_elements(const Batching& b);
// The same for reductions, where no dim means all of the member's.
Value batch_reduction(const Batching& b);
// The same for the backward of a view: dims are those of `input_sizes`, which gets the batch in
// front.
Value batch_into_sizes(const Batching& b);

// The op treats leading dims as a batch of its own: every tensor gets the batch dim, ranks are made
// equal.
Value batch_leading(const Batching& b);

// The same for tensors whose last dims, Core of them for the tensor arguments in turn, are the op's
// own: the dims before are made equal in number.
Value batch_cores(const Batching& b, std::initializer_list<int> cores);
template <int... Core>
Value batch_cores(const Batching& b) {
  return batch_cores(b, {Core...});
}

// Tensors of rank Core or Core + 1, the first dim of the latter being the samples of a batch: the
// batch joins it. `input_size` and the like, where the op has them, start with the samples too.
Value batch_samples(const Batching& b, int core);
template <int Core>
Value batch_samples(const Batching& b) {
  return batch_samples(b, Core);
}

// One call for each member, stacked. Warns once per op (set_batch_warning_sink). User error for a
// batch of size 0.
Value batch_loop(const Batching& b);

// Random ops: by the vmap's randomness. Without `reads_values` the result depends on its arguments'
// sizes alone (rand_like), so that one draw may serve all members.
Value batch_random(const Batching& b);
Value batch_random_of_values(const Batching& b);

// Refuses in PyTorch's words: the result's size depends on values, or a number is read from data.
Value refuse_dynamic_shape(const Batching& b);

// A reduction over all dims, as the reduction over the one dim that a flattened member has.
template <OpName Name>
Value batch_over_all(const Batching& b) {
  const Tensor flat = aten<"reshape">(b.tensor(0), Shape{b.size, b.sizes(0).product()});
  Values args{flat, 1};
  const int dtype = b.op.schema.index_of("dtype");
  if (dtype >= 0) args.insert(args.end(), {Value(false), b[dtype]});
  const Value r = call(op_ref<Name>(), args);
  return r.is_tensors() ? Value(r.tensors()[0]) : r;
}

constexpr OpDef with_batch(OpDef d, BatchRule rule) {
  d.batch = rule;
  return d;
}

// ---- for rules by hand

// The arguments with every tensor in front, and the dims of the schema moved behind the batch dim.
// `rank` is the rank the dims are counted in.
Values arguments_in_front(const Batching& b);
Values with_dims_shifted(const Op& op, Values args, int rank);

// Where the loop says that it runs: called once per op, with one line of text; a new sink is told
// of every op again. Returns the sink before; null: stderr.
using BatchWarningSink = void (*)(const std::string& text);
BatchWarningSink set_batch_warning_sink(BatchWarningSink sink);

}  // namespace ingot
