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

// A tensor as steps from large to small, each of which leads past everything that the smaller ones
// reach. False where it has none of that form.
struct Steps {
  int64_t count[INGOT_MAX_RANK], stride[INGOT_MAX_RANK];
  int32_t number = 0;

  bool make(const ingot_view& v) {
    for (int32_t d = 0; d < v.rank; d++) {
      if (v.sizes[d] == 1) continue;
      int32_t at = number++;
      for (; at > 0 && stride[at - 1] < v.strides[d]; at--) {
        count[at] = count[at - 1];
        stride[at] = stride[at - 1];
      }
      count[at] = v.sizes[d];
      stride[at] = v.strides[d];
    }
    int64_t reached = 1;
    for (int32_t k = number; k-- > 0;) {
      if (stride[k] < reached) return false;
      reached += (count[k] - 1) * stride[k];
    }
    return true;
  }
  // Is an element that many elements after the first one?
  bool has(int64_t place) const {
    for (int32_t k = 0; k < number; k++) {
      const int64_t steps = place / stride[k];
      place -= (steps < count[k] ? steps : count[k] - 1) * stride[k];
    }
    return place == 0;
  }
};

}  // namespace

bool overlaps_itself(const ingot_view& a) {
  if (element_count(a.rank, a.sizes) == 0) return false;
  for (int32_t d = 0; d < a.rank; d++) {
    if (a.sizes[d] > 1 && a.strides[d] == 0) return true;
  }
  return false;
}

bool lies_apart(const ingot_view& a) {
  Steps steps;
  return element_count(a.rank, a.sizes) == 0 || (a.rank <= INGOT_MAX_RANK && steps.make(a));
}

bool overlap(const ingot_view& a, int64_t a_element_bytes, const ingot_view& b, int64_t b_element_bytes) {
  const int64_t a_count = element_count(a.rank, a.sizes), b_count = element_count(b.rank, b.sizes);
  if (a_count == 0 || b_count == 0) return false;
  const int64_t a_extent = extent(a.rank, a.sizes, a.strides), b_extent = extent(b.rank, b.sizes, b.strides);
  const auto *a_first = static_cast<const char*>(a.data), *b_first = static_cast<const char*>(b.data);
  if (a_first + a_extent * a_element_bytes <= b_first || b_first + b_extent * b_element_bytes <= a_first) return false;
  if (a_count == a_extent && b_count == b_extent) return true;  // neither has gaps
  if (a_count > b_count) return overlap(b, b_element_bytes, a, a_element_bytes);
  Steps steps;
  const int64_t between = a_first - b_first;
  if (a_element_bytes != b_element_bytes || between % b_element_bytes != 0 || a.rank > INGOT_MAX_RANK || !steps.make(b))
    return true;
  // Every element of the smaller one is looked for in the other.
  int64_t index[INGOT_MAX_RANK] = {}, place = between / b_element_bytes;
  for (;;) {
    if (place >= 0 && steps.has(place)) return true;
    int32_t d = a.rank;
    while (--d >= 0) {
      place += a.strides[d];
      if (++index[d] < a.sizes[d]) break;
      place -= a.sizes[d] * a.strides[d];
      index[d] = 0;
    }
    if (d < 0) return false;
  }
}

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
