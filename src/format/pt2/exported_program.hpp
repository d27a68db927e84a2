// An exported program: a graph, what its inputs and outputs stand for, and the tensors it keeps between calls.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.hpp"
#include "format/pt2/input_check.hpp"
#include "format/pt2/spelling.hpp"
#include "program/tree_spec.hpp"

namespace ingot {

struct InputSpec {
  enum class Kind : uint8_t { user, parameter, buffer, constant, token, custom_object };
  Kind kind = Kind::user;
  Node* node = nullptr;           // its placeholder; null for a user input whose value was fixed at export
  std::string name;               // of state: the name in the module ("l.weight"); else the graph's name
  bool persistent = true;         // of a buffer
  std::string class_name;         // of a custom object
  Value fixed;                    // where node is null
  bool is_constant_spec = false;  // fixed by the signature (constant_input), not by the graph alone
};

struct OutputSpec {
  enum class Kind : uint8_t {
    user,
    loss,
    buffer_mutation,
    parameter_mutation,
    user_input_mutation,
    parameter_gradient,
    user_input_gradient,
    token
  };
  Kind kind = Kind::user;
  std::string target;  // of mutations and gradients: the parameter or buffer, or the graph's name of the user input

  // Whether the output is a leaf of what the caller gets.
  bool is_result() const { return kind == Kind::user || kind == Kind::loss; }
};

// A parameter, buffer or constant.
struct StateEntry {
  Tensor tensor;      // undefined where the archive leaves the bytes out
  std::string entry;  // the archive entry it comes from
  Shape sizes;
  Shape strides;   // of a tensor that is left out, as the file has them; empty: row major
  Int offset = 0;  // the same
  DType dtype = DType::f32;
  bool is_parameter = false, requires_grad = false;
};

// How callers nest inputs and results. Submodules may have a calling convention of their own; only the program's is used.
struct ModuleCall {
  std::string fqn;
  std::optional<TreeSpec> in_spec, out_spec;  // none: the file does not keep it
  std::optional<std::vector<std::string>> forward_arg_names;
  std::string inputs = "[]", outputs = "[]";  // JSON text: the reference writes them empty for the program itself
};

// What a file says about the program as a whole.
struct ProgramFacts {
  int64_t schema_major = 8, schema_minor = 17;
  std::vector<std::string> verifiers;  // dialects: TRAINING, ATEN, …
  std::vector<std::pair<std::string, int64_t>> opset_version;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<std::pair<std::string, std::string>> range_constraints;  // JSON text by expression
  std::vector<std::string> guards;
  NamedTupleFields namedtuple_fields;
  std::vector<ModuleCall> module_calls;  // the program itself is the one without a name
};

// An input or result the caller sees.
struct Leaf {
  std::string name;  // for humans: x, d['k'][0]; of a result: what the graph calls it
  // A fake tensor (sizes may be symbolic), a number, or None where the file does not say; the value itself of a constant.
  Value meta;
  bool is_constant = false;
};

struct ExportedProgram {
  std::string name;  // of the file, for messages
  Graph graph;
  std::vector<InputSpec> inputs;            // one for each input of the exported graph, in order
  std::vector<OutputSpec> outputs;          // one for each of graph.outputs
  std::map<std::string, StateEntry> state;  // by name in the module; names of one storage share it
  std::string torch_version;
  ProgramFacts facts;
  std::map<std::string, SymbolRange> symbol_ranges;  // as declared, by symbol: s77, u0
  std::vector<std::string> warnings;                 // what the reader met and went on without
  SpelledGraph spelled;                              // for the writer
  bool check_inputs = true;                          // whether run and call look at their arguments before they compute

  // User inputs that the caller gives, in call order; constants are left out.
  std::vector<const InputSpec*> user_inputs() const;
  // Every leaf of the call, constants among them, and of the result.
  std::vector<Leaf> input_leaves() const;
  std::vector<Leaf> result_leaves() const;
  // Nodes Ingot has no operator for, subgraphs included. The program can be read and listed, not run.
  std::vector<const Node*> unsupported_nodes() const;

  // Gives a tensor to a name of the state, for instance one that the archive leaves empty, and to the other names of the same
  // elements. User error for an unknown name, or another
  // dtype or size than the program's.
  void supply(std::string_view name, const Tensor& t);

  // Runs the graph on a flat list of the caller's inputs, with or without the constants; returns the user outputs (the
  // loss among them). Parameters and buffers keep what the graph writes to them. User error for missing weights,
  // unsupported operators and, unless check_inputs is off, inputs the program was not exported for.
  Values run(Args user_inputs);
  // The same with nested arguments: a tuple of positional and a dict of keyword arguments, in any order.
  Tree call(const Tree& args, const Tree& kwargs = Tree::dict({}));
  // Gradients that a joint graph returned in the last run, by parameter or user input.
  std::map<std::string, Tensor> gradients;

  // Prepares the checks of run; the reader calls it last.
  void prepare();

 private:
  std::vector<Leaf> leaves_;  // of the call
  InputCheck check_;

  const ModuleCall* own_call() const;
  // The caller's inputs that have a node, in order, after the constants were compared.
  Values without_constants(Args given) const;
};

}  // namespace ingot
