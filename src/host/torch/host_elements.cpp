// Host functions: copies, and the ops that have a function of their own (I078, I080, I084).
#include <cstdio>

#include "base/dtype.hpp"
#include "base/dtype_code.hpp"
#include "base/error.hpp"
#include "ingot/autograd.hpp"
#include "op/call.hpp"
#include "host/torch/handle.hpp"
#include "tensor/device.hpp"
#include "tensor/impl.hpp"

using namespace ingot;

namespace {

// Ops run without gradients, whatever mode the caller is in: handles have no history.
template <class F>
AOTITorchError run(const F& f) {
  return as_status([&] {
    const GradModeGuard no_grad(false);
    f();
  });
}

}  // namespace

AOTITorchError aoti_torch_copy_(AtenTensorHandle self, AtenTensorHandle src, int32_t) {
  return run([&] { tensor_of(self).copy_(tensor_of(src)); });
}
AOTITorchError aoti_torch_tensor_copy_(AtenTensorHandle src, AtenTensorHandle dst) { return aoti_torch_copy_(dst, src, 0); }
AOTITorchError aoti_torch_clone(AtenTensorHandle self, AtenTensorHandle* ret) {
  return run([&] { *ret = new_handle(tensor_of(self).clone()); });
}
AOTITorchError aoti_torch_clone_preserve_strides(AtenTensorHandle self, AtenTensorHandle* ret) {
  return run([&] {
    const Tensor& t = tensor_of(self);
    Geometry g = t->geom;
    g.offset = 0;
    Tensor copy = make_tensor(std::move(g), t.device());
    if (t.numel().value() > 0)
      copy_bytes(copy.data_ptr(), copy.device(), t.data_ptr(), t.device(), copy->storage->nbytes().value());
    *ret = new_handle(copy);
  });
}
AOTITorchError aoti_torch_assign_tensors(AtenTensorHandle src, AtenTensorHandle dst) {
  return as_status([&] {
    tensor_of(dst);
    dst->set(tensor_of(src));
  });
}
AOTITorchError aoti_torch_assign_tensors_out(AtenTensorHandle src, AtenTensorHandle* ret_dst) {
  return aoti_torch_new_tensor_handle(src, ret_dst);
}
AOTITorchError aoti_torch_zero_(AtenTensorHandle self) {
  return run([&] { tensor_of(self).zero_(); });
}

AOTITorchError aoti_torch__mm_plus_mm_out(AtenTensorHandle out, AtenTensorHandle a, AtenTensorHandle b, AtenTensorHandle c,
                                          AtenTensorHandle d) {
  return run([&] { tensor_of(out).copy_(tensor_of(a).mm(tensor_of(b)).add(tensor_of(c).mm(tensor_of(d)))); });
}
AOTITorchError aoti_torch_scatter_out(AtenTensorHandle out, AtenTensorHandle self, int64_t dim, AtenTensorHandle index,
                                      AtenTensorHandle src) {
  return run([&] { tensor_of(out).copy_(aten<"scatter.src">(tensor_of(self), dim, tensor_of(index), tensor_of(src))); });
}
AOTITorchError aoti_torch_scatter_reduce_out(AtenTensorHandle out, AtenTensorHandle self, int64_t dim, AtenTensorHandle index,
                                             AtenTensorHandle src, const char* reduce, int32_t include_self) {
  return run([&] {
    tensor_of(out).copy_(aten<"scatter_reduce.two">(tensor_of(self), dim, tensor_of(index), tensor_of(src), std::string(reduce),
                                                    include_self != 0));
  });
}
AOTITorchError aoti_torch_index_put_out(AtenTensorHandle out, AtenTensorHandle self, const AtenTensorHandle* indices,
                                        uint32_t num_indices, AtenTensorHandle values, bool accumulate) {
  return run([&] {
    TensorList list;
    for (uint32_t k = 0; k < num_indices; k++) list.push_back(indices[k] ? indices[k]->tensor : Tensor());
    tensor_of(out).copy_(aten<"index_put">(tensor_of(self), list, tensor_of(values), accumulate));
  });
}

// ---- ops that only libraries of other compilers call: programs of Ingot's ops, which have no op
// of their own

// Products of float8 matrices, with a scale for each matrix or for each of its rows and columns.
// The scale of the result is for a float8 type that is asked for.
static Tensor scaled_mm(const Tensor& self, const Tensor& mat2, const Tensor& scale_a, const Tensor& scale_b, const Tensor& bias,
                        const Tensor& scale_result, const int32_t* out_dtype) {
  const auto is_float8 = [](DType t) { return t == DType::f8e4m3fn || t == DType::f8e5m2; };
  INGOT_REQUIRE(
      is_float8(self.dtype()) && is_float8(mat2.dtype()) && scale_a.dtype() == DType::f32 && scale_b.dtype() == DType::f32,
      "Invalid scaling configuration: expected float8 matrices and float32 scales, found ", self.dtype(), " and ", mat2.dtype(),
      " with ", scale_a.dtype(), " and ", scale_b.dtype());
  const auto asked = out_dtype ? dtype_of_code(*out_dtype) : std::optional<DType>(self.dtype());
  INGOT_REQUIRE(asked, "dtype ", *out_dtype, ": Ingot has no such type");
  Tensor product = self.to(DType::f32).mul(scale_a).mm(mat2.to(DType::f32).mul(scale_b));
  if (bias.defined()) product = product.add(bias.to(DType::f32));
  if (scale_result.defined() && out_dtype && is_float8(*asked)) product = product.div(scale_result);
  return product.to(*asked);
}
static Tensor optional_tensor(const AtenTensorHandle* h) { return h && *h ? tensor_of(*h) : Tensor(); }

