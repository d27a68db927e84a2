#include "counting_host.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

namespace ingot::test {
namespace {

std::atomic<int64_t> live{0};
std::string failing;
int failing_after = 0;
std::atomic<void (*)()> new_tensor_action{nullptr};
thread_local bool grad_mode = true, grad_mode_of_output = true;

bool fails(const char* function) { return !failing.empty() && failing == function && failing_after-- <= 0; }

int64_t element_size(int32_t dtype) {
  switch (dtype) {
    case 0:
    case 1:
    case 11: return 1;
    case 2:
    case 5:
    case 15:
    case 27: return 2;
    case 4:
    case 7:
    case 9: return 8;
    case 10: return 16;
    default: return 4;
  }
}

}  // namespace

void* HostTensor::data() { return storage ? storage + offset * element_size(dtype) : nullptr; }
HostTensor* tensor_of(AtenTensorHandle handle) { return reinterpret_cast<HostTensor*>(handle); }
AtenTensorHandle new_handle(HostTensor tensor) {
  live++;
  return reinterpret_cast<AtenTensorHandle>(new HostTensor(std::move(tensor)));
}
int64_t live_handles() { return live; }
bool grad_mode_of_last_output() { return grad_mode_of_output; }
void on_new_tensor(void (*action)()) { new_tensor_action = action; }
void fail_in(const char* function, int after) {
  failing = function;
  failing_after = after;
}

}  // namespace ingot::test

using namespace ingot::test;

#define FAIL_IF_ASKED(name) \
  if (fails(name)) return AOTI_TORCH_FAILURE

extern "C" {

int32_t aoti_torch_device_type_cpu(void) { return kCpu; }
int32_t aoti_torch_layout_strided(void) { return kStrided; }
int32_t aoti_torch_dtype_uint8(void) { return kFirstDtype + 0; }
int32_t aoti_torch_dtype_int32(void) { return kFirstDtype + 3; }
int32_t aoti_torch_dtype_int64(void) { return kFirstDtype + 4; }
int32_t aoti_torch_dtype_float16(void) { return kFirstDtype + 5; }
int32_t aoti_torch_dtype_float32(void) { return kFirstDtype + 6; }
int32_t aoti_torch_dtype_float64(void) { return kFirstDtype + 7; }
bool aoti_torch_grad_mode_is_enabled(void) { return grad_mode; }
void aoti_torch_grad_mode_set_enabled(bool enabled) { grad_mode = enabled; }

AOTITorchError aoti_torch_delete_tensor_object(AtenTensorHandle handle) {
  live--;
  delete tensor_of(handle);
  return AOTI_TORCH_SUCCESS;
}
AOTITorchError aoti_torch_get_data_ptr(AtenTensorHandle handle, void** data) {
  FAIL_IF_ASKED("get_data_ptr");
  *data = tensor_of(handle)->data();
  return AOTI_TORCH_SUCCESS;
}
AOTITorchError aoti_torch_get_storage_size(AtenTensorHandle handle, int64_t* bytes) {
  FAIL_IF_ASKED("get_storage_size");
  *bytes = tensor_of(handle)->storage_bytes;
  return AOTI_TORCH_SUCCESS;
}
AOTITorchError aoti_torch_get_dim(AtenTensorHandle handle, int64_t* rank) {
  FAIL_IF_ASKED("get_dim");
  *rank = static_cast<int64_t>(tensor_of(handle)->sizes.size());
  return AOTI_TORCH_SUCCESS;
}
AOTITorchError aoti_torch_get_sizes(AtenTensorHandle handle, int64_t** sizes) {
  *sizes = tensor_of(handle)->sizes.data();
  return AOTI_TORCH_SUCCESS;
}
AOTITorchError aoti_torch_get_strides(AtenTensorHandle handle, int64_t** strides) {
  *strides = tensor_of(handle)->strides.data();
  return AOTI_TORCH_SUCCESS;
}
AOTITorchError aoti_torch_get_dtype(AtenTensorHandle handle, int32_t* dtype) {
  *dtype = kFirstDtype + tensor_of(handle)->dtype;
  return AOTI_TORCH_SUCCESS;
}
AOTITorchError aoti_torch_get_device_type(AtenTensorHandle handle, int32_t* device) {
  *device = tensor_of(handle)->device;
  return AOTI_TORCH_SUCCESS;
}
AOTITorchError aoti_torch_get_layout(AtenTensorHandle handle, int32_t* layout) {
  *layout = tensor_of(handle)->layout;
  return AOTI_TORCH_SUCCESS;
}
AOTITorchError aoti_torch_empty_strided(int64_t rank, const int64_t* sizes, const int64_t* strides, int32_t dtype, int32_t device,
                                        int32_t, AtenTensorHandle* result) {
  FAIL_IF_ASKED("empty_strided");
  grad_mode_of_output = grad_mode;
  if (const auto action = new_tensor_action.load()) action();
  HostTensor t;
  int64_t last = 0;
  bool is_empty = false;
  for (int64_t d = 0; d < rank; d++) {
    is_empty |= sizes[d] == 0;
    last += (sizes[d] - 1) * strides[d];
  }
  t.dtype = dtype - kFirstDtype;
  t.device = device;
  t.sizes.assign(sizes, sizes + rank);
  t.strides.assign(strides, strides + rank);
  if (!is_empty) {  // an empty tensor has no address, as libtorch's has none
    const auto bytes = static_cast<size_t>((last + 1) * element_size(t.dtype));
    t.storage_bytes = static_cast<int64_t>(bytes);
    t.own = std::make_shared<std::vector<char>>(bytes + 64);
    const auto address = reinterpret_cast<uintptr_t>(t.own->data());
    t.storage = t.own->data() + (64 - address % 64) % 64;
  }
  *result = new_handle(std::move(t));
  return AOTI_TORCH_SUCCESS;
}
AOTITorchError aoti_torch_create_tensor_from_blob(void* data, int64_t rank, const int64_t* sizes, const int64_t* strides,
                                                  int64_t offset, int32_t dtype, int32_t device, int32_t index,
                                                  AtenTensorHandle* result) {
  FAIL_IF_ASKED("create_tensor_from_blob");
  if (!data) return aoti_torch_empty_strided(rank, sizes, strides, dtype, device, index, result);
  HostTensor t;
  t.storage = static_cast<char*>(data);
  int64_t last = offset;
  for (int64_t d = 0; d < rank; d++) last += (sizes[d] - 1) * strides[d];
  t.storage_bytes = (last + 1) * element_size(dtype - kFirstDtype);
  t.sizes.assign(sizes, sizes + rank);
  t.strides.assign(strides, strides + rank);
  t.offset = offset;
  t.dtype = dtype - kFirstDtype;
  t.device = device;
  *result = new_handle(std::move(t));
  return AOTI_TORCH_SUCCESS;
}
AOTITorchError aoti_torch_new_tensor_handle(AtenTensorHandle handle, AtenTensorHandle* result) {
  FAIL_IF_ASKED("new_tensor_handle");
  *result = new_handle(*tensor_of(handle));
  return AOTI_TORCH_SUCCESS;
}

}  // extern "C"
