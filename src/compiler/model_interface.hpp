// The C interface of a model as its public headers declare it, for programs that a model is linked
// into under other names.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

struct InterfaceFunction {
  std::string_view declaration;  // "INGOT_EXPORT const char* ingot_last_error(void);"
  std::string_view name;         // in it
};
// Those of ingot/aoti.h and ingot/model.h, in their order.
std::vector<InterfaceFunction> model_functions();

// Both headers and what they include, as one that includes nothing of Ingot's.
std::string model_headers();

}  // namespace ingot
