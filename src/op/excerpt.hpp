// The lines around a fault, for messages.
#pragma once
#include <string>
#include <string_view>

namespace ingot {

struct TextPlace {
  std::size_t line = 1, column = 1;  // counted from 1
};
TextPlace place_of(std::string_view text, std::size_t position);

// The line with its neighbours, numbered; it is marked, and so is the column unless it is 0. Long
// lines are cut.
std::string excerpt(std::string_view text, TextPlace at);

}  // namespace ingot
