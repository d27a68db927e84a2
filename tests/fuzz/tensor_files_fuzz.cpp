// Any bytes as a file of tensors: the first byte says which format, the rest is the file.
#include "base/error.hpp"
#include "fuzz/memory_file.hpp"
#include "ingot/npy.hpp"
#include "io/safetensors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  if (size == 0) return -1;
  static const ingot::MemoryFile file;
  file.set({reinterpret_cast<const char*>(data) + 1, size - 1});
  try {
    switch (data[0]) {
      case 's': {
        const ingot::SafeTensors f = ingot::SafeTensors::open(file.path());
        for (const std::string& name : f.names()) (void)f.get(name);
        break;
      }
      case 'n': (void)ingot::load_npy(file.path()); break;
      case 'z': (void)ingot::load_npz(file.path()); break;
      default: return -1;
    }
  } catch (const ingot::UserError&) {
    // What a user is told; any other exception is a defect, and ends the run.
  }
  return 0;
}
