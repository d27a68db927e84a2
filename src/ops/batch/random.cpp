// Random ops inside vmap.
#include <algorithm>

#include "base/error.hpp"
#include "ops/batch/rules.hpp"

namespace ingot {
namespace {

void refuse_in_error_mode(const Batching& b) {
  INGOT_REQUIRE(b.randomness != Randomness::error,
                "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
                "'different' randomness flags on vmap or perform the randomness operation out of vmap");
}

int first_tensor(const Batching& b) {
  for (int i = 0; i < static_cast<int>(b.args.size()); i++)
    if (b[i].is_tensor()) return i;
  return -1;
}

// A draw for every member: sizes get the batch in front, tensors the batch dim.
Value draw_for_each(const Batching& b) {
  const int size = b.op.schema.index_of("size");
  if (size >= 0) {
    Values args = b.args;
    args[static_cast<std::size_t>(size)] = b.with_batch(b[size].ints());
    return call(b.op, args);
  }
  if (const int first = first_tensor(b); first >= 0) {
    int rank = 0;
    for (int i = first; i < static_cast<int>(b.args.size()); i++)
      if (b[i].is_tensor()) rank = std::max(rank, b.rank(i));
    Values args = b.args;
    for (int i = first; i < static_cast<int>(b.args.size()); i++)
      if (b[i].is_tensor() && (b.rank(i) == b.rank(first) || b.batched(i))) args[static_cast<std::size_t>(i)] = b.front(i, rank);
    return call(b.op, args);
  }
  TensorList draws;  // randperm: no size says how many
  for (int64_t m = 0; m < b.size.value(); m++) draws.push_back(call(b.op, b.args).tensor());
  return aten<"stack">(draws, 0);
}

// One draw for all members, made for the first of them.
Value draw_once(const Batching& b) {
  Values args = b.args;
  for (int i = 0; i < static_cast<int>(args.size()); i++)
    if (args[static_cast<std::size_t>(i)].is_tensor() && b.batched(i))
      args[static_cast<std::size_t>(i)] = aten<"select.int">(b.tensor(i), 0, 0);
  const Value r = call(b.op, args);
  if (r.is_tensor()) return b.repeated(r.tensor());
  TensorList l;
  for (const Tensor& t : r.tensors()) l.push_back(b.repeated(t));
  return l;
}

}  // namespace

Value batch_random(const Batching& b) {
  refuse_in_error_mode(b);
  return b.randomness == Randomness::different ? draw_for_each(b) : draw_once(b);
}

Value batch_random_of_values(const Batching& b) {
  refuse_in_error_mode(b);
  INGOT_REQUIRE(b.randomness != Randomness::same || !b.any(),
                "Vmap does not currently support same randomness with a batched tensor input. Ask for different "
                "randomness, or draw from a tensor that is not batched");
  return b.randomness == Randomness::different ? draw_for_each(b) : draw_once(b);
}

}  // namespace ingot
