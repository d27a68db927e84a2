// Deterministic mode: a program that asks for it gets the refusals that PyTorch has for CPU
// tensors.
#pragma once
#include <string_view>

namespace ingot {

// Refuses, in PyTorch's words, in deterministic mode. For ops that do not say which of several
// values for one place stays: every kernel of ours has an answer that does not change from run to
// run, but not all need have the same one.
void refuse_if_deterministic(std::string_view who);

}  // namespace ingot
