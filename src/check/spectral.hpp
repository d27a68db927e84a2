// Decompositions that are unique only up to the order of eigenvalues, the phase of vectors, or a
// basis of a subspace: PyTorch's own tests compare them as sets and up to phases, and so does the
// check of golden cases.
#pragma once
#include <string>
#include <vector>

#include "ingot/tensor.hpp"

namespace ingot {

// What a program of one operator ("aten.linalg_eigh.default") leaves open. Null: nothing.
struct SpectralFreedom;
const SpectralFreedom* spectral_freedom(const std::vector<std::string>& targets);

// `results` in the order and with the phases of `want`, by what is free only: vectors that do not
// span what wanted ones span stay different. Results of other sizes than wanted come back as they
// are.
TensorList align_results(const SpectralFreedom& freedom, const TensorList& results, const TensorList& want);
// Gradients fed to the wanted results as gradients of the same loss with respect to `results`;
// undefined ones stay so.
TensorList align_tangents(const SpectralFreedom& freedom, const TensorList& results, const TensorList& want,
                          const TensorList& tangents);

}  // namespace ingot
