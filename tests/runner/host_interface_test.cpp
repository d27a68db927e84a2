// No function of the host goes away or changes (I090): libraries were compiled for them and linked
// against them. The record of those that host_ops.list makes is tests/data/host_functions.txt, with
// the letters of their arguments; of the others it has the names, and their types are here. A
// changed function is a new one beside the old, and a new row.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>

#include "host/torch/host_op_call.hpp"
#include "ingot/aoti_host.h"
#include "model/host_op.h"

namespace ingot {
namespace {

static_assert(std::is_same_v<AOTITorchError, int32_t> && std::is_same_v<StableIValue, uint64_t>);
static_assert(sizeof(ingot_complex64) == 8 && sizeof(ingot_complex128) == 16 && sizeof(ingot_host_call) == 64);

template <class Found, class Recorded>
constexpr std::string_view held(std::string_view name) {
  static_assert(std::is_same_v<Found, Recorded>, "libraries were compiled for a function of another type");
  return name;
}
#define HELD(name, ...) held<decltype(name), __VA_ARGS__>(#name)

constexpr std::string_view kWrittenByHand[] = {
    HELD(aoti_torch_device_type_cpu, int32_t()),
    HELD(aoti_torch_device_type_cuda, int32_t()),
    HELD(aoti_torch_device_type_meta, int32_t()),
    HELD(aoti_torch_device_type_xpu, int32_t()),
    HELD(aoti_torch_device_type_mps, int32_t()),
    HELD(aoti_torch_device_type_privateuse1, int32_t()),
    HELD(aoti_torch_dtype_float8_e5m2, int32_t()),
    HELD(aoti_torch_dtype_float8_e4m3fn, int32_t()),
    HELD(aoti_torch_dtype_float8_e5m2fnuz, int32_t()),
    HELD(aoti_torch_dtype_float8_e4m3fnuz, int32_t()),
    HELD(aoti_torch_dtype_bfloat16, int32_t()),
    HELD(aoti_torch_dtype_float16, int32_t()),
    HELD(aoti_torch_dtype_float32, int32_t()),
    HELD(aoti_torch_dtype_float64, int32_t()),
    HELD(aoti_torch_dtype_uint8, int32_t()),
    HELD(aoti_torch_dtype_uint16, int32_t()),
    HELD(aoti_torch_dtype_uint32, int32_t()),
    HELD(aoti_torch_dtype_uint64, int32_t()),
    HELD(aoti_torch_dtype_float8_e8m0fnu, int32_t()),
    HELD(aoti_torch_dtype_float4_e2m1fn_x2, int32_t()),
    HELD(aoti_torch_dtype_int8, int32_t()),
    HELD(aoti_torch_dtype_int16, int32_t()),
    HELD(aoti_torch_dtype_int32, int32_t()),
    HELD(aoti_torch_dtype_int64, int32_t()),
    HELD(aoti_torch_dtype_bool, int32_t()),
    HELD(aoti_torch_dtype_complex32, int32_t()),
    HELD(aoti_torch_dtype_complex64, int32_t()),
    HELD(aoti_torch_dtype_complex128, int32_t()),
    HELD(aoti_torch_layout_strided, int32_t()),
    HELD(aoti_torch_layout_sparse_coo, int32_t()),
    HELD(aoti_torch_layout_sparse_csr, int32_t()),
    HELD(aoti_torch_layout_sparse_csc, int32_t()),
    HELD(aoti_torch_layout_sparse_bsr, int32_t()),
    HELD(aoti_torch_layout_sparse_bsc, int32_t()),
    HELD(aoti_torch_layout__mkldnn, int32_t()),
    HELD(aoti_torch_layout_jagged, int32_t()),
    HELD(aoti_torch_memory_format_contiguous_format, int32_t()),
    HELD(aoti_torch_memory_format_channels_last, int32_t()),
    HELD(aoti_torch_memory_format_channels_last_3d, int32_t()),
    HELD(aoti_torch_memory_format_preserve_format, int32_t()),
    HELD(aoti_torch_dtype_element_size, size_t(int32_t)),
    HELD(aoti_torch_abi_version, uint64_t()),
    HELD(aoti_torch_grad_mode_is_enabled, bool()),
    HELD(aoti_torch_grad_mode_set_enabled, void(bool)),
    HELD(aoti_torch_delete_tensor_object, AOTITorchError(AtenTensorHandle)),
    HELD(aoti_torch_get_data_ptr, AOTITorchError(AtenTensorHandle, void**)),
    HELD(aoti_torch_get_storage_size, AOTITorchError(AtenTensorHandle, int64_t*)),
    HELD(aoti_torch_get_dim, AOTITorchError(AtenTensorHandle, int64_t*)),
    HELD(aoti_torch_get_numel, AOTITorchError(AtenTensorHandle, int64_t*)),
    HELD(aoti_torch_get_storage_numel, AOTITorchError(AtenTensorHandle, int64_t*)),
    HELD(aoti_torch_get_sizes, AOTITorchError(AtenTensorHandle, int64_t**)),
    HELD(aoti_torch_get_size, AOTITorchError(AtenTensorHandle, int64_t, int64_t*)),
    HELD(aoti_torch_get_strides, AOTITorchError(AtenTensorHandle, int64_t**)),
    HELD(aoti_torch_get_stride, AOTITorchError(AtenTensorHandle, int64_t, int64_t*)),
    HELD(aoti_torch_get_dtype, AOTITorchError(AtenTensorHandle, int32_t*)),
    HELD(aoti_torch_get_device_type, AOTITorchError(AtenTensorHandle, int32_t*)),
    HELD(aoti_torch_get_device_index, AOTITorchError(AtenTensorHandle, int32_t*)),
    HELD(aoti_torch_get_layout, AOTITorchError(AtenTensorHandle, int32_t*)),
    HELD(aoti_torch_get_storage_offset, AOTITorchError(AtenTensorHandle, int64_t*)),
    HELD(aoti_torch_is_contiguous, AOTITorchError(AtenTensorHandle, bool*)),
    HELD(aoti_torch_is_defined, AOTITorchError(AtenTensorHandle, bool*)),
    HELD(aoti_torch_empty_strided,
         AOTITorchError(int64_t, const int64_t*, const int64_t*, int32_t, int32_t, int32_t, AtenTensorHandle*)),
    HELD(aoti_torch_empty_strided_pinned,
         AOTITorchError(int64_t, const int64_t*, const int64_t*, int32_t, int32_t, int32_t, AtenTensorHandle*)),
    HELD(aoti_torch_create_tensor_from_blob,
         AOTITorchError(void*, int64_t, const int64_t*, const int64_t*, int64_t, int32_t, int32_t, int32_t, AtenTensorHandle*)),
    HELD(aoti_torch_create_tensor_from_blob_v2,
         AOTITorchError(void*, int64_t, const int64_t*, const int64_t*, int64_t, int32_t, int32_t, int32_t, AtenTensorHandle*,
                        int32_t, const uint8_t*, int64_t)),
    HELD(aoti_torch_new_uninitialized_tensor, AOTITorchError(AtenTensorHandle*)),
    HELD(aoti_torch_new_tensor_handle, AOTITorchError(AtenTensorHandle, AtenTensorHandle*)),
    HELD(aoti_torch__reinterpret_tensor,
         AOTITorchError(AtenTensorHandle, int64_t, const int64_t*, const int64_t*, int64_t, AtenTensorHandle*)),
    HELD(aoti_torch_as_strided, AOTITorchError(AtenTensorHandle, const int64_t*, const int64_t*, AtenTensorHandle*)),
    HELD(aoti_torch__alloc_from_pool,
         AOTITorchError(AtenTensorHandle, int64_t, int32_t, int64_t, const int64_t*, const int64_t*, AtenTensorHandle*)),
    HELD(aoti_torch_copy_, AOTITorchError(AtenTensorHandle, AtenTensorHandle, int32_t)),
    HELD(aoti_torch_tensor_copy_, AOTITorchError(AtenTensorHandle, AtenTensorHandle)),
    HELD(aoti_torch_clone, AOTITorchError(AtenTensorHandle, AtenTensorHandle*)),
    HELD(aoti_torch_clone_preserve_strides, AOTITorchError(AtenTensorHandle, AtenTensorHandle*)),
    HELD(aoti_torch_assign_tensors, AOTITorchError(AtenTensorHandle, AtenTensorHandle)),
    HELD(aoti_torch_assign_tensors_out, AOTITorchError(AtenTensorHandle, AtenTensorHandle*)),
    HELD(aoti_torch_zero_, AOTITorchError(AtenTensorHandle)),
    HELD(aoti_torch_item_float16, AOTITorchError(AtenTensorHandle, uint16_t*)),
    HELD(aoti_torch_item_float32, AOTITorchError(AtenTensorHandle, float*)),
    HELD(aoti_torch_item_float64, AOTITorchError(AtenTensorHandle, double*)),
    HELD(aoti_torch_item_uint8, AOTITorchError(AtenTensorHandle, uint8_t*)),
    HELD(aoti_torch_item_uint16, AOTITorchError(AtenTensorHandle, uint16_t*)),
    HELD(aoti_torch_item_uint32, AOTITorchError(AtenTensorHandle, uint32_t*)),
    HELD(aoti_torch_item_uint64, AOTITorchError(AtenTensorHandle, uint64_t*)),
    HELD(aoti_torch_item_int8, AOTITorchError(AtenTensorHandle, int8_t*)),
    HELD(aoti_torch_item_int16, AOTITorchError(AtenTensorHandle, int16_t*)),
    HELD(aoti_torch_item_int32, AOTITorchError(AtenTensorHandle, int32_t*)),
    HELD(aoti_torch_item_int64, AOTITorchError(AtenTensorHandle, int64_t*)),
    HELD(aoti_torch_item_bool, AOTITorchError(AtenTensorHandle, bool*)),
    HELD(aoti_torch_item_bfloat16, AOTITorchError(AtenTensorHandle, uint16_t*)),
    HELD(aoti_torch_item_complex64, AOTITorchError(AtenTensorHandle, ingot_complex64*)),
    HELD(aoti_torch_scalar_to_tensor_float32, AOTITorchError(float, AtenTensorHandle*)),
    HELD(aoti_torch_scalar_to_tensor_float64, AOTITorchError(double, AtenTensorHandle*)),
    HELD(aoti_torch_scalar_to_tensor_uint8, AOTITorchError(uint8_t, AtenTensorHandle*)),
    HELD(aoti_torch_scalar_to_tensor_uint16, AOTITorchError(uint16_t, AtenTensorHandle*)),
    HELD(aoti_torch_scalar_to_tensor_uint32, AOTITorchError(uint32_t, AtenTensorHandle*)),
    HELD(aoti_torch_scalar_to_tensor_uint64, AOTITorchError(uint64_t, AtenTensorHandle*)),
    HELD(aoti_torch_scalar_to_tensor_int8, AOTITorchError(int8_t, AtenTensorHandle*)),
    HELD(aoti_torch_scalar_to_tensor_int16, AOTITorchError(int16_t, AtenTensorHandle*)),
    HELD(aoti_torch_scalar_to_tensor_int32, AOTITorchError(int32_t, AtenTensorHandle*)),
    HELD(aoti_torch_scalar_to_tensor_int64, AOTITorchError(int64_t, AtenTensorHandle*)),
    HELD(aoti_torch_scalar_to_tensor_bool, AOTITorchError(bool, AtenTensorHandle*)),
    HELD(aoti_torch_scalar_to_tensor_complex64, AOTITorchError(ingot_complex64, AtenTensorHandle*)),
    HELD(aoti_torch_scalar_to_tensor_complex128, AOTITorchError(ingot_complex128, AtenTensorHandle*)),
    HELD(aoti_torch__mm_plus_mm_out,
         AOTITorchError(AtenTensorHandle, AtenTensorHandle, AtenTensorHandle, AtenTensorHandle, AtenTensorHandle)),
    HELD(aoti_torch_scatter_out, AOTITorchError(AtenTensorHandle, AtenTensorHandle, int64_t, AtenTensorHandle, AtenTensorHandle)),
    HELD(aoti_torch_scatter_reduce_out,
         AOTITorchError(AtenTensorHandle, AtenTensorHandle, int64_t, AtenTensorHandle, AtenTensorHandle, const char*, int32_t)),
    HELD(aoti_torch_index_put_out,
         AOTITorchError(AtenTensorHandle, AtenTensorHandle, const AtenTensorHandle*, uint32_t, AtenTensorHandle, bool)),
    HELD(aoti_torch_cpu__scaled_mm, AOTITorchError(AtenTensorHandle, AtenTensorHandle, AtenTensorHandle, AtenTensorHandle,
                                                   AtenTensorHandle*, AtenTensorHandle*, int32_t*, int32_t, AtenTensorHandle*)),
    HELD(aoti_torch_cpu__scaled_mm_out,
         AOTITorchError(AtenTensorHandle, AtenTensorHandle, AtenTensorHandle, AtenTensorHandle, AtenTensorHandle,
                        AtenTensorHandle*, AtenTensorHandle*, int32_t*, int32_t)),
    HELD(aoti_torch_cpu__addmm_activation,
         AOTITorchError(AtenTensorHandle, AtenTensorHandle, AtenTensorHandle, double, double, int32_t, AtenTensorHandle*)),
    HELD(aoti_torch_cpu_randint_low_out, AOTITorchError(AtenTensorHandle, int64_t, int64_t, const int64_t*, int64_t)),
    HELD(aoti_torch_addmm_out,
         AOTITorchError(AtenTensorHandle, AtenTensorHandle, AtenTensorHandle, AtenTensorHandle, float, float)),
    HELD(aoti_torch_bmm_out, AOTITorchError(AtenTensorHandle, AtenTensorHandle, AtenTensorHandle)),
    HELD(aoti_torch_mm_out, AOTITorchError(AtenTensorHandle, AtenTensorHandle, AtenTensorHandle)),
    HELD(aoti_torch_bmm, AOTITorchError(AtenTensorHandle, AtenTensorHandle, AtenTensorHandle*)),
    HELD(aoti_torch_convolution,
         AOTITorchError(AtenTensorHandle, AtenTensorHandle, AtenTensorHandle, const int64_t*, int64_t, const int64_t*, int64_t,
                        const int64_t*, int64_t, int, const int64_t*, int64_t, int64_t, AtenTensorHandle*)),
    HELD(aoti_torch_nonzero, AOTITorchError(AtenTensorHandle, AtenTensorHandle*)),
    HELD(aoti_torch_repeat_interleave_Tensor, AOTITorchError(AtenTensorHandle, int64_t*, AtenTensorHandle*)),
    HELD(aoti_torch_view_as_real, AOTITorchError(AtenTensorHandle, AtenTensorHandle*)),
    HELD(aoti_torch_view_dtype, AOTITorchError(AtenTensorHandle, int32_t, AtenTensorHandle*)),
    HELD(aoti_torch__embedding_bag,
         AOTITorchError(AtenTensorHandle, AtenTensorHandle, AtenTensorHandle, int32_t, int32_t, int32_t, AtenTensorHandle,
                        int32_t, int32_t, AtenTensorHandle*, AtenTensorHandle*, AtenTensorHandle*, AtenTensorHandle*)),
    HELD(aoti_torch__fft_c2c, AOTITorchError(AtenTensorHandle, const int64_t*, int64_t, int64_t, int32_t, AtenTensorHandle*)),
    HELD(aoti_torch__scaled_mm, AOTITorchError(AtenTensorHandle, AtenTensorHandle, AtenTensorHandle, int32_t*, AtenTensorHandle,
                                               AtenTensorHandle, AtenTensorHandle, int8_t, AtenTensorHandle*, AtenTensorHandle*)),
    HELD(aoti_torch__scaled_mm_v2, AOTITorchError(AtenTensorHandle, AtenTensorHandle, AtenTensorHandle, AtenTensorHandle,
                                                  AtenTensorHandle, AtenTensorHandle, int32_t*, int8_t, AtenTensorHandle*)),
    HELD(aoti_torch_check, void(bool, const char*, const char*, uint32_t, const char*)),
    HELD(aoti_torch_warn, void(const char*, const char*, uint32_t, const char*)),
    HELD(aoti_torch_check_inf_and_nan, AOTITorchError(const char*, AtenTensorHandle)),
    HELD(aoti_torch_print_tensor_handle, void(AtenTensorHandle, const char*)),
    HELD(aoti_torch_save_tensor_handle, void(AtenTensorHandle, const char*, const char*, const char*)),
    HELD(aoti_torch_int64_to_ivalue, AOTITorchError(int64_t, C10IValueHandle*)),
    HELD(aoti_torch_str_to_ivalue, AOTITorchError(const char*, C10IValueHandle*)),
    HELD(aoti_torch_strlist_to_ivalue, AOTITorchError(const char**, int64_t, C10IValueHandle*)),
    HELD(aoti_torch_tensor_to_ivalue, AOTITorchError(AtenTensorHandle, C10IValueHandle*)),
    HELD(aoti_torch_delete_c10_value_object, AOTITorchError(C10IValueHandle)),
    HELD(aoti_record_function_start,
         AOTITorchError(const char*, IValueMapHandle, const C10IValueHandle*, uint64_t, AtenRecordFunctionHandle*)),
    HELD(aoti_record_function_end, AOTITorchError(AtenRecordFunctionHandle)),
    HELD(torch_new_list_reserve_size, AOTITorchError(size_t, StableListHandle*)),
    HELD(torch_list_size, AOTITorchError(StableListHandle, size_t*)),
    HELD(torch_list_get_item, AOTITorchError(StableListHandle, size_t, StableIValue*)),
    HELD(torch_list_set_item, AOTITorchError(StableListHandle, size_t, StableIValue)),
    HELD(torch_list_push_back, AOTITorchError(StableListHandle, StableIValue)),
    HELD(torch_delete_list, AOTITorchError(StableListHandle)),
    HELD(torch_new_string_handle, AOTITorchError(const char*, size_t, StringHandle*)),
    HELD(torch_string_length, AOTITorchError(StringHandle, size_t*)),
    HELD(torch_string_c_str, AOTITorchError(StringHandle, const char**)),
    HELD(torch_delete_string, AOTITorchError(StringHandle)),
    HELD(torch_new_generator_handle, AOTITorchError(AtenGeneratorHandle, AtenGeneratorHandle*)),
    HELD(torch_delete_generator, AOTITorchError(AtenGeneratorHandle)),
    HELD(aoti_torch_library_init_impl, AOTITorchError(const char*, const char*, const char*, uint32_t, TorchLibraryHandle*)),
    HELD(aoti_torch_library_init_def, AOTITorchError(const char*, const char*, uint32_t, TorchLibraryHandle*)),
    HELD(aoti_torch_library_init_fragment, AOTITorchError(const char*, const char*, uint32_t, TorchLibraryHandle*)),
    HELD(aoti_torch_library_impl, AOTITorchError(TorchLibraryHandle, const char*, void (*)(StableIValue*, uint64_t, uint64_t))),
    HELD(aoti_torch_library_def, AOTITorchError(TorchLibraryHandle, const char*)),
    HELD(aoti_torch_delete_library_object, AOTITorchError(TorchLibraryHandle)),
    HELD(aoti_torch_call_dispatcher, AOTITorchError(const char*, const char*, StableIValue*)),
    HELD(torch_library_impl,
         AOTITorchError(TorchLibraryHandle, const char*, void (*)(StableIValue*, uint64_t, uint64_t), uint64_t)),
    HELD(torch_call_dispatcher, AOTITorchError(const char*, const char*, StableIValue*, uint64_t)),
    HELD(torch_get_mutable_data_ptr, AOTITorchError(AtenTensorHandle, void**)),
    HELD(torch_get_const_data_ptr, AOTITorchError(AtenTensorHandle, const void**)),
    HELD(torch_set_requires_grad, AOTITorchError(AtenTensorHandle, bool)),
    HELD(torch_parse_device_string, AOTITorchError(const char*, uint32_t*, int32_t*)),
    HELD(torch_parallel_for, AOTITorchError(int64_t, int64_t, int64_t, void (*)(int64_t, int64_t, void*), void*)),
    HELD(torch_get_thread_idx, AOTITorchError(uint32_t*)),
    HELD(torch_get_num_threads, AOTITorchError(uint32_t*)),
    HELD(torch_exception_get_what, const char*()),
    HELD(torch_exception_get_what_without_backtrace, const char*()),
    HELD(aoti_torch_proxy_executor_call_function,
         AOTITorchError(AOTIProxyExecutorHandle, int, int, int64_t*, int, AtenTensorHandle*)),
    HELD(ingot_host_open_proxy, AOTITorchError(const char*, AOTIProxyExecutorHandle*, char*, size_t)),
    HELD(ingot_host_close_proxy, void(AOTIProxyExecutorHandle)),
    HELD(ingot_host_set_log, void(ingot_log_function, void*)),
    HELD(ingot_host_has_op, int32_t(const char*)),
    HELD(ingot_host_run_op, int32_t(const ingot_host_call*)),
};
#undef HELD

TEST(HostInterface, I090_FunctionsAreAddedAndNeverTakenAwayOrChanged) {
  EXPECT_EQ(std::size(kWrittenByHand), 173u);
  std::map<std::string, std::string> found;  // letters of arguments by name, or none
  for (const std::string_view name : kWrittenByHand) EXPECT_TRUE(found.try_emplace(std::string(name)).second) << name;
  for (const HostOpRow& row : host_op_rows()) {
    std::string letters;
    for (const char c : row.arguments)
      if (c != ',' && c != ' ') letters += c;
    EXPECT_TRUE(found.try_emplace(std::string(row.function), letters).second) << row.function;
  }
  std::ifstream file(std::string(INGOT_TEST_DATA) + "/host_functions.txt");
  std::map<std::string, std::string> recorded;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, letters;
    words >> name >> letters;
    EXPECT_TRUE(recorded.try_emplace(name, letters).second) << name;
    EXPECT_NE(dlsym(RTLD_DEFAULT, name.c_str()), nullptr) << name << " was there once: libraries were linked against it";
  }
  EXPECT_EQ(recorded.size(), 325u);
  EXPECT_EQ(found, recorded);
}

}  // namespace
}  // namespace ingot
