// A device that is not there: two of the kind `cuda`, for tests of what goes through a driver. The
// CPU cannot touch its memory (an address of it is one of pages without any right), its streams do
// nothing until somebody waits for them, and what it did is known.
#pragma once
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "tensor/device.hpp"

namespace ingot::test {

class FakeDevice final : public DeviceDriver {
 public:
  FakeDevice() : addresses_(mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    INGOT_ENSURE(addresses_ != MAP_FAILED, "no addresses");
    before_ = find_driver(DeviceType::cuda);
    register_driver(DeviceType::cuda, this);
  }
  ~FakeDevice() override {
    register_driver(DeviceType::cuda, before_);
    EXPECT_TRUE(live_.empty()) << live_.size() << " allocations were never freed";
    munmap(addresses_, kBytes);
  }

  int device_count() override { return 2; }
  int current_device() override { return current_; }
  void set_current_device(int index) override { current_ = index; }

  void* allocate(Device device, int64_t bytes, Stream) override {
    INGOT_REQUIRE(next_ + bytes <= kBytes, device, " is out of memory");
    void* at = static_cast<char*>(addresses_) + next_;
    next_ += (bytes + 64) / 64 * 64;
    real_.resize(static_cast<std::size_t>(next_), char(0xcd));
    live_[at] = device;
    allocations++;
    return at;
  }
  void free(Device device, void* data) noexcept override {
    const auto it = live_.find(data);
    const bool is_live = it != live_.end() && it->second == device;
    EXPECT_TRUE(is_live) << "freed twice, or on another device";
    if (is_live) live_.erase(it);
    frees++;
  }
  void* allocate_pinned(int64_t bytes) override { return std::malloc(static_cast<std::size_t>(bytes)); }
  void free_pinned(void* data) noexcept override { std::free(data); }

  void copy(void* to, Device to_device, const void* from, Device from_device, int64_t bytes, Stream stream) override {
    log.push_back(text("copy ", bytes, " from ", from_device, " to ", to_device));
    enqueue(to_device.type == DeviceType::cpu ? from_device : to_device, stream,
            [=, this] { std::memcpy(real(to), real(from), static_cast<std::size_t>(bytes)); });
    if (to_device.type == DeviceType::cpu) synchronize(from_device, stream);
    else if (from_device.type == DeviceType::cpu) synchronize(to_device, stream);
  }
  void fill(Device device, void* to, const void* pattern, int pattern_bytes, int64_t count, Stream stream) override {
    log.push_back(text("fill ", count, " x ", pattern_bytes, " on ", device));
    const std::string element(static_cast<const char*>(pattern), static_cast<std::size_t>(pattern_bytes));
    enqueue(device, stream, [=, this] {
      for (int64_t i = 0; i < count; i++) std::memcpy(real(to) + i * pattern_bytes, element.data(), element.size());
    });
  }

  Stream create_stream(Device) override { return {new Queue}; }
  void destroy_stream(Device device, Stream stream) noexcept override {
    synchronize(device, stream);
    delete static_cast<Queue*>(stream.handle);
  }
  Stream current_stream(Device device) override { return streams_[device.index]; }
  void set_current_stream(Device device, Stream stream) override { streams_[device.index] = stream; }
  void synchronize(Device device, Stream stream) override {
    Queue& queue = queue_of(device, stream);
    while (!queue.empty()) run_first(queue);
  }

  Event create_event(Device) override { return {new Mark}; }
  void destroy_event(Device, Event event) noexcept override { delete &mark_of(event); }
  void record(Device device, Event event, Stream stream) override {
    Mark& mark = mark_of(event);
    mark = {&queue_of(device, stream), -1};
    enqueue(device, stream, [&mark, this] { mark.time = clock_; });
  }
  void wait(Device device, Stream stream, Event event) override {
    enqueue(device, stream, [this, event] { come(mark_of(event)); });
  }
  double elapsed(Device, Event begin, Event end) override {
    come(mark_of(begin));
    come(mark_of(end));
    return static_cast<double>(mark_of(end).time - mark_of(begin).time);
  }

  // ---- for kernels and tests

  void enqueue(Device device, Stream stream, std::function<void()> work) {
    EXPECT_GE(device.index, 0);
    queue_of(device, stream).push_back(std::move(work));
  }
  // Where the bytes of an address are; one of the host is itself.
  char* real(const void* p) {
    const auto at = reinterpret_cast<uintptr_t>(p), first = reinterpret_cast<uintptr_t>(addresses_);
    return at >= first && at < first + kBytes ? real_.data() + (at - first) : static_cast<char*>(const_cast<void*>(p));
  }
  std::size_t waiting(Device device) { return queue_of(device, current_stream(device)).size(); }
  std::size_t live() const { return live_.size(); }

  std::vector<std::string> log;  // copies and fills that were asked for
  int allocations = 0, frees = 0;

 private:
  using Queue = std::deque<std::function<void()>>;
  struct Mark {
    Queue* queue = nullptr;
    int64_t time = -1;  // how much was done before it; -1: it has not come yet
  };
  static constexpr int64_t kBytes = 1 << 24;

  static Mark& mark_of(Event event) { return *static_cast<Mark*>(event.handle); }
  Queue& queue_of(Device device, Stream stream) {
    return stream.handle ? *static_cast<Queue*>(stream.handle) : default_[device.index];
  }
  void run_first(Queue& queue) {
    const std::function<void()> work = std::move(queue.front());
    queue.pop_front();
    work();
    clock_++;
  }
  void come(const Mark& mark) {
    while (mark.time < 0) run_first(*mark.queue);
  }

  void* addresses_;
  DeviceDriver* before_;
  int current_ = 0;
  int64_t next_ = 0, clock_ = 0;
  std::vector<char> real_;
  std::map<void*, Device> live_;
  std::map<int, Queue> default_;
  std::map<int, Stream> streams_;
};

}  // namespace ingot::test
