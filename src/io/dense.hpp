// What the file formats share: tensors as dense bytes, and the suspicion a file's claims deserve.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.hpp"
#include "tensor/impl.hpp"

namespace ingot {

inline constexpr std::size_t kMaxFileDims = 64;  // PyTorch's limit

// Bytes of a dense tensor of these sizes; nothing if any count, or a stride derived from them,
// would not fit 63 bits.
std::optional<int64_t> dense_bytes(const std::vector<int64_t>& sizes, DType dtype);

// User error, starting with `what`, for a tensor that has no bytes in this machine's memory.
void require_bytes(const Tensor& t, std::string_view what);
// The tensor's elements in row-major order: itself where they lie so already, else a copy. Requires
// bytes.
Tensor row_major(const Tensor& t);

// Bytes up to the last element of a strided tensor, or 0 where it has none; nothing if that, or
// dense_bytes, would not fit 63 bits, or for a negative number among them. Requires as many strides
// as sizes.
std::optional<int64_t> strided_bytes(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, int64_t offset,
                                     DType dtype);

// Bytes that belong to `owner` (a mapping, say) as a storage that keeps it alive, without a copy;
// copied where they are not aligned as wanted.
Ref<Storage> storage_over(const Ref<Counted>& owner, void* data, int64_t nbytes, std::size_t alignment);
constexpr std::size_t alignment_of(DType t) { return static_cast<std::size_t>(size_of(real_of(t))); }

// User error, starting with `what`, unless every byte of a bool tensor is 0 or 1: C++ gives other
// bytes no meaning.
void require_bools(const void* data, int64_t n, std::string_view what);

// Makes every byte but zero a one, as formats mean it that know no other bools. Bytes that are
// right stay untouched, so that pages of a mapping stay those of the file.
void normalize_bools(const Storage& s);

// A name from a file as it may stand in a message: quoted, control bytes escaped, long ones cut.
std::string shown_name(std::string_view name);

using NamedTensor = std::pair<std::string, Tensor>;
// The members of the list in the order of their names. User error, starting with `what`, for two of
// one name.
std::vector<const NamedTensor*> sorted_by_name(const std::vector<NamedTensor>& tensors, std::string_view what);

}  // namespace ingot
