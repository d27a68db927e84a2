// A run of a model runs ops on the CPU alone: what it would ask of other devices
// (tensor/device.hpp) is refused.
#include <cstddef>
#include <cstring>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "op/device_kernels.hpp"
#include "tensor/device.hpp"
#include "tensor/device_elements.hpp"

namespace ingot {

DeviceDriver* find_driver(DeviceType) { return nullptr; }
DeviceDriver& driver_of(Device device) { refuse_elements_of_device(device); }
Device numbered(Device device) { return device; }
void copy_bytes(void* to, Device, const void* from, Device, int64_t bytes) {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

Tensor elements_on_cpu(const Tensor& t) { refuse_elements_of_device(t.device()); }
void copy_elements_between_devices(const Tensor& dst, const Tensor&) { refuse_elements_of_device(dst.device()); }
void fill_elements_on_device(const Tensor& dst, const Scalar&, const void*) { refuse_elements_of_device(dst.device()); }
void refuse_elements_of_device(Device device) { throw_user_error(text(device, ": a model's ops run on the cpu")); }

EagerKernel device_kernel(const Op&, Device device) { refuse_elements_of_device(device); }
bool only_moves_elements(const Op&) { return false; }

}  // namespace ingot
