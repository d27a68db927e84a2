#include "model/layout.hpp"

#include <string.h>

namespace ingot::model {
namespace {

// The elements of the last dimension.
template <int kBytes>
void copy_row(int64_t count, char* to, int64_t to_step, const char* from, int64_t from_step) {
  for (int64_t i = 0; i < count; i++) memcpy(to + i * to_step, from + i * from_step, kBytes);
}

void copy_row(int64_t count, char* to, int64_t to_step, const char* from, int64_t from_step, int64_t element_bytes) {
  if (to_step == element_bytes && from_step == element_bytes) {
    memmove(to, from, static_cast<size_t>(count * element_bytes));
    return;
  }
  switch (element_bytes) {
    case 1: return copy_row<1>(count, to, to_step, from, from_step);
    case 2: return copy_row<2>(count, to, to_step, from, from_step);
    case 4: return copy_row<4>(count, to, to_step, from, from_step);
    case 8: return copy_row<8>(count, to, to_step, from, from_step);
    default: return copy_row<16>(count, to, to_step, from, from_step);
  }
}

}  // namespace

int64_t element_count(int32_t rank, const int64_t* sizes) {
  int64_t count = 1;
  for (int32_t d = 0; d < rank; d++) count *= sizes[d];
  return count;
}

int64_t extent(int32_t rank, const int64_t* sizes, const int64_t* strides) {
  int64_t last = 0;
  for (int32_t d = 0; d < rank; d++) {
    if (sizes[d] == 0) return 0;
    last += (sizes[d] - 1) * strides[d];
  }
  return last + 1;
}

bool same_places(int32_t rank, const int64_t* sizes, const int64_t* strides, const int64_t* other) {
  bool same = true;
  for (int32_t d = 0; d < rank; d++) {
    if (sizes[d] == 0) return true;
    if (sizes[d] > 1 && strides[d] != other[d]) same = false;
  }
  return same;
}

void copy_elements(int32_t rank, const int64_t* sizes, void* to, const int64_t* to_strides, const void* from,
                   const int64_t* from_strides, int64_t element_bytes) {
  char* out = static_cast<char*>(to);
  const char* in = static_cast<const char*>(from);
  if (element_count(rank, sizes) == 0) return;
  if (rank == 0) return copy_row(1, out, element_bytes, in, element_bytes, element_bytes);

  const int32_t last = rank - 1;
  int64_t index[64] = {};
  for (;;) {
    copy_row(sizes[last], out, to_strides[last] * element_bytes, in, from_strides[last] * element_bytes, element_bytes);
    int32_t d = last;
    while (--d >= 0) {
      out += to_strides[d] * element_bytes;
      in += from_strides[d] * element_bytes;
      if (++index[d] < sizes[d]) break;
      out -= sizes[d] * to_strides[d] * element_bytes;
      in -= sizes[d] * from_strides[d] * element_bytes;
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

}  // namespace ingot::model
