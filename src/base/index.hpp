// Numbers of things as places in a table of them.
#pragma once
#include <concepts>
#include <cstddef>

#include "base/error.hpp"

namespace ingot {

// Where a table has the thing that others call by this number: ids of buffers and nodes, dims,
// results of calls. A number below zero names nothing, and asking for its place is an internal
// error.
constexpr std::size_t at(std::integral auto number) {
  if constexpr (std::signed_integral<decltype(number)>) INGOT_ENSURE(number >= 0, "no table has a place for ", number);
  return static_cast<std::size_t>(number);
}

}  // namespace ingot
