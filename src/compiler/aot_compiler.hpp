// Ingot's own code generation as a compiler of the AOT layer: every graph becomes a library, which
// is loaded and called.
#pragma once
#include "aot/aot.hpp"
#include "aot/module.hpp"
#include "compiler/pipeline.hpp"

namespace ingot::aot {

class CompiledGraph;

// Makes of a graph what `ingot compile` makes of a program. Outputs that are inputs, or views, are
// that to the caller as well: the library computes what they are views of, and the views are taken
// of its results, or of the arguments, at each call. Writes of the graph to its inputs are done by
// the library. Numbers go in and come out as numbers. The file is gone once it is loaded. User
// errors: those of `compile`, for what has no compiled form. The target must be this machine.
Compiler ingot_compiler(CompileOptions options = {});
// The same for a forward and its backward: two entry points of one library, over one set of
// constants and threads. The forward alone where the backward has no compiled form.
PairCompiler ingot_pair_compiler(CompileOptions options = {});
// What runs the graph, without recording gradients.
Boxed boxed(std::shared_ptr<const CompiledGraph> compiled);

// R007: compiled by Ingot both ways, with the min-cut partitioner and the default decompositions.
AotFunction memory_efficient_fusion(TreeFunction f, CompileOptions options = {});
AotFunction memory_efficient_fusion(const TensorFunction& f, CompileOptions options = {});
AotModule memory_efficient_fusion(nn::Module& module, TreeFunction forward, CompileOptions options = {});
AotModule memory_efficient_fusion(nn::Layer& layer, CompileOptions options = {});

}  // namespace ingot::aot
