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

// Fills in names, entries and constants of the model. State that several entries have is one
// constant; tensors that graphs brought along, whose names each graph counts, are one where they
// are the same. Returns the tensor of each constant that is stored, undefined where the program
// does not have it. User error where entries disagree about what shares a storage.
std::vector<Tensor> describe(Model& model, const std::vector<LoweredEntry>& entries);

}  // namespace ingot
