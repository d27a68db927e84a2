// Host functions: one element (I079).
#include "base/dtype.hpp"
#include "base/half.hpp"
#include "host/torch/handle.hpp"
#include "tensor/impl.hpp"

using namespace ingot;

namespace {

template <class T>
T from_scalar(const Scalar& s) {
  if constexpr (std::is_same_v<T, bool>) return s.to_bool();
  else if constexpr (std::is_same_v<T, ingot_complex64>)
    return {static_cast<float>(s.to_complex().real()), static_cast<float>(s.to_complex().imag())};
  else if constexpr (std::is_floating_point_v<T>) return static_cast<T>(s.to_double());
  else return static_cast<T>(s.to_int().value());
}

template <class T>
AOTITorchError item(AtenTensorHandle tensor, T* result) {
  return as_status([&] { *result = from_scalar<T>(tensor_of(tensor).item()); });
}

template <class T>
AOTITorchError to_tensor(T value, DType dtype, AtenTensorHandle* result) {
  return as_status([&] {
    const Tensor t = make_tensor(Geometry::contiguous({}, dtype));
    *t.data<T>() = value;
    *result = new_handle(t);
  });
}

}  // namespace

#define INGOT_ITEM(name, type) \
  AOTITorchError aoti_torch_item_##name(AtenTensorHandle tensor, type* ret_value) { return item(tensor, ret_value); }
INGOT_ITEM(float32, float)
INGOT_ITEM(float64, double)
INGOT_ITEM(uint8, uint8_t)
INGOT_ITEM(uint16, uint16_t)
INGOT_ITEM(uint32, uint32_t)
INGOT_ITEM(uint64, uint64_t)
INGOT_ITEM(int8, int8_t)
INGOT_ITEM(int16, int16_t)
INGOT_ITEM(int32, int32_t)
INGOT_ITEM(int64, int64_t)
INGOT_ITEM(bool, bool)
INGOT_ITEM(complex64, ingot_complex64)

AOTITorchError aoti_torch_item_float16(AtenTensorHandle tensor, uint16_t* ret_value) {
  return as_status([&] { *ret_value = to_half(from_scalar<float>(tensor_of(tensor).item())).bits; });
}
AOTITorchError aoti_torch_item_bfloat16(AtenTensorHandle tensor, uint16_t* ret_value) {
  return as_status([&] { *ret_value = to_bfloat16(from_scalar<float>(tensor_of(tensor).item())).bits; });
}

#define INGOT_SCALAR_TO_TENSOR(name, type, dtype)                                                   \
  AOTITorchError aoti_torch_scalar_to_tensor_##name(type value, AtenTensorHandle* ret_new_tensor) { \
    return to_tensor(value, dtype, ret_new_tensor);                                                 \
  }
INGOT_SCALAR_TO_TENSOR(float32, float, DType::f32)
INGOT_SCALAR_TO_TENSOR(float64, double, DType::f64)
INGOT_SCALAR_TO_TENSOR(uint8, uint8_t, DType::u8)
INGOT_SCALAR_TO_TENSOR(uint16, uint16_t, DType::u16)
INGOT_SCALAR_TO_TENSOR(uint32, uint32_t, DType::u32)
INGOT_SCALAR_TO_TENSOR(uint64, uint64_t, DType::u64)
INGOT_SCALAR_TO_TENSOR(int8, int8_t, DType::i8)
INGOT_SCALAR_TO_TENSOR(int16, int16_t, DType::i16)
INGOT_SCALAR_TO_TENSOR(int32, int32_t, DType::i32)
INGOT_SCALAR_TO_TENSOR(int64, int64_t, DType::i64)
INGOT_SCALAR_TO_TENSOR(bool, bool, DType::b8)
INGOT_SCALAR_TO_TENSOR(complex64, ingot_complex64, DType::c64)
INGOT_SCALAR_TO_TENSOR(complex128, ingot_complex128, DType::c128)
