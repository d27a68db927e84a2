// KEY=VALUE on the command line.
#pragma once
#include <string>
#include <utility>

#include "base/error.hpp"

namespace ingot {

// User error that begins with the option for an argument without a key.
inline std::pair<std::string, std::string> key_and_value(const char* option, const std::string& argument) {
  const std::size_t at = argument.find('=');
  INGOT_REQUIRE(at != argument.npos && at > 0, option, " ", argument, ": expected KEY=VALUE");
  return {argument.substr(0, at), argument.substr(at + 1)};
}

}  // namespace ingot
