// What a device can do: memory, copies, streams, events. Every kind of device has one driver; the
// CPU's is built in, another is registered by whoever brings it. All that storages and tensors want
// of memory they want of these functions.
//
// Work is put on streams, which run it in order; a stream that is given is one of the device that
// is given. Only what touches the host's memory is waited for (`copy`): everything else may still
// be going on when its function returns.
#pragma once
#include <cstdint>

#include "ingot/dtype.hpp"

namespace ingot {

// A queue of work on one device. Null is the device's default one, which is always there.
struct Stream {
  void* handle = nullptr;
  bool operator==(const Stream&) const = default;
};
// A mark in a stream.
struct Event {
  void* handle = nullptr;
};

// Devices are given with their number (`index` is not -1), those of `copy` excepted, of which one
// may be the CPU. A function that fails throws a user error, but for those that release something.
class DeviceDriver {
 public:
  virtual ~DeviceDriver() = default;

  virtual int device_count() = 0;
  // The device that work of this thread goes to where it names none: 0 at first.
  virtual int current_device() = 0;
  virtual void set_current_device(int index) = 0;

  // Uninitialised bytes, at least one, 64-byte aligned, for work that comes after on the stream (or
  // that waits for it).
  virtual void* allocate(Device device, int64_t bytes, Stream stream) = 0;
  // They are used no more: by no work but what is already on the stream that they were allocated
  // for.
  virtual void free(Device device, void* data) noexcept = 0;
  // Memory of the host that copies from and to this kind of device read and write directly, and
  // without waiting.
  virtual void* allocate_pinned(int64_t bytes) = 0;
  virtual void free_pinned(void* data) noexcept = 0;

  // From one place to another that does not overlap it: on one device, between two of this kind, or
  // between one and the host. Where one side is memory of the host that is not pinned, the bytes
  // have been read or written when it returns.
  virtual void copy(void* to, Device to_device, const void* from, Device from_device, int64_t bytes, Stream stream) = 0;
  // `count` times the pattern, of 1, 2, 4, 8 or 16 bytes, one after the other. The pattern is the
  // caller's again at once.
  virtual void fill(Device device, void* to, const void* pattern, int pattern_bytes, int64_t count, Stream stream) = 0;

  virtual Stream create_stream(Device device) = 0;
  virtual void destroy_stream(Device device, Stream stream) noexcept = 0;  // when its work is done
  // What this thread puts its work on; the default one at first.
  virtual Stream current_stream(Device device) = 0;
  virtual void set_current_stream(Device device, Stream stream) = 0;
  virtual void synchronize(Device device, Stream stream) = 0;  // waits until the stream has nothing left to do

  virtual Event create_event(Device device) = 0;
  virtual void destroy_event(Device device, Event event) noexcept = 0;
  virtual void record(Device device, Event event, Stream stream) = 0;  // moves it behind all that is on the stream now
  // What is put on the stream from now on runs after what was before the event.
  virtual void wait(Device device, Stream stream, Event event) = 0;
  // Milliseconds from one to the other, both of which have been recorded; waits until both have
  // come.
  virtual double elapsed(Device device, Event begin, Event end) = 0;
};

// The driver of a kind of device from now on; null for none. It lives as long as anything that it
// made.
void register_driver(DeviceType kind, DeviceDriver* driver);
// Null where this process has none.
DeviceDriver* find_driver(DeviceType kind);
// User error where the process has no such device.
DeviceDriver& driver_of(Device device);
// With its number: that of the thread's current device where it has none. Requires a driver. The
// CPU is one device without number.
Device numbered(Device device);

// Copies between any two devices, on the current stream; of two kinds that know nothing of each
// other by way of the host.
void copy_bytes(void* to, Device to_device, const void* from, Device from_device, int64_t bytes);

DeviceDriver& cpu_driver();

}  // namespace ingot
