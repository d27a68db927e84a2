// NumPy's array files: .npy holds one array, .npz a zip of them. bfloat16 and float8 have no type
// there: user errors that point to safetensors. Big-endian, structured, string and object arrays
// are refused.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "ingot/tensor.hpp"

namespace ingot {

// The array, over the file's own bytes (copied only where misaligned); writing to it is private to
// the process. An array in Fortran order becomes a tensor with column-major strides. User error
// naming the file for anything else than one whole array.
Tensor load_npy(const std::string& path);
// Writes the tensor in row-major order. The file appears whole or not at all.
void save_npy(const std::string& path, const Tensor& t);

// The arrays of a zip, in its order, under their names without ".npy". User error naming file and
// entry.
std::vector<std::pair<std::string, Tensor>> load_npz(const std::string& path);
// Writes the arrays sorted by name, stored or deflated. The same tensors give the same bytes.
void save_npz(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& tensors, bool compress = false);

}  // namespace ingot
