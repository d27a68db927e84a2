// Decimal digits of doubles: the shortest that read back as the same one, and back. What models are
// linked with has its own way to do it (eager/number_text.cpp): the standard library's brings
// tables of a hundred kilobytes.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace ingot {

std::string scientific_text(double v);  // of a finite number: "1e+00", "-1.5e-07"
// Of digits with or without a sign, a point and an exponent. None where that is past the largest
// double.
std::optional<double> number_of(std::string_view digits);

}  // namespace ingot
