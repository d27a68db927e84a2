// The CPU as a device: one, with one stream, whose work is done when the call that asks for it
// returns.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>

#include "base/error.hpp"
#include "tensor/cpu_memory.hpp"
#include "tensor/device.hpp"

namespace ingot {
namespace {

using Clock = std::chrono::steady_clock;

Clock::time_point& time_of(Event event) { return *static_cast<Clock::time_point*>(event.handle); }

class CpuDriver final : public DeviceDriver {
 public:
  int device_count() override { return 1; }
  int current_device() override { return 0; }
  void set_current_device(int index) override { INGOT_REQUIRE(index == 0, "cpu:", index, ": there is one cpu, number 0"); }

  void* allocate(Device, int64_t bytes, Stream) override {
    return allocate_on_cpu(std::max<std::size_t>(static_cast<std::size_t>(bytes), 1));
  }
  void free(Device, void* data) noexcept override { free_on_cpu(data); }
  void* allocate_pinned(int64_t bytes) override { return allocate({}, bytes, {}); }
  void free_pinned(void* data) noexcept override { free_on_cpu(data); }

  void copy(void* to, Device, const void* from, Device, int64_t bytes, Stream) override {
    if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  void fill(Device, void* to, const void* pattern, int pattern_bytes, int64_t count, Stream) override {
    const auto size = static_cast<std::size_t>(pattern_bytes);
    for (char* at = static_cast<char*>(to); count > 0; count--, at += size) std::memcpy(at, pattern, size);
  }

  Stream create_stream(Device) override { return {}; }
  void destroy_stream(Device, Stream) noexcept override {}
  Stream current_stream(Device) override { return {}; }
  void set_current_stream(Device, Stream) override {}
  void synchronize(Device, Stream) override {}

  Event create_event(Device) override { return {new Clock::time_point}; }
  void destroy_event(Device, Event event) noexcept override { delete &time_of(event); }
  void record(Device, Event event, Stream) override { time_of(event) = Clock::now(); }
  void wait(Device, Stream, Event) override {}
  double elapsed(Device, Event begin, Event end) override {
    return std::chrono::duration<double, std::milli>(time_of(end) - time_of(begin)).count();
  }
};

}  // namespace

DeviceDriver& cpu_driver() {
  static CpuDriver driver;
  return driver;
}

}  // namespace ingot
