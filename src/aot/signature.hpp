// What the inputs and outputs of an exported graph are to the module it was made of (R181).
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aot/exported_entry.hpp"
#include "graph/tree.hpp"

namespace ingot::aot {

// Names by names, in order of insertion, each once.
class NameMap {
 public:
  void set(std::string key, std::string value);          // replaces what the key had
  const std::string* find(std::string_view key) const;   // null where there is none
  const std::vector<std::pair<std::string, std::string>>& entries() const { return entries_; }
  std::size_t size() const { return entries_.size(); }

 private:
  std::vector<std::pair<std::string, std::string>> entries_;
};
std::string to_text(const NameMap& m);                   // {'arg0_1': 'weight'}
std::string to_text(const std::vector<std::string>& l);  // ['weight', 'bias']

struct BackwardSignature {
  NameMap gradients_to_parameters, gradients_to_user_inputs;  // by names of graph outputs
  std::string loss_output;  // R182: the graph output at the index that the user gave, counted from the very first one
};

// Inputs of the graph: tokens, parameters, buffers, the user's. Outputs: tokens, inputs that are
// written, the user's, gradients.
struct GraphSignature {
  std::vector<std::string> parameters, buffers;        // names in the module
  std::vector<std::string> user_inputs, user_outputs;  // names in the graph; of an output that is a constant, its text
  NameMap inputs_to_parameters, inputs_to_buffers;     // by names of graph inputs
  NameMap buffers_to_mutate;                           // by names of graph outputs: the buffer's next value
  NameMap user_inputs_to_mutate;                       // the same: the graph input's
  TreeSpec in_spec, out_spec;                          // how the user nests arguments and results
  std::optional<BackwardSignature> backward_signature;
  std::vector<std::string> input_tokens, output_tokens;  // of ordered effects
};

// Of an entry point that a module was exported to.
GraphSignature make_signature(const EntryPoint& entry, const ModuleNames& names, TreeSpec in_spec, TreeSpec out_spec);

}  // namespace ingot::aot
