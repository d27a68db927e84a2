// Any bytes as an exported program: it loads, or ends in a user error. Checksums keep most changes from getting far; what
// lies behind them is for pt2_parts_fuzz.
#include <optional>

#include "base/error.hpp"
#include "fuzz/memory_file.hpp"
#include "import/pt2.hpp"
#include "import/pt2_samples.hpp"
#include "import/pt2_write.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  static const ingot::MemoryFile file;
  file.set({reinterpret_cast<const char*>(data), size});
  // A user error is what a user is told; any other exception is a defect, and ends the run. Each stage stands alone.
  try {
    (void)ingot::read_sample_inputs(file.path());
  } catch (const ingot::UserError&) {
  }
  std::optional<ingot::ExportedProgram> program;
  try {
    program = ingot::load_pt2(file.path());
  } catch (const ingot::UserError&) {
    return 0;
  }
  try {
    (void)ingot::program_json(*program);
  } catch (const ingot::UserError&) {
  }
  return 0;
}
