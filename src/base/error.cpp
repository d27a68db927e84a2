#include "base/error.hpp"

#include <charconv>
#include <cmath>

namespace ingot {

void throw_user_error(std::string message) { throw UserError(std::move(message)); }
void throw_index_error(std::string message) { throw IndexError(std::move(message)); }
void throw_internal_error(const char* file, int line, std::string message) {
  throw InternalError(text("internal error at ", file, ":", line, ": ", message.empty() ? "invariant violated" : message,
                           "; this is a defect of Ingot, please report it"));
}

std::string to_text(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char buf[40];
  auto r = std::to_chars(buf, buf + sizeof buf, v);
  return std::string(buf, r.ptr);
}

}  // namespace ingot
