#include "base/error.hpp"

namespace ingot {

void throw_user_error(std::string message) { throw UserError(std::move(message)); }
void throw_index_error(std::string message) { throw IndexError(std::move(message)); }
void throw_internal_error(const char* file, int line, std::string message) {
  throw InternalError(text("internal error at ", file, ":", line, ": ", message.empty() ? "invariant violated" : message,
                           "; this is a defect of Ingot, please report it"));
}

}  // namespace ingot
