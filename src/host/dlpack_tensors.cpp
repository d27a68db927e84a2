#include "host/dlpack_tensors.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "base/dlpack_type.hpp"

namespace ingot {
namespace {

constexpr int32_t kMaxRank = 64;

std::string shape_text(const int64_t* sizes, int32_t rank) {
  std::string s = "[";
  for (int32_t d = 0; d < rank; d++) s += text(d ? ", " : "", sizes[d]);
  return s + "]";
}

// Calls f(index of an element of a in its memory, the same of b) for each element, row by row.
template <class F>
void for_each_element(int32_t rank, const int64_t* sizes, const int64_t* a_strides, const int64_t* b_strides, const F& f) {
  int64_t count = 1;
  for (int32_t d = 0; d < rank; d++) count *= sizes[d];
  std::vector<int64_t> index(static_cast<std::size_t>(rank));
  for (int64_t i = 0, a = 0, b = 0; i < count; i++) {
    f(a, b);
    for (int32_t d = rank; d-- > 0;) {
      const auto k = static_cast<std::size_t>(d);
      a += a_strides[d];
      b += b_strides[d];
      if (++index[k] < sizes[d]) break;
      a -= sizes[d] * a_strides[d];
      b -= sizes[d] * b_strides[d];
      index[k] = 0;
    }
  }
}

std::vector<int64_t> dense_strides(const int64_t* sizes, int32_t rank) {
  std::vector<int64_t> strides(static_cast<std::size_t>(rank));
  int64_t step = 1;
  for (int32_t d = rank; d-- > 0;) {
    strides[static_cast<std::size_t>(d)] = step;
    step *= std::max<int64_t>(sizes[d], 1);
  }
  return strides;
}

DType dtype_in(const ingot_tensor_info& t) {
  const auto dtype = dtype_of_code(t.dtype);
  INGOT_ENSURE(dtype, "a tensor of dtype ", t.dtype);
  return *dtype;
}

std::string type_text(DLDataType t) {
  const auto known = dtype_of_dlpack(t);
  if (known) return std::string(name_of(*known));
  return text("code ", static_cast<int>(t.code), ", ", static_cast<int>(t.bits), " bits, ", t.lanes, " lanes");
}

// What holds for every tensor of the caller, whether or not it has elements yet.
void require_tensor(const DLTensor* t, const std::string& what) {
  INGOT_REQUIRE(t != nullptr, what, ": expected a tensor, found null");
  INGOT_REQUIRE(t->device.device_type == kDLCPU, what, ": expected a tensor in the CPU's memory, found device type ",
                static_cast<int>(t->device.device_type));
  INGOT_REQUIRE(t->ndim >= 0 && t->ndim <= kMaxRank, what, ": rank: expected 0 to ", kMaxRank, ", found ", t->ndim);
  INGOT_REQUIRE(t->ndim == 0 || t->shape != nullptr, what, ": its shape is null");
  for (int32_t d = 0; d < t->ndim; d++) INGOT_REQUIRE(t->shape[d] >= 0, what, ": the size ", t->shape[d], " is negative");
}

bool is_empty(const DLTensor& t) { return std::find(t.shape, t.shape + t.ndim, 0) != t.shape + t.ndim; }

void require_data(const DLTensor& t, const std::string& what) {
  INGOT_REQUIRE(is_empty(t) || t.data != nullptr, what, ": its data is null");
}

DType known_type(const DLTensor& t, const std::string& what) {
  const auto dtype = dtype_of_dlpack(t.dtype);
  INGOT_REQUIRE(dtype, what, ": models have no element type of ", type_text(t.dtype));
  return *dtype;
}

char* first_element(const DLTensor& t) { return t.data ? static_cast<char*>(t.data) + t.byte_offset : nullptr; }

// Whether the bytes from the first element to the last can be counted in 64 bits, as hosts do.
bool is_countable(const DLTensor& t, int64_t item) {
  int64_t bytes = item;
  for (int32_t d = t.ndim; d-- > 0;) {
    const int64_t size = std::max<int64_t>(t.shape[d], 1);
    int64_t more = 0;
    const bool is_too_much = t.strides
                                 ? __builtin_mul_overflow(size - 1, t.strides[d], &more) ||
                                       __builtin_mul_overflow(more, item, &more) || __builtin_add_overflow(bytes, more, &bytes)
                                 : __builtin_mul_overflow(bytes, size, &bytes);
    if (is_too_much) return false;
  }
  return true;
}

void copy_elements(const ingot_tensor_info& from, char* to, const int64_t* strides) {
  const auto item = static_cast<std::size_t>(size_of(dtype_in(from)));
  const char* data = static_cast<const char*>(from.data);
  for_each_element(from.rank, from.sizes, from.strides, strides, [&](int64_t a, int64_t b) {
    std::memcpy(to + b * static_cast<int64_t>(item), data + a * static_cast<int64_t>(item), item);
  });
}

// A tensor with what it owns: an output of a library, or memory of its own.
struct Owner {
  DLManagedTensorVersioned tensor{};
  std::vector<int64_t> sizes, strides;
  std::shared_ptr<const ModelLibrary> library;
  AtenTensorHandle handle = nullptr;
  std::unique_ptr<char[]> bytes;

