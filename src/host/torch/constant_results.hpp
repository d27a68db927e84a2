// Results of a program that are no values of its graph: a number, a text or None that it returns
// whatever its inputs are. A library returns tensors alone, so its metadata says what these are and
// where they stand among the results.
#pragma once
#include <map>
#include <string>

#include "ingot/value.hpp"

namespace ingot {

inline constexpr const char* kConstantResults = "ingot.constant_results";  // the metadata's key

using ConstantResults = std::map<std::size_t, Value>;  // by position among all results

// JSON, and back. User error, starting with `what`, for text that is none of it.
std::string to_metadata(const ConstantResults& results);
ConstantResults constant_results_of(const std::string& text, const std::string& what);

}  // namespace ingot
