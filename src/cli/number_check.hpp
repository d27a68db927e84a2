// What an option takes as a number, for `->check(…)`. CLI11's own checks print the bounds of double
// with all their digits.
#pragma once
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <string>

namespace ingot {

// A whole number of at least 1.
inline CLI::Validator at_least_one() {
  return {[](std::string& given) {
            std::int64_t n = 0;
            return CLI::detail::lexical_cast(given, n) && n >= 1 ? std::string()
                                                                 : "expected a whole number from 1, found '" + given + "'";
          },
          "FROM 1", "at_least_one"};
}

// A finite number of at least 0.
inline CLI::Validator not_negative() {
  return {[](std::string& given) {
            double x = 0;
            const bool is_number = CLI::detail::lexical_cast(given, x) && std::isfinite(x) && x >= 0;
            return is_number ? std::string() : "expected a number from 0, found '" + given + "'";
          },
          "FROM 0", "not_negative"};
}

}  // namespace ingot
