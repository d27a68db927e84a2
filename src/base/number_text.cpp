#include "base/number_text.hpp"

#include <charconv>
#include <cmath>

#include "base/error.hpp"

namespace ingot {

std::string to_text(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char buf[40];
  auto r = std::to_chars(buf, buf + sizeof buf, v);
  return std::string(buf, r.ptr);
}

std::string scientific_text(double v) {
  char buffer[40];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, v, std::chars_format::scientific).ptr);
}

std::optional<double> number_of(std::string_view digits) {
  double v = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), v).ec != std::errc()) return {};
  return v;
}

}  // namespace ingot
