// softmax(scale q kᵀ + mask) v over matrices of batches and heads, and its gradients, without the
// scores of more than a block of rows in memory: products by gemm.hpp, softmax of the block while
// it is in the cache.
//
// T is float or double. A row in which nothing takes part (all its scores are -inf) has weights of
// zero and a logsumexp of -inf. Sums of a row are carried in double; every result is summed in an
// order fixed by the sizes, the strides and the CPU, so any split over threads gives the same bits.
// The gradient of the keys is summed in double.
//
// Requires: sizes >= 0; results overlap nothing; scratch of at least …_scratch_bytes,
// 64-byte aligned, one for each call that runs at the same time. Owns nothing, allocates nothing.
#pragma once
#include <cstdint>

namespace ingot::kernels {

// A matrix for each batch and head; strides in elements, zero where all share one.
template <class T>
struct Heads {
  T* data;
  int64_t batch, head, row, col;
  T* matrix(int64_t b, int64_t h) const { return data + b * batch + h * head; }
};

template <class T>
struct Attention {
  int64_t batches, heads, rows, keys, embed, value_embed;  // [rows, embed], [keys, embed], [keys, value_embed]
  T scale;
  bool causal;  // query i takes part with keys [0, i]
  Heads<const T> query, key, value;
  Heads<const T> mask;  // [rows, keys], added to the scores; data null: none
};

template <class T>
int64_t attention_scratch_bytes(const Attention<T>& a);
template <class T>
int64_t attention_backward_scratch_bytes(const Attention<T>& a);

// Work is cut into tasks, of which a call does [begin, end): some rows of one head.
template <class T>
int64_t attention_tasks(const Attention<T>& a);
// Writes out [rows, value_embed] and the logsumexp of the scores, [rows, 1].
template <class T>
void attention(const Attention<T>& a, const Heads<T>& out, const Heads<T>& logsumexp, int64_t begin, int64_t end, void* scratch);

// The same for the gradients, of which a task is a head: batches * heads tasks. Computes the
// weights anew.
template <class T>
void attention_backward(const Attention<T>& a, const Heads<const T>& grad, const Heads<T>& of_query, const Heads<T>& of_key,
                        const Heads<T>& of_value, int64_t begin, int64_t end, void* scratch);

}  // namespace ingot::kernels
