/* The functions that a model library calls in the process it runs in (its host): tensors, and
 * nothing else of it. Ingot's runner has them, and so has libtorch. A library looks each one up
 * when it is loaded; where the process has none, it uses tensors of its own (ingot/model.h).
 *
 * A function returns 0, or 1 after a failure that the host has logged. Results are written through
 * the last pointers; a tensor handle that is written is the caller's, who releases it with
 * aoti_torch_delete_tensor_object. */
#ifndef INGOT_AOTI_HOST_H
#define INGOT_AOTI_HOST_H
#include "ingot/aoti.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- codes; their values are the host's business, a library asks for them */
INGOT_EXPORT int32_t aoti_torch_device_type_cpu(void);
INGOT_EXPORT int32_t aoti_torch_device_type_cuda(void);
INGOT_EXPORT int32_t aoti_torch_device_type_meta(void);
INGOT_EXPORT int32_t aoti_torch_device_type_xpu(void);
INGOT_EXPORT int32_t aoti_torch_device_type_mps(void);
INGOT_EXPORT int32_t aoti_torch_device_type_privateuse1(void);
INGOT_EXPORT int32_t aoti_torch_dtype_float8_e5m2(void);
INGOT_EXPORT int32_t aoti_torch_dtype_float8_e4m3fn(void);
INGOT_EXPORT int32_t aoti_torch_dtype_float8_e5m2fnuz(void);
INGOT_EXPORT int32_t aoti_torch_dtype_float8_e4m3fnuz(void);
INGOT_EXPORT int32_t aoti_torch_dtype_bfloat16(void);
INGOT_EXPORT int32_t aoti_torch_dtype_float16(void);
INGOT_EXPORT int32_t aoti_torch_dtype_float32(void);
INGOT_EXPORT int32_t aoti_torch_dtype_float64(void);
INGOT_EXPORT int32_t aoti_torch_dtype_uint8(void);
INGOT_EXPORT int32_t aoti_torch_dtype_uint16(void);
INGOT_EXPORT int32_t aoti_torch_dtype_uint32(void);
INGOT_EXPORT int32_t aoti_torch_dtype_uint64(void);
INGOT_EXPORT int32_t aoti_torch_dtype_float8_e8m0fnu(void);
INGOT_EXPORT int32_t aoti_torch_dtype_float4_e2m1fn_x2(void);
INGOT_EXPORT int32_t aoti_torch_dtype_int8(void);
INGOT_EXPORT int32_t aoti_torch_dtype_int16(void);
INGOT_EXPORT int32_t aoti_torch_dtype_int32(void);
INGOT_EXPORT int32_t aoti_torch_dtype_int64(void);
INGOT_EXPORT int32_t aoti_torch_dtype_bool(void);
INGOT_EXPORT int32_t aoti_torch_dtype_complex32(void);
INGOT_EXPORT int32_t aoti_torch_dtype_complex64(void);
INGOT_EXPORT int32_t aoti_torch_dtype_complex128(void);
INGOT_EXPORT int32_t aoti_torch_layout_strided(void);
INGOT_EXPORT int32_t aoti_torch_layout_sparse_coo(void);
INGOT_EXPORT int32_t aoti_torch_layout_sparse_csr(void);
INGOT_EXPORT int32_t aoti_torch_layout_sparse_csc(void);
INGOT_EXPORT int32_t aoti_torch_layout_sparse_bsr(void);
INGOT_EXPORT int32_t aoti_torch_layout_sparse_bsc(void);
INGOT_EXPORT int32_t aoti_torch_layout__mkldnn(void);
INGOT_EXPORT int32_t aoti_torch_layout_jagged(void);
INGOT_EXPORT int32_t aoti_torch_memory_format_contiguous_format(void);
INGOT_EXPORT int32_t aoti_torch_memory_format_channels_last(void);
INGOT_EXPORT int32_t aoti_torch_memory_format_channels_last_3d(void);
INGOT_EXPORT int32_t aoti_torch_memory_format_preserve_format(void);
INGOT_EXPORT size_t aoti_torch_dtype_element_size(int32_t dtype);
INGOT_EXPORT uint64_t aoti_torch_abi_version(void);

