// The bytes tensors share, with the counter of how often they were written. Fake storage has a size
// and no bytes.
#pragma once
#include <atomic>
#include <functional>

#include "ingot/dtype.hpp"
#include "ingot/int.hpp"
#include "ingot/ref.hpp"

namespace ingot {

class Storage final : public Counted {
 public:
  // Uninitialised bytes of the device, 64-byte aligned; the CPU's are in one allocation with the
  // header.
  static Ref<Storage> allocate(int64_t nbytes, Device device = {});
  // No bytes: what a shape rule alone produces.
  static Ref<Storage> fake(Int nbytes, Device device = {});
  // Somebody else's bytes; `release` runs when the last tensor is gone.
  static Ref<Storage> wrap(void* data, int64_t nbytes, std::function<void()> release, Device device = {});
  ~Storage() override;

  void* data() const { return data_; }
  Int nbytes() const { return nbytes_; }
  Device device() const { return device_; }
  bool is_fake() const { return fake_; }
  bool is_read_only() const { return read_only_; }
  void mark_read_only() { read_only_ = true; }

  uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  void bump_version() { version_.fetch_add(1, std::memory_order_relaxed); }

  // Grows or shrinks in place, keeping the common prefix (resize_).
  void resize(Int nbytes);

  // Live bytes of all storages: tests assert that nothing is left.
  static int64_t live_bytes();

 private:
  Storage(void* data, Int nbytes, Device device, bool fake) : data_(data), nbytes_(nbytes), device_(device), fake_(fake) {}
  struct Inline {
    std::size_t bytes;
  };
  static void* operator new(std::size_t size, Inline extra);

  void* data_ = nullptr;
  Int nbytes_;
  Device device_;
  bool fake_ = false, owned_ = false, read_only_ = false;
  std::atomic<uint32_t> version_{0};
  std::function<void()> release_;

 public:
  static void operator delete(void* p);
};

}  // namespace ingot
