// What a batching rule sees: a call of one vmap level whose batched tensors have the batch in dim
// 0. A rule makes one call (or a few) for the whole batch and returns results with the batch in dim
// 0, every one of them. A *member* is what one of the mapped calls would see: the tensor without
// its batch dim.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "ingot/op/definition.hpp"

namespace ingot {

enum class Randomness : uint8_t;  // ingot/transforms.hpp

class Batching {
 public:
  Batching(const Op& op, Values args, std::vector<std::vector<bool>> batched, Int size, Randomness randomness)
      : op(op), args(std::move(args)), size(size), randomness(randomness), batched_(std::move(batched)) {}

  const Op& op;
  const Values args;  // all of the schema, in its order
  const Int size;     // of the batch
  const Randomness randomness;

  const Value& operator[](int i) const { return args[static_cast<std::size_t>(i)]; }
  const Tensor& tensor(int i) const { return args[static_cast<std::size_t>(i)].tensor(); }
  const TensorList& tensors(int i) const { return args[static_cast<std::size_t>(i)].tensors(); }

  bool any() const;
  // Whether argument i has the batch; of a list: whether some member tensor has it.
  bool batched(int i) const;
  bool batched(int i, int k) const { return batched_[static_cast<std::size_t>(i)][static_cast<std::size_t>(k)]; }

  // Of a member of tensor argument i.
  int rank(int i) const;
  Shape sizes(int i) const;

  // Tensor argument i with the batch in dim 0, repeated (a view) if it has none; undefined for
  // None. Then the same with the member's rank raised to `rank` by dims of size 1 behind the batch.
  Tensor front(int i) const;
  Tensor front(int i, int rank) const;
  // The members of a list argument with the batch in dim 0; undefined ones stay so.
  TensorList fronts(int i) const;
  // A tensor without the batch, with it.
  Tensor repeated(const Tensor& t) const;

  // The batch dim before these sizes.
  Shape with_batch(const Shape& sizes) const;
  // What the op makes of one member, by its shape rule.
  std::vector<Geometry> member_results() const;

 private:
  std::vector<std::vector<bool>> batched_;  // by argument; a tensor's is one long, a list's as long as the list

  Tensor member_fake(const Tensor& t, bool batched) const;
};

// `t`, whose dim 0 is the batch, with the member's rank raised to `rank` by dims of size 1.
Tensor raise_rank(const Tensor& t, int rank);
// Dims `dim` and `dim + 1` as one, and the reverse.
Tensor merge_dims(const Tensor& t, int dim);
Tensor split_dim(const Tensor& t, int dim, Int outer, Int inner);
Tensor move_dim(const Tensor& t, int from, int to);

}  // namespace ingot