/* ---- grad mode of this thread */
INGOT_EXPORT bool aoti_torch_grad_mode_is_enabled(void);
INGOT_EXPORT void aoti_torch_grad_mode_set_enabled(bool enabled);

/* ---- what a tensor is; arrays and addresses are borrowed */
INGOT_EXPORT AOTITorchError aoti_torch_delete_tensor_object(AtenTensorHandle tensor);
/* The address of the first element, storage offset included. */
INGOT_EXPORT AOTITorchError aoti_torch_get_data_ptr(AtenTensorHandle tensor, void** ret_data_ptr);
/* Bytes of the whole storage. */
INGOT_EXPORT AOTITorchError aoti_torch_get_storage_size(AtenTensorHandle tensor, int64_t* ret_size);
INGOT_EXPORT AOTITorchError aoti_torch_get_dim(AtenTensorHandle tensor, int64_t* ret_dim);
INGOT_EXPORT AOTITorchError aoti_torch_get_numel(AtenTensorHandle tensor, int64_t* ret_numel);
INGOT_EXPORT AOTITorchError aoti_torch_get_storage_numel(AtenTensorHandle tensor, int64_t* ret_storage_numel);
INGOT_EXPORT AOTITorchError aoti_torch_get_sizes(AtenTensorHandle tensor, int64_t** ret_sizes);
INGOT_EXPORT AOTITorchError aoti_torch_get_size(AtenTensorHandle tensor, int64_t d, int64_t* ret_size);
INGOT_EXPORT AOTITorchError aoti_torch_get_strides(AtenTensorHandle tensor, int64_t** ret_strides);
INGOT_EXPORT AOTITorchError aoti_torch_get_stride(AtenTensorHandle tensor, int64_t d, int64_t* ret_stride);
INGOT_EXPORT AOTITorchError aoti_torch_get_dtype(AtenTensorHandle tensor, int32_t* ret_dtype);
INGOT_EXPORT AOTITorchError aoti_torch_get_device_type(AtenTensorHandle tensor, int32_t* ret_device_type);
INGOT_EXPORT AOTITorchError aoti_torch_get_device_index(AtenTensorHandle tensor, int32_t* ret_device_index);
INGOT_EXPORT AOTITorchError aoti_torch_get_layout(AtenTensorHandle tensor, int32_t* ret_layout);
INGOT_EXPORT AOTITorchError aoti_torch_get_storage_offset(AtenTensorHandle tensor, int64_t* ret_storage_offset);
INGOT_EXPORT AOTITorchError aoti_torch_is_contiguous(AtenTensorHandle tensor, bool* ret_is_contiguous);
INGOT_EXPORT AOTITorchError aoti_torch_is_defined(AtenTensorHandle tensor, bool* ret_is_defined);

/* ---- new tensors; the handle is the caller's */
INGOT_EXPORT AOTITorchError aoti_torch_empty_strided(int64_t ndim, const int64_t* sizes_ptr, const int64_t* strides_ptr,
                                                     int32_t dtype, int32_t device_type, int32_t device_index,
                                                     AtenTensorHandle* ret_new_tensor);
INGOT_EXPORT AOTITorchError aoti_torch_empty_strided_pinned(int64_t ndim, const int64_t* sizes_ptr, const int64_t* strides_ptr,
                                                            int32_t dtype, int32_t device_type, int32_t device_index,
                                                            AtenTensorHandle* ret_new_tensor);
/* Over the caller's memory, which `data` begins and the offset counts from. Null data: an empty
 * strided tensor. */
INGOT_EXPORT AOTITorchError aoti_torch_create_tensor_from_blob(void* data, int64_t ndim, const int64_t* sizes_ptr,
                                                               const int64_t* strides_ptr, int64_t storage_offset, int32_t dtype,
                                                               int32_t device_type, int32_t device_index, AtenTensorHandle* ret);
INGOT_EXPORT AOTITorchError aoti_torch_create_tensor_from_blob_v2(void* data, int64_t ndim, const int64_t* sizes_ptr,
                                                                  const int64_t* strides_ptr, int64_t storage_offset,
                                                                  int32_t dtype, int32_t device_type, int32_t device_index,
                                                                  AtenTensorHandle* ret, int32_t layout,
                                                                  const uint8_t* opaque_metadata, int64_t opaque_metadata_size);
