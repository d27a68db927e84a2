// What a library says about itself, and where its constants lie.
#pragma once
#include "codegen/data_object.hpp"
#include "codegen/model.hpp"
#include "compiler/exported.hpp"
#include "loop/lower.hpp"

namespace ingot {

class PendingFile;

// Fills in names, inputs, outputs and constants of the model.
void describe(Model& model, const loop::Lowered& lowered, const ProgramNames& names);

// Gives every constant its place and writes the bytes: into the object that is returned (embedded), into `weights_file`
// (external), or nowhere (the object is empty). Constants of one storage share their bytes. Appended: `parts` says what
// append_weights writes, from memory of the program's.
Object lay_out_constants(Model& model, const loop::Lowered& lowered, const Graph& graph, const ProgramNames& names,
                         Model::Weights::Kind kind, PendingFile* weights_file, std::vector<DataPart>& parts);

// Writes `output`: the library with its weights behind it, at a multiple of 16 KiB, and the mark that ends them.
void append_weights(const std::string& library, const Model& model, const std::vector<DataPart>& parts,
                    const std::string& output);

// A level without its programs: what it is called, and what a processor must have for it.
Model::Level level_for(const Target& target);

}  // namespace ingot
