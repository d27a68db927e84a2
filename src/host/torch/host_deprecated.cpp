// Host functions of older libraries: what the generated ones replaced (I080).
#include "host/torch/handle.hpp"
#include "host/torch/host_op_call.hpp"

using ingot::call_host_op;

namespace {

// The address of a handle that may be null: an optional tensor of the generated functions.
void* optional(AtenTensorHandle& h) { return h ? &h : nullptr; }
void* list(const int64_t* p) { return const_cast<int64_t*>(p); }

}  // namespace

AOTITorchError aoti_torch_addmm_out(AtenTensorHandle out, AtenTensorHandle self, AtenTensorHandle mat1, AtenTensorHandle mat2,
                                    float beta, float alpha) {
  return call_host_op("addmm.out", {out, self, mat1, mat2, double{beta}, double{alpha}});
}
AOTITorchError aoti_torch_bmm_out(AtenTensorHandle out, AtenTensorHandle self, AtenTensorHandle mat2) {
  return call_host_op("bmm.out", {out, self, mat2});
}
AOTITorchError aoti_torch_mm_out(AtenTensorHandle out, AtenTensorHandle self, AtenTensorHandle mat2) {
  return call_host_op("mm.out", {out, self, mat2});
}
AOTITorchError aoti_torch_bmm(AtenTensorHandle self, AtenTensorHandle mat2, AtenTensorHandle* ret) {
  return call_host_op("bmm", {self, mat2, ret});
}
AOTITorchError aoti_torch_convolution(AtenTensorHandle input, AtenTensorHandle weight, AtenTensorHandle bias,
                                      const int64_t* stride_ptr, int64_t stride_size, const int64_t* padding_ptr,
                                      int64_t padding_size, const int64_t* dilation_ptr, int64_t dilation_size, int transposed,
                                      const int64_t* output_padding_ptr, int64_t output_padding_size, int64_t groups,
                                      AtenTensorHandle* ret) {
  return call_host_op("convolution", {input, weight, optional(bias), list(stride_ptr), stride_size, list(padding_ptr),
                                      padding_size, list(dilation_ptr), dilation_size, int32_t{transposed},
                                      list(output_padding_ptr), output_padding_size, groups, ret});
}
AOTITorchError aoti_torch_nonzero(AtenTensorHandle self, AtenTensorHandle* out) { return call_host_op("nonzero", {self, out}); }
AOTITorchError aoti_torch_repeat_interleave_Tensor(AtenTensorHandle repeats, int64_t* output_size, AtenTensorHandle* out) {
  return call_host_op("repeat_interleave.Tensor", {repeats, output_size, out});
}
AOTITorchError aoti_torch_view_as_real(AtenTensorHandle self, AtenTensorHandle* ret) {
  return call_host_op("view_as_real", {self, ret});
}
AOTITorchError aoti_torch_view_dtype(AtenTensorHandle self, int32_t dtype, AtenTensorHandle* ret) {
  return call_host_op("view.dtype", {self, dtype, ret});
}
AOTITorchError aoti_torch__embedding_bag(AtenTensorHandle weight, AtenTensorHandle indices, AtenTensorHandle offsets,
                                         int32_t scale_grad_by_freq, int32_t mode, int32_t sparse,
                                         AtenTensorHandle per_sample_weights, int32_t include_last_offset, int32_t padding_idx,
                                         AtenTensorHandle* ret0, AtenTensorHandle* ret1, AtenTensorHandle* ret2,
                                         AtenTensorHandle* ret3) {
  return call_host_op("_embedding_bag",
                      {weight, indices, offsets, scale_grad_by_freq, int64_t{mode}, sparse, optional(per_sample_weights),
                       include_last_offset, int64_t{padding_idx}, ret0, ret1, ret2, ret3});
}
AOTITorchError aoti_torch__fft_c2c(AtenTensorHandle self, const int64_t* dim_ptr, int64_t dim_size, int64_t normalization,
                                   int32_t forward, AtenTensorHandle* ret) {
  return call_host_op("_fft_c2c", {self, list(dim_ptr), dim_size, normalization, forward, ret});
}
