#include "compiler/aot_compiler.hpp"

#include <array>

#include "ingot/decompositions.hpp"
#include "compiler/compiled_graph.hpp"
#include "compiler/pipeline.hpp"
#include "ingot/aot/partition.hpp"
#include "ingot/autograd.hpp"
#include "host/package.hpp"

namespace ingot::aot {
Boxed boxed(std::shared_ptr<const CompiledGraph> compiled) {
  return [compiled = std::move(compiled)](Values& arguments) {
    const GradModeGuard no_grad(false);
    return compiled->run(arguments);
  };
}

Compiler ingot_compiler(CompileOptions options) {
  return [options = std::move(options)](const std::shared_ptr<const Graph>& graph, const Values& examples) -> Boxed {
    const GradModeGuard no_grad(false);
    const TemporaryFolder folder;
    return boxed(compile_graphs(std::array{GraphToCompile{"forward", *graph, examples}}, options, folder.path())[0]);
  };
}

PairCompiler ingot_pair_compiler(CompileOptions options) {
  return [options = std::move(options)](const GraphPair& graphs) -> BoxedPair {
    const GradModeGuard no_grad(false);
    const TemporaryFolder folder;
    const CompiledForwardBackward made =
        compile_forward_backward({"forward", *graphs.forward, graphs.forward_examples},
                                 {"backward", *graphs.backward, graphs.backward_examples}, options, folder.path());
    return {boxed(made.forward), made.backward ? boxed(made.backward) : Boxed(), made.why_alone};
  };
}

AotOptions fusing_options(CompileOptions options) {
  AotOptions o;
  o.forward = ingot_compiler(options);
  o.together = ingot_pair_compiler(std::move(options));
  o.partition = min_cut_partitioner();
  o.decompositions = &default_decompositions();
  return o;
}

AotFunction memory_efficient_fusion(TreeFunction f, CompileOptions options) {
  return aot_function(std::move(f), fusing_options(std::move(options)));
}
AotFunction memory_efficient_fusion(const TensorFunction& f, CompileOptions options) {
  return aot_function(f, fusing_options(std::move(options)));
}
AotModule memory_efficient_fusion(nn::Module& module, TreeFunction forward, CompileOptions options) {
  return aot_module(module, std::move(forward), fusing_options(std::move(options)));
}
AotModule memory_efficient_fusion(nn::Layer& layer, CompileOptions options) {
  return aot_module(layer, fusing_options(std::move(options)));
}

}  // namespace ingot::aot
