#include "model/device.hpp"

#include "model/host.hpp"

namespace ingot::model {
namespace {

bool told(const Device& device, const char* failure) {
  return !failure || fail("%s:%d: %s", device.name(), device.index, failure);
}

}  // namespace

int32_t Device::host_code() const { return is_cpu() ? host().cpu : table->type; }

void* Device::allocate(uint64_t bytes, void* stream) const {
  if (is_cpu()) return model::allocate(bytes);
  void* memory = nullptr;
  return told(*this, table->allocate(index, stream, bytes ? bytes : 1, &memory)) ? memory : nullptr;
}

void Device::release(void* memory, void* stream) const {
  if (is_cpu()) free(memory);
  else if (memory) table->release(index, stream, memory);
}

bool Device::copy(void* to, const void* from, uint64_t bytes, int32_t way, void* stream) const {
  if (!is_cpu()) return told(*this, table->copy(index, stream, to, from, bytes, way));
  memcpy(to, from, bytes);
  return true;
}

bool Device::synchronize(void* stream) const { return is_cpu() || told(*this, table->synchronize(index, stream)); }

bool LastStream::change_to_another(const Device& device, void* stream) {
  const bool is_done = device.synchronize(stream_);
  stream_ = stream;
  return is_done;
}

char* Workspace::grow(uint64_t bytes, void* stream) {
  device_.release(data_, stream);
  data_ = static_cast<char*>(device_.allocate(bytes, stream));
  bytes_ = data_ ? bytes : 0;
  return data_;
}

}  // namespace ingot::model
