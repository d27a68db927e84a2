#include "base/number_text.hpp"

#include <locale.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/error.hpp"

namespace ingot {

// The fewest digits that libc reads back as the same number. The host's locale decides about the
// point, in both directions; the text has a '.'.
std::string scientific_text(double v) {
  char buffer[64];
  for (int digits = 0; digits <= 16; digits++) {
    std::snprintf(buffer, sizeof buffer, "%.*e", digits, v);
    if (std::strtod(buffer, nullptr) == v) break;
  }
  std::string out;
  bool in_point = false;
  for (const char* c = buffer; *c; c++) {
    const bool ours = (*c >= '0' && *c <= '9') || *c == '-' || *c == '+' || *c == 'e';
    if (ours) out += *c;
    else if (!in_point) out += '.';
    in_point = !ours;
  }
  return out;
}

// The "C" locale has a point, whatever the host's has.
std::optional<double> number_of(std::string_view digits) {
  static const locale_t with_point = newlocale(LC_ALL_MASK, "C", nullptr);
  const double v = strtod_l(std::string(digits).c_str(), nullptr, with_point);
  if (std::isinf(v)) return {};
  return v;
}

// As std::to_chars has it: plain digits unless the form with an exponent is shorter.
std::string to_text(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  const std::string scientific = scientific_text(v);
  const std::size_t e = scientific.find('e');
  const int exponent = std::atoi(scientific.c_str() + e + 1);
  std::string sign, digits;
  for (const char c : scientific.substr(0, e)) {
    if (c == '-') sign = "-";
    else if (c != '.') digits += c;
  }
  if (exponent < -20 || exponent > 40) return scientific;
  std::string plain = digits;
  if (exponent < 0) plain = "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  else if (const auto whole = static_cast<std::size_t>(exponent) + 1; digits.size() <= whole)
    plain.append(whole - digits.size(), '0');
  else plain.insert(whole, ".");
  plain = sign + plain;
  return plain.size() <= scientific.size() ? plain : scientific;
}

}  // namespace ingot
