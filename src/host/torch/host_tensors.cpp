// Host functions: what a tensor is, and new tensors (I074 to I077).
#include <cstdio>

#include "base/dtype.hpp"
#include "base/dtype_code.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "model/host_op.h"
#include "host/torch/handle.hpp"
#include "host/torch/host_op_call.hpp"
#include "tensor/geometry.hpp"

using namespace ingot;

namespace ingot {

Tensor& tensor_of(AtenTensorHandle handle) {
  INGOT_REQUIRE(handle != nullptr, "expected a tensor, found a null handle");
  INGOT_REQUIRE(handle->mark == AtenTensorOpaque::kMark,
                "expected a tensor of Ingot's runner, found a handle of another host, or one that was deleted");
  return handle->tensor;
}

// Fixed in size, so that to report a lack of memory needs none.
static thread_local char last_text[1024] = "";

static void say_exception(const char* what) {
  char line[4096];
  std::snprintf(line, sizeof line, "Exception in aoti_torch: %s", what);
  say(INGOT_LOG_ERROR, line);
}

AOTITorchError log_exception() noexcept {
  try {
    throw;
  } catch (const std::exception& e) {
    std::snprintf(last_text, sizeof last_text, "%s", e.what());
    say_exception(e.what());
  } catch (...) {
    std::snprintf(last_text, sizeof last_text, "UNKNOWN");
    say_exception(last_text);
  }
  return AOTI_TORCH_FAILURE;
}
const char* last_exception() noexcept { return last_text; }

void require_host_functions() {
  // One function of each file: an archive's members come whole.
  const void* const needed[] = {reinterpret_cast<const void*>(&aoti_torch_device_type_cpu),
                                reinterpret_cast<const void*>(&aoti_torch_get_dim),
                                reinterpret_cast<const void*>(&aoti_torch_clone),
                                reinterpret_cast<const void*>(&aoti_torch_item_float32),
                                reinterpret_cast<const void*>(&aoti_torch_proxy_executor_call_function),
                                reinterpret_cast<const void*>(&ingot_host_run_op),
                                reinterpret_cast<const void*>(&aoti_torch_mm_out),
                                reinterpret_cast<const void*>(&aoti_torch_str_to_ivalue),
                                reinterpret_cast<const void*>(&aoti_torch_library_def),
                                reinterpret_cast<const void*>(&torch_call_dispatcher),
                                reinterpret_cast<const void*>(&require_vector_functions),
                                reinterpret_cast<const void*>(host_op_rows().data())};
  for (const void* f : needed) INGOT_ENSURE(f != nullptr, "a host function is missing");
}

}  // namespace ingot

namespace {

DType dtype_of(int32_t code) {
  const auto dtype = dtype_of_code(code);
  INGOT_REQUIRE(dtype, "dtype ", code, ": Ingot has no such type");
  return *dtype;
}

void require_cpu(int32_t device_type) {
  INGOT_REQUIRE(device_type == 0, "device type ", device_type, ": this host has CPU tensors only");
}

Geometry geometry(int64_t ndim, const int64_t* sizes, const int64_t* strides, int64_t offset, DType dtype) {
  INGOT_REQUIRE(ndim >= 0 && ndim <= 64, "rank: expected 0 to 64, found ", ndim);
  INGOT_REQUIRE(ndim == 0 || (sizes && strides), "the arrays of sizes and strides must not be null");
  Geometry g;
  const auto n = static_cast<std::size_t>(ndim);
  g.sizes = Shape(std::span(sizes, n));
  g.strides = Shape(std::span(strides, n));
  g.offset = offset;
  g.dtype = dtype;
  for (std::size_t d = 0; d < n; d++)
    INGOT_REQUIRE(sizes[d] >= 0 && strides[d] >= 0, "sizes and strides must not be negative, found ", g.sizes, " and ",
                  g.strides);
  INGOT_REQUIRE(offset >= 0, "the storage offset must not be negative, found ", offset);
  return g;
}

// Another view of the storage of `self`, which must hold it.
Tensor view_of(const Tensor& self, Geometry g) {
  INGOT_REQUIRE(self.defined(), "expected a tensor, found an undefined one");
  const int64_t bytes = required_bytes(g).value(), has = self->storage->nbytes().value();
  INGOT_REQUIRE(bytes <= has, "a view of ", g.sizes, " with strides ", g.strides, " and offset ", g.offset, " needs ", bytes,
                " bytes, the storage has ", has);
  return make_alias(self, std::move(g));
}

// The answer to a question about a tensor.
template <class T, class F>
AOTITorchError answer(AtenTensorHandle handle, T* result, const F& f) {
  return as_status([&] {
    const Tensor& t = tensor_of(handle);
    INGOT_REQUIRE(t.defined(), "expected a tensor, found an undefined one");
    *result = f(t);
  });
}

// The caller's own handle to what f makes.
template <class F>
AOTITorchError make(AtenTensorHandle* result, const F& f) {
  return as_status([&] { *result = new_handle(f()); });
}

}  // namespace

