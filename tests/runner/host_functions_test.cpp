// The functions that a model calls in its host (section 6 of the runtime's description).
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "runner/handle.hpp"
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
  EXPECT_EQ(aoti_torch_dtype_float32(), 6);
  EXPECT_EQ(aoti_torch_dtype_complex32(), 8);
  EXPECT_EQ(aoti_torch_dtype_bool(), 11);
  EXPECT_EQ(aoti_torch_dtype_bfloat16(), 15);
  EXPECT_EQ(aoti_torch_dtype_float8_e4m3fnuz(), 26);
  EXPECT_EQ(aoti_torch_dtype_uint64(), 29);
  EXPECT_EQ(aoti_torch_layout_strided(), 0);
  EXPECT_EQ(aoti_torch_layout__mkldnn(), 3);
  EXPECT_EQ(aoti_torch_layout_jagged(), 7);
  EXPECT_EQ(aoti_torch_memory_format_preserve_format(), 1);
  EXPECT_EQ(aoti_torch_memory_format_channels_last_3d(), 3);
  EXPECT_EQ(aoti_torch_dtype_element_size(aoti_torch_dtype_complex128()), 16u);
  EXPECT_EQ(aoti_torch_dtype_element_size(aoti_torch_dtype_complex32()), 4u);
  EXPECT_EQ(aoti_torch_dtype_element_size(99), 0u);
  EXPECT_EQ(aoti_torch_abi_version() >> 56, 2u);
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

TEST(HostFunctions, I079_OneElement) {
  const Handle t(make_tensor(Geometry::contiguous({}, DType::f32)));
  *t.tensor().data<float>() = 2.5f;
  float f = 0;
  double d = 0;
  int64_t i = 0;
  uint8_t u = 0;
  uint16_t half = 0, brain = 0;
  bool flag = false;
  ingot_complex64 z{};
  EXPECT_EQ(aoti_torch_item_float32(t, &f), 0);
  EXPECT_EQ(f, 2.5f);
  EXPECT_EQ(aoti_torch_item_float64(t, &d), 0);
  EXPECT_EQ(d, 2.5);
  EXPECT_EQ(aoti_torch_item_int64(t, &i), 0);
  EXPECT_EQ(i, 2);
  EXPECT_EQ(aoti_torch_item_uint8(t, &u), 0);
  EXPECT_EQ(u, 2);
  EXPECT_EQ(aoti_torch_item_bool(t, &flag), 0);
  EXPECT_TRUE(flag);
  EXPECT_EQ(aoti_torch_item_float16(t, &half), 0);
  EXPECT_EQ(half, 0x4100);
  EXPECT_EQ(aoti_torch_item_bfloat16(t, &brain), 0);
  EXPECT_EQ(brain, 0x4020);
  EXPECT_EQ(aoti_torch_item_complex64(t, &z), 0);
  EXPECT_EQ(z.real, 2.5f);
  EXPECT_EQ(aoti_torch_item_float32(Handle(counting({2})), &f), 1) << "more than one element";

  const auto expect_scalar = [](AOTITorchError error, const Handle& h, DType dtype, double value) {
    EXPECT_EQ(error, 0);
    EXPECT_EQ(h.tensor().dtype(), dtype);
    EXPECT_EQ(h.tensor().dim(), 0);
    EXPECT_EQ(h.tensor().is_complex() ? h.tensor().item().to_complex().imag() : h.tensor().item_double(), value);
  };
  Handle made[6];
  expect_scalar(aoti_torch_scalar_to_tensor_float64(0.1, &made[0]), made[0], DType::f64, 0.1);
  expect_scalar(aoti_torch_scalar_to_tensor_int8(-3, &made[1]), made[1], DType::i8, -3);
  expect_scalar(aoti_torch_scalar_to_tensor_uint32(4000000000u, &made[2]), made[2], DType::u32, 4e9);
  expect_scalar(aoti_torch_scalar_to_tensor_bool(true, &made[3]), made[3], DType::b8, 1);
  expect_scalar(aoti_torch_scalar_to_tensor_complex64({1, 2}, &made[4]), made[4], DType::c64, 2);
  expect_scalar(aoti_torch_scalar_to_tensor_complex128({1, -2}, &made[5]), made[5], DType::c128, -2);
}

TEST(HostFunctions, I080_OpsWithAFunctionOfTheirOwn) {
  const Handle a(counting({2, 2})), b(ones({2, 2})), out(zeros({2, 2}));
  EXPECT_EQ(aoti_torch__mm_plus_mm_out(out, a, b, b, a), 0);
  EXPECT_EQ(values(out), (Doubles{3, 5, 7, 9}));
  const Handle row(zeros({4})), index(tensor({3, 0}, DType::i64)), src(tensor({5, 6})), result(zeros({4}));
  EXPECT_EQ(aoti_torch_scatter_out(result, row, 0, index, src), 0);
  EXPECT_EQ(values(result), (Doubles{6, 0, 0, 5}));
  EXPECT_EQ(aoti_torch_scatter_reduce_out(result, Handle(ones({4})), 0, index, src, "sum", 1), 0);
  EXPECT_EQ(values(result), (Doubles{7, 1, 1, 6}));
  const AtenTensorHandle indices[] = {index};
  EXPECT_EQ(aoti_torch_index_put_out(result, row, indices, 1, src, false), 0);
  EXPECT_EQ(values(result), (Doubles{6, 0, 0, 5}));
}

TEST(HostFunctions, I081_I082_I083_I090_OpsWithoutAFunctionAreNotExported) {
  // Ingot's libraries bring the code of their ops along, so the host has none of the generated ones: a library of another
  // compiler that needs one is refused by the loader, by that name.
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "aoti_torch_cpu_convolution"), nullptr);
  EXPECT_NE(dlsym(RTLD_DEFAULT, "aoti_torch_empty_strided"), nullptr);
  EXPECT_NE(dlsym(RTLD_DEFAULT, "aoti_torch_create_tensor_from_blob_v2"), nullptr) << "a changed function is a new one";
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

TEST(HostFunctions, I085_I086_I087_I088_OptionalAndDeviceFunctionsAreNotThere) {
  for (const char* name : {"aoti_record_function_start", "aoti_torch_create_cuda_guard", "aoti_torch_create_device_guard",
                           "aoti_torch_library_init_impl"})
    EXPECT_EQ(dlsym(RTLD_DEFAULT, name), nullptr) << name;
}

}  // namespace
}  // namespace ingot
