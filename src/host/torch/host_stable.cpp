// Host functions of PyTorch's stable interface that came with 2.10 and later: libraries of
// operators call them (I088).
#include <cstring>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "ingot/autograd.hpp"
#include "host/torch/handle.hpp"

using namespace ingot;

// The version of the interface that the caller was built with says how values stand on the stack,
// which has not changed since.
AOTITorchError torch_call_dispatcher(const char* op_name, const char* overload_name, StableIValue* stack, uint64_t) {
  return aoti_torch_call_dispatcher(op_name, overload_name, stack);
}
AOTITorchError torch_library_impl(TorchLibraryHandle self, const char* name, void (*fn)(StableIValue*, uint64_t, uint64_t),
                                  uint64_t) {
  return aoti_torch_library_impl(self, name, fn);
}

AOTITorchError torch_get_mutable_data_ptr(AtenTensorHandle tensor, void** ret_data_ptr) {
  return aoti_torch_get_data_ptr(tensor, ret_data_ptr);
}
AOTITorchError torch_get_const_data_ptr(AtenTensorHandle tensor, const void** ret_data_ptr) {
  return aoti_torch_get_data_ptr(tensor, const_cast<void**>(ret_data_ptr));
}
AOTITorchError torch_set_requires_grad(AtenTensorHandle tensor, bool requires_grad) {
  return as_status([&] { tensor_of(tensor).requires_grad_(requires_grad); });
}

AOTITorchError torch_parse_device_string(const char* device_string, uint32_t* out_device_type, int32_t* out_device_index) {
  return as_status([&] {
    INGOT_REQUIRE(device_string && (std::strcmp(device_string, "cpu") == 0 || std::strcmp(device_string, "cpu:0") == 0),
                  "device: expected cpu, found ", device_string ? device_string : "null");
    *out_device_type = static_cast<uint32_t>(aoti_torch_device_type_cpu());
    *out_device_index = std::strcmp(device_string, "cpu") == 0 ? -1 : 0;
  });
}

namespace {
thread_local uint32_t loop_part = 0;  // of the parallel loop that this thread is in
}

// As many parts as threads, so that each has a number below that of the threads.
AOTITorchError torch_parallel_for(int64_t begin, int64_t end, int64_t grain_size, void (*func)(int64_t, int64_t, void*),
                                  void* ctx) {
  return as_status([&] {
    if (begin >= end) return;
    const int64_t parts =
        std::min<int64_t>(num_threads(), (end - begin + std::max<int64_t>(grain_size, 1) - 1) / std::max<int64_t>(grain_size, 1));
    const int64_t each = (end - begin + parts - 1) / parts;
    parallel_for(0, parts, 1, [&](int64_t first, int64_t last) {
      const uint32_t before = loop_part;
      for (int64_t k = first; k < last; k++) {
        loop_part = static_cast<uint32_t>(k);
        if (const int64_t from = begin + k * each; from < end) func(from, std::min(from + each, end), ctx);
      }
      loop_part = before;
    });
  });
}
AOTITorchError torch_get_thread_idx(uint32_t* out_thread_idx) {
  return as_status([&] { *out_thread_idx = loop_part; });
}
AOTITorchError torch_get_num_threads(uint32_t* out_num_threads) {
  return as_status([&] { *out_num_threads = static_cast<uint32_t>(num_threads()); });
}

const char* torch_exception_get_what(void) { return last_exception(); }
const char* torch_exception_get_what_without_backtrace(void) { return last_exception(); }
