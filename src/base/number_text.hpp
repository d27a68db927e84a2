// The shortest decimal digits that read back as the same double. What models are linked with has its own way to find them
// (eager/number_text.cpp): the standard library's brings tables of a hundred kilobytes.
#pragma once
#include <string>

namespace ingot {

std::string scientific_text(double v);  // of a finite number: "1e+00", "-1.5e-07"

}  // namespace ingot
