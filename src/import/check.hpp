// Checks Ingot against results PyTorch computed: golden cases, each a program (NAME.pt2) with its tensors
// (NAME.safetensors) and a line in the folder's index.json.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "ingot/tensor.hpp"

namespace ingot {

struct GoldenCase {
  std::string path;  // of the files, without their suffix
  std::string name;  // "add/f32_0"
  bool has_gradients = false;
  bool is_random = false;  // only shapes and dtypes can be compared
  std::map<std::string, std::vector<int64_t>> strides;  // of "in.N" and "out.N" in PyTorch
  std::vector<std::string> targets;                     // operators of the program: "aten.add.Tensor"
};

// The cases of a folder's index.json, sorted by name. User error for a bad index.
std::vector<GoldenCase> read_golden_index(const std::string& folder);

struct CheckOptions {
  bool gradients = false;  // compare gradients too, where the case has them
  bool strides = false;    // the strides of outputs must be PyTorch's
};

struct CheckResult {
  enum class Outcome : uint8_t { passed, failed, missing_op, excused };
  Outcome outcome = Outcome::passed;
  std::string message;                   // what failed, or why the case says nothing about Ingot; on one line
  std::vector<std::string> missing_ops;  // "aten::foo.Tensor"
  double worst = 0;                      // greatest |difference| / bound; past 1 is a failure
  bool in_part = false;                  // only sizes and dtypes could be compared, or gradients were left out
};

// Loads the case, runs it eagerly on inputs of PyTorch's strides, compares. Never throws for what the case does.
CheckResult check_case(const GoldenCase& c, const CheckOptions& options);

}  // namespace ingot
