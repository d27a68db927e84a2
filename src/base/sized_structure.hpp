// Structures of a C interface that begin with their own size, as it was where the caller was
// compiled: later versions add fields at the end. Needs libc alone.
#pragma once
#include <stddef.h>
#include <string.h>

namespace ingot {

// What is wrong with one that a caller gave.
struct StructureFault {
  enum Kind { none, size, unknown_field } kind = none;
  size_t at = 0;  // the size, or the byte of a field that is set and that nobody here knows
};

// Copies what the caller's header knows over `known`, which has the defaults of the rest. `least`:
// bytes that every version had. After a fault `known` is what it was.
template <class T>
StructureFault copy_structure(const T& given, size_t least, T* known) {
  constexpr size_t kMost = 4096;  // a size beyond it was never set
  const size_t size = given.size, common = size < sizeof(T) ? size : sizeof(T);
  // No field crosses a multiple of the alignment, so that none is cut.
  if (size < least || size > kMost || size % alignof(T) != 0) return {StructureFault::size, size};
  const char* bytes = reinterpret_cast<const char*>(&given);
  for (size_t at = common; at < size; at++)
    if (bytes[at] != 0) return {StructureFault::unknown_field, at};
  memcpy(static_cast<void*>(known), bytes, common);
  return {};
}

}  // namespace ingot
