// Golden cases: programs with what PyTorch computed for them, found in a folder.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "ingot/tensor.hpp"

namespace ingot {

struct Case {
  enum class Kind : uint8_t {
    op,     // one operator: NAME.pt2 and NAME.safetensors, described in the folder's index.json
    model,  // a folder with model.pt2 and caseN.safetensors; where weights.json is, weights are made from it
    train,  // a folder with model.pt2, which returns a loss, and expected.safetensors
  };
  Kind kind = Kind::model;
  std::string name;               // under the suite's folder: "ops/add/f32_0", "models/mlp"
  std::string program;            // the .pt2
  std::vector<std::string> data;  // .safetensors, each for one call of a freshly loaded program
  std::string weights;            // weights.json, or empty

  // Of an op case.
  std::string entry;                  // its name in the index: "add/f32_0"
  bool has_gradients = false;
  bool is_random = false;             // only shapes and dtypes can be compared
  std::map<std::string, std::vector<int64_t>> strides;  // of "in.N" and "out.N" in PyTorch
  std::vector<std::string> targets;   // operators of the program: "aten.add.Tensor"
};

// Every case at and under the folder, sorted by name. User error for a folder without any, or a bad
// index.
std::vector<Case> find_cases(const std::string& folder);

// The case of one program and one data file, which may lie in such a folder: then it is judged as
// the suite would.
Case find_case(const std::string& program, const std::string& data);

// Whether the glob fits the case's name, a part of it before or after a '/', the name in its index,
// or an operator.
bool matches(const Case& c, const std::string& glob);

}  // namespace ingot
