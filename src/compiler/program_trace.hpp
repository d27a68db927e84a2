// An entry point of a program as the function that is compiled: values in, values out, state among
// the inputs.
#pragma once
#include <optional>
#include <vector>

#include "graph/trace.hpp"
#include "host/torch/constant_results.hpp"
#include "program/program.hpp"

namespace ingot {

// What the inputs and outputs of a graph are to the caller of the library. Empty lists: a
// function's own.
struct ProgramNames {
  struct Constant {
    std::string fqn;
    int kind = 0;  // I018
    Tensor tensor;
    // Where it lies in the storage of another of these constants: which one, and how many elements
    // from that one's first.
    std::optional<std::size_t> shares = {};
    int64_t shared_from = 0;
    // Where the program knows it as one row of elements, because it shares them with others that
    // are not alike: what it is itself.
    std::optional<Geometry> geometry = {};
  };
  std::string name = "model", in_spec, out_spec;
  std::vector<bool> is_constant;  // by placeholder
  std::vector<Constant> constants;  // one for each placeholder that is one, in order
  std::vector<std::string> inputs, outputs;  // one for each placeholder that is no constant, and for each result
  ConstantResults constant_results;  // those that are no values of the graph
  std::vector<std::pair<std::size_t, std::string>>
      fixed;  // arguments of the call, by leaf, that the program holds for one value of: its text
};

struct TracedProgram {
  Traced traced;
  ProgramNames names;
};

// What the inputs and outputs of an entry point whose graph can be lowered as it is
// (EntryPoint::sizes) are to the caller of the library; nothing where the graph has to be traced
// all the same, since it knows parts of one storage as state of their own.
std::optional<ProgramNames> names_as_it_is(const Program& program, const EntryPoint& entry);

// The entry point without composites, views' writes and in-place ops: one placeholder for each
// input of its graph that has a node, in order; new values of buffers and inputs are written to
// them at the end; results are the user's outputs. Sizes that the program leaves open are symbols
// of their own ranges. State that shares a storage is read and written through one of its
// placeholders (shared_state.hpp); where the names are not alike, that one is all their elements in
// one row.
TracedProgram trace_program(Program& program, const EntryPoint& entry);

}  // namespace ingot
