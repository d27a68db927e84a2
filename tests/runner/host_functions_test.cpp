// The functions that a model calls in its host (section 6 of the runtime's description).
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>

#include "ingot/ingot.hpp"
#include "ingot/npy.hpp"
#include "op/call.hpp"
#include "host/torch/handle.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

Tensor counting(const Shape& sizes, DType dtype = DType::f32) {
  const Tensor t = make_tensor(Geometry::contiguous(sizes, DType::f32));
  for (int64_t i = 0; i < t.numel().value(); i++) t.data<float>()[i] = static_cast<float>(i);
  return t.to(dtype);
}

// A handle that goes with the test.
class Handle {
 public:
  Handle() = default;
  explicit Handle(const Tensor& t) : handle_(new_handle(t)) {}
  ~Handle() { EXPECT_EQ(aoti_torch_delete_tensor_object(handle_), 0); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator AtenTensorHandle() const { return handle_; }
  AtenTensorHandle* operator&() { return &handle_; }
  const Tensor& tensor() const { return handle_->tensor; }

 private:
  AtenTensorHandle handle_ = nullptr;
};

std::vector<double> values(const Handle& h) { return h.tensor().to_vector<double>(); }
using Doubles = std::vector<double>;

TEST(HostFunctions, I072_CodesAreTheReferences) {
  EXPECT_EQ(aoti_torch_device_type_cpu(), 0);
  EXPECT_EQ(aoti_torch_device_type_cuda(), 1);
  EXPECT_EQ(aoti_torch_device_type_xpu(), 12);
  EXPECT_EQ(aoti_torch_device_type_mps(), 13);
  EXPECT_EQ(aoti_torch_device_type_meta(), 14);
  EXPECT_EQ(aoti_torch_device_type_privateuse1(), 20);
  EXPECT_EQ(aoti_torch_dtype_uint8(), 0);
  EXPECT_EQ(aoti_torch_dtype_int8(), 1);
  EXPECT_EQ(aoti_torch_dtype_int16(), 2);
  EXPECT_EQ(aoti_torch_dtype_int32(), 3);
  EXPECT_EQ(aoti_torch_dtype_int64(), 4);
  EXPECT_EQ(aoti_torch_dtype_float16(), 5);
  EXPECT_EQ(aoti_torch_dtype_float32(), 6);
  EXPECT_EQ(aoti_torch_dtype_float64(), 7);
  EXPECT_EQ(aoti_torch_dtype_complex32(), 8);
  EXPECT_EQ(aoti_torch_dtype_complex64(), 9);
  EXPECT_EQ(aoti_torch_dtype_complex128(), 10);
  EXPECT_EQ(aoti_torch_dtype_bool(), 11);
  EXPECT_EQ(aoti_torch_dtype_bfloat16(), 15);
  EXPECT_EQ(aoti_torch_dtype_float8_e5m2(), 23);
  EXPECT_EQ(aoti_torch_dtype_float8_e4m3fn(), 24);
  EXPECT_EQ(aoti_torch_dtype_float8_e5m2fnuz(), 25);
  EXPECT_EQ(aoti_torch_dtype_float8_e4m3fnuz(), 26);
  EXPECT_EQ(aoti_torch_dtype_uint16(), 27);
  EXPECT_EQ(aoti_torch_dtype_uint32(), 28);
  EXPECT_EQ(aoti_torch_dtype_uint64(), 29);
  EXPECT_EQ(aoti_torch_layout_strided(), 0);
  EXPECT_EQ(aoti_torch_layout_sparse_coo(), 1);
  EXPECT_EQ(aoti_torch_layout_sparse_csr(), 2);
  EXPECT_EQ(aoti_torch_layout__mkldnn(), 3);
  EXPECT_EQ(aoti_torch_layout_sparse_csc(), 4);
  EXPECT_EQ(aoti_torch_layout_sparse_bsr(), 5);
  EXPECT_EQ(aoti_torch_layout_sparse_bsc(), 6);
  EXPECT_EQ(aoti_torch_layout_jagged(), 7);
  EXPECT_EQ(aoti_torch_memory_format_contiguous_format(), 0);
  EXPECT_EQ(aoti_torch_memory_format_preserve_format(), 1);
  EXPECT_EQ(aoti_torch_memory_format_channels_last(), 2);
  EXPECT_EQ(aoti_torch_memory_format_channels_last_3d(), 3);
  const std::pair<int32_t, size_t> sizes[] = {{0, 1},  {1, 1},  {2, 2},  {3, 4},   {4, 8},  {5, 2},  {6, 4},
                                              {7, 8},  {8, 4},  {9, 8},  {10, 16}, {11, 1}, {15, 2}, {23, 1},
                                              {24, 1}, {25, 1}, {26, 1}, {27, 2},  {28, 4}, {29, 8}};
  for (const auto& [code, bytes] : sizes) EXPECT_EQ(aoti_torch_dtype_element_size(code), bytes) << code;
  EXPECT_EQ(aoti_torch_dtype_element_size(99), 0u);
  EXPECT_EQ(aoti_torch_abi_version(), uint64_t{2} << 56 | uint64_t{11} << 48);  // 2.11
}

TEST(HostFunctions, I073_GradModeIsOneOfTheThread) {
  ASSERT_TRUE(aoti_torch_grad_mode_is_enabled());
  aoti_torch_grad_mode_set_enabled(false);
  std::thread([] { EXPECT_TRUE(aoti_torch_grad_mode_is_enabled()); }).join();
  EXPECT_FALSE(thread_state().grad_mode);
  aoti_torch_grad_mode_set_enabled(true);
  EXPECT_TRUE(thread_state().grad_mode);
}

TEST(HostFunctions, I074_ADeletedHandleGivesItsReferenceBack) {
  const int64_t before = TensorImpl::live();
  AtenTensorHandle h = new_handle(counting({3}));
  EXPECT_EQ(TensorImpl::live(), before + 1);
  EXPECT_EQ(aoti_torch_delete_tensor_object(h), 0);
  EXPECT_EQ(TensorImpl::live(), before);
}

TEST(HostFunctions, I075_WhatATensorIs) {
  const Tensor base = counting({4, 6}, DType::f64);
  const Handle t(base.slice(0, 1, 3).t());
  int64_t n = -1, *sizes = nullptr, *strides = nullptr;
  int32_t code = -1;
  bool flag = true;
  void* data = nullptr;
  EXPECT_EQ(aoti_torch_get_data_ptr(t, &data), 0);
  EXPECT_EQ(data, base.data<double>() + 6);
  EXPECT_EQ(aoti_torch_get_storage_size(t, &n), 0);
  EXPECT_EQ(n, 4 * 6 * 8);
  EXPECT_EQ(aoti_torch_get_storage_numel(t, &n), 0);
  EXPECT_EQ(n, 24);
  EXPECT_EQ(aoti_torch_get_dim(t, &n), 0);
  EXPECT_EQ(n, 2);
  EXPECT_EQ(aoti_torch_get_numel(t, &n), 0);
  EXPECT_EQ(n, 12);
  EXPECT_EQ(aoti_torch_get_sizes(t, &sizes), 0);
  EXPECT_EQ(std::vector(sizes, sizes + 2), (std::vector<int64_t>{6, 2}));
  EXPECT_EQ(aoti_torch_get_strides(t, &strides), 0);
  EXPECT_EQ(std::vector(strides, strides + 2), (std::vector<int64_t>{1, 6}));
  EXPECT_EQ(aoti_torch_get_size(t, 1, &n), 0);
  EXPECT_EQ(n, 2);
  EXPECT_EQ(aoti_torch_get_stride(t, -1, &n), 0);
  EXPECT_EQ(n, 6);
  EXPECT_EQ(aoti_torch_get_dtype(t, &code), 0);
  EXPECT_EQ(code, aoti_torch_dtype_float64());
  EXPECT_EQ(aoti_torch_get_device_type(t, &code), 0);
  EXPECT_EQ(code, aoti_torch_device_type_cpu());
  EXPECT_EQ(aoti_torch_get_device_index(t, &code), 0);
  EXPECT_EQ(code, -1);
  EXPECT_EQ(aoti_torch_get_layout(t, &code), 0);
  EXPECT_EQ(code, aoti_torch_layout_strided());
  EXPECT_EQ(aoti_torch_get_storage_offset(t, &n), 0);
  EXPECT_EQ(n, 6);
  EXPECT_EQ(aoti_torch_is_contiguous(t, &flag), 0);
  EXPECT_FALSE(flag);
  EXPECT_EQ(aoti_torch_is_defined(t, &flag), 0);
  EXPECT_TRUE(flag);
}

TEST(HostFunctions, I006_FailuresAreLoggedAndReturned) {
  int64_t n = 0;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(aoti_torch_get_dim(nullptr, &n), 1);
  const Handle t(counting({3}));
  EXPECT_EQ(aoti_torch_get_size(t, 5, &n), 1);
  Handle made;
  const int64_t sizes[] = {2}, strides[] = {1};
  EXPECT_EQ(aoti_torch_empty_strided(1, sizes, strides, 99, 0, 0, &made), 1);
  EXPECT_EQ(aoti_torch_empty_strided(1, sizes, strides, 6, 1, 0, &made), 1);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("Exception in aoti_torch: expected a tensor, found a null handle"), std::string::npos) << log;
  EXPECT_NE(log.find("dtype 99"), std::string::npos) << log;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(as_status([] { throw std::runtime_error("of the library"); }), AOTI_TORCH_FAILURE);
  EXPECT_EQ(as_status([] { throw 3; }), AOTI_TORCH_FAILURE);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "Exception in aoti_torch: of the library\nException in aoti_torch: UNKNOWN\n");
}