AOTITorchError aoti_torch_delete_tensor_object(AtenTensorHandle tensor) {
  return as_status([&] {
    if (tensor) tensor_of(tensor);  // refuses what is none of ours
    delete tensor;
  });
}

AOTITorchError aoti_torch_get_data_ptr(AtenTensorHandle tensor, void** ret_data_ptr) {
  return answer(tensor, ret_data_ptr, [](const Tensor& t) { return t.numel().value() == 0 ? nullptr : t.data_ptr(); });
}
AOTITorchError aoti_torch_get_storage_size(AtenTensorHandle tensor, int64_t* ret_size) {
  return answer(tensor, ret_size, [](const Tensor& t) { return t->storage->nbytes().value(); });
}
AOTITorchError aoti_torch_get_dim(AtenTensorHandle tensor, int64_t* ret_dim) {
  return answer(tensor, ret_dim, [](const Tensor& t) { return t.dim(); });
}
AOTITorchError aoti_torch_get_numel(AtenTensorHandle tensor, int64_t* ret_numel) {
  return answer(tensor, ret_numel, [](const Tensor& t) { return t.numel().value(); });
}
AOTITorchError aoti_torch_get_storage_numel(AtenTensorHandle tensor, int64_t* ret_storage_numel) {
  return answer(tensor, ret_storage_numel, [](const Tensor& t) { return t->storage->nbytes().value() / t.itemsize(); });
}
AOTITorchError aoti_torch_get_sizes(AtenTensorHandle tensor, int64_t** ret_sizes) {
  return answer(tensor, ret_sizes, [&](const Tensor&) { return tensor->sizes.data(); });
}
AOTITorchError aoti_torch_get_size(AtenTensorHandle tensor, int64_t d, int64_t* ret_size) {
  return answer(tensor, ret_size, [&](const Tensor& t) { return t.size(d).value(); });
}
AOTITorchError aoti_torch_get_strides(AtenTensorHandle tensor, int64_t** ret_strides) {
  return answer(tensor, ret_strides, [&](const Tensor&) { return tensor->strides.data(); });
}
AOTITorchError aoti_torch_get_stride(AtenTensorHandle tensor, int64_t d, int64_t* ret_stride) {
  return answer(tensor, ret_stride, [&](const Tensor& t) { return t.stride(d).value(); });
}
AOTITorchError aoti_torch_get_dtype(AtenTensorHandle tensor, int32_t* ret_dtype) {
  return answer(tensor, ret_dtype, [](const Tensor& t) { return aoti_code(t.dtype()); });
}
AOTITorchError aoti_torch_get_device_type(AtenTensorHandle tensor, int32_t* ret_device_type) {
  return answer(tensor, ret_device_type,
                [](const Tensor& t) { return t.device().type == DeviceType::cuda ? aoti_torch_device_type_cuda() : 0; });
}
AOTITorchError aoti_torch_get_device_index(AtenTensorHandle tensor, int32_t* ret_device_index) {
  return answer(tensor, ret_device_index, [](const Tensor& t) { return static_cast<int32_t>(t.device().index); });
}
AOTITorchError aoti_torch_get_layout(AtenTensorHandle tensor, int32_t* ret_layout) {
  return answer(tensor, ret_layout, [](const Tensor&) { return aoti_torch_layout_strided(); });
}
AOTITorchError aoti_torch_get_storage_offset(AtenTensorHandle tensor, int64_t* ret_storage_offset) {
  return answer(tensor, ret_storage_offset, [](const Tensor& t) { return t.storage_offset().value(); });
}
AOTITorchError aoti_torch_is_contiguous(AtenTensorHandle tensor, bool* ret_is_contiguous) {
  return answer(tensor, ret_is_contiguous, [](const Tensor& t) { return t.is_contiguous(); });
}
AOTITorchError aoti_torch_is_defined(AtenTensorHandle tensor, bool* ret_is_defined) {
  return as_status([&] { *ret_is_defined = tensor_of(tensor).defined(); });
}

