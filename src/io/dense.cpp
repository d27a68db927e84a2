#include "io/dense.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.hpp"
#include "tensor/rows.hpp"

namespace ingot {

static_assert(std::endian::native == std::endian::little, "files are read and written without swapping bytes");

std::optional<int64_t> dense_bytes(const std::vector<int64_t>& sizes, DType dtype) {
  // An empty dim counts as one for the strides, so that [0, huge, huge] cannot overflow them.
  int64_t bytes = size_of(dtype);
  bool empty = false;
  for (const int64_t s : sizes) {
    if (s < 0 || __builtin_mul_overflow(bytes, std::max<int64_t>(s, 1), &bytes)) return std::nullopt;
    empty |= s == 0;
  }
  if (bytes >= int64_t{1} << 62) return std::nullopt;
  return empty ? 0 : bytes;
}

void require_bytes(const Tensor& t, std::string_view what) {
  INGOT_REQUIRE(t.defined(), what, ": the tensor is undefined");
  INGOT_REQUIRE(!t->is_fake(), what, ": the tensor has no data, it is a fake tensor made to compute shapes only");
  INGOT_REQUIRE(t.device().type == DeviceType::cpu, what, ": the tensor is on ", t.device(), ", move it to the cpu");
}

Tensor row_major(const Tensor& t) {
  if (t.is_contiguous()) return t;
  const Tensor dense = make_tensor(Geometry::contiguous(t.sizes(), t.dtype()));
  copy_elements(dense, t);
  return dense;
}

std::optional<int64_t> strided_bytes(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, int64_t offset,
                                     DType dtype) {
  const auto dense = dense_bytes(sizes, dtype);
  if (!dense || offset < 0) return std::nullopt;
  int64_t elements = 0;
  if (__builtin_add_overflow(offset, int64_t{1}, &elements)) return std::nullopt;
  for (std::size_t d = 0; d < sizes.size(); d++) {
    int64_t step = 0;
    if (strides[d] < 0 || __builtin_mul_overflow(std::max<int64_t>(sizes[d] - 1, 0), strides[d], &step) ||
        __builtin_add_overflow(elements, step, &elements))
      return std::nullopt;
  }
  int64_t bytes = 0;
  if (__builtin_mul_overflow(elements, int64_t{size_of(dtype)}, &bytes) || bytes >= int64_t{1} << 62) return std::nullopt;
  return *dense == 0 ? 0 : bytes;
}

Ref<Storage> storage_over(const Ref<Counted>& owner, void* data, int64_t nbytes, std::size_t alignment) {
  if (reinterpret_cast<std::uintptr_t>(data) % alignment == 0) return Storage::wrap(data, nbytes, [owner] { (void)owner; });
  Ref<Storage> copy = Storage::allocate(nbytes);
  if (nbytes > 0) std::memcpy(copy->data(), data, static_cast<std::size_t>(nbytes));
  return copy;
}

void require_bools(const void* data, int64_t n, std::string_view what) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  const auto* bad = std::find_if(bytes, bytes + n, [](unsigned char b) { return b > 1; });
  INGOT_REQUIRE(bad == bytes + n, what, ": element ", bad - bytes, " of a bool tensor is the byte ", int{*bad},
                " when it should be 0 or 1");
}

void normalize_bools(const Storage& s) {
  auto* bytes = static_cast<unsigned char*>(s.data());
  for (int64_t i = 0; i < s.nbytes().value(); i++)
    if (bytes[i] > 1) bytes[i] = 1;
}

std::string shown_name(std::string_view name) {
  constexpr std::size_t kLongest = 200;
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "'";
  for (const char c : name.substr(0, kLongest)) {
    const auto u = static_cast<unsigned char>(c);
    if (u < 0x20 || u == 0x7f) ((out += "\\x") += kHex[u >> 4]) += kHex[u & 15];
    else out += c;
  }
  if (name.size() > kLongest) out += "…";
  return out += "'";
}

std::vector<const NamedTensor*> sorted_by_name(const std::vector<NamedTensor>& tensors, std::string_view what) {
  std::vector<const NamedTensor*> sorted;
  for (const auto& t : tensors) sorted.push_back(&t);
  std::sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->first < b->first; });
  for (std::size_t i = 1; i < sorted.size(); i++)
    INGOT_REQUIRE(sorted[i - 1]->first != sorted[i]->first, what, ": two tensors are named ", shown_name(sorted[i]->first));
  return sorted;
}

}  // namespace ingot
