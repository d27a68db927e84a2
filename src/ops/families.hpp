// Every op family, in one explicit list. A family file defines an array of OpDef constants and the function that returns
// it; a new family adds its declaration here and its line in families.cpp.
#pragma once
#include <span>

#include "op/op.hpp"

namespace ingot {

using Family = std::span<const OpDef>;

std::vector<Family> op_families();

Family arithmetic_family();   // + - * / and their kin
Family division_family();     // division that rounds, remainders
Family power_family();        // pow, xlogy
Family activation_family();   // relu, gelu, sigmoid …
Family activation_backward_family();  // … and their backward ops
Family math_family();         // exp, log, sin, floor …
Family special_math_family();  // erf, gamma and Bessel functions, polynomials
Family comparison_family();   // eq, lt, logical, isnan
Family bitwise_family();      // and, or, xor, shifts
Family choice_family();       // where, masked_fill, clamp
Family copy_family();         // clone, copy, _to_copy, fill, contiguous, to
Family view_family();         // geometry
Family view_composite_family();  // reshape, flatten, chunk … views made of views
Family view_copy_family();    // the _copy twins of views
Family view_scatter_family();  // select_scatter, slice_backward … writing through a view
Family factory_family();      // zeros, full, …_like
Family sequence_family();     // arange, linspace, eye, tril_indices, windows
Family random_family();       // rand, randn, randint, bernoulli and other distributions
Family sampling_family();     // poisson, binomial, multinomial
Family dropout_family();      // dropout and its kin, rrelu
Family sums_and_extremes_family();  // sum, mean, prod, max, argmax, any, all
Family variance_family();     // var, std
Family vector_norm_family();  // norms of tensors, dist, renorm
Family order_statistics_family();  // median, mode, quantile
Family histogram_family();    // histc, bincount, histogram
Family segment_reduce_family();
Family sparse_family();       // sparse tensors, gradients of embeddings that are
Family cumulative_family();   // cumsum, cumprod, cummax, logcumsumexp
Family difference_family();   // diff, gradient, trapezoid
Family softmax_family();
Family matmul_family();       // mm, bmm, addmm, dot: kernels
Family matmul_composite_family();  // matmul, linear, tensordot, kron: products of products
Family einsum_family();
Family distance_family();     // cdist, pdist
Family conv_family();         // convolution and its gradients
Family pool_family();         // windows of fixed size
Family layer_norm_family();   // layer, group, rms and weight norm
Family batch_norm_family();   // batch and instance norm
Family conv_composite_family();  // conv1d … conv_transpose3d, im2col, col2im
Family adaptive_pool_family();  // adaptive, fractional, unpooling
Family advanced_index_family();  // t[i, :, mask]: index, index_put
Family index_slices_family();  // index_select, index_add …, take, put
Family scatter_family();      // gather, scatter, scatter_add
Family scatter_reduce_family();  // scatter_reduce, index_reduce
Family masked_family();       // nonzero, masked_select, masked_scatter
Family embedding_family();
Family embedding_bag_family();
Family join_family();         // cat, stack, block_diag, meshgrid
Family rearrange_family();    // repeat, flip, roll, tril, resize_
Family pad_family();          // constant, reflection, replication, circular
Family shuffle_family();      // pixel_shuffle, channel_shuffle
Family resample_family();     // interpolation to a new size
Family grid_sampler_family();  // sampling at points, affine grids
Family boxes_family();        // torchvision's: nms, roi_align, roi_pool …
Family deform_conv_family();  // torchvision's deform_conv2d
Family sort_family();         // sort, topk, kthvalue, searchsorted, isin
Family unique_family();       // unique values and rows
Family loss_family();         // elementwise losses and composites
Family class_loss_family();   // nll, cross entropy, margin losses
Family ctc_loss_family();
Family attention_family();
Family rnn_family();
Family linalg_factor_family();  // Cholesky, LU, triangular systems, inverse, determinant
Family linalg_ldl_family();   // symmetric indefinite systems
Family linalg_spectral_family();  // QR, eigenvalues, singular values
Family matrix_exp_family();
Family linalg_composite_family();  // what is made of them: norms, ranks, powers, checks
Family fft_family();          // the three core transforms
Family fft_composite_family();  // torch.fft, stft
Family complex_family();      // real, imag, conj, polar
Family fake_quantize_family();  // floats rounded to what a quantised tensor would hold
Family quantized_decomposed_family();  // quantize and dequantize of exported quantised models
Family packed_weights_family();  // products with weights of 8 and 4 bits
Family query_family();        // sym_size and the like
Family higher_order_family();  // cond, while_loop, scan, map; regions under other settings

}  // namespace ingot
