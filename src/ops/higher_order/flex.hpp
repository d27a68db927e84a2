// Attention whose scores a function changes and another one masks, element by element.
#pragma once
#include "ingot/op/vjp.hpp"
#include "op/op.hpp"

namespace ingot {

// (query, key, value, score_mod, block_mask, scale, kernel_options, score_mod_other_buffers,
// mask_mod_other_buffers) -> (output, logsumexp of the scores, their maximum; the last two in units
// of log 2).
Value flex_attention(const Call& c);
// Scores are computed anew.
void flex_attention_vjp(Vjp& v);

// The same as an op of PyTorch's backward graphs: (…, out, logsumexp, grad_out, grad_logsumexp,
// fw_graph, joint_graph, …) -> gradients of query, key and value, and a list of those of the score
// function's buffers. joint_graph(score, b, h, q, k, gradient, *buffers) returns the gradient of
// each operand, or None.
Value flex_attention_backward(const Call& c);

// As a tracer sees them: what the functions are called with, and what comes of it.
Values flex_operands(const Call& c, std::size_t function);
Values flex_results(const Call& c, const std::vector<Values>& returned);
Values flex_backward_operands(const Call& c, std::size_t function);
Values flex_backward_results(const Call& c, const std::vector<Values>& returned);

}  // namespace ingot
