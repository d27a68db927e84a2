// Every dtype is mapped to a 64-bit key whose unsigned order is the wanted order, so one merge sort
// and one selection over
// (key, index) serve all. See sort.hpp for the contract.
#include "kernels/sort.hpp"

#include <cstring>

#include "base/dtype.hpp"

namespace ingot::kernels {
namespace {

// Of all items of a row no two are equal: index breaks ties, which is what makes the sort stable.
struct Item {
  uint64_t key;
  int64_t index;
};
inline bool before(const Item& a, const Item& b) { return a.key != b.key ? a.key < b.key : a.index < b.index; }

constexpr uint64_t kNan = ~uint64_t{0};

template <class Bits>
inline Bits load(const void* base, int64_t i) {
  Bits b;
  std::memcpy(&b, static_cast<const char*>(base) + i * static_cast<int64_t>(sizeof(Bits)), sizeof(Bits));
  return b;
}

// Sign and magnitude to an ordered key. A magnitude above `infinity` is NaN; both zeros get one
// key.
template <class Bits>
inline uint64_t float_key(Bits bits, Bits infinity) {
  constexpr Bits sign = Bits(Bits{1} << (sizeof(Bits) * 8 - 1));
  const Bits magnitude = Bits(bits & Bits(~sign));
  if (magnitude > infinity) return kNan;
  return bits & sign ? uint64_t{sign} - magnitude : uint64_t{sign} + magnitude;
}
template <class Bits>
inline uint64_t signed_key(Bits bits) {
  return Bits(bits ^ Bits(Bits{1} << (sizeof(Bits) * 8 - 1)));
}

// Calls f with the function (base, element) -> key of the dtype, so that the switch is outside the
// loops.
template <class F>
inline void with_key(DType dtype, F f) {
  switch (dtype) {
    case DType::u8:
    case DType::b8: return f([](const void* p, int64_t i) -> uint64_t { return load<uint8_t>(p, i); });
    case DType::u16: return f([](const void* p, int64_t i) -> uint64_t { return load<uint16_t>(p, i); });
    case DType::u32: return f([](const void* p, int64_t i) -> uint64_t { return load<uint32_t>(p, i); });
    case DType::u64: return f([](const void* p, int64_t i) -> uint64_t { return load<uint64_t>(p, i); });
    case DType::i8: return f([](const void* p, int64_t i) { return signed_key(load<uint8_t>(p, i)); });
    case DType::i16: return f([](const void* p, int64_t i) { return signed_key(load<uint16_t>(p, i)); });
    case DType::i32: return f([](const void* p, int64_t i) { return signed_key(load<uint32_t>(p, i)); });
    case DType::i64: return f([](const void* p, int64_t i) { return signed_key(load<uint64_t>(p, i)); });
    case DType::f16: return f([](const void* p, int64_t i) { return float_key<uint16_t>(load<uint16_t>(p, i), 0x7c00); });
    case DType::bf16: return f([](const void* p, int64_t i) { return float_key<uint16_t>(load<uint16_t>(p, i), 0x7f80); });
    case DType::f32: return f([](const void* p, int64_t i) { return float_key<uint32_t>(load<uint32_t>(p, i), 0x7f800000u); });
    case DType::f64:
      return f([](const void* p, int64_t i) { return float_key<uint64_t>(load<uint64_t>(p, i), 0x7ff0000000000000u); });
    case DType::f8e4m3fn: return f([](const void* p, int64_t i) { return float_key<uint8_t>(load<uint8_t>(p, i), 0x7e); });
    case DType::f8e5m2: return f([](const void* p, int64_t i) { return float_key<uint8_t>(load<uint8_t>(p, i), 0x7c); });
    case DType::c64:
    case DType::c128: return;  // has no order; excluded by the contract
  }
}

void load_row(DType dtype, const void* in, int64_t start, int64_t stride, int64_t n, bool descending, Item* items) {
  const uint64_t flip = descending ? ~uint64_t{0} : 0;
  with_key(dtype, [&](auto key) {
    for (int64_t i = 0; i < n; ++i) items[i] = {key(in, start + i * stride) ^ flip, i};
  });
}

inline void copy_element(int size, const void* in, int64_t from, void* out, int64_t to) {
  const char* f = static_cast<const char*>(in) + from * size;
  char* t = static_cast<char*>(out) + to * size;
  switch (size) {
    case 1: *t = *f; break;
    case 2: std::memcpy(t, f, 2); break;
    case 4: std::memcpy(t, f, 4); break;
    default: std::memcpy(t, f, 8); break;
  }
}

void insertion_sort(Item* items, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    const Item x = items[i];
    int64_t j = i;
    for (; j > 0 && before(x, items[j - 1]); --j) items[j] = items[j - 1];
    items[j] = x;
  }
}

// Bottom-up: sorted runs of kRun, then merges to and fro between the two buffers. Sorts items;
// `other` holds n too.
void merge_sort(Item* items, Item* other, int64_t n) {
  constexpr int64_t kRun = 16;
  for (int64_t i = 0; i < n; i += kRun) insertion_sort(items + i, n - i < kRun ? n - i : kRun);
  Item *from = items, *to = other;
  for (int64_t width = kRun; width < n; width *= 2) {
    for (int64_t i = 0; i < n; i += 2 * width) {
      const int64_t middle = i + width < n ? i + width : n, end = i + 2 * width < n ? i + 2 * width : n;
      if (middle == end || before(from[middle - 1], from[middle])) {  // already in order
        std::memcpy(to + i, from + i, static_cast<size_t>(end - i) * sizeof(Item));
        continue;
      }
      int64_t l = i, r = middle, o = i;
      while (l < middle && r < end) {
        const bool right = before(from[r], from[l]);
        to[o++] = from[right ? r : l];
        r += right;
        l += !right;
      }
      std::memcpy(to + o, from + l, static_cast<size_t>(middle - l) * sizeof(Item));
      o += middle - l;
      std::memcpy(to + o, from + r, static_cast<size_t>(end - r) * sizeof(Item));
    }
    Item* t = from;
    from = to;
    to = t;
  }
  if (from != items) std::memcpy(items, from, static_cast<size_t>(n) * sizeof(Item));
}

// Moves the k first items to the front, item k - 1 being the last of them in order. Requires 1 <= k
// <= n. Quickselect with a median of three; after 64 cuts what is left is sorted, which bounds bad
// luck.
void select(Item* items, Item* other, int64_t n, int64_t k) {
  int64_t low = 0, high = n, budget = 64;
  const int64_t target = k - 1;
  while (high - low > 32) {
    if (budget-- == 0) return merge_sort(items + low, other, high - low);
    Item a = items[low], b = items[low + (high - low) / 2], c = items[high - 1];
    if (before(b, a)) {
      const Item t = a;
      a = b;
      b = t;
    }
    const Item pivot = before(c, b) ? (before(c, a) ? a : c) : b;
    int64_t i = low, j = high - 1;
    while (true) {  // Hoare: [low, j] <= pivot <= [j + 1, high)
      while (before(items[i], pivot)) ++i;
      while (before(pivot, items[j])) --j;
      if (i >= j) break;
      const Item t = items[i];
      items[i++] = items[j];
      items[j--] = t;
    }
    // Items are distinct, so i and j met at the pivot or crossed around the cut.
    const int64_t cut = i == j ? i + 1 : j + 1;
    if (target < cut) high = cut;
    else low = cut;
  }
  insertion_sort(items + low, high - low);
}

Item* other_half(void* scratch, int64_t n) { return static_cast<Item*>(scratch) + n; }

void write_row(int size, const void* in, int64_t start, int64_t stride, const Item* items, int64_t count, void* out_values,
               Rows value_rows, int64_t* out_indices, Rows index_rows, int64_t row) {
  if (out_values != nullptr) {
    const int64_t to = value_rows.start(row);
    for (int64_t j = 0; j < count; ++j)
      copy_element(size, in, start + items[j].index * stride, out_values, to + j * value_rows.stride);
  }
  if (out_indices != nullptr) {
    int64_t* to = out_indices + index_rows.start(row);
    for (int64_t j = 0; j < count; ++j) to[j * index_rows.stride] = items[j].index;
  }
}

}  // namespace