AOTITorchError aoti_torch_empty_strided(int64_t ndim, const int64_t* sizes_ptr, const int64_t* strides_ptr, int32_t dtype,
                                        int32_t device_type, int32_t, AtenTensorHandle* ret_new_tensor) {
  return make(ret_new_tensor, [&] {
    require_cpu(device_type);
    return make_tensor(geometry(ndim, sizes_ptr, strides_ptr, 0, dtype_of(dtype)));
  });
}
AOTITorchError aoti_torch_empty_strided_pinned(int64_t ndim, const int64_t* sizes_ptr, const int64_t* strides_ptr, int32_t dtype,
                                               int32_t device_type, int32_t, AtenTensorHandle* ret_new_tensor) {
  return make(ret_new_tensor, [&] {
    INGOT_REQUIRE(device_type == 0, "only CPU tensors can be pinned");
    return make_tensor(geometry(ndim, sizes_ptr, strides_ptr, 0, dtype_of(dtype)));
  });
}

AOTITorchError aoti_torch_create_tensor_from_blob(void* data, int64_t ndim, const int64_t* sizes_ptr, const int64_t* strides_ptr,
                                                  int64_t storage_offset, int32_t dtype, int32_t device_type, int32_t,
                                                  AtenTensorHandle* ret) {
  return make(ret, [&] {
    require_cpu(device_type);
    Geometry g = geometry(ndim, sizes_ptr, strides_ptr, storage_offset, dtype_of(dtype));
    if (data == nullptr) {
      g.offset = 0;
      return make_tensor(std::move(g));
    }
    const int64_t bytes = required_bytes(g).value();
    return Tensor(make_ref<TensorImpl>(Storage::wrap(data, bytes, [] {}), std::move(g)));
  });
}
AOTITorchError aoti_torch_create_tensor_from_blob_v2(void* data, int64_t ndim, const int64_t* sizes_ptr,
                                                     const int64_t* strides_ptr, int64_t storage_offset, int32_t dtype,
                                                     int32_t device_type, int32_t device_index, AtenTensorHandle* ret,
                                                     int32_t layout, const uint8_t*, int64_t) {
  if (layout == aoti_torch_layout_strided())
    return aoti_torch_create_tensor_from_blob(data, ndim, sizes_ptr, strides_ptr, storage_offset, dtype, device_type,
                                              device_index, ret);
  return as_status([&] { throw_user_error(text("layout ", layout, ": this host has strided tensors only")); });
}

AOTITorchError aoti_torch_new_uninitialized_tensor(AtenTensorHandle* ret) {
  return make(ret, [] { return Tensor(); });
}
AOTITorchError aoti_torch_new_tensor_handle(AtenTensorHandle orig_handle, AtenTensorHandle* new_handle) {
  return make(new_handle, [&] { return tensor_of(orig_handle); });
}

AOTITorchError aoti_torch__reinterpret_tensor(AtenTensorHandle self, int64_t ndim, const int64_t* sizes_ptr,
                                              const int64_t* strides_ptr, int64_t offset_increment,
                                              AtenTensorHandle* ret_new_tensor) {
  return make(ret_new_tensor, [&] {
    const Tensor& t = tensor_of(self);
    return view_of(t, geometry(ndim, sizes_ptr, strides_ptr, t.storage_offset().value() + offset_increment, t.dtype()));
  });
}
AOTITorchError aoti_torch_as_strided(AtenTensorHandle self, const int64_t* sizes_ptr, const int64_t* strides_ptr,
                                     AtenTensorHandle* ret) {
  return make(ret, [&] {
    const Tensor& t = tensor_of(self);
    return view_of(t, geometry(t.dim(), sizes_ptr, strides_ptr, t.storage_offset().value(), t.dtype()));
  });
}
AOTITorchError aoti_torch__alloc_from_pool(AtenTensorHandle self, int64_t offset_bytes, int32_t dtype, int64_t ndim,
                                           const int64_t* sizes_ptr, const int64_t* strides_ptr,
                                           AtenTensorHandle* ret_new_tensor) {
  return make(ret_new_tensor, [&] {
    const Tensor& pool = tensor_of(self);
    const DType type = dtype_of(dtype);
    const int64_t from = pool.storage_offset().value() * pool.itemsize() + offset_bytes;
    INGOT_REQUIRE(from % size_of(type) == 0, "the offset of ", from, " bytes in the pool is not aligned for ", type);
    return view_of(pool, geometry(ndim, sizes_ptr, strides_ptr, from / size_of(type), type));
  });
}
