// Any bytes as an exported program: it loads, or ends in a user error. Checksums keep most changes from getting far; what
// lies behind them is for pt2_parts_fuzz.
#include "base/error.hpp"
#include "fuzz/memory_file.hpp"
#include "import/pt2.hpp"
#include "import/pt2_samples.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  static const ingot::MemoryFile file;
  file.set({reinterpret_cast<const char*>(data), size});
  try {
    (void)ingot::load_pt2(file.path());
    (void)ingot::read_sample_inputs(file.path());
  } catch (const ingot::UserError&) {
    // What a user is told; any other exception is a defect, and ends the run.
  }
  return 0;
}
