// A whole model before it is object code, and the table that src/model/program.h asks of generated
// code.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/emit.hpp"
#include "ingot/compile/options.hpp"
#include "loop/program.hpp"

namespace ingot {

// A model as it is before code is generated: its programs, and what the library tells about itself.
struct Model {
  // One of the functions that the library has, over one set of constants.
  struct Entry;
  struct Input {
    std::string name;
    bool is_number = false, is_written = false;
    // Views of it are taken by places of its storage (as_strided): no copy that lies otherwise will
    // do.
    bool by_places = false;
  };
  struct Constant {
    std::string name, fqn;
    DType dtype = DType::f32;
    std::vector<int64_t> sizes, strides;
    int64_t storage_offset = 0;
    uint64_t bytes = 0, position = 0;
    int kind = 0;  // I018
    int device = 0;  // whose memory its bytes were made for: 0 the CPU's, else the type of an ingot_device
    bool is_written = false;
    // Where it lies in the storage of another: which one, and how many bytes from that one's first
    // element.
    std::optional<std::size_t> shares;
    uint64_t shared_from = 0;
  };
  struct Weights {
    using Kind = WeightsKind;  // the numbers of src/model/program.h
    Kind kind = Kind::none;
    std::string file;  // external
    uint64_t bytes = 0, hash = 0;
  };

  // The programs as they are scheduled for one processor. Levels differ in how they compute, not in
  // what.
  struct Code {
    loop::Program run;
    std::optional<loop::Program> fold;  // its outputs are the entry's folded constants, its constants the others
  };
  struct Level {
    Target target;                   // what its kernels are compiled for
    Target host;                     // the processor that runs the programs and calls the kernels: the target, where it is one
    // The symbol of the ingot_device (src/model/program.h) in whose memory all that its runs use
    // lies; what else is linked defines it. Empty: the CPU. The same at all levels of a model.
    std::string device_table;
    // Static archives that the library is linked with (link.hpp) beside those of every model, by
    // the names of their files: a device's functions, for the host. The same at all levels.
    std::vector<std::string> archives;
    std::string name;                // "x86-64-v3"
    std::vector<uint64_t> features;  // that it needs, by the numbers of src/model/cpu.h
    std::vector<Code> codes;         // by entry
  };

  std::string name = "model";
  std::vector<Entry> entries;       // the first is what PyTorch's C ABI runs
  std::vector<Level> levels;        // best first
  std::vector<Constant> constants;  // the folded ones last
  Weights weights;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<std::string> host_ops;  // that its process must have

  // Where the author of the program wrote what a kernel computes.
  struct Source {
    std::string file;
    int line = 0;
  };
  std::map<std::string, Source> sources;  // by the name of the node; not empty: with debug info
  std::string note;  // the lines of the library's note (base/library_note.hpp); empty: it has none
};

struct Model::Entry {
  std::string name = "forward", in_spec, out_spec;
  std::vector<Input> inputs;           // one for each of a run's inputs
  std::vector<std::string> outputs;    // … outputs
  std::vector<std::size_t> constants;  // … constants: its place among the model's
  bool uses_written = false;           // a constant that runs write, its own or another entry's
  std::size_t first_folded = 0;  // among the model's folded constants: those of this entry's fold lie one after the other
};

// The object that names everything: `ingot_the_program`.
Object generate_table(const Model& model);

}  // namespace ingot
