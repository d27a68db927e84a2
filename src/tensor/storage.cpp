#include "tensor/storage.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "tensor/stand_in.hpp"

namespace ingot {
namespace {

constexpr std::size_t kAlign = 64;
std::atomic<int64_t> live{0};

void* aligned(std::size_t bytes) {
  void* p = std::aligned_alloc(kAlign, (bytes + kAlign - 1) / kAlign * kAlign);
  INGOT_REQUIRE(p != nullptr, "out of memory: could not allocate ", bytes, " bytes");
  return p;
}
constexpr std::size_t header_bytes() { return (sizeof(Storage) + kAlign - 1) / kAlign * kAlign; }

}  // namespace

void* Storage::operator new(std::size_t, Inline extra) { return aligned(header_bytes() + extra.bytes); }
void Storage::operator delete(void* p) { std::free(p); }

Ref<Storage> Storage::allocate(int64_t nbytes, Device device) {
  INGOT_REQUIRE(nbytes >= 0, "a storage cannot have ", nbytes, " bytes");
  INGOT_REQUIRE(device.type == DeviceType::cpu, "cannot allocate on ", device, ": this build has no such device");
  INGOT_REQUIRE(nbytes < (int64_t{1} << 46), "out of memory: could not allocate ", nbytes, " bytes");
  auto* s = new (Inline{static_cast<std::size_t>(nbytes)}) Storage(nullptr, nbytes, device, false);
  s->data_ = reinterpret_cast<char*>(s) + header_bytes();
  live.fetch_add(nbytes, std::memory_order_relaxed);
  return Ref<Storage>(s);
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
  if (owned_) std::free(data_);
}

void Storage::resize(Int nbytes) {
  if (fake_) {
    nbytes_ = nbytes;
    return;
  }
  INGOT_REQUIRE(!release_, "cannot resize a storage whose bytes belong to somebody else (a file or another library)");
  const int64_t n = nbytes.value(), old = nbytes_.number();
  if (n > old) {
    void* p = aligned(static_cast<std::size_t>(n));
    std::memcpy(p, data_, static_cast<std::size_t>(old));
    if (owned_) std::free(data_);
    data_ = p;
    owned_ = true;
  }
  live.fetch_add(n - old, std::memory_order_relaxed);
  nbytes_ = n;
}

int64_t Storage::live_bytes() { return live.load(std::memory_order_relaxed); }

}  // namespace ingot
