#include "host/host_tensors.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <vector>

#include "ingot/aoti_host.h"

namespace ingot::host_tensors {
namespace {

template <class Function>
Function* look_up(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}
#define INGOT_HOST(name) look_up<decltype(::aoti_torch_##name)>("aoti_torch_" #name)

struct Host {
  decltype(&::aoti_torch_create_tensor_from_blob) create = INGOT_HOST(create_tensor_from_blob);
  decltype(&::aoti_torch_delete_tensor_object) release = INGOT_HOST(delete_tensor_object);
  decltype(&::aoti_torch_new_tensor_handle) share = INGOT_HOST(new_tensor_handle);
  decltype(&::aoti_torch_get_data_ptr) data = INGOT_HOST(get_data_ptr);
  decltype(&::aoti_torch_get_dim) rank = INGOT_HOST(get_dim);
  decltype(&::aoti_torch_get_sizes) sizes = INGOT_HOST(get_sizes);
  decltype(&::aoti_torch_get_strides) strides = INGOT_HOST(get_strides);
  decltype(&::aoti_torch_get_dtype) dtype = INGOT_HOST(get_dtype);
  bool is_whole() const { return create && release && share && data && rank && sizes && strides && dtype; }
};

// Whatever is there when the first library that needs it has been loaded.
const Host& host() {
  static const Host found;
  return found;
}

}  // namespace

AOTIRuntimeError from_memory(void* data, int32_t dtype, int32_t rank, const int64_t* sizes, const int64_t* strides,
                             AtenTensorHandle* tensor) {
  if (!host().is_whole()) return AOTI_RUNTIME_FAILURE;
  std::vector<int64_t> dense(static_cast<std::size_t>(rank));
  int64_t step = 1;
  for (int32_t d = rank; d-- > 0;) {
    dense[static_cast<std::size_t>(d)] = step;
    step *= std::max<int64_t>(sizes[d], 1);
  }
  return host().create(data, rank, sizes, strides ? strides : dense.data(), 0, dtype, 0, 0, tensor);
}

AOTIRuntimeError describe(AtenTensorHandle tensor, ingot_tensor_info* info) {
  const Host& h = host();
  int64_t rank = 0;
  int64_t *sizes = nullptr, *strides = nullptr;
  const bool is_well = h.is_whole() && h.data(tensor, &info->data) == 0 && h.dtype(tensor, &info->dtype) == 0 &&
                       h.rank(tensor, &rank) == 0 && h.sizes(tensor, &sizes) == 0 && h.strides(tensor, &strides) == 0;
  info->rank = static_cast<int32_t>(rank);
  info->sizes = sizes;
  info->strides = strides;
  return is_well ? AOTI_RUNTIME_SUCCESS : AOTI_RUNTIME_FAILURE;
}

AOTIRuntimeError release(AtenTensorHandle tensor) { return host().release ? host().release(tensor) : AOTI_RUNTIME_FAILURE; }

AOTIRuntimeError share(AtenTensorHandle tensor, AtenTensorHandle* copy) {
  return host().share ? host().share(tensor, copy) : AOTI_RUNTIME_FAILURE;
}

}  // namespace ingot::host_tensors
