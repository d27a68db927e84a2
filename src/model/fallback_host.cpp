// The host of a process that has none: a strided tensor in CPU memory. A handle is one view of a
// counted storage. A handle of another host is refused: its first word, which every host's tensors
// have, is not our mark.
#include <atomic>

#include "model/host.hpp"
#include "model/layout.hpp"
#include "model/memory.hpp"

namespace ingot::model {
namespace {

struct Storage {
  Storage(void* m, int64_t n) : memory(m), bytes(n) {}
  ~Storage() { free(memory); }
  std::atomic<int64_t> references{1};
  void* memory;  // ours; null where the elements are the user's
  int64_t bytes;
};

constexpr uint64_t kMark = 0x726f736e65546749;

// `rank` sizes and as many strides follow it.
struct Tensor {
  uint64_t mark;
  Storage* storage;
  void* data;
  int32_t dtype, rank;

  int64_t* sizes() { return reinterpret_cast<int64_t*>(this + 1); }
  int64_t* strides() { return sizes() + rank; }
};

// Null for what is none of ours.
Tensor* tensor_of(AtenTensorHandle handle) {
  auto* tensor = reinterpret_cast<Tensor*>(handle);
  return tensor && tensor->mark == kMark ? tensor : nullptr;
}

// Does `action` to the tensor of a handle.
template <class Action>
AOTITorchError with(AtenTensorHandle handle, Action action) {
  Tensor* tensor = tensor_of(handle);
  if (!tensor) return AOTI_TORCH_FAILURE;
  action(*tensor);
  return AOTI_TORCH_SUCCESS;
}

// Takes a reference to the storage.
AOTITorchError make_tensor(Storage* storage, void* data, int32_t dtype, int64_t rank, const int64_t* sizes,
                           const int64_t* strides, AtenTensorHandle* result) {
  const size_t bytes = static_cast<size_t>(rank) * sizeof(int64_t);
  auto* tensor = static_cast<Tensor*>(allocate(sizeof(Tensor) + 2 * bytes));
  if (!tensor) return AOTI_TORCH_FAILURE;
  storage->references.fetch_add(1, std::memory_order_relaxed);
  tensor->mark = kMark;
  tensor->storage = storage;
  tensor->data = data;
  tensor->dtype = dtype;
  tensor->rank = static_cast<int32_t>(rank);
  if (rank) {
    memcpy(tensor->sizes(), sizes, bytes);
    memcpy(tensor->strides(), strides, bytes);
  }
  *result = reinterpret_cast<AtenTensorHandle>(tensor);
  return AOTI_TORCH_SUCCESS;
}

void release(Storage* storage) {
  if (storage->references.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(storage);
}

bool is_possible(int64_t rank, const int64_t* sizes, const int64_t* strides, int32_t dtype, int32_t device) {
  if (rank < 0 || rank > INGOT_MAX_RANK)
    return fail("a tensor of rank %lld: expected 0 to %d", static_cast<long long>(rank), INGOT_MAX_RANK);
  if (element_size(dtype) == 0) return fail("a tensor of dtype %d: there is no such dtype", dtype);
  if (device != 0) return fail("a tensor on device type %d: this host has the CPU (0) alone", device);
  int64_t last = element_size(dtype);  // in bytes, to see whether they can be counted
  for (int64_t d = 0; d < rank; d++) {
    int64_t step;
    if (sizes[d] < 0 || strides[d] < 0) return fail("a tensor with a negative size or stride");
    if (sizes[d] && (__builtin_mul_overflow(sizes[d] - 1, strides[d], &step) ||
                     __builtin_mul_overflow(step, element_size(dtype), &step) || __builtin_add_overflow(last, step, &last))) {
      return fail("a tensor of more bytes than can be counted");
    }
  }
  return true;
}

AOTITorchError delete_tensor_object(AtenTensorHandle handle) {
  if (!handle) return AOTI_TORCH_SUCCESS;
  return with(handle, [](Tensor& t) {
    release(t.storage);
    t.mark = 0;
    free(&t);
  });
}

AOTITorchError get_data_ptr(AtenTensorHandle handle, void** data) {
  return with(handle, [&](Tensor& t) { *data = t.data; });
}
AOTITorchError get_dim(AtenTensorHandle handle, int64_t* rank) {
  return with(handle, [&](Tensor& t) { *rank = t.rank; });
}
AOTITorchError get_sizes(AtenTensorHandle handle, int64_t** sizes) {
  return with(handle, [&](Tensor& t) { *sizes = t.sizes(); });
}
AOTITorchError get_strides(AtenTensorHandle handle, int64_t** strides) {
  return with(handle, [&](Tensor& t) { *strides = t.strides(); });
}
AOTITorchError get_dtype(AtenTensorHandle handle, int32_t* dtype) {
  return with(handle, [&](Tensor& t) { *dtype = t.dtype; });
}
AOTITorchError get_device_type(AtenTensorHandle handle, int32_t* device) {
  return with(handle, [&](Tensor&) { *device = 0; });
}
AOTITorchError get_storage_size(AtenTensorHandle handle, int64_t* bytes) {
  return with(handle, [&](Tensor& t) { *bytes = t.storage->bytes; });
}

AOTITorchError empty_strided(int64_t rank, const int64_t* sizes, const int64_t* strides, int32_t dtype, int32_t device, int32_t,
                             AtenTensorHandle* result) {
  if (!is_possible(rank, sizes, strides, dtype, device)) return AOTI_TORCH_FAILURE;
  const int64_t bytes = extent(static_cast<int32_t>(rank), sizes, strides) * element_size(dtype);
  void* memory = allocate(static_cast<uint64_t>(bytes));
  Storage* storage = memory ? create<Storage>(memory, bytes) : nullptr;
  if (!storage) {
    free(memory);
    return AOTI_TORCH_FAILURE;
  }
  const AOTITorchError status = make_tensor(storage, memory, dtype, rank, sizes, strides, result);
  release(storage);
  return status;
}

AOTITorchError create_tensor_from_blob(void* data, int64_t rank, const int64_t* sizes, const int64_t* strides, int64_t offset,
                                       int32_t dtype, int32_t device, int32_t index, AtenTensorHandle* result) {
  if (!data) return empty_strided(rank, sizes, strides, dtype, device, index, result);
  if (!is_possible(rank, sizes, strides, dtype, device)) return AOTI_TORCH_FAILURE;
  const int64_t last = offset + extent(static_cast<int32_t>(rank), sizes, strides);
  Storage* storage = create<Storage>(nullptr, last * element_size(dtype));
  if (!storage) return AOTI_TORCH_FAILURE;
  void* first = static_cast<char*>(data) + offset * element_size(dtype);
  const AOTITorchError status = make_tensor(storage, first, dtype, rank, sizes, strides, result);
  release(storage);
  return status;
}

AOTITorchError new_tensor_handle(AtenTensorHandle handle, AtenTensorHandle* result) {
  Tensor* t = tensor_of(handle);
  if (!t) return AOTI_TORCH_FAILURE;
  return make_tensor(t->storage, t->data, t->dtype, t->rank, t->sizes(), t->strides(), result);
}

// There are no gradients here.
bool grad_mode_is_enabled() { return false; }
void grad_mode_set_enabled(bool) {}
int32_t device_type_cpu() { return 0; }

}  // namespace

constinit const Host fallback_host = {
#define INGOT_HOST_OWN(name) name,
    INGOT_HOST_FUNCTIONS(INGOT_HOST_OWN)
#undef INGOT_HOST_OWN
        new_tensor_handle,
    nullptr,
    malloc,
    free,
    true,
    0,
    0,
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, -1, -1, -1, 15, -1, -1, -1, -1, -1, -1, -1, 23, 24, 25, 26, 27, 28, 29},
};

}  // namespace ingot::model
