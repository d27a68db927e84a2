// Host functions: codes and modes (I072, I073, I084).
#include <stdexcept>

#include "base/dtype.hpp"
#include "base/dtype_code.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "op/call.hpp"
#include "host/torch/handle.hpp"

#define INGOT_CODE(name, value) \
  int32_t aoti_torch_##name(void) { return value; }

INGOT_CODE(device_type_cpu, 0)
INGOT_CODE(device_type_cuda, 1)
INGOT_CODE(device_type_xpu, 12)
INGOT_CODE(device_type_mps, 13)
INGOT_CODE(device_type_meta, 14)
INGOT_CODE(device_type_privateuse1, 20)

INGOT_CODE(dtype_uint8, 0)
INGOT_CODE(dtype_int8, 1)
INGOT_CODE(dtype_int16, 2)
INGOT_CODE(dtype_int32, 3)
INGOT_CODE(dtype_int64, 4)
INGOT_CODE(dtype_float16, 5)
INGOT_CODE(dtype_float32, 6)
INGOT_CODE(dtype_float64, 7)
INGOT_CODE(dtype_complex32, 8)
INGOT_CODE(dtype_complex64, 9)
INGOT_CODE(dtype_complex128, 10)
INGOT_CODE(dtype_bool, 11)
INGOT_CODE(dtype_bfloat16, 15)
INGOT_CODE(dtype_float8_e5m2, 23)
INGOT_CODE(dtype_float8_e4m3fn, 24)
INGOT_CODE(dtype_float8_e5m2fnuz, 25)
INGOT_CODE(dtype_float8_e4m3fnuz, 26)
INGOT_CODE(dtype_uint16, 27)
INGOT_CODE(dtype_uint32, 28)
INGOT_CODE(dtype_uint64, 29)
INGOT_CODE(dtype_float8_e8m0fnu, 44)
INGOT_CODE(dtype_float4_e2m1fn_x2, 45)

INGOT_CODE(layout_strided, 0)
INGOT_CODE(layout_sparse_coo, 1)
INGOT_CODE(layout_sparse_csr, 2)
INGOT_CODE(layout__mkldnn, 3)
INGOT_CODE(layout_sparse_csc, 4)
INGOT_CODE(layout_sparse_bsr, 5)
INGOT_CODE(layout_sparse_bsc, 6)
INGOT_CODE(layout_jagged, 7)

INGOT_CODE(memory_format_contiguous_format, 0)
INGOT_CODE(memory_format_preserve_format, 1)
INGOT_CODE(memory_format_channels_last, 2)
INGOT_CODE(memory_format_channels_last_3d, 3)

size_t aoti_torch_dtype_element_size(int32_t dtype) {
  if (const auto known = ingot::dtype_of_code(dtype)) return static_cast<size_t>(ingot::size_of(*known));
  switch (dtype) {  // types that a program may name and Ingot has no tensors of
    case 8: return 4;
    case 25:
    case 26:
    case 44:
    case 45: return 1;
    default: return 0;
  }
}

// Major, minor and patch of the interface's release, a byte each, from the top.
uint64_t aoti_torch_abi_version(void) { return uint64_t{2} << 56 | uint64_t{11} << 48; }

bool aoti_torch_grad_mode_is_enabled(void) { return ingot::thread_state().grad_mode; }
void aoti_torch_grad_mode_set_enabled(bool enabled) { ingot::thread_state().grad_mode = enabled; }

void aoti_torch_check(bool cond, const char* func, const char* file, uint32_t line, const char* msg) {
  if (!cond) throw std::runtime_error(ingot::text(msg, " (", func, " at ", file, ":", line, ")"));
}
void ingot_host_set_log(ingot_log_function write, void* context) { ingot::set_log(write, context); }
void aoti_torch_warn(const char* func, const char* file, uint32_t line, const char* msg) {
  ingot::warn(ingot::text(msg, " (", func, " at ", file, ":", line, ")"));
}
