// copy_elements and fill_elements (tensor/rows.hpp) of tensors that are not all on the CPU. A
// device moves bytes: elements that lie otherwise on the two sides, or have another type there, are
// moved and converted by the CPU.
#pragma once
#include "tensor/impl.hpp"

namespace ingot {

inline bool is_on_cpu(const Tensor& t) { return t.impl()->device().type == DeviceType::cpu; }

// The tensor, or a copy on the CPU that lies as it does.
Tensor elements_on_cpu(const Tensor& t);

void copy_elements_between_devices(const Tensor& dst, const Tensor& src);
// `element` is the value in the tensor's own type.
void fill_elements_on_device(const Tensor& dst, const Scalar& value, const void* element);
// User error: somebody who reads and writes elements himself, as kernels of the CPU do, was given a
// tensor of another device.
[[noreturn]] void refuse_elements_of_device(Device device);

}  // namespace ingot
