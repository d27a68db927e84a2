// What names an entry of the cache: everything that decides what a function is compiled to (R186,
// R187).
#pragma once
#include "aot/aot.hpp"
#include "aot/capture.hpp"

namespace ingot::aot {

// The letter a and a SHA-256. `settings`: of the store, and what is known of the caller's sizes.
// Values of arguments are no part of it; those of tensors that the function brings along are. User
// errors in the words of R186 for what cannot be kept.
std::string cache_key(const Captured& captured, const Values& arguments, const AotOptions& options, const std::string& settings);

// What names a graph: its text, and the bytes of the tensors and the text of the graphs that it
// holds. User errors as above.
std::string keyed_text(const Graph& g);
// … and a value as compilers are given it.
std::string keyed_text(const Value& example);

}  // namespace ingot::aot
