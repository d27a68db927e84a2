// Every op family, in one explicit list. A family file defines an array of OpDef constants and the function that returns
// it; a new family adds its declaration here and its line in families.cpp.
#pragma once
#include <span>

#include "op/op.hpp"

namespace ingot {

using Family = std::span<const OpDef>;

std::vector<Family> op_families();

Family arithmetic_family();   // + - * / and their kin
Family activation_family();   // relu, gelu, sigmoid … and their backward ops
Family math_family();         // exp, log, sin … special functions
Family comparison_family();   // eq, lt, logical, bitwise, where, isnan
Family copy_family();         // clone, copy, _to_copy, fill, contiguous, to
Family view_family();         // geometry
Family view_composite_family();  // reshape, flatten, chunk … views made of views
Family view_copy_family();    // the _copy twins of views
Family scatter_view_family(); // select_scatter, slice_backward … writing through a view
Family factory_family();      // zeros, arange, full, …_like
Family random_family();       // rand, randn, randint, bernoulli and other distributions
Family sampling_family();     // poisson, binomial, multinomial
Family dropout_family();      // dropout and its kin, rrelu
Family window_family();       // hann_window and the like
Family reduce_family();       // sum, mean, var, max, argmax, norms of tensors
Family scan_family();         // cumsum, cumprod, cummax, logcumsumexp
Family softmax_family();
Family matmul_family();       // mm, bmm, addmm, dot: kernels
Family matmul_composite_family();  // matmul, linear, tensordot, kron: products of products
Family einsum_family();
Family distance_family();     // cdist, pdist
Family conv_family();
Family pool_family();
Family norm_family();         // batch, layer, group, instance, rms norm
Family index_family();        // index, gather, scatter, embedding, masked_*
Family shape_family();        // cat, stack, repeat, flip, roll
Family pad_family();          // constant, reflection, replication, circular
Family patch_family();        // im2col, pixel_shuffle, channel_shuffle
Family resample_family();     // upsample, interpolate, grid_sampler
Family sort_family();         // sort, topk, unique, searchsorted
Family loss_family();
Family attention_family();
Family rnn_family();
Family linalg_family();
Family fft_family();
Family complex_family();      // real, imag, conj, polar
Family symbolic_family();     // sym_size and the like

}  // namespace ingot
