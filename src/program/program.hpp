// What is compiled or run, whoever brought it (src/format reads it from files): graphs that callers
// know by name, over one set of tensors which they keep between calls. It says nothing about a
// file's version or spelling.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "program/entry_point.hpp"

namespace ingot {

// A parameter, buffer or constant.
struct StateEntry {
  Tensor tensor;      // undefined where the file leaves the bytes out
  std::string entry;  // where its bytes lie in the file: names of one place share a storage
  Shape sizes;
  Shape strides;   // of a tensor that is left out, as the file has them; empty: row major
  Int offset = 0;  // the same
  DType dtype = DType::f32;
  bool is_parameter = false, requires_grad = false;
};

struct Program {
  std::string name;      // of the file, for messages
  std::string producer;  // who wrote the program, for people: "torch 2.11.0"
  std::vector<EntryPoint> entries = std::vector<EntryPoint>(1);  // at least one
  std::map<std::string, StateEntry> state;  // by name in the module; names of one storage share it
  std::vector<std::string> warnings;        // what the reader met and went on without
  bool check_inputs = true;                 // whether run and call look at their arguments before they compute

  // The first entry point: what callers run who know of no others.
  EntryPoint& main() { return entries.front(); }
  const EntryPoint& main() const { return entries.front(); }
  // Which of the entry points has the name. User error listing them where none has.
  std::size_t entry_named(std::string_view wanted) const;

  // Gives a tensor to a name of the state, for instance one that the file leaves empty, and to the
  // other names of the same elements. User error for an unknown name, or another dtype or size than
  // the program's.
  void supply(std::string_view name, const Tensor& t);

  // Runs the graph of an entry point on a flat list of the caller's inputs, with or without the
  // constants; returns the user outputs (the loss among them). Parameters and buffers keep what the
  // graph writes to them. User error for missing weights, unsupported operators and, unless
  // check_inputs is off, inputs the program was not made for.
  Values run(Args user_inputs, std::size_t entry = 0);
  // The same with nested arguments: a tuple of positional and a dict of keyword arguments, in any
  // order.
  Tree call(const Tree& args, const Tree& kwargs = Tree::dict({}), std::size_t entry = 0);
  // Gradients that a joint graph returned in the last run, by parameter or user input.
  std::map<std::string, Tensor> gradients;
  // The results among what a run of the entry point, here or compiled, returned (one value for each
  // output that is_returned()); the gradients are kept. User error for one that is no tensor.
  Values keep_gradients(const EntryPoint& entry, Args returned);

  // Prepares the checks of run; whoever makes a program calls it last.
  void prepare();

 private:
  struct Prepared {
    std::vector<Leaf> leaves;  // of the call
    InputCheck check;
  };
  std::vector<Prepared> prepared_;  // by entry point

  // The caller's inputs that have a node, in order, after the constants were compared.
  Values without_constants(Args given, const std::vector<Leaf>& leaves) const;
};

}  // namespace ingot
