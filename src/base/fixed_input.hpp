// What a library says about the arguments of its program that are no inputs: the program holds for one value of each.
#pragma once
#include <string_view>

namespace ingot {

// A metadata entry of the library: this and the place of the argument among the leaves of the call; its value is the text of the one
// that the program was exported with.
inline constexpr std::string_view kFixedInput = "fixed_input.";

}  // namespace ingot