  ~Owner() {
    if (handle) library->ingot_tensor_delete(handle);
  }
};

DLManagedTensorVersioned* finish(std::unique_ptr<Owner> owner, void* data, DType dtype) {
  DLManagedTensorVersioned& m = owner->tensor;
  m.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  m.dl_tensor.data = data;
  m.dl_tensor.device = {kDLCPU, 0};
  m.dl_tensor.ndim = static_cast<int32_t>(owner->sizes.size());
  m.dl_tensor.dtype = dlpack_type(dtype);
  m.dl_tensor.shape = owner->sizes.data();
  m.dl_tensor.strides = owner->strides.data();
  m.deleter = [](DLManagedTensorVersioned* self) { delete static_cast<Owner*>(self->manager_ctx); };
  m.manager_ctx = owner.get();
  return &owner.release()->tensor;
}

}  // namespace

AtenTensorHandle handle_over(const ModelLibrary& library, const DLTensor* t, const std::string& what) {
  require_tensor(t, what);
  require_data(*t, what);
  const DType dtype = known_type(*t, what);
  for (int32_t d = 0; d < t->ndim && t->strides; d++)
    INGOT_REQUIRE(t->strides[d] >= 0, what, ": strides: expected none below 0, found ", shape_text(t->strides, t->ndim),
                  "; copy the tensor into row-major order");
  INGOT_REQUIRE(is_countable(*t, size_of(dtype)), what, ": sizes: expected bytes that can be counted, found ",
                shape_text(t->shape, t->ndim), t->strides ? " with strides " + shape_text(t->strides, t->ndim) : "");
  char* data = first_element(*t);
  const auto alignment = static_cast<std::uintptr_t>(size_of(real_of(dtype)));
  const auto excess = reinterpret_cast<std::uintptr_t>(data) % alignment;
  INGOT_REQUIRE(excess == 0, what, ": its elements are not aligned: expected an address that is a multiple of ", alignment,
                " bytes, found ", excess, " bytes more; copy the tensor");
  static char nothing[64];  // tensors without elements need an address
  AtenTensorHandle handle = nullptr;
  const AOTIRuntimeError error = library.ingot_tensor_from_memory(is_empty(*t) && !data ? nothing : data, aoti_code(dtype),
                                                                  t->ndim, t->shape, t->strides, &handle);
  INGOT_REQUIRE(error == AOTI_RUNTIME_SUCCESS, what, ": ", library.last_error());
  return handle;
}

ingot_tensor_info described(const DLTensor* t, const std::string& what) {
  require_tensor(t, what);
  return {first_element(*t), aoti_code(known_type(*t, what)), t->ndim, t->shape, t->strides};
}

ResultPlace::ResultPlace(const DLTensor* t) {
  const bool has_shape = t && t->ndim >= 0 && t->ndim <= kMaxRank && (t->ndim == 0 || t->shape);
  if (!has_shape || t->device.device_type != kDLCPU || !t->data) return;
  const auto dtype = dtype_of_dlpack(t->dtype);
  if (!dtype || std::any_of(t->shape, t->shape + t->ndim, [](int64_t n) { return n < 0; })) return;
  if (t->strides && std::any_of(t->strides, t->strides + t->ndim, [](int64_t n) { return n < 0; })) return;
  if (!is_countable(*t, size_of(*dtype))) return;
  if (!t->strides) dense = dense_strides(t->shape, t->ndim);
  info = {first_element(*t), aoti_code(*dtype), t->ndim, t->shape, t->strides ? t->strides : dense.data()};
}

DLManagedTensorVersioned* managed_tensor(std::shared_ptr<const ModelLibrary> library, AtenTensorHandle handle) {
  auto owner = std::make_unique<Owner>();
  owner->library = std::move(library);
  owner->handle = handle;
  ingot_tensor_info info{};
  INGOT_REQUIRE(owner->library->ingot_tensor_describe(handle, &info) == AOTI_RUNTIME_SUCCESS, owner->library->last_error());
  owner->sizes.assign(info.sizes, info.sizes + info.rank);
  owner->strides.assign(info.strides, info.strides + info.rank);
  return finish(std::move(owner), info.data, dtype_in(info));
}

DLManagedTensorVersioned* managed_copy(const ingot_tensor_info& t) {
  auto owner = std::make_unique<Owner>();
  owner->sizes.assign(t.sizes, t.sizes + t.rank);
  owner->strides = dense_strides(t.sizes, t.rank);
  std::size_t bytes = static_cast<std::size_t>(size_of(dtype_in(t)));
  for (const int64_t n : owner->sizes) bytes *= static_cast<std::size_t>(n);
  owner->bytes = std::make_unique<char[]>(bytes);
  copy_elements(t, owner->bytes.get(), owner->strides.data());
  char* data = owner->bytes.get();
  return finish(std::move(owner), data, dtype_in(t));
}

void copy_into(const ingot_tensor_info& from, const DLTensor* to, const std::string& what) {
  require_tensor(to, what);
  require_data(*to, what);
  const DType dtype = dtype_in(from);
  INGOT_REQUIRE(dtype_of_dlpack(to->dtype) == dtype, what, ": element type: expected ", name_of(dtype), ", found ",
                type_text(to->dtype));
  INGOT_REQUIRE(std::equal(to->shape, to->shape + to->ndim, from.sizes, from.sizes + from.rank), what, ": sizes: expected ",
                shape_text(from.sizes, from.rank), ", found ", shape_text(to->shape, to->ndim));
  for (int32_t d = 0; d < to->ndim && to->strides; d++)
    INGOT_REQUIRE(to->shape[d] <= 1 || to->strides[d] != 0, what, ": strides: expected a place for each element, found ",
                  shape_text(to->strides, to->ndim));
  const std::vector<int64_t> dense = dense_strides(from.sizes, from.rank);
  const int64_t* strides = to->strides ? to->strides : dense.data();
  copy_elements(from, static_cast<char*>(to->data) + to->byte_offset, strides);
}

}  // namespace ingot
