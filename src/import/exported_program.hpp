// An exported program: a graph, what its inputs and outputs stand for, and the tensors it keeps between calls.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "graph/graph.hpp"

namespace ingot {

struct InputSpec {
  enum class Kind : uint8_t { user, parameter, buffer, constant, token };
  Kind kind = Kind::user;
  Node* node = nullptr;  // its placeholder; null for a user input whose value was fixed at export
  std::string name;      // parameter, buffer, constant: the name in the module ("l.weight"); else the graph's name
  bool persistent = true;  // of a buffer
  Value fixed;           // where node is null
};

struct OutputSpec {
  enum class Kind : uint8_t {
    user, loss, buffer_mutation, parameter_mutation, user_input_mutation, parameter_gradient, user_input_gradient, token
  };
  Kind kind = Kind::user;
  std::string target;  // of mutations and gradients: the parameter or buffer, or the graph's name of the user input
};

// A parameter, buffer or constant.
struct StateEntry {
  Tensor tensor;      // undefined where the archive leaves the bytes out
  std::string entry;  // the archive entry it comes from
  Shape sizes;
  DType dtype = DType::f32;
  bool is_parameter = false, requires_grad = false;
};

struct ExportedProgram {
  std::string name;           // of the file, for messages
  Graph graph;
  std::vector<InputSpec> inputs;    // one for each input of the exported graph, in order
  std::vector<OutputSpec> outputs;  // one for each of graph.outputs
  std::map<std::string, StateEntry> state;  // by name in the module; names of one storage share it
  std::string torch_version;

  // User inputs that the caller gives, in call order.
  std::vector<const InputSpec*> user_inputs() const;
  // Gives a tensor to a name of the state that the archive leaves empty. User error for an unknown name, or another
  // dtype or size than the program's.
  void supply(std::string_view name, const Tensor& t);

  // Runs the graph on the caller's inputs; returns the user outputs (the loss among them). Parameters and buffers keep
  // what the graph writes to them. User error for missing weights, unsupported operators, a wrong number of inputs.
  Values run(Args user_inputs);
};

}  // namespace ingot
