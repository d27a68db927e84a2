#include "tensor/device.hpp"

#include <atomic>
#include <cstddef>
#include <string_view>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "tensor/cpu_memory.hpp"

namespace ingot {
namespace {

constexpr int kKinds = 2;

// Of the CPU it is null: it has its driver in any case.
std::atomic<DeviceDriver*> drivers[kKinds];

std::atomic<DeviceDriver*>& place_of(DeviceType kind) {
  INGOT_ENSURE(static_cast<int>(kind) < kKinds, "there is no device of kind ", static_cast<int>(kind));
  return drivers[static_cast<int>(kind)];
}

// As people write it.
std::string_view label(DeviceType kind) { return kind == DeviceType::cuda ? "CUDA" : "such device"; }

}  // namespace

void register_driver(DeviceType kind, DeviceDriver* driver) {
  INGOT_REQUIRE(kind != DeviceType::cpu, "the CPU's driver is built in");
  place_of(kind).store(driver, std::memory_order_release);
}

DeviceDriver* find_driver(DeviceType kind) {
  return kind == DeviceType::cpu ? &cpu_driver() : place_of(kind).load(std::memory_order_acquire);
}

DeviceDriver& driver_of(Device device) {
  DeviceDriver* driver = find_driver(device.type);
  INGOT_REQUIRE(driver, device, ": this build of Ingot has no ", label(device.type), "; keep the tensors on the cpu");
  const int count = driver->device_count();
  INGOT_REQUIRE(device.index < count, device, ": there ", count == 1 ? "is 1 device" : text("are ", count, " devices"),
                " of this kind, counted from 0");
  return *driver;
}

Device numbered(Device device) {
  if (device.type != DeviceType::cpu && device.index < 0) device.index = static_cast<int8_t>(driver_of(device).current_device());
  return device;
}

void copy_bytes(void* to, Device to_device, const void* from, Device from_device, int64_t bytes) {
  const bool to_cpu = to_device.type == DeviceType::cpu, from_cpu = from_device.type == DeviceType::cpu;
  if (to_cpu || from_cpu || to_device.type == from_device.type) {
    const Device device = to_cpu ? from_device : to_device;
    DeviceDriver& driver = driver_of(device);
    return driver.copy(to, to_device, from, from_device, bytes, driver.current_stream(device));
  }
  struct HostBytes {
    void* data;
    ~HostBytes() { free_on_cpu(data); }
  };
  const HostBytes between{allocate_on_cpu(static_cast<std::size_t>(bytes))};
  copy_bytes(between.data, {}, from, from_device, bytes);
  copy_bytes(to, to_device, between.data, {}, bytes);
}

}  // namespace ingot
