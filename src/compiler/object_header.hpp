// The C header of a model that is linked into programs as an object file.
#pragma once
#include <map>
#include <string>

#include "codegen/model.hpp"

namespace ingot {

// User error unless the names of C functions can begin with it.
void require_prefix(const std::string& prefix);

// User error where the header of the object file would replace that file, or one that is no header
// of Ingot's.
void require_header_place(const std::string& header, const std::string& object);

// What the functions of the C interface are called in the object: "mlp_last_error" for
// "ingot_last_error", "mlp_AOTInductorModelContainerRun" for "AOTInductorModelContainerRun".
std::map<std::string, std::string> prefixed_names(const std::string& prefix);

// The text of a header that needs no other of Ingot's: the types and functions of ingot/model.h and
// ingot/aoti.h, the functions under those names, and short ones for what most programs do. Headers
// of several models, and Ingot's own, go into one source.
std::string object_header(const Model& model, const std::string& prefix);

}  // namespace ingot