AOTITorchError aoti_torch_cpu__scaled_mm(AtenTensorHandle self, AtenTensorHandle mat2, AtenTensorHandle scale_a,
                                         AtenTensorHandle scale_b, AtenTensorHandle* bias, AtenTensorHandle* scale_result,
                                         int32_t* out_dtype, int32_t, AtenTensorHandle* ret0) {
  return run([&] {
    *ret0 = new_handle(scaled_mm(tensor_of(self), tensor_of(mat2), tensor_of(scale_a), tensor_of(scale_b), optional_tensor(bias),
                                 optional_tensor(scale_result), out_dtype));
  });
}
AOTITorchError aoti_torch_cpu__scaled_mm_out(AtenTensorHandle out, AtenTensorHandle self, AtenTensorHandle mat2,
                                             AtenTensorHandle scale_a, AtenTensorHandle scale_b, AtenTensorHandle* bias,
                                             AtenTensorHandle* scale_result, int32_t* out_dtype, int32_t) {
  return run([&] {
    tensor_of(out).copy_(scaled_mm(tensor_of(self), tensor_of(mat2), tensor_of(scale_a), tensor_of(scale_b),
                                   optional_tensor(bias), optional_tensor(scale_result), out_dtype));
  });
}
// Deprecated forms; the second result of the first, a largest value, is none any more.
AOTITorchError aoti_torch__scaled_mm_v2(AtenTensorHandle self, AtenTensorHandle mat2, AtenTensorHandle scale_a,
                                        AtenTensorHandle scale_b, AtenTensorHandle bias, AtenTensorHandle scale_result,
                                        int32_t* out_dtype, int8_t fast, AtenTensorHandle* ret0) {
  return aoti_torch_cpu__scaled_mm(self, mat2, scale_a, scale_b, &bias, &scale_result, out_dtype, fast, ret0);
}
AOTITorchError aoti_torch__scaled_mm(AtenTensorHandle self, AtenTensorHandle mat2, AtenTensorHandle bias, int32_t* out_dtype,
                                     AtenTensorHandle scale_a, AtenTensorHandle scale_b, AtenTensorHandle scale_result,
                                     int8_t fast, AtenTensorHandle* ret0, AtenTensorHandle* ret1) {
  if (aoti_torch_new_uninitialized_tensor(ret1) != AOTI_TORCH_SUCCESS) return AOTI_TORCH_FAILURE;
  return aoti_torch_cpu__scaled_mm(self, mat2, scale_a, scale_b, &bias, &scale_result, out_dtype, fast, ret0);
}

AOTITorchError aoti_torch_cpu__addmm_activation(AtenTensorHandle self, AtenTensorHandle mat1, AtenTensorHandle mat2, double beta,
                                                double alpha, int32_t use_gelu, AtenTensorHandle* ret0) {
  return run([&] {
    const Tensor sum = aten<"addmm">(tensor_of(self), tensor_of(mat1), tensor_of(mat2), beta, alpha);
    *ret0 = new_handle(use_gelu ? aten<"gelu">(sum) : aten<"relu">(sum));
  });
}

// The one out= function of a factory: it has no tensors to derive it from.
AOTITorchError aoti_torch_cpu_randint_low_out(AtenTensorHandle out, int64_t low, int64_t high, const int64_t* size,
                                              int64_t size_len_) {
  return run([&] {
    Tensor& t = tensor_of(out);
    aten<"resize_">(t, Shape(std::span(size, static_cast<std::size_t>(size_len_))));
    aten<"random_.from">(t, low, high);
    out->set(t);
  });
}

AOTITorchError aoti_torch_check_inf_and_nan(const char* tensor_name, AtenTensorHandle tensor) {
  return run([&] {
    const Tensor& t = tensor_of(tensor);
    if (!is_differentiable(t.dtype())) return;
    INGOT_REQUIRE(!aten<"any">(aten<"isnan">(t)).item().to_bool(), "At least one NaN in ", tensor_name);
    INGOT_REQUIRE(!aten<"any">(aten<"isinf">(t)).item().to_bool(), "At least one INF in ", tensor_name);
  });
}
void aoti_torch_print_tensor_handle(AtenTensorHandle self, const char* msg) {
  (void)as_status([&] {
    const Tensor& t = tensor_of(self);
    std::printf("[%s] %s\n", msg ? msg : "", t.defined() ? t.to_string().c_str() : "undefined tensor");
  });
}