int64_t select_scratch_bytes(int64_t n) { return 2 * n * static_cast<int64_t>(sizeof(Item)); }

void sort_rows(DType dtype, const void* in, Rows in_rows, int64_t n, bool descending, void* out_values, Rows value_rows,
               int64_t* out_indices, Rows index_rows, int64_t begin, int64_t end, void* scratch) {
  Item* const items = static_cast<Item*>(scratch);
  for (int64_t row = begin; row < end; ++row) {
    const int64_t start = in_rows.start(row);
    load_row(dtype, in, start, in_rows.stride, n, descending, items);
    merge_sort(items, other_half(scratch, n), n);
    write_row(size_of(dtype), in, start, in_rows.stride, items, n, out_values, value_rows, out_indices, index_rows, row);
  }
}

void topk_rows(DType dtype, const void* in, Rows in_rows, int64_t n, int64_t k, bool largest, void* out_values, Rows value_rows,
               int64_t* out_indices, Rows index_rows, int64_t begin, int64_t end, void* scratch) {
  if (k <= 0) return;
  Item* const items = static_cast<Item*>(scratch);
  for (int64_t row = begin; row < end; ++row) {
    const int64_t start = in_rows.start(row);
    load_row(dtype, in, start, in_rows.stride, n, largest, items);
    if (k < n) select(items, other_half(scratch, n), n, k);
    merge_sort(items, other_half(scratch, n), k);
    write_row(size_of(dtype), in, start, in_rows.stride, items, k, out_values, value_rows, out_indices, index_rows, row);
  }
}

