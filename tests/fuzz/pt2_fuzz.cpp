// Any bytes as an exported program: it loads, or ends in a user error. Checksums keep most changes
// from getting far; what lies behind them is for pt2_parts_fuzz.
#include "fuzz/load_program.hpp"
#include "fuzz/memory_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  static const ingot::MemoryFile file;
  file.set({reinterpret_cast<const char*>(data), size});
  ingot::load_program(file.path());
  return 0;
}