// libtorch's are one word that points on. Nothing but that word is read, and nothing is freed.
TEST(HostFunctions, I006_I074_AHandleOfAnotherHostIsRefused) {
  void* word = &word;
  const auto foreign = reinterpret_cast<AtenTensorHandle>(&word);
  int64_t rank = -1;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(aoti_torch_get_dim(foreign, &rank), AOTI_TORCH_FAILURE);
  EXPECT_EQ(aoti_torch_delete_tensor_object(foreign), AOTI_TORCH_FAILURE);
  EXPECT_EQ(aoti_torch_delete_tensor_object(nullptr), AOTI_TORCH_SUCCESS);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("found a handle of another host"), std::string::npos) << log;
}

TEST(HostFunctions, I088_OfTheStableInterface) {
  const Handle t(counting({3}));
  void* data = nullptr;
  const void* same = nullptr;
  EXPECT_EQ(torch_get_mutable_data_ptr(t, &data), 0);
  EXPECT_EQ(torch_get_const_data_ptr(t, &same), 0);
  EXPECT_EQ(data, same);
  uint32_t threads = 0, type = 9;
  int32_t index = 9;
  EXPECT_EQ(torch_get_num_threads(&threads), 0);
  EXPECT_GE(threads, 1u);
  EXPECT_EQ(torch_parse_device_string("cpu", &type, &index), 0);
  EXPECT_EQ(type, 0u);
  EXPECT_EQ(index, -1);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(torch_parse_device_string("tpu", &type, &index), 1);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("device: expected cpu, found tpu"), std::string::npos);
  EXPECT_NE(std::string(torch_exception_get_what_without_backtrace()).find("device: expected cpu, found tpu"), std::string::npos);

  // Every index once, and no part with a number that no thread has.
  std::vector<std::atomic<int>> seen(1000);
  EXPECT_EQ(torch_parallel_for(
                10, 1000, 7,
                [](int64_t begin, int64_t end, void* context) {
                  uint32_t part = 0, of = 0;
                  EXPECT_EQ(torch_get_thread_idx(&part), 0);
                  EXPECT_EQ(torch_get_num_threads(&of), 0);
                  EXPECT_LT(part, of);
                  for (int64_t i = begin; i < end; i++)
                    (*static_cast<std::vector<std::atomic<int>>*>(context))[static_cast<std::size_t>(i)]++;
                },
                &seen),
            0);
  for (std::size_t i = 0; i < seen.size(); i++) EXPECT_EQ(seen[i], i >= 10) << i;
}