/* An undefined tensor. */
INGOT_EXPORT AOTITorchError aoti_torch_new_uninitialized_tensor(AtenTensorHandle* ret);
/* A second handle to the same tensor. */
INGOT_EXPORT AOTITorchError aoti_torch_new_tensor_handle(AtenTensorHandle orig_handle, AtenTensorHandle* new_handle);
/* Another view of the same storage, `offset_increment` elements further. */
INGOT_EXPORT AOTITorchError aoti_torch__reinterpret_tensor(AtenTensorHandle self, int64_t ndim, const int64_t* sizes_ptr,
                                                           const int64_t* strides_ptr, int64_t offset_increment,
                                                           AtenTensorHandle* ret_new_tensor);
INGOT_EXPORT AOTITorchError aoti_torch_as_strided(AtenTensorHandle self, const int64_t* sizes_ptr, const int64_t* strides_ptr,
                                                  AtenTensorHandle* ret);
/* A tensor inside a pool of bytes. */
INGOT_EXPORT AOTITorchError aoti_torch__alloc_from_pool(AtenTensorHandle self, int64_t offset_bytes, int32_t dtype, int64_t ndim,
                                                        const int64_t* sizes_ptr, const int64_t* strides_ptr,
                                                        AtenTensorHandle* ret_new_tensor);

/* ---- elements */
INGOT_EXPORT AOTITorchError aoti_torch_copy_(AtenTensorHandle self, AtenTensorHandle src, int32_t non_blocking);
/* Deprecated: the same with its arguments the other way round. */
INGOT_EXPORT AOTITorchError aoti_torch_tensor_copy_(AtenTensorHandle src, AtenTensorHandle dst);
INGOT_EXPORT AOTITorchError aoti_torch_clone(AtenTensorHandle self, AtenTensorHandle* ret);
INGOT_EXPORT AOTITorchError aoti_torch_clone_preserve_strides(AtenTensorHandle self, AtenTensorHandle* ret);
/* `dst` becomes an alias of `src`; both are still deleted. */
INGOT_EXPORT AOTITorchError aoti_torch_assign_tensors(AtenTensorHandle src, AtenTensorHandle dst);
INGOT_EXPORT AOTITorchError aoti_torch_assign_tensors_out(AtenTensorHandle src, AtenTensorHandle* ret_dst);
INGOT_EXPORT AOTITorchError aoti_torch_zero_(AtenTensorHandle self);

