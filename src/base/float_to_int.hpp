// A float as an element of an integer type, on every machine the same. C++ leaves a value out of
// range undefined, and processors differ. The code that is generated for a cast
// (codegen/expression.cpp) has the same rule.
#pragma once
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace ingot {

// The fraction is dropped. What is then no int32, for a type that needs no more, or no int64, is
// the nearest one, NaN is 0; narrower types and unsigned ones have the lowest bits of that: 300 as
// int8 is 44, -1 as uint64 its largest. A uint64 may be larger than any int64.
template <std::integral To, std::floating_point From>
To float_to_int(From v) {
  static_assert(!std::same_as<To, bool>);
  using Wide = std::conditional_t<sizeof(To) < 4 || std::same_as<To, int32_t>, int32_t, int64_t>;
  constexpr From low = static_cast<From>(std::numeric_limits<Wide>::min()), high = -low;  // exact
  if constexpr (std::same_as<To, uint64_t>)
    if (v >= high) return v < 2 * high ? static_cast<uint64_t>(v) : std::numeric_limits<uint64_t>::max();
  if (v != v) return 0;
  const Wide w = v < low ? std::numeric_limits<Wide>::min() : v >= high ? std::numeric_limits<Wide>::max() : static_cast<Wide>(v);
  return static_cast<To>(w);
}

}  // namespace ingot
