// What stands before the elements of an npy array: the parts npz shares with npy. `what` starts
// every error message.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "tensor/impl.hpp"

namespace ingot {

struct NpyHeader {
  DType dtype = DType::f32;
  std::vector<int64_t> sizes;
  bool fortran_order = false;
  int64_t nbytes = 0;  // of the elements
};

inline constexpr std::size_t kNpyPrefix = 12;  // bytes from which npy_header_size can tell
// Offset of the array's first element, told from the first bytes of the array (kNpyPrefix of them
// suffice).
std::size_t npy_header_size(std::string_view start, std::string_view what);
// Parses a header of exactly npy_header_size bytes.
NpyHeader parse_npy_header(std::string_view header, std::string_view what);
// The header of a row-major array like t: a multiple of 64 bytes. User error for a dtype NumPy does
// not have.
std::string npy_header_of(const Tensor& t, std::string_view what);
// The array whose elements are the header's nbytes of the storage.
Tensor npy_tensor(const NpyHeader& header, Ref<Storage> storage, std::string_view what);

}  // namespace ingot
