#include "cli/quantity.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <span>

namespace ingot {
namespace {

// In the first unit of which there are less than a thousand, or the last; the first is `scale`
// times smaller than what the value is in.
std::string in_units(double value, double scale, std::span<const char* const> units) {
  constexpr double kLeastOfFourDigits = 999.5;  // printed with three, it is 1000
  value *= scale;
  std::size_t k = 0;
  for (; k + 1 < units.size() && value >= kLeastOfFourDigits; k++) value /= 1000;
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, "%.*f %s", decimals, value, units[k]);
  return buffer;
}

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "KB", "MB", "GB", "TB"};
  if (bytes < 1000) return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  return in_units(static_cast<double>(bytes), 1, kUnits);
}

std::string seconds_text(double seconds) {
  constexpr const char* kUnits[] = {"ns", "µs", "ms", "s"};
  return in_units(std::max(seconds, 0.0), 1e9, kUnits);
}

}  // namespace ingot