/* ---- one element; half-precision values as their bits, complex ones as (real, imaginary) */
typedef struct ingot_complex64 {
  float real, imag;
} ingot_complex64;
typedef struct ingot_complex128 {
  double real, imag;
} ingot_complex128;
INGOT_EXPORT AOTITorchError aoti_torch_item_float16(AtenTensorHandle tensor, uint16_t* ret_value);
INGOT_EXPORT AOTITorchError aoti_torch_item_float32(AtenTensorHandle tensor, float* ret_value);
INGOT_EXPORT AOTITorchError aoti_torch_item_float64(AtenTensorHandle tensor, double* ret_value);
INGOT_EXPORT AOTITorchError aoti_torch_item_uint8(AtenTensorHandle tensor, uint8_t* ret_value);
INGOT_EXPORT AOTITorchError aoti_torch_item_uint16(AtenTensorHandle tensor, uint16_t* ret_value);
INGOT_EXPORT AOTITorchError aoti_torch_item_uint32(AtenTensorHandle tensor, uint32_t* ret_value);
INGOT_EXPORT AOTITorchError aoti_torch_item_uint64(AtenTensorHandle tensor, uint64_t* ret_value);
INGOT_EXPORT AOTITorchError aoti_torch_item_int8(AtenTensorHandle tensor, int8_t* ret_value);
INGOT_EXPORT AOTITorchError aoti_torch_item_int16(AtenTensorHandle tensor, int16_t* ret_value);
INGOT_EXPORT AOTITorchError aoti_torch_item_int32(AtenTensorHandle tensor, int32_t* ret_value);
INGOT_EXPORT AOTITorchError aoti_torch_item_int64(AtenTensorHandle tensor, int64_t* ret_value);
INGOT_EXPORT AOTITorchError aoti_torch_item_bool(AtenTensorHandle tensor, bool* ret_value);
INGOT_EXPORT AOTITorchError aoti_torch_item_bfloat16(AtenTensorHandle tensor, uint16_t* ret_value);
INGOT_EXPORT AOTITorchError aoti_torch_item_complex64(AtenTensorHandle tensor, ingot_complex64* ret_value);
INGOT_EXPORT AOTITorchError aoti_torch_scalar_to_tensor_float32(float value, AtenTensorHandle* ret_new_tensor);
INGOT_EXPORT AOTITorchError aoti_torch_scalar_to_tensor_float64(double value, AtenTensorHandle* ret_new_tensor);
INGOT_EXPORT AOTITorchError aoti_torch_scalar_to_tensor_uint8(uint8_t value, AtenTensorHandle* ret_new_tensor);
INGOT_EXPORT AOTITorchError aoti_torch_scalar_to_tensor_uint16(uint16_t value, AtenTensorHandle* ret_new_tensor);
INGOT_EXPORT AOTITorchError aoti_torch_scalar_to_tensor_uint32(uint32_t value, AtenTensorHandle* ret_new_tensor);
INGOT_EXPORT AOTITorchError aoti_torch_scalar_to_tensor_uint64(uint64_t value, AtenTensorHandle* ret_new_tensor);
INGOT_EXPORT AOTITorchError aoti_torch_scalar_to_tensor_int8(int8_t value, AtenTensorHandle* ret_new_tensor);
INGOT_EXPORT AOTITorchError aoti_torch_scalar_to_tensor_int16(int16_t value, AtenTensorHandle* ret_new_tensor);
INGOT_EXPORT AOTITorchError aoti_torch_scalar_to_tensor_int32(int32_t value, AtenTensorHandle* ret_new_tensor);
INGOT_EXPORT AOTITorchError aoti_torch_scalar_to_tensor_int64(int64_t value, AtenTensorHandle* ret_new_tensor);
INGOT_EXPORT AOTITorchError aoti_torch_scalar_to_tensor_bool(bool value, AtenTensorHandle* ret_new_tensor);
INGOT_EXPORT AOTITorchError aoti_torch_scalar_to_tensor_complex64(ingot_complex64 value, AtenTensorHandle* ret_new_tensor);
INGOT_EXPORT AOTITorchError aoti_torch_scalar_to_tensor_complex128(ingot_complex128 value, AtenTensorHandle* ret_new_tensor);

/* ---- ops that have a function of their own */
INGOT_EXPORT AOTITorchError aoti_torch__mm_plus_mm_out(AtenTensorHandle out, AtenTensorHandle a, AtenTensorHandle b,
                                                       AtenTensorHandle c, AtenTensorHandle d);
INGOT_EXPORT AOTITorchError aoti_torch_scatter_out(AtenTensorHandle out, AtenTensorHandle self, int64_t dim,
                                                   AtenTensorHandle index, AtenTensorHandle src);
INGOT_EXPORT AOTITorchError aoti_torch_scatter_reduce_out(AtenTensorHandle out, AtenTensorHandle self, int64_t dim,
                                                          AtenTensorHandle index, AtenTensorHandle src, const char* reduce,
                                                          int32_t include_self);
INGOT_EXPORT AOTITorchError aoti_torch_index_put_out(AtenTensorHandle out, AtenTensorHandle self, const AtenTensorHandle* indices,
                                                     uint32_t num_indices, AtenTensorHandle values, bool accumulate);
/* Products of float8 matrices with their scales; a tensor that may be left out is a null address,
 * or the address of null. */
INGOT_EXPORT AOTITorchError aoti_torch_cpu__scaled_mm(AtenTensorHandle self, AtenTensorHandle mat2, AtenTensorHandle scale_a,
                                                      AtenTensorHandle scale_b, AtenTensorHandle* bias,
                                                      AtenTensorHandle* scale_result, int32_t* out_dtype, int32_t use_fast_accum,
                                                      AtenTensorHandle* ret0);
INGOT_EXPORT AOTITorchError aoti_torch_cpu__scaled_mm_out(AtenTensorHandle out, AtenTensorHandle self, AtenTensorHandle mat2,
                                                          AtenTensorHandle scale_a, AtenTensorHandle scale_b,
                                                          AtenTensorHandle* bias, AtenTensorHandle* scale_result,
                                                          int32_t* out_dtype, int32_t use_fast_accum);
