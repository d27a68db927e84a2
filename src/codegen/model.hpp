// A whole model to object code: what src/model/program.h asks of generated code.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "codegen/emit.hpp"
#include "loop/program.hpp"

namespace ingot {

// A model as it is before code is generated: its programs, and what the library tells about itself.
struct Model {
  struct Input {
    std::string name;
    bool is_number = false, is_written = false;
  };
  struct Constant {
    std::string name, fqn;
    DType dtype = DType::f32;
    std::vector<int64_t> sizes, strides;
    int64_t storage_offset = 0;
    uint64_t bytes = 0, position = 0;
    int kind = 0;  // I018
    bool is_written = false;
  };
  struct Weights {
    enum class Kind : uint8_t { none, embedded, external };
    Kind kind = Kind::none;
    std::string file;  // external
    uint64_t bytes = 0, hash = 0;
  };

  std::string name = "model", in_spec, out_spec;
  loop::Program run;
  std::vector<Input> inputs;          // one for each of run.inputs
  std::vector<std::string> outputs;   // one for each of run.outputs
  std::vector<Constant> constants;    // one for each of run.constants; the folded ones last
  std::optional<loop::Program> fold;  // its outputs are the folded constants, its constants the others
  Weights weights;
  std::vector<std::pair<std::string, std::string>> metadata;
};

// The code of the model for one processor, as one object or several that may be made at the same time.
struct CodeName {
  std::string level;               // "x86-64-v3"
  std::vector<uint64_t> features;  // that it needs, by the numbers of src/model/cpu.h
};

// Object code with the model's functions for `target`. `suffix` tells the functions of one level from those of another.
Object generate_code(const Model& model, const Target& target, const std::string& suffix);

// The object that names everything: `ingot_the_program`, with the codes best first.
Object generate_table(const Model& model, const std::vector<CodeName>& codes, const Target& target);

}  // namespace ingot
