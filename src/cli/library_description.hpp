// What a compiled model says about itself, however it was asked.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.hpp"
#include "base/dtype_code.hpp"

namespace ingot {

struct ConstantInfo {
  std::string name, fqn, dtype, kind;
  std::size_t bytes = 0;
};

// An input or output: what our own libraries say of it, or its name and where it is among the
// arguments or results.
struct ValueText {
  std::string name, type, place;
  bool is_number = false, is_written = false;
};

struct SymbolText {
  std::string name;
  int64_t min = 0, max = 0;
};
struct EntryText {
  std::string name;
  std::vector<ValueText> inputs, outputs;
  std::vector<SymbolText> symbols;
  std::vector<std::string> guards;
};
struct LibraryDescription {
  std::string name, machine, level_used, weights_file;
  bool is_own = true;
  std::vector<EntryText> entries;
  std::vector<std::string> levels;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<ConstantInfo> constants;
  std::uintmax_t file_bytes = 0;
};

// How I018 numbers them.
inline const char* constant_kind(int32_t kind) {
  constexpr const char* kKinds[] = {"unknown", "parameter", "buffer", "tensor constant", "folded constant"};
  return kind >= 0 && kind < 5 ? kKinds[kind] : "unknown";
}
inline std::string dtype_text(int32_t code) {
  const auto dtype = dtype_of_code(code);
  return dtype ? std::string(short_name_of(*dtype)) : "?";
}

}  // namespace ingot
