// A graph of a program that callers run by its name, and what its inputs and outputs are to them.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.hpp"
#include "graph/shape_env.hpp"
#include "graph/tree.hpp"
#include "program/input_check.hpp"

namespace ingot {

// Who gives an input, and who gets an output, is its kind. What the value is to those who made the
// graph is its role, in the graph's own words: tangents and saved values come from the caller, and
// gradients of a backward go to it, as any value does.

struct InputSpec {
  enum class Kind : uint8_t { user, parameter, buffer, constant, token, custom_object };
  Kind kind = Kind::user;
  Role role = Role::value;
  Node* node = nullptr;    // its placeholder; null for a user input whose value was fixed when the program was made
  std::string name;        // of state: the name in the module ("l.weight"); else the graph's name
  bool persistent = true;  // of a buffer
  std::string class_name;  // of a custom object
  Value fixed;             // where node is null
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
  Role role = Role::value;

  // Whether the output is a leaf of what the caller gets.
  bool is_result() const { return kind == Kind::user || kind == Kind::loss; }
  bool is_gradient() const { return kind == Kind::parameter_gradient || kind == Kind::user_input_gradient; }
  // Whether whoever runs the graph hands it on: neither what is written nor a token.
  bool is_returned() const { return is_result() || is_gradient(); }
  // Whether it is the new value of an input (write_back.hpp).
  bool is_write() const {
    return kind == Kind::buffer_mutation || kind == Kind::parameter_mutation || kind == Kind::user_input_mutation;
  }
  // What the target of a mutation or gradient is among the inputs.
  InputSpec::Kind target_kind() const;
};

// How callers nest inputs and results.
struct CallSpec {
  TreeSpec in_spec;  // a tuple of positional arguments and a dict of keyword arguments
  TreeSpec out_spec;
  std::optional<std::vector<std::string>> argument_names;  // of positional arguments; none: not known
};

// An input or result the caller sees.
struct Leaf {
  std::string name;  // for humans: x, d['k'][0]; of a result: what the graph calls it
  // A fake tensor (sizes may be symbolic), a number, or None where it is not known; the value
  // itself of a constant.
  Value meta;
  bool is_constant = false;
};

struct EntryPoint {
  std::string name = "forward";
  std::string from;  // the file that it was read from, where that is not the program's name
  Graph graph;
  std::vector<InputSpec> inputs;      // one for each input of the call or the graph, in order
  std::vector<OutputSpec> outputs;    // one for each of graph.outputs
  std::optional<CallSpec> call_spec;  // none: it takes and returns flat lists

  // Open sizes, by symbol of the metas: s77, u0.
  std::map<std::string, SymbolRange> symbol_ranges;  // as declared
  SymbolValues symbol_hints;                         // what a size was when the program was made, where that is known
  std::vector<InputCondition> conditions;            // what else is demanded of inputs
  // Of a graph over values alone, by ops that do not come apart, which writes inputs at its end:
  // what is known and demanded of its symbols. A compiler takes such a graph as it is; without this
  // it traces the graph.
  std::optional<ShapeEnv> sizes;

  // User inputs that the caller gives, in call order; constants are left out.
  std::vector<const InputSpec*> user_inputs() const;
  // Every leaf of the call, constants among them, and of the result.
  std::vector<Leaf> input_leaves() const;
  std::vector<Leaf> result_leaves() const;
  // Nodes Ingot has no operator for, subgraphs included. The graph can be listed, not run.
  std::vector<const Node*> unsupported_nodes() const;
};

// Of such a graph, whose inputs are its caller's and whose outputs are results: a C++ function that
// was traced, say. Their roles are those that the graph says.
EntryPoint function_entry(std::string name, Graph graph, ShapeEnv sizes);

// `to` computes the outputs of `from`, in order, of the inputs of `from` at the places `taken`:
// what they are to those who made `from`, they are in `to`. A node that is returned twice has the
// first role.
void hand_on_roles(const Graph& from, std::span<const std::size_t> taken, Graph& to);

}  // namespace ingot