INGOT_EXPORT AOTITorchError aoti_torch_cpu__addmm_activation(AtenTensorHandle self, AtenTensorHandle mat1, AtenTensorHandle mat2,
                                                             double beta, double alpha, int32_t use_gelu, AtenTensorHandle* ret0);
INGOT_EXPORT AOTITorchError aoti_torch_cpu_randint_low_out(AtenTensorHandle out, int64_t low, int64_t high, const int64_t* size,
                                                           int64_t size_len_);

/* Deprecated: forms without a device in their names, which libraries of older compilers call. A
 * tensor that may be left out is null. */
INGOT_EXPORT AOTITorchError aoti_torch_addmm_out(AtenTensorHandle out, AtenTensorHandle self, AtenTensorHandle mat1,
                                                 AtenTensorHandle mat2, float beta, float alpha);
INGOT_EXPORT AOTITorchError aoti_torch_bmm_out(AtenTensorHandle out, AtenTensorHandle self, AtenTensorHandle mat2);
INGOT_EXPORT AOTITorchError aoti_torch_mm_out(AtenTensorHandle out, AtenTensorHandle self, AtenTensorHandle mat2);
INGOT_EXPORT AOTITorchError aoti_torch_bmm(AtenTensorHandle self, AtenTensorHandle mat2, AtenTensorHandle* ret);
INGOT_EXPORT AOTITorchError aoti_torch_convolution(AtenTensorHandle input, AtenTensorHandle weight, AtenTensorHandle bias,
                                                   const int64_t* stride_ptr, int64_t stride_size, const int64_t* padding_ptr,
                                                   int64_t padding_size, const int64_t* dilation_ptr, int64_t dilation_size,
                                                   int transposed, const int64_t* output_padding_ptr, int64_t output_padding_size,
                                                   int64_t groups, AtenTensorHandle* ret);
INGOT_EXPORT AOTITorchError aoti_torch_nonzero(AtenTensorHandle self, AtenTensorHandle* out);
INGOT_EXPORT AOTITorchError aoti_torch_repeat_interleave_Tensor(AtenTensorHandle repeats, int64_t* output_size,
                                                                AtenTensorHandle* out);
INGOT_EXPORT AOTITorchError aoti_torch_view_as_real(AtenTensorHandle self, AtenTensorHandle* ret);
INGOT_EXPORT AOTITorchError aoti_torch_view_dtype(AtenTensorHandle self, int32_t dtype, AtenTensorHandle* ret);
INGOT_EXPORT AOTITorchError aoti_torch__embedding_bag(AtenTensorHandle weight, AtenTensorHandle indices, AtenTensorHandle offsets,
                                                      int32_t scale_grad_by_freq, int32_t mode, int32_t sparse,
                                                      AtenTensorHandle per_sample_weights, int32_t include_last_offset,
                                                      int32_t padding_idx, AtenTensorHandle* ret0, AtenTensorHandle* ret1,
                                                      AtenTensorHandle* ret2, AtenTensorHandle* ret3);
INGOT_EXPORT AOTITorchError aoti_torch__fft_c2c(AtenTensorHandle self, const int64_t* dim_ptr, int64_t dim_size,
                                                int64_t normalization, int32_t forward, AtenTensorHandle* ret);
INGOT_EXPORT AOTITorchError aoti_torch__scaled_mm(AtenTensorHandle self, AtenTensorHandle mat2, AtenTensorHandle bias,
                                                  int32_t* out_dtype, AtenTensorHandle scale_a, AtenTensorHandle scale_b,
                                                  AtenTensorHandle scale_result, int8_t use_fast_accum, AtenTensorHandle* ret0,
                                                  AtenTensorHandle* ret1);
INGOT_EXPORT AOTITorchError aoti_torch__scaled_mm_v2(AtenTensorHandle self, AtenTensorHandle mat2, AtenTensorHandle scale_a,
                                                     AtenTensorHandle scale_b, AtenTensorHandle bias,
                                                     AtenTensorHandle scale_result, int32_t* out_dtype, int8_t use_fast_accum,
                                                     AtenTensorHandle* ret0);

