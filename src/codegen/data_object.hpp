// Bytes as a relocatable ELF file. LLVM would copy them through its constants, which takes seconds
// for a large model.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/emit.hpp"

namespace ingot {

struct DataPart {
  const void* bytes;
  uint64_t size, position;  // in the section; parts do not overlap
};

// An object whose one section, page-aligned and writable, holds the parts and zeros between them;
// `symbol` (hidden) is its start.
Object data_object(const std::string& name, const std::string& symbol, const std::vector<DataPart>& parts, uint64_t size,
                   Arch arch);

}  // namespace ingot
