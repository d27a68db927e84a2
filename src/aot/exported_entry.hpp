// What the inputs and outputs of an exported graph are to the module it was made of, as roles of an
// entry point: a program that runs, compiles and is saved has them, and a signature (signature.hpp)
// is the same by names.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "aot/metadata.hpp"
#include "program/entry_point.hpp"

namespace ingot::aot {

// The module's side of an exported graph.
struct ModuleNames {
  std::vector<std::string> parameters, buffers;
  std::vector<bool> gradients;  // of a joint graph: which inputs have one, parameters, buffers and the user's; else empty
  std::optional<int> output_loss_index;  // of a joint graph: which of the results the gradients are of
};

// Inputs of the graph: tokens, parameters, buffers, the user's. Outputs: tokens, inputs that are
// written, the user's, gradients. The entry has neither a call spec nor open sizes yet. User error
// for a parameter that is written, and for wrapper tensors (R172). Internal error where an input or
// output is left over.
EntryPoint exported_entry(Graph g, const Metadata& meta, const ModuleNames& names);

}  // namespace ingot::aot
