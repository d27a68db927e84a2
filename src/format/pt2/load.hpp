// PyTorch's exported programs (.pt2, written by torch.export.save).
#pragma once
#include <string>

#include "program/program.hpp"

namespace ingot {

struct Pt2Program;

// Reads the program called `model` (without a name: "model", else the only one). User error naming
// file and place for everything that is not such a program (P-numbers: docs/spec/pt2_format.md).
// Operators Ingot does not know become unsupported nodes; running the program then fails and names
// all of them.
Program load_pt2(const std::string& path, const std::string& model = {});
// The same with what the file says about itself (program.hpp), which the writer takes.
Pt2Program read_pt2(const std::string& path, const std::string& model = {});

// Reads the JSON of a program (an archive's models/NAME.json) into `p`, whose state is there
// already. `what` starts every message.
void read_program(std::string json, const std::string& what, Pt2Program& p);

}  // namespace ingot
