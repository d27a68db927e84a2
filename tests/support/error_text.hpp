// The text of the user error a call ends in.
#pragma once
#include <string>

#include "base/error.hpp"

namespace ingot {

template <class F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace ingot