TEST(HostFunctions, I076_NewTensors) {
  const int64_t sizes[] = {2, 3}, strides[] = {1, 2};
  Handle empty, pinned, over, nothing, undefined, second;
  EXPECT_EQ(aoti_torch_empty_strided(2, sizes, strides, aoti_torch_dtype_int32(), 0, 0, &empty), 0);
  EXPECT_EQ(to_text(empty.tensor().strides()), "[1, 2]");
  EXPECT_EQ(empty.tensor().dtype(), DType::i32);
  EXPECT_EQ(aoti_torch_empty_strided_pinned(2, sizes, strides, 6, 0, 0, &pinned), 0);
  ::testing::internal::CaptureStderr();
  Handle refused;
  EXPECT_EQ(aoti_torch_empty_strided_pinned(2, sizes, strides, 6, aoti_torch_device_type_cuda(), 0, &refused), 1);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("only CPU tensors can be pinned"), std::string::npos);

  float memory[] = {9, 0, 1, 2, 3, 4, 5};
  EXPECT_EQ(aoti_torch_create_tensor_from_blob(memory, 2, sizes, strides, 1, 6, 0, 0, &over), 0);
  memory[2] = 7;
  EXPECT_EQ(values(over), (Doubles{0, 2, 4, 7, 3, 5})) << "the memory is shared";
  EXPECT_EQ(over.tensor().storage_offset().value(), 1);
  EXPECT_EQ(aoti_torch_create_tensor_from_blob_v2(nullptr, 2, sizes, strides, 3, 6, 0, 0, &nothing, 0, nullptr, 0), 0);
  EXPECT_EQ(nothing.tensor().numel().value(), 6);
  EXPECT_NE(nothing.tensor().data_ptr(), nullptr);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(aoti_torch_create_tensor_from_blob_v2(memory, 2, sizes, strides, 0, 6, 0, 0, &refused, aoti_torch_layout_sparse_coo(),
                                                  nullptr, 0),
            1);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("strided tensors only"), std::string::npos);

  bool flag = true;
  EXPECT_EQ(aoti_torch_new_uninitialized_tensor(&undefined), 0);
  EXPECT_EQ(aoti_torch_is_defined(undefined, &flag), 0);
  EXPECT_FALSE(flag);
  EXPECT_EQ(aoti_torch_new_tensor_handle(over, &second), 0);
  EXPECT_TRUE(second.tensor().is_same(over.tensor()));
}

