#include "ops/families.hpp"

namespace ingot {

std::vector<Family> op_families() {
  return {
      arithmetic_family(),
      division_family(),
      power_family(),
      activation_family(),
      activation_backward_family(),
      math_family(),
      special_math_family(),
      comparison_family(),
      bitwise_family(),
      choice_family(),
      copy_family(),
      view_family(),
      view_composite_family(),
      view_copy_family(),
      scatter_view_family(),
      factory_family(),
      sequence_family(),
      random_family(),
      sampling_family(),
      dropout_family(),
      reduce_family(),
      scan_family(),
      softmax_family(),
      matmul_family(),
      matmul_composite_family(),
      einsum_family(),
      distance_family(),
      conv_family(),
      pool_family(),
      norm_family(),
      index_family(),
      join_family(),
      shape_family(),
      pad_family(),
      shuffle_family(),
      resample_family(),
      sort_family(),
      loss_family(),
      attention_family(),
      rnn_family(),
      linalg_family(),
      fft_family(),
      complex_family(),
      symbolic_family(),
  };
}

}  // namespace ingot
