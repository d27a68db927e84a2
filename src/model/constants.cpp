#include "model/constants.hpp"

#include <stdio.h>

#include "model/layout.hpp"

namespace ingot::model {
namespace {

const ingot_constant& constant(uint32_t k) { return ingot_the_program.constants[k]; }

void add_numbers(Text& text, int32_t rank, const int64_t* numbers) {
  text.add("[");
  for (int32_t d = 0; d < rank; d++) text.add("%s%lld", d ? ", " : "", static_cast<long long>(numbers[d]));
  text.add("]");
}

bool fail_for_numbers(const char* name, const char* what, const ingot_view& found, const int64_t* found_numbers, int32_t rank,
                      const int64_t* expected, const char* hint) {
  Text text;
  text.add("constant '%s': %s: expected ", name, what);
  add_numbers(text, rank, expected);
  text.add(", found ");
  add_numbers(text, found.rank, found_numbers);
  text.add("%s", hint);
  return fail("%s", text.c_str());
}

}  // namespace

const char* to_text(ConstantState state) {
  switch (state) {
    case ConstantState::NONE: return "NONE";
    case ConstantState::INITIALIZED: return "INITIALIZED";
    case ConstantState::FOLDED: return "FOLDED";
  }
  return "?";
}

int64_t find_constant(const char* name) {
  for (uint32_t k = 0; k < ingot_the_program.constant_count; k++) {
    if (strcmp(constant(k).name, name) == 0) return k;
  }
  return -1;
}

bool are_alike(uint32_t a, uint32_t b) {
  const ingot_constant &x = constant(a), &y = constant(b);
  return owner_of(a) == owner_of(b) && x.shared_from == y.shared_from && x.rank == y.rank &&
         memcmp(x.sizes, y.sizes, sizeof(int64_t) * static_cast<size_t>(x.rank)) == 0 &&
         same_places(x.rank, x.sizes, x.strides, y.strides);
}

bool ConstantBuffer::make(const Device& device) {
  device_ = device;
  const uint32_t count = ingot_the_program.constant_count, stored = stored_constant_count();
  if (!elements_.make(count) || !present_.make(count) || !tensors_.make(count) || !places_.make(stored) ||
      !slots_.make(stored + 1)) {
    return false;
  }
  for (uint32_t k = 0; k < stored; k++)
    slots_[k + 1] = slots_[k] + (constant(k).shares ? 0 : round_up(constant(k).bytes, kAlignment));
  for (uint32_t k = 0; k < stored; k++) any_shares_ |= constant(k).shares != 0;
  return true;
}

char* ConstantBuffer::slot(uint32_t k) {
  const uint64_t bytes = slots_[stored_constant_count()];
  if (device_.is_cpu()) return block_.data() || block_.reserve(bytes) ? block_.data() + slots_[k] : nullptr;
  if (!device_block_) device_block_ = static_cast<char*>(device_.allocate(bytes, nullptr));
  return device_block_ ? device_block_ + slots_[k] : nullptr;
}

void ConstantBuffer::forget_tensor(uint32_t k) {
  if (tensors_[k]) host().delete_tensor_object(tensors_[k]);
  tensors_[k] = nullptr;
}

void ConstantBuffer::place(uint32_t k, char* storage, Place where) {
  const ingot_constant& c = constant(k);
  forget_tensor(k);
  if (places_[k] == Place::block && where != Place::block && device_.is_cpu()) Pages::forget(block_.data() + slots_[k], c.bytes);
  places_[k] = c.bytes ? where : Place::nowhere;
  elements_[k] = c.bytes ? storage + c.storage_offset * element_size(c.dtype) : nullptr;
  for (uint32_t other = 0; any_shares_ && other < stored_constant_count(); other++) {
    if (constant(other).shares != k + 1) continue;
    forget_tensor(other);
    elements_[other] = static_cast<char*>(elements_[k]) + constant(other).shared_from;
  }
}

bool ConstantBuffer::is_alone(uint32_t k) const {
  const uint32_t owner = owner_of(k);
  for (uint32_t other = 0; any_shares_ && other < stored_constant_count(); other++) {
    if (owner_of(other) == owner && !are_alike(other, k)) return false;
  }
  return true;
}

void ConstantBuffer::now_present(uint32_t k) {
  present_[k] = true;
  is_as_loaded_ &= constant(k).is_written != 0;
  for (uint32_t other = 0; any_shares_ && other < stored_constant_count(); other++) present_[other] |= are_alike(other, k);
}

char* ConstantBuffer::own_storage(uint32_t k) {
  const uint32_t owner = owner_of(k);
  const ingot_constant& c = constant(owner);
  char* own = slot(owner);
  if (!own) return nullptr;
  char* now = static_cast<char*>(elements_[owner]);
  if (now) now -= c.storage_offset * element_size(c.dtype);
  if (now == own) return own;
  // What others have of the storage stays what it is.
  if (now && !is_alone(k) && !device_.copy(own, now, c.bytes, INGOT_COPY_ON_DEVICE, nullptr)) return nullptr;
  place(owner, own, Place::block);
  return own;
}

bool ConstantBuffer::load(const Weights& weights) {
  if (!weights.start()) return true;
  weights_ = &weights;
  is_as_loaded_ = true;
  for (uint32_t k = 0; k < stored_constant_count(); k++) {
    const ingot_constant& c = constant(k);
    present_[k] = true;
    if (c.shares) continue;
    char* storage = weights.start() + c.position;
    Place where = Place::library;
    const bool is_aligned = reinterpret_cast<uintptr_t>(storage) % static_cast<uint64_t>(element_size(c.dtype)) == 0;
    if (c.bytes && (!device_.is_cpu() || !is_aligned || c.is_written)) {
      char* own = slot(k);
      if (!own || !device_.copy(own, storage, c.bytes, INGOT_COPY_TO_DEVICE, nullptr)) return false;
      storage = own;
      where = Place::block;
    }
    place(k, storage, where);
  }
  return true;
}

bool ConstantBuffer::load_blob(const uint8_t* blob) {
  for (uint32_t k = 0; k < stored_constant_count(); k++) {
    const ingot_constant& c = constant(k);
    if (c.bytes) {
      if (!own_storage(k)) return false;
      char* storage = static_cast<char*>(elements_[k]) - c.storage_offset * element_size(c.dtype);
      if (!device_.copy(storage, blob, c.bytes, INGOT_COPY_TO_DEVICE, nullptr)) return false;
    } else {
      place(k, nullptr, Place::nowhere);
    }
    now_present(k);
    blob += c.bytes;
  }
  return true;
}

bool ConstantBuffer::check(uint32_t k, AtenTensorHandle tensor, bool in_place) const {
  const ingot_constant& c = constant(k);
  char what[256];
  snprintf(what, sizeof what, "constant '%s'", c.name);
  ingot_view view;
  int32_t device;
  if (!view_tensor(tensor, what, &view, &device)) return false;
  // A copy may come from the host.
  if (device != device_.host_code() && (in_place || device != host().cpu)) {
    return fail(
        "update_constant_buffer does not support mixed device constants. Constant '%s' has device type %d but model expects "
        "device type %d",
        c.name, device, device_.host_code());
  }
  if (view.dtype != c.dtype) return fail("%s: dtype: expected %s, found %s", what, dtype_name(c.dtype), dtype_name(view.dtype));
  if (view.rank != c.rank || memcmp(view.sizes, c.sizes, sizeof(int64_t) * static_cast<size_t>(c.rank)) != 0) {
    return fail_for_numbers(c.name, "sizes", view, view.sizes, c.rank, c.sizes, "");
  }
  if (!in_place && device_.is_cpu()) return true;
  if (in_place && !is_alone(k)) {
    return fail("%s: it shares its storage with other constants, of which it is a part: let the update copy it", what);
  }
  if (!same_places(c.rank, c.sizes, view.strides, c.strides)) {
    return fail_for_numbers(
        c.name, "strides", view, view.strides, c.rank, c.strides,
        in_place ? ". A user-managed constant is used where it lies: lay it out like this, or let the update copy it"
                 : ". Only the CPU lays elements out anew: copy it so that it lies like this");
  }
  if (in_place && reinterpret_cast<uintptr_t>(view.data) % static_cast<uint64_t>(element_size(c.dtype)) != 0) {
    return fail("%s: address: expected a multiple of %lld for a user-managed constant, found %p", what,
                static_cast<long long>(element_size(c.dtype)), view.data);
  }
  return true;
}

bool ConstantBuffer::check_storage(uint32_t k, AtenTensorHandle tensor) const {
  int64_t bytes = 0;
  if (host().get_storage_size(tensor, &bytes) != 0) return INGOT_FAIL_FOR_HOST("aoti_torch_get_storage_size");
  const uint32_t owner = owner_of(k);
  const uint64_t room = slots_[owner + 1] - slots_[owner] - constant(k).shared_from;
  return static_cast<uint64_t>(bytes) <= room ||
         fail(
             "constant '%s': storage: expected at most %llu bytes, which is its place in the buffer, found a tensor in a storage of "
             "%lld bytes. Give the update a copy of the tensor, or let it use the tensor where it lies (user-managed)",
             constant(k).name, static_cast<unsigned long long>(room), static_cast<long long>(bytes));
}

bool ConstantBuffer::copy_tensor(uint32_t k, AtenTensorHandle tensor) {
  const ingot_constant& c = constant(k);
  ingot_view view;
  int32_t device;
  if (!view_tensor(tensor, c.name, &view, &device)) return false;
  return copy_view(k, view.data, view.strides, device == device_.host_code() ? INGOT_COPY_ON_DEVICE : INGOT_COPY_TO_DEVICE);
}

bool ConstantBuffer::copy_constant(uint32_t k, const ConstantBuffer& other) {
  return copy_view(k, other.elements_[k], constant(k).strides, INGOT_COPY_ON_DEVICE);
}

bool ConstantBuffer::begin_as(uint32_t k, ConstantBuffer& other) {
  const uint32_t owner = owner_of(k);
  const Place where = other.places_[owner];
  if (!device_.is_cpu() || constant(owner).is_written || !is_alone(k) || (where != Place::library && where != Place::user))
    return copy_constant(k, other);
  if (where == Place::user) {
    // The user's tensor stands under one of the names that are alike.
    for (uint32_t given = 0; given < stored_constant_count(); given++) {
      if (owner_of(given) != owner || !other.tensors_[given]) continue;
      AtenTensorHandle tensor = nullptr;
      if (host().new_tensor_handle(other.tensors_[given], &tensor) != 0)
        return INGOT_FAIL_FOR_HOST("aoti_torch_new_tensor_handle");
      refer_to(given, tensor);
      return true;
    }
  }
  // Somebody has a tensor over it, and may write it.
  for (uint32_t given = 0; given < stored_constant_count(); given++)
    if (owner_of(given) == owner && other.tensors_[given]) return copy_constant(k, other);
  weights_ = other.weights_;
  const ingot_constant& c = constant(owner);
  place(owner, static_cast<char*>(other.elements_[owner]) - c.storage_offset * element_size(c.dtype), where);
  now_present(k);
  return true;
}

bool ConstantBuffer::is_in_place_of(uint32_t k, const ConstantBuffer& other) const {
  return elements_[k] && elements_[k] == other.elements_[k] && places_[owner_of(k)] == Place::library;
}

bool ConstantBuffer::copy_view(uint32_t k, const void* data, const int64_t* strides, int32_t way) {
  const ingot_constant& c = constant(k);
  if (c.bytes) {
    if (!own_storage(k)) return false;
    const int64_t size = element_size(c.dtype);
    if (device_.is_cpu()) copy_elements(c.rank, c.sizes, elements_[k], c.strides, data, strides, size);
    else if (!device_.copy(elements_[k], data, static_cast<uint64_t>(extent(c.rank, c.sizes, c.strides) * size), way, nullptr))
      return false;
  } else {
    place(k, nullptr, Place::nowhere);
  }
  now_present(k);
  return true;
}

void ConstantBuffer::refer_to(uint32_t k, AtenTensorHandle tensor) {
  void* data = nullptr;
  host().get_data_ptr(tensor, &data);
  const uint32_t owner = owner_of(k);
  const ingot_constant& c = constant(owner);
  place(owner, c.bytes ? static_cast<char*>(data) - c.storage_offset * element_size(c.dtype) : nullptr, Place::user);
  tensors_[k] = tensor;
  now_present(k);
}

AtenTensorHandle ConstantBuffer::tensor(uint32_t k) {
  if (!present_[k] || tensors_[k]) return tensors_[k];
  const ingot_constant& c = constant(k);
  const Host& h = host();
  if (places_[owner_of(k)] == Place::library) weights_->lend();
  char* storage = static_cast<char*>(elements_[k]);
  if (storage) storage -= c.storage_offset * element_size(c.dtype);
  if (h.create_tensor_from_blob(storage, c.rank, c.sizes, c.strides, c.storage_offset, h.dtypes[c.dtype], device_.host_code(),
                                device_.index, &tensors_[k]) != 0) {
    INGOT_FAIL_FOR_HOST("aoti_torch_create_tensor_from_blob");
    tensors_[k] = nullptr;
  }
  return tensors_[k];
}

void ConstantBuffer::drop_folded() {
  const uint32_t stored = stored_constant_count();
  for (uint32_t k = stored; k < elements_.size(); k++) {
    elements_[k] = nullptr;
    present_[k] = false;
  }
  if (folded_) folded_->release();
  folded_ = nullptr;
}

void ConstantBuffer::now_initialized() {
  drop_folded();
  state = ConstantState::INITIALIZED;
}

void ConstantBuffer::take_folded(Folded* folded) {
  drop_folded();
  folded_ = folded;
  const uint32_t stored = stored_constant_count();
  for (uint32_t k = stored; k < elements_.size(); k++) {
    elements_[k] = folded->elements()[k - stored];
    present_[k] = true;
  }
  state = ConstantState::FOLDED;
}

uint64_t ConstantBuffer::own_bytes() const {
  uint64_t bytes = 0;
  for (uint32_t k = 0; k < places_.size(); k++) bytes += places_[k] == Place::block ? constant(k).bytes : 0;
  return bytes;
}

void ConstantBuffer::clear() {
  drop_folded();
  for (uint32_t k = 0; k < elements_.size(); k++) {
    forget_tensor(k);
    elements_[k] = nullptr;
    present_[k] = false;
  }
  for (uint32_t k = 0; k < places_.size(); k++) places_[k] = Place::nowhere;
  is_as_loaded_ = false;
  weights_ = nullptr;
  block_.drop();
  if (!device_.is_cpu()) device_.release(device_block_, nullptr);
  device_block_ = nullptr;
  state = ConstantState::NONE;
}

int64_t ConstantBuffer::first_missing() const {
  for (uint32_t k = 0; k < stored_constant_count(); k++) {
    if (!present_[k]) return k;
  }
  return -1;
}

}  // namespace ingot::model