TEST(HostFunctions, I077_OtherViews) {
  const Handle t(counting({12}));
  Handle again, strided, pooled, refused;
  const int64_t sizes[] = {2, 2}, strides[] = {3, 1}, one[] = {4}, two[] = {2};
  EXPECT_EQ(aoti_torch__reinterpret_tensor(t, 2, sizes, strides, 5, &again), 0);
  EXPECT_EQ(values(again), (Doubles{5, 6, 8, 9}));
  EXPECT_EQ(aoti_torch__reinterpret_tensor(again, 1, one, two, 1, &strided), 1) << "past the end of the storage";
  EXPECT_EQ(aoti_torch_as_strided(t, one, two, &strided), 0);
  EXPECT_EQ(values(strided), (Doubles{0, 2, 4, 6}));
  const Handle pool(make_tensor(Geometry::contiguous({64}, DType::u8)));
  EXPECT_EQ(aoti_torch__alloc_from_pool(pool, 16, 6, 2, sizes, strides, &pooled), 0);
  EXPECT_EQ(pooled.tensor().data_ptr(), pool.tensor().data<char>() + 16);
  EXPECT_EQ(aoti_torch__alloc_from_pool(pool, 3, 6, 2, sizes, strides, &refused), 1) << "not aligned";
}

TEST(HostFunctions, I078_CopiesAndAssignments) {
  const Handle a(counting({2, 3}).t()), b(zeros({3, 2}, {.dtype = float64})), c(zeros({3, 2}));
  EXPECT_EQ(aoti_torch_copy_(b, a, 0), 0);
  EXPECT_EQ(values(b), (Doubles{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(aoti_torch_tensor_copy_(b, c), 0);
  EXPECT_EQ(values(c), values(b));
  Handle cloned, kept, out;
  EXPECT_EQ(aoti_torch_clone(a, &cloned), 0);
  EXPECT_EQ(aoti_torch_clone_preserve_strides(a, &kept), 0);
  EXPECT_EQ(values(cloned), values(a));
  EXPECT_EQ(values(kept), values(a));
  EXPECT_EQ(to_text(kept.tensor().strides()), "[1, 3]");
  EXPECT_NE(kept.tensor().data_ptr(), a.tensor().data_ptr());
  EXPECT_EQ(aoti_torch_zero_(cloned), 0);
  EXPECT_EQ(values(cloned), Doubles(6, 0));
  EXPECT_EQ(aoti_torch_assign_tensors(a, cloned), 0);
  EXPECT_TRUE(cloned.tensor().is_same(a.tensor()));
  int64_t* sizes = nullptr;
  EXPECT_EQ(aoti_torch_get_sizes(cloned, &sizes), 0);
  EXPECT_EQ(sizes[0], 3) << "the borrowed arrays are the new tensor's";
  EXPECT_EQ(aoti_torch_assign_tensors_out(a, &out), 0);
  EXPECT_TRUE(out.tensor().is_same(a.tensor()));
}

// The element of a 0-dim tensor by each function, from a tensor of each type that has the value.
template <class T>
void expect_item(AOTITorchError (*function)(AtenTensorHandle, T*), const Tensor& t, T expected) {
  T found{};
  EXPECT_EQ(function(Handle(t), &found), 0);
  EXPECT_EQ(found, expected);
}

TEST(HostFunctions, I079_OneElement) {
  const auto scalar = [](const Scalar& v, DType dtype) { return full({}, v, {.dtype = dtype}); };
  expect_item<float>(aoti_torch_item_float32, scalar(2.5, DType::f32), 2.5f);
  expect_item<double>(aoti_torch_item_float64, scalar(0.1, DType::f64), 0.1);
  expect_item<uint8_t>(aoti_torch_item_uint8, scalar(200, DType::u8), 200);
  expect_item<uint16_t>(aoti_torch_item_uint16, scalar(60000, DType::u16), 60000);
  expect_item<uint32_t>(aoti_torch_item_uint32, scalar(int64_t{4000000000}, DType::u32), 4000000000u);
  expect_item<uint64_t>(aoti_torch_item_uint64, scalar(int64_t{1} << 62, DType::u64), uint64_t{1} << 62);
  expect_item<int8_t>(aoti_torch_item_int8, scalar(-100, DType::i8), -100);
  expect_item<int16_t>(aoti_torch_item_int16, scalar(-30000, DType::i16), -30000);
  expect_item<int32_t>(aoti_torch_item_int32, scalar(-2000000000, DType::i32), -2000000000);
  expect_item<int64_t>(aoti_torch_item_int64, scalar(-(int64_t{1} << 62), DType::i64), -(int64_t{1} << 62));
  expect_item<bool>(aoti_torch_item_bool, scalar(true, DType::b8), true);
  expect_item<uint16_t>(aoti_torch_item_float16, scalar(2.5, DType::f16), 0x4100);
  expect_item<uint16_t>(aoti_torch_item_bfloat16, scalar(2.5, DType::bf16), 0x4020);
  ingot_complex64 z{};
  EXPECT_EQ(aoti_torch_item_complex64(Handle(scalar(std::complex<double>(2.5, -1), DType::c64)), &z), 0);
  EXPECT_EQ(z.real, 2.5f);
  EXPECT_EQ(z.imag, -1.f);
  float f = 0;
  EXPECT_EQ(aoti_torch_item_float32(Handle(counting({2})), &f), 1) << "more than one element";

  const auto expect_scalar = [](AOTITorchError error, const Handle& h, DType dtype, std::complex<double> value) {
    EXPECT_EQ(error, 0);
    EXPECT_EQ(h.tensor().dtype(), dtype);
    EXPECT_EQ(h.tensor().dim(), 0);
    EXPECT_EQ(h.tensor().device(), Device{});
    EXPECT_EQ(h.tensor().item().to_complex(), value);
  };
  Handle made[13];
  expect_scalar(aoti_torch_scalar_to_tensor_float32(0.1f, &made[0]), made[0], DType::f32, double{0.1f});
  expect_scalar(aoti_torch_scalar_to_tensor_float64(0.1, &made[1]), made[1], DType::f64, 0.1);
  expect_scalar(aoti_torch_scalar_to_tensor_uint8(200, &made[2]), made[2], DType::u8, 200);
  expect_scalar(aoti_torch_scalar_to_tensor_uint16(60000, &made[3]), made[3], DType::u16, 60000);
  expect_scalar(aoti_torch_scalar_to_tensor_uint32(4000000000u, &made[4]), made[4], DType::u32, 4e9);
  expect_scalar(aoti_torch_scalar_to_tensor_uint64(uint64_t{1} << 60, &made[5]), made[5], DType::u64, 0x1p60);
  expect_scalar(aoti_torch_scalar_to_tensor_int8(-3, &made[6]), made[6], DType::i8, -3);
  expect_scalar(aoti_torch_scalar_to_tensor_int16(-30000, &made[7]), made[7], DType::i16, -30000);
  expect_scalar(aoti_torch_scalar_to_tensor_int32(-2000000000, &made[8]), made[8], DType::i32, -2e9);
  expect_scalar(aoti_torch_scalar_to_tensor_int64(-(int64_t{1} << 60), &made[9]), made[9], DType::i64, -0x1p60);
  expect_scalar(aoti_torch_scalar_to_tensor_bool(true, &made[10]), made[10], DType::b8, 1);
  expect_scalar(aoti_torch_scalar_to_tensor_complex64({1, 2}, &made[11]), made[11], DType::c64, {1, 2});
  expect_scalar(aoti_torch_scalar_to_tensor_complex128({1, -2}, &made[12]), made[12], DType::c128, {1, -2});
}

TEST(HostFunctions, I080_OpsWithAFunctionOfTheirOwn) {
  const Handle a(counting({2, 2})), b(ones({2, 2})), out(zeros({2, 2}));
  EXPECT_EQ(aoti_torch__mm_plus_mm_out(out, a, b, b, a), 0);
  EXPECT_EQ(values(out), (Doubles{3, 5, 7, 9}));
  const Handle row(zeros({4})), index(tensor({3, 0}, DType::i64)), src(tensor({5., 6})), result(zeros({4}));
  EXPECT_EQ(aoti_torch_scatter_out(result, row, 0, index, src), 0);
  EXPECT_EQ(values(result), (Doubles{6, 0, 0, 5}));
  EXPECT_EQ(aoti_torch_scatter_reduce_out(result, Handle(ones({4})), 0, index, src, "sum", 1), 0);
  EXPECT_EQ(values(result), (Doubles{7, 1, 1, 6}));
  const AtenTensorHandle indices[] = {index};
  EXPECT_EQ(aoti_torch_index_put_out(result, row, indices, 1, src, false), 0);
  EXPECT_EQ(values(result), (Doubles{6, 0, 0, 5}));
  const AtenTensorHandle second[] = {nullptr, index};  // the first dim whole
  const Handle grid(ones({2, 4})), grid_out(zeros({2, 4}));
  EXPECT_EQ(aoti_torch_index_put_out(grid_out, grid, second, 2, src, true), 0);
  EXPECT_EQ(values(grid_out), (Doubles{7, 1, 1, 6, 7, 1, 1, 6}));
  EXPECT_EQ(aoti_torch_scatter_reduce_out(result, Handle(ones({4})), 0, index, src, "prod", 0), 0);
  EXPECT_EQ(values(result), (Doubles{6, 1, 1, 5})) << "without the elements that are there";
}

TEST(HostFunctions, I080_DeprecatedForms) {
  const Handle a(counting({2, 2})), b(ones({2, 2})), out(zeros({2, 2}));
  EXPECT_EQ(aoti_torch_mm_out(out, a, b), 0);
  EXPECT_EQ(values(out), (Doubles{1, 1, 5, 5}));
  EXPECT_EQ(aoti_torch_addmm_out(out, b, a, b, 10, 2), 0);
  EXPECT_EQ(values(out), (Doubles{12, 12, 20, 20}));
  const Handle batch(counting({1, 2, 2})), batch_out(zeros({1, 2, 2}));
  EXPECT_EQ(aoti_torch_bmm_out(batch_out, batch, batch), 0);
  EXPECT_EQ(values(batch_out), (Doubles{2, 3, 6, 11}));
  Handle made[12];
  EXPECT_EQ(aoti_torch_bmm(batch, batch, &made[0]), 0);
  EXPECT_EQ(values(made[0]), (Doubles{2, 3, 6, 11}));

  const Handle image(counting({1, 1, 3, 3})), kernel(ones({1, 1, 2, 2})), bias(tensor({100.}));
  const int64_t one[] = {1, 1}, none[] = {0, 0};
  EXPECT_EQ(aoti_torch_convolution(image, kernel, nullptr, one, 2, none, 2, one, 2, 0, none, 2, 1, &made[1]), 0);
  EXPECT_EQ(values(made[1]), (Doubles{8, 12, 20, 24}));
  EXPECT_EQ(aoti_torch_convolution(image, kernel, bias, one, 2, none, 2, one, 2, 0, none, 2, 1, &made[2]), 0);
  EXPECT_EQ(values(made[2]), (Doubles{108, 112, 120, 124}));

  EXPECT_EQ(aoti_torch_nonzero(a, &made[3]), 0);
  EXPECT_EQ(values(made[3]), (Doubles{0, 1, 1, 0, 1, 1}));
  const Handle repeats(tensor({2, 1}, DType::i64));
  int64_t three = 3;
  EXPECT_EQ(aoti_torch_repeat_interleave_Tensor(repeats, &three, &made[4]), 0);
  EXPECT_EQ(values(made[4]), (Doubles{0, 0, 1}));
  EXPECT_EQ(aoti_torch_repeat_interleave_Tensor(repeats, nullptr, &made[5]), 0);
  EXPECT_EQ(values(made[5]), (Doubles{0, 0, 1}));
  const Handle z(full({2}, std::complex<double>(1, 2), {.dtype = DType::c64}));
  EXPECT_EQ(aoti_torch_view_as_real(z, &made[6]), 0);
  EXPECT_EQ(values(made[6]), (Doubles{1, 2, 1, 2}));
  EXPECT_EQ(made[6].tensor().data_ptr(), z.tensor().data_ptr());
  EXPECT_EQ(aoti_torch_view_dtype(b, aoti_torch_dtype_int32(), &made[7]), 0);
  EXPECT_EQ(values(made[7]), Doubles(4, 0x3f800000));

  const Handle table(counting({3, 2})), indices(tensor({0, 2, 1}, DType::i64)), offsets(tensor({0, 2}, DType::i64));
  EXPECT_EQ(aoti_torch__embedding_bag(table, indices, offsets, 0, 0, 0, nullptr, 0, -1, &made[8], &made[9], &made[10], &made[11]),
            0);
  EXPECT_EQ(values(made[8]), (Doubles{4, 6, 2, 3}));
  Handle weighted[4];
  const Handle factors(tensor({1., 10, 100}));
  EXPECT_EQ(aoti_torch__embedding_bag(table, indices, offsets, 0, 0, 0, factors, 0, -1, &weighted[0], &weighted[1], &weighted[2],
                                      &weighted[3]),
            0);
  EXPECT_EQ(values(weighted[0]), (Doubles{40, 51, 200, 300}));
  Handle spectrum;
  const int64_t dim[] = {0};
  EXPECT_EQ(aoti_torch__fft_c2c(z, dim, 1, 0, 1, &spectrum), 0);
  EXPECT_EQ(aten<"view_as_real">(spectrum.tensor()).to_vector<double>(), (Doubles{2, 4, 0, 0}));
}

TEST(HostFunctions, I084_Checks) {
  aoti_torch_check(true, "f", "file.cpp", 1, "fine");
  try {
    aoti_torch_check(false, "f", "file.cpp", 7, "sizes differ");
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "sizes differ (f at file.cpp:7)");
  }
  ::testing::internal::CaptureStderr();
  aoti_torch_warn("f", "file.cpp", 7, "careful");
  const Tensor bad = tensor({1, NAN}), big = tensor({1, INFINITY});
  EXPECT_EQ(aoti_torch_check_inf_and_nan("w", Handle(counting({2}))), 0);
  EXPECT_EQ(aoti_torch_check_inf_and_nan("w", Handle(bad)), 1);
  EXPECT_EQ(aoti_torch_check_inf_and_nan("v", Handle(big)), 1);
  const std::string log = ::testing::internal::GetCapturedStderr();
  for (const char* part : {"careful (f at file.cpp:7)", "At least one NaN in w", "At least one INF in v"})
    EXPECT_NE(log.find(part), std::string::npos) << log;
  ::testing::internal::CaptureStdout();
  aoti_torch_print_tensor_handle(Handle(counting({2})), "after");
  EXPECT_NE(::testing::internal::GetCapturedStdout().find("[after] tensor([0., 1.])"), std::string::npos);
}

TEST(HostFunctions, I084_TensorsAreSaved) {
  ::testing::internal::CaptureStdout();
  aoti_torch_save_tensor_handle(Handle(counting({2, 2})), "buf0", "before_launch", "a/kernel");
  const std::string printed = ::testing::internal::GetCapturedStdout();
  const std::string path = (std::filesystem::temp_directory_path() / "aoti_torch/before_launch_a_kernel_buf0_cpu.npy").string();
  EXPECT_EQ(printed, "aoti_torch_save_tensor_handle: saved " + path + "\n");
  EXPECT_EQ(load_npy(path).to_vector<double>(), (Doubles{0, 1, 2, 3}));
  std::filesystem::remove(path);
}

TEST(HostFunctions, I085_ValuesInBoxesAndRecordedFunctions) {
  const int64_t before = TensorImpl::live();
  C10IValueHandle boxes[4] = {};
  const char* names[] = {"in", "out"};
  EXPECT_EQ(aoti_torch_int64_to_ivalue(7, &boxes[0]), 0);
  EXPECT_EQ(aoti_torch_str_to_ivalue("kernel", &boxes[1]), 0);
  EXPECT_EQ(aoti_torch_strlist_to_ivalue(names, 2, &boxes[2]), 0);
  EXPECT_EQ(aoti_torch_tensor_to_ivalue(Handle(counting({3})), &boxes[3]), 0);
  for (C10IValueHandle b : boxes) EXPECT_NE(b, nullptr);
  EXPECT_EQ(TensorImpl::live(), before + 1) << "a box keeps its tensor";

  AtenRecordFunctionHandle guard = nullptr;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(aoti_record_function_start("cpp_fused_add_0", nullptr, boxes, 4, &guard), 0);
  EXPECT_NE(guard, nullptr);
  EXPECT_EQ(aoti_record_function_end(guard), 0);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << "nobody asked";
  ASSERT_EQ(setenv("INGOT_LOG", "aot,profile", 1), 0);
  ::testing::internal::CaptureStderr();
  // The map is the caller's, as libraries make it; it is not looked at.
  std::unordered_map<std::string, C10IValueHandle> kwargs{{"kernel_name", boxes[1]}, {"tensor", boxes[3]}, {"none", nullptr}};
  const auto as_given = kwargs;
  EXPECT_EQ(aoti_record_function_start("cpp_fused_add_0", reinterpret_cast<IValueMapHandle>(&kwargs), nullptr, 0, &guard), 0);
  EXPECT_EQ(aoti_record_function_end(guard), 0);
  EXPECT_EQ(kwargs, as_given);
  const std::string log = ::testing::internal::GetCapturedStderr();
  ASSERT_EQ(unsetenv("INGOT_LOG"), 0);
  EXPECT_TRUE(log.starts_with("[profile] cpp_fused_add_0: ") && log.ends_with(" us\n")) << log;
  ::testing::internal::CaptureStderr();
  const C10IValueHandle missing[] = {boxes[0], nullptr};
  EXPECT_EQ(aoti_record_function_start("f", nullptr, missing, 2, &guard), 1);
  EXPECT_EQ(aoti_record_function_end(nullptr), 1);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("Exception in aoti_torch: input 1 of f is null"), std::string::npos);
  for (C10IValueHandle b : boxes) EXPECT_EQ(aoti_torch_delete_c10_value_object(b), 0);
  EXPECT_EQ(TensorImpl::live(), before);
}

// Functions of devices and streams wait for the code generator of the GPU: a library that needs one
// is refused when it is loaded.
TEST(HostFunctions, I086_I087_FunctionsOfTheGpuAreNotThereYet) {
  for (const char* name : {"aoti_torch_create_cuda_guard", "aoti_torch_delete_cuda_guard", "aoti_torch_cuda_guard_set_index",
                           "aoti_torch_create_cuda_stream_guard", "aoti_torch_delete_cuda_stream_guard",
                           "aoti_torch_get_current_cuda_stream", "aoti_torch_cuda_caching_allocator_raw_alloc",
                           "aoti_torch_cuda_caching_allocator_raw_delete", "aoti_torch_create_device_guard",
                           "aoti_torch_delete_device_guard", "aoti_torch_device_guard_set_index", "aoti_torch_get_current_stream",
                           "aoti_torch_delete_stream", "aoti_torch_stream_id", "aoti_torch_get_current_device_index"})
    EXPECT_EQ(dlsym(RTLD_DEFAULT, name), nullptr) << name;
}

}  // namespace
}  // namespace ingot
