// A program compiled with its gradients: what `ingot check --compiled --grad` runs.
#pragma once
#include "compiler/pipeline.hpp"

namespace ingot {

// Compiles the program as a function of its inputs and of its state (aot_compiler.hpp,
// memory_efficient_fusion) for these inputs, runs it, and leaves behind what `program.run` would:
// results that know their history, whose backward is compiled when it runs, and new values of
// inputs and buffers.
Values run_differentiable(Program& program, Args inputs, const CompileOptions& options = {});

}  // namespace ingot
