// Memory of the model runtime: failures are answers, not exceptions, and nothing here needs a C++
// library.
#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <new>

#include "model/error.hpp"

namespace ingot::model {

inline constexpr size_t kAlignment = 64;

constexpr uint64_t round_up(uint64_t n, uint64_t unit) { return (n + unit - 1) / unit * unit; }

// At least one byte at kAlignment, for free(). Null after a failure.
inline void* allocate(uint64_t bytes) {
  void* p = bytes <= PTRDIFF_MAX - kAlignment ? aligned_alloc(kAlignment, round_up(bytes ? bytes : 1, kAlignment)) : nullptr;
  if (!p) fail_for_memory(bytes);
  return p;
}

// `new` and `delete` over it.
template <class T, class... Arguments>
T* create(Arguments... arguments) {
  void* p = allocate(sizeof(T));
  return p ? new (p) T(arguments...) : nullptr;
}

template <class T>
void destroy(T* object) {
  if (!object) return;
  object->~T();
  free(object);
}

// A fixed number of plain values, zero at first.
template <class T>
class Array {
 public:
  Array() = default;
  ~Array() { free(items_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  bool make(size_t count) {
    items_ = static_cast<T*>(calloc(count ? count : 1, sizeof(T)));
    count_ = items_ ? count : 0;
    return items_ || fail_for_memory(count * sizeof(T));
  }
  size_t size() const { return count_; }
  T* data() { return items_; }
  const T* data() const { return items_; }
  T& operator[](size_t i) { return items_[i]; }
  const T& operator[](size_t i) const { return items_[i]; }

 private:
  T* items_ = nullptr;
  size_t count_ = 0;
};

}  // namespace ingot::model