/* ---- checks */
/* Raises a C++ runtime error where `cond` is false. */
INGOT_EXPORT void aoti_torch_check(bool cond, const char* func, const char* file, uint32_t line, const char* msg);
INGOT_EXPORT void aoti_torch_warn(const char* func, const char* file, uint32_t line, const char* msg);
INGOT_EXPORT AOTITorchError aoti_torch_check_inf_and_nan(const char* tensor_name, AtenTensorHandle tensor);
INGOT_EXPORT void aoti_torch_print_tensor_handle(AtenTensorHandle self, const char* msg);

/* Writes the elements to a file that is named after the rest, in the folder aoti_torch of the
 * temporary folder, and prints its path. */
INGOT_EXPORT void aoti_torch_save_tensor_handle(AtenTensorHandle self, const char* tensor_name, const char* launch_prefix,
                                                const char* kernel_name);

/* ---- what a library tells a profiler. Values in boxes are the caller's to delete; so is the map
 * of them */
typedef struct AtenRecordFunctionOpaque* AtenRecordFunctionHandle;
typedef struct IValueMapOpaque* IValueMapHandle;
INGOT_EXPORT AOTITorchError aoti_torch_int64_to_ivalue(int64_t val, C10IValueHandle* ivalue);
INGOT_EXPORT AOTITorchError aoti_torch_str_to_ivalue(const char* val, C10IValueHandle* ivalue);
INGOT_EXPORT AOTITorchError aoti_torch_strlist_to_ivalue(const char** val, int64_t len, C10IValueHandle* ivalue);
INGOT_EXPORT AOTITorchError aoti_torch_tensor_to_ivalue(AtenTensorHandle val, C10IValueHandle* ivalue);
INGOT_EXPORT AOTITorchError aoti_torch_delete_c10_value_object(C10IValueHandle handle);
/* With INGOT_LOG=profile in the environment the end prints `[profile] name: N us` on standard
 * error. */
INGOT_EXPORT AOTITorchError aoti_record_function_start(const char* name, IValueMapHandle kwargs, const C10IValueHandle* inputs,
                                                       uint64_t n_inputs, AtenRecordFunctionHandle* guard);
INGOT_EXPORT AOTITorchError aoti_record_function_end(AtenRecordFunctionHandle guard);

/* ---- operators of a library's own. A value on a stack is eight bytes: the number, its bits, the
 * code of a dtype, a layout or a memory format, a device (its type's code in the upper half, its
 * index in the lower), or the handle of a tensor, a list, a string or a generator; an optional one
 * is the address of such a value (from C++'s new), or 0. A list's elements are such values. Handles
 * and addresses that are given are stolen. */
typedef uint64_t StableIValue;
typedef struct StableListOpaque* StableListHandle;
typedef struct StringOpaque* StringHandle;
INGOT_EXPORT AOTITorchError torch_new_list_reserve_size(size_t size, StableListHandle* ret);
INGOT_EXPORT AOTITorchError torch_list_size(StableListHandle list_handle, size_t* size);
INGOT_EXPORT AOTITorchError torch_list_get_item(StableListHandle list_handle, size_t index, StableIValue* element);
INGOT_EXPORT AOTITorchError torch_list_set_item(StableListHandle list_handle, size_t index, StableIValue element);
INGOT_EXPORT AOTITorchError torch_list_push_back(StableListHandle list_handle, StableIValue element);
/* What the elements refer to is left alone. */
INGOT_EXPORT AOTITorchError torch_delete_list(StableListHandle list_handle);
INGOT_EXPORT AOTITorchError torch_new_string_handle(const char* data, size_t length, StringHandle* handle);
INGOT_EXPORT AOTITorchError torch_string_length(StringHandle handle, size_t* length);
/* Borrowed. */
INGOT_EXPORT AOTITorchError torch_string_c_str(StringHandle handle, const char** data);
INGOT_EXPORT AOTITorchError torch_delete_string(StringHandle handle);
/* Another owning handle of the same stream. */
INGOT_EXPORT AOTITorchError torch_new_generator_handle(AtenGeneratorHandle self, AtenGeneratorHandle* ret_new_generator);
INGOT_EXPORT AOTITorchError torch_delete_generator(AtenGeneratorHandle generator);
typedef struct TorchLibraryOpaque* TorchLibraryHandle;
INGOT_EXPORT AOTITorchError aoti_torch_library_init_impl(const char* ns, const char* k, const char* file, uint32_t line,
                                                         TorchLibraryHandle* ret_new_torch_lib);
