// SHA-256 (FIPS 180-4), for names of things by their content.
#pragma once
#include <string>
#include <string_view>

namespace ingot {

// 64 lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

}  // namespace ingot
