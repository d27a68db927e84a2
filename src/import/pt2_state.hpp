// The weights and constants of an exported program.
#pragma once
#include "import/exported_program.hpp"
#include "import/json.hpp"
#include "io/zip.hpp"

namespace ingot {

// Reads the config entry `config` (a map from name to payload), whose payloads lie in `folder`, into `state`. Names that
// share a payload share its storage. A payload that is absent or empty leaves the tensor undefined.
void read_state(const ZipReader& zip, const std::string& config, const std::string& folder,
                std::map<std::string, StateEntry>& state);

}  // namespace ingot
