// Where the constants of a library lie.
#pragma once
#include "codegen/data_object.hpp"
#include "codegen/model.hpp"
#include "ingot/tensor.hpp"

namespace ingot {

class PendingFile;

// Gives every constant its place and writes the bytes of `tensors`, which are those of
// describe.hpp: into the object that is returned (embedded), into `weights_file` (external), or
// nowhere (the object is empty). Constants of one storage share their bytes. Appended: `parts` says
// what append_weights writes, from memory of the program's.
Object lay_out_constants(Model& model, const std::vector<Tensor>& tensors, Model::Weights::Kind kind, PendingFile* weights_file,
                         std::vector<DataPart>& parts);

// Writes `output`: the library with its weights behind it, at a multiple of 16 KiB, and the mark
// that ends them.
void append_weights(const std::string& library, const Model& model, const std::vector<DataPart>& parts,
                    const std::string& output);

}  // namespace ingot
