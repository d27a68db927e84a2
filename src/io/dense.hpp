// What the file formats share: tensors as dense bytes, and the suspicion a file's claims deserve.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.hpp"
#include "tensor/impl.hpp"

namespace ingot {

inline constexpr std::size_t kMaxFileDims = 64;  // PyTorch's limit

// Bytes of a dense tensor of these sizes; nothing if any count, or a stride derived from them, would not fit 63 bits.
std::optional<int64_t> dense_bytes(const std::vector<int64_t>& sizes, DType dtype);

// User error, starting with `what`, for a tensor that has no bytes in this machine's memory.
void require_bytes(const Tensor& t, std::string_view what);
// The tensor's elements in row-major order: itself where they lie so already, else a copy. Requires bytes.
Tensor row_major(const Tensor& t);

// The bytes [begin, begin + nbytes) of a mapping as a storage that keeps it alive, without a copy; copied where they
// are not aligned for the dtype. Requires the range to lie inside.
Ref<Storage> mapped_storage(const Ref<MappedFile>& file, std::size_t begin, int64_t nbytes, DType dtype);

// User error, starting with `what`, unless every byte of a bool tensor is 0 or 1: C++ gives other bytes no meaning.
void require_bools(const void* data, int64_t n, std::string_view what);

// A name from a file as it may stand in a message: quoted, control bytes escaped, long ones cut.
std::string shown_name(std::string_view name);

using NamedTensor = std::pair<std::string, Tensor>;
// The members of the list in the order of their names. User error, starting with `what`, for two of one name.
std::vector<const NamedTensor*> sorted_by_name(const std::vector<NamedTensor>& tensors, std::string_view what);

}  // namespace ingot
