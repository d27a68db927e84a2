// Tensors written in the safetensors format (ingot/safetensors.hpp) into a file of the caller's.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ingot/safetensors.hpp"

namespace ingot {

class PendingFile;

// save_safetensors into a file that the caller commits.
SafeTensorsLayout write_safetensors(PendingFile& file, const std::vector<std::pair<std::string, Tensor>>& tensors,
                                    const std::map<std::string, std::string>& metadata = {});

}  // namespace ingot
