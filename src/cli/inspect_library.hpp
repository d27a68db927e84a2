// What a compiled model says about itself.
#pragma once
#include <string>

namespace ingot {

// Prints it, as text or as a JSON object. `model_name`: of a package.
void inspect_compiled(const std::string& path, const std::string& model_name, bool json);

}  // namespace ingot
