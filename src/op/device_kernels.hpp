// Kernels by kind of device. An op's definition has that of the CPU; those for another kind are
// registered together by whoever brings the device (tensor/device.hpp).
#pragma once
#include <span>
#include <string_view>

#include "op/op.hpp"

namespace ingot {

// Fills the results, which have been allocated: OpDef::kernel.
using EagerKernel = void (*)(const Call&, std::span<const Tensor> results);

struct DeviceKernel {
  std::string_view op;  // "mul.Tensor", or with the namespace of an op that is not PyTorch's; lives as long as the process
  EagerKernel kernel;
};
// They take the place of those that ops of these names had for this kind. Derived variants run by
// the kernel of the functional op.
void register_kernels(DeviceType kind, std::span<const DeviceKernel> kernels);

// The kernel of an op for a device that is not the CPU; user error where the device or the kernel
// is missing.
EagerKernel device_kernel(const Op& op, Device device);

// Whether the op's kernel does no more than copy and fill elements (tensor/rows.hpp), which any
// device can: it is then the kernel for all kinds, and its tensors may be on several devices.
bool only_moves_elements(const Op& op);

// What runs the op, of which the tensors are on this device. Null where the op has no kernel, but
// another rule.
inline EagerKernel kernel_for(const Op& op, Device device) {
  return device.type == DeviceType::cpu ? op.def->kernel : device_kernel(op, device);
}

}  // namespace ingot