INGOT_EXPORT AOTITorchError aoti_torch_library_init_def(const char* ns, const char* file, uint32_t line,
                                                        TorchLibraryHandle* ret_new_torch_lib);
INGOT_EXPORT AOTITorchError aoti_torch_library_init_fragment(const char* ns, const char* file, uint32_t line,
                                                             TorchLibraryHandle* ret_new_torch_lib);
/* `fn` takes its arguments on the stack and leaves its results there: (stack, number of arguments,
 * number of results). */
INGOT_EXPORT AOTITorchError aoti_torch_library_impl(TorchLibraryHandle self, const char* name,
                                                    void (*fn)(StableIValue*, uint64_t, uint64_t));
/* `schema`: "name(Tensor x, int n) -> Tensor". */
INGOT_EXPORT AOTITorchError aoti_torch_library_def(TorchLibraryHandle self, const char* schema);
/* What it implemented cannot be called any more. */
INGOT_EXPORT AOTITorchError aoti_torch_delete_library_object(TorchLibraryHandle tlh);
/* Results take the arguments' places on the stack, from the first on. */
INGOT_EXPORT AOTITorchError aoti_torch_call_dispatcher(const char* op_name, const char* overload_name, StableIValue* stack);
/* The same two, and others that came with later versions. `extension_build_version`: of the
 * interface that the caller was built with. */
INGOT_EXPORT AOTITorchError torch_library_impl(TorchLibraryHandle self, const char* name,
                                               void (*fn)(StableIValue*, uint64_t, uint64_t), uint64_t extension_build_version);
INGOT_EXPORT AOTITorchError torch_call_dispatcher(const char* op_name, const char* overload_name, StableIValue* stack,
                                                  uint64_t extension_build_version);
INGOT_EXPORT AOTITorchError torch_get_mutable_data_ptr(AtenTensorHandle tensor, void** ret_data_ptr);
INGOT_EXPORT AOTITorchError torch_get_const_data_ptr(AtenTensorHandle tensor, const void** ret_data_ptr);
INGOT_EXPORT AOTITorchError torch_set_requires_grad(AtenTensorHandle tensor, bool requires_grad);
INGOT_EXPORT AOTITorchError torch_parse_device_string(const char* device_string, uint32_t* out_device_type,
                                                      int32_t* out_device_index);
INGOT_EXPORT AOTITorchError torch_parallel_for(int64_t begin, int64_t end, int64_t grain_size,
                                               void (*func)(int64_t, int64_t, void*), void* ctx);
INGOT_EXPORT AOTITorchError torch_get_thread_idx(uint32_t* out_thread_idx);
INGOT_EXPORT AOTITorchError torch_get_num_threads(uint32_t* out_num_threads);
/* Why the last host function that failed on this thread failed. */
INGOT_EXPORT const char* torch_exception_get_what(void);
INGOT_EXPORT const char* torch_exception_get_what_without_backtrace(void);

/* ---- ops without a function: node `extern_node_index` of the executor's file, its arguments in
 * schema order */
INGOT_EXPORT AOTITorchError aoti_torch_proxy_executor_call_function(AOTIProxyExecutorHandle proxy_executor, int extern_node_index,
                                                                    int num_ints, int64_t* flatten_int_args, int num_tensors,
                                                                    AtenTensorHandle* flatten_tensor_args);
/* Ingot's own: the executor of a file beside a library (null where there is no such file), which is
 * the caller's to close. A failure leaves its text in `why`. */
INGOT_EXPORT AOTITorchError ingot_host_open_proxy(const char* path, AOTIProxyExecutorHandle* executor, char* why, size_t room);
INGOT_EXPORT void ingot_host_close_proxy(AOTIProxyExecutorHandle executor);
/* Ingot's own: what the host functions would write to standard error goes to `write` from now on;
 * null: to standard error again. */
INGOT_EXPORT void ingot_host_set_log(ingot_log_function write, void* context);

#ifdef __cplusplus
}
#endif
#endif
