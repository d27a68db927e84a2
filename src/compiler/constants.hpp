// What a library says about itself, and where its constants lie.
#pragma once
#include "codegen/model.hpp"
#include "compiler/exported.hpp"
#include "loop/lower.hpp"

namespace ingot {

class PendingFile;

// Fills in names, inputs, outputs and constants of the model.
void describe(Model& model, const loop::Lowered& lowered, const ProgramNames& names);

// Gives every constant its place and writes the bytes: into the object that is returned (embedded), into `weights_file`
// (external), or nowhere (the object is empty). Constants of one storage share their bytes.
Object lay_out_constants(Model& model, const loop::Lowered& lowered, const Graph& graph, const ProgramNames& names,
                         Model::Weights::Kind kind, PendingFile* weights_file);

// A level without its programs: what it is called, and what a processor must have for it.
Model::Level level_for(const Target& target);

}  // namespace ingot
