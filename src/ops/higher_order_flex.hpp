// Attention whose scores a function changes and another one masks, element by element.
#pragma once
#include "op/vjp.hpp"

namespace ingot {

// (query, key, value, score_mod, block_mask, scale, kernel_options, score_mod_other_buffers, mask_mod_other_buffers)
// -> (output, logsumexp of the scores, their maximum; the last two in units of log 2).
Value flex_attention(const Call& c);
// Scores are computed anew.
void flex_attention_vjp(Vjp& v);

// As a tracer sees it: what the two functions are called with, and what comes of it.
Values flex_operands(const Call& c, std::size_t function);
Values flex_results(const Call& c, const std::vector<Values>& returned);

}  // namespace ingot
