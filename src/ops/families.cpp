#include "ops/families.hpp"

namespace ingot {

std::vector<Family> op_families() {
  return {
      arithmetic_family(),
      activation_family(),
      math_family(),
      comparison_family(),
      copy_family(),
      view_family(),
      view_composite_family(),
      view_copy_family(),
      scatter_view_family(),
      factory_family(),
      window_family(),
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
      shape_family(),
      pad_family(),
      patch_family(),
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
