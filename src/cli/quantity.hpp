// Sizes and times as people read them: three digits and a decimal unit, the same for every verb.
// JSON has the numbers themselves, in bytes and seconds.
#pragma once
#include <cstdint>
#include <string>

namespace ingot {

std::string bytes_text(std::uint64_t bytes);   // "812 bytes", "1.23 KB", "45.6 MB"
std::string seconds_text(double seconds);      // "850 ns", "1.23 µs", "45.6 ms", "7.00 s"

}  // namespace ingot
