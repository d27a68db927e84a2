// Functions and modules as graphs for others to run: nothing happens around the graph, so whatever
// would have to is refused (section 13).
//
//   Net net;
//   const aot::Exported e = aot::aot_export_module(net, aot::forward_of(net), Tree::tuple({x}));
//   e.signature.inputs_to_parameters;   // {'arg0_1': 'hidden.weight', …}
#pragma once
#include <optional>

#include "aot/module.hpp"
#include "aot/signature.hpp"
#include "program/program.hpp"

namespace ingot::aot {

struct ExportOptions {
  const Decompositions* decompositions = nullptr;
  bool trace_joint = false;                    // with gradients
  std::optional<int> output_loss_index = {};   // with gradients, of a module: the output that they are of
  bool pre_dispatch = false;  // above autograd: composites stay whole, switches of the grad mode are nodes (R178); modules only
  std::optional<Tree> kwargs = {};  // of a module: a dict, which `forward` gets after its other arguments
  std::shared_ptr<ShapeEnv> sizes = {};  // that the open sizes of arguments that are fakes belong to (AotOptions::sizes)
  bool functionalize_rng_ops = false;  // refused (R173)
};

struct Exported {
  Graph graph;
  GraphSignature signature;
};

// R008. The graph of what `forward` does with a tuple of arguments, over the parameters, the
// buffers and the arguments' leaves. It returns (new values of what is written, the results, and
// with gradients those of the inputs that require grad). A tensor that `forward` assigns to a
// buffer is a new value of it (R184). Integers are constants of the graph (R169). User errors: R170
// to R176, R179 to R181, R184.
Exported aot_export_module(nn::Module& module, const TreeFunction& forward, const Tree& arguments,
                           const ExportOptions& options = {});

// The same as a program with one entry point, which runs, compiles into a library and is saved: it
// holds the module's tensors, and a call is a tuple of arguments and a dict, options.kwargs. Open
// sizes keep their ranges, and what else the export found out about them is checked at a call. With
// gradients, a run returns the results, and the gradients lie in Program::gradients.
Program aot_export_program(nn::Module& module, const TreeFunction& forward, const Tree& arguments,
                           const ExportOptions& options = {});

// R009. The graph of a function of a flat list or tuple that returns one, and does nothing to its
// arguments nor returns views of them. With gradients it is a joint graph (primals_1, …,
// tangents_1, …) for partitioners. User errors: R170 to R175, R183.
Graph aot_export_joint_simple(const TreeFunction& f, const Tree& arguments, const ExportOptions& options = {});

}  // namespace ingot::aot
