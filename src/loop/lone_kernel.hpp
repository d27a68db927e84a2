// A kernel by itself: the program around it reduced to what its code depends on, with variables and
// buffers numbered in the order of first use, and each buffer beginning at the first element that
// the kernel has to do with. Kernels that are alike by themselves (the layers of a deep model have
// many, and so have the steps of a recurrence that was unrolled) share one code.
#pragma once
#include "loop/program.hpp"

namespace ingot::loop {

struct LoneKernel {
  Program program;           // the symbols, and the kernel's buffers without sizes: a scheduled kernel knows offsets alone
  Kernel kernel;             // keeps its name
  std::vector<int> buffers;  // which buffer of the whole program each one is
  std::vector<Expr> from;  // and from which of its elements on, of symbols alone
};

LoneKernel by_itself(const Program& p, const Kernel& k);

// Whether the code of one is the code of the other. Names do not matter.
bool alike(const LoneKernel& a, const LoneKernel& b);
// The same for kernels that are alike.
std::size_t hash_of(const LoneKernel& k);

// How much there is to compile in a kernel beside its product: the nodes of its expressions.
int64_t size_of_code(const Kernel& k);

}  // namespace ingot::loop
