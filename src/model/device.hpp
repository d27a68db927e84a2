// The device that the library was compiled for: the CPU, whose memory is the process's, or that of
// the program's table.
#pragma once
#include "model/memory.hpp"
#include "model/program.h"

namespace ingot::model {

// Streams are those of the program's table: null where nobody gave one, and always on the CPU.
struct Device {
  const ingot_device* table = nullptr;  // null: the CPU
  int32_t index = 0;

  bool is_cpu() const { return !table; }
  const char* name() const { return table ? table->name : "cpu"; }
  int32_t host_code() const;  // what the host calls it

  // As the `allocate` of memory.hpp; null is released by doing nothing.
  void* allocate(uint64_t bytes, void* stream) const;
  void release(void* memory, void* stream) const;
  // False after a failure. `way` is an INGOT_COPY_*; on the CPU they are all alike.
  bool copy(void* to, const void* from, uint64_t bytes, int32_t way, void* stream) const;
  bool synchronize(void* stream) const;
};

// The stream that last used something which the next run uses, too: it may still be at work.
class LastStream {
 public:
  // The next one; waits for the last where that is another. False after a failure.
  bool change(const Device& device, void* stream) {
    return device.is_cpu() || stream == stream_ || change_to_another(device, stream);
  }

 private:
  bool change_to_another(const Device& device, void* stream);

  void* stream_ = nullptr;
};

// Bytes of the device at kAlignment that are kept from one use to the next and grow when more are
// asked for; what they hold is then lost.
class Workspace {
 public:
  Workspace() = default;
  ~Workspace() { device_.release(data_, nullptr); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  void be_on(const Device& device) { device_ = device; }  // before the first use; the CPU's otherwise

  // Null after a failure.
  char* at_least(uint64_t bytes, void* stream = nullptr) { return bytes > bytes_ || !data_ ? grow(bytes, stream) : data_; }

 private:
  char* grow(uint64_t bytes, void* stream);

  Device device_;
  char* data_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace ingot::model
