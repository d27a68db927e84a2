#include "host/c_status.hpp"

#include <cstdio>

namespace {

// Fixed in size, so that to report a lack of memory needs none.
thread_local char last_error[4096] = "";

}  // namespace

ingot_status ingot::fail(ingot_status status, const char* why) noexcept {
  std::snprintf(last_error, sizeof last_error, "%s", why);
  return status;
}

const char* ingot_error(void) { return last_error; }
