#include "tensor/storage.hpp"

#include <new>
#include <utility>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "tensor/cpu_memory.hpp"
#include "tensor/device.hpp"
#include "tensor/stand_in.hpp"

namespace ingot {
namespace {

std::atomic<int64_t> live{0};

constexpr std::size_t header_bytes() { return aligned_size(sizeof(Storage)); }

bool is_cpu(Device device) { return device.type == DeviceType::cpu; }

// On the stream at hand, which is the one that whoever asks for the memory goes on with.
void* allocate_on(Device device, int64_t bytes) {
  if (is_cpu(device)) return allocate_on_cpu(static_cast<std::size_t>(bytes));
  DeviceDriver& driver = driver_of(device);
  return driver.allocate(device, bytes, driver.current_stream(device));
}
void free_on(Device device, void* data) {
  if (is_cpu(device)) free_on_cpu(data);
  else if (DeviceDriver* driver = find_driver(device.type)) driver->free(device, data);
}

}  // namespace

void* Storage::operator new(std::size_t, Inline extra) { return allocate_on_cpu(header_bytes() + extra.bytes); }
void Storage::operator delete(void* p) { free_on_cpu(p); }

Ref<Storage> Storage::allocate(int64_t nbytes, Device device) {
  INGOT_REQUIRE(nbytes >= 0, "a storage cannot have ", nbytes, " bytes");
  INGOT_REQUIRE(nbytes < (int64_t{1} << 46), "out of memory: could not allocate ", nbytes, " bytes");
  if (is_cpu(device)) {
    auto* s = new (Inline{static_cast<std::size_t>(nbytes)}) Storage(nullptr, nbytes, device, false);
    s->data_ = reinterpret_cast<char*>(s) + header_bytes();
    live.fetch_add(nbytes, std::memory_order_relaxed);
    return Ref<Storage>(s);
  }
  const Ref<Storage> s(new (Inline{0}) Storage(nullptr, 0, numbered(device), false));
  s->data_ = allocate_on(s->device_, nbytes);
  s->owned_ = true;
  s->nbytes_ = nbytes;
  live.fetch_add(nbytes, std::memory_order_relaxed);
  return s;
}

Ref<Storage> Storage::fake(Int nbytes, Device device) {
  return Ref<Storage>(new (Inline{0}) Storage(nullptr, nbytes, device, true));
}

Ref<Storage> Storage::wrap(void* data, int64_t nbytes, std::function<void()> release, Device device) {
  auto* s = new (Inline{0}) Storage(data, nbytes, device, false);
  s->release_ = release ? std::move(release) : [] {};  // set even if nothing is to be done: the bytes are not ours to count
  return Ref<Storage>(s);
}

Storage::~Storage() {
  forget_stand_in(*this);
  if (release_) release_();
  else if (!fake_) live.fetch_sub(nbytes_.number(), std::memory_order_relaxed);
  if (owned_) free_on(device_, data_);
}

void Storage::resize(Int nbytes) {
  if (fake_) {
    nbytes_ = nbytes;
    return;
  }
  INGOT_REQUIRE(!release_, "cannot resize a storage whose bytes belong to somebody else (a file or another library)");
  const int64_t n = nbytes.value(), old = nbytes_.number();
  if (n > old) {
    void* p = allocate_on(device_, n);
    copy_bytes(p, device_, data_, device_, old);
    if (owned_) free_on(device_, data_);
    data_ = p;
    owned_ = true;
  }
  live.fetch_add(n - old, std::memory_order_relaxed);
  nbytes_ = n;
}

int64_t Storage::live_bytes() { return live.load(std::memory_order_relaxed); }

}  // namespace ingot
