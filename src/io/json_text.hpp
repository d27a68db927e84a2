// JSON as it is written.
#pragma once
#include <string>
#include <string_view>

namespace ingot {

// Appends the string in quotes, with what must be escaped escaped. User error, starting with `what`, for one that is not
// UTF-8.
void append_json_string(std::string& out, std::string_view s, std::string_view what);

}  // namespace ingot
