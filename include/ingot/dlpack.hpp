// Tensors to and from other libraries without a copy (include/ingot/dlpack.h). Gradients do not
// pass: export a detached tensor.
#pragma once
#include "ingot/dlpack.h"
#include "ingot/tensor.hpp"

namespace ingot {

// The caller owns the result and ends it by its deleter; until then t's bytes stay alive. A
// read-only tensor has only the versioned form, which can say so.
[[nodiscard]] DLManagedTensor* to_dlpack(const Tensor& t);
[[nodiscard]] DLManagedTensorVersioned* to_dlpack_versioned(const Tensor& t);

// A tensor over m's bytes. Takes m over: its deleter runs, once, when the last tensor over these
// bytes is gone. On a user error (a device, dtype or shape Ingot does not have) nothing was taken
// and m is still the caller's.
Tensor from_dlpack(DLManagedTensor* m);
Tensor from_dlpack(DLManagedTensorVersioned* m);

}  // namespace ingot
