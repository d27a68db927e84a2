// What a library says about itself: its entry points, and the constants that they share.
#pragma once
#include "codegen/model.hpp"
#include "compiler/program_trace.hpp"
#include "loop/lower.hpp"

namespace ingot {

// An entry point of a model whose levels have its code.
struct LoweredEntry {
  std::string name;
  Graph graph;
  loop::Lowered lowered;  // of the graph
  const ProgramNames& names;
};

// By entry, and constant of it: whether runs change it, those of other entries among them.
std::vector<std::vector<bool>> written_constants(const std::vector<LoweredEntry>& entries);

// Fills in names, entries and constants of the model. State that several entries have under one
// name is one constant; what only looks alike by name (tensors that a program brought along, which
// exporters count) is one constant where it is the same. Returns the tensor of each constant that
// is stored, undefined where the program does not have it. User error where entries disagree about
// a parameter or a buffer.
std::vector<Tensor> describe(Model& model, const std::vector<LoweredEntry>& entries);

}  // namespace ingot