void kthvalue_rows(DType dtype, const void* in, Rows in_rows, int64_t n, int64_t k, void* out_values, int64_t* out_indices,
                   int64_t begin, int64_t end, void* scratch) {
  Item* const items = static_cast<Item*>(scratch);
  const Rows single{1, 1, 0, 0};
  for (int64_t row = begin; row < end; ++row) {
    const int64_t start = in_rows.start(row);
    load_row(dtype, in, start, in_rows.stride, n, false, items);
    select(items, other_half(scratch, n), n, k);
    write_row(size_of(dtype), in, start, in_rows.stride, items + k - 1, 1, out_values, single, out_indices, single, row);
  }
}

void median_rows(DType dtype, const void* in, Rows in_rows, int64_t n, bool ignore_nan, void* out_values, int64_t* out_indices,
                 int64_t begin, int64_t end, void* scratch) {
  Item* const items = static_cast<Item*>(scratch);
  const Rows single{1, 1, 0, 0};
  for (int64_t row = begin; row < end; ++row) {
    const int64_t start = in_rows.start(row);
    load_row(dtype, in, start, in_rows.stride, n, false, items);
    int64_t numbers = n;  // NaN sorts last, so the first `numbers` of the sorted row are those that are not NaN
    if (is_floating(dtype))
      for (int64_t i = 0; i < n; ++i) numbers -= items[i].key == kNan;
    const bool nan = numbers == 0 || (numbers < n && !ignore_nan);
    const int64_t k = nan ? numbers + 1 : (numbers - 1) / 2 + 1;
    select(items, other_half(scratch, n), n, k);
    write_row(size_of(dtype), in, start, in_rows.stride, items + k - 1, 1, out_values, single, out_indices, single, row);
  }
}

void searchsorted_rows(DType dtype, const void* sequence, Rows sequence_rows, int64_t n, const int64_t* sorter,
                       const void* values, Rows value_rows, int64_t m, bool right, int64_t* out, int64_t begin, int64_t end) {
  const bool may_be_nan = is_floating(dtype);
  with_key(dtype, [&](auto key) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t start = sequence_rows.start(row), value_start = value_rows.start(row);
      for (int64_t j = 0; j < m; ++j) {
        const uint64_t v = key(values, value_start + j * value_rows.stride);
        int64_t low = 0, high = n;
        while (low < high) {
          const int64_t middle = low + (high - low) / 2;
          const int64_t at = start + middle * sequence_rows.stride;
          const uint64_t s = key(sequence, sorter == nullptr ? at : start + sorter[at] * sequence_rows.stride);
          // not (s >= v), not (s > v): true for NaN
          const bool go_right = (may_be_nan && (s == kNan || v == kNan)) || s < v || (right && s == v);
          if (go_right) low = middle + 1;
          else high = middle;
        }
        out[row * m + j] = low;
      }
    }
  });
}

}  // namespace ingot::kernels

namespace ik = ingot::kernels;
extern "C" {
int64_t ingot_k_select_scratch_bytes(int64_t n) { return ik::select_scratch_bytes(n); }
void ingot_k_sort_rows(int32_t dtype, const void* in, const ik::Rows* in_rows, int64_t n, int32_t descending, void* out_values,
                       const ik::Rows* value_rows, int64_t* out_indices, const ik::Rows* index_rows, int64_t begin, int64_t end,
                       void* scratch) {
  ik::sort_rows(static_cast<ingot::DType>(dtype), in, *in_rows, n, descending != 0, out_values, *value_rows, out_indices,
                *index_rows, begin, end, scratch);
}
void ingot_k_topk_rows(int32_t dtype, const void* in, const ik::Rows* in_rows, int64_t n, int64_t k, int32_t largest,
                       void* out_values, const ik::Rows* value_rows, int64_t* out_indices, const ik::Rows* index_rows,
                       int64_t begin, int64_t end, void* scratch) {
  ik::topk_rows(static_cast<ingot::DType>(dtype), in, *in_rows, n, k, largest != 0, out_values, *value_rows, out_indices,
                *index_rows, begin, end, scratch);
}
void ingot_k_kthvalue_rows(int32_t dtype, const void* in, const ik::Rows* in_rows, int64_t n, int64_t k, void* out_values,
                           int64_t* out_indices, int64_t begin, int64_t end, void* scratch) {
  ik::kthvalue_rows(static_cast<ingot::DType>(dtype), in, *in_rows, n, k, out_values, out_indices, begin, end, scratch);
}
void ingot_k_median_rows(int32_t dtype, const void* in, const ik::Rows* in_rows, int64_t n, int32_t ignore_nan, void* out_values,
                         int64_t* out_indices, int64_t begin, int64_t end, void* scratch) {
  ik::median_rows(static_cast<ingot::DType>(dtype), in, *in_rows, n, ignore_nan != 0, out_values, out_indices, begin, end,
                  scratch);
}
void ingot_k_searchsorted_rows(int32_t dtype, const void* sequence, const ik::Rows* sequence_rows, int64_t n,
                               const int64_t* sorter, const void* values, const ik::Rows* value_rows, int64_t m, int32_t right,
                               int64_t* out, int64_t begin, int64_t end) {
  ik::searchsorted_rows(static_cast<ingot::DType>(dtype), sequence, *sequence_rows, n, sorter, values, *value_rows, m, right != 0,
                        out, begin, end);
}
}
