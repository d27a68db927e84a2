// Compiling: a C++ function or an exported program (.pt2) to a shared library, or in place, to what
// runs here; and Ingot's code generation as the compiler of functions with gradients
// (ingot/aot.hpp).
//
//   compile(f, {x}, {{.input = 0, .dim = 0}}, "f.so");        // the first size stays open
//   const TensorFunction fast = compiled_in_place(f, {x});    // the same, loaded here
//   compile_file("model.pt2", "model.so");
//   const ModelFunction model = load_compiled("model.so");
//   Tree y = model(Tree::tuple({x}), Tree::dict({}));
//
// A library runs anywhere, without Ingot's compiler: ingot/session.hpp, ingot/ingot.h. What
// libraries are linked with is found in the installation that the process uses (lib/ingot).
// Functions here may be called from any thread; two compilations link one after the other.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ingot/aot/cache.hpp"
#include "ingot/aot/function.hpp"
#include "ingot/aot/module.hpp"
#include "ingot/compile/options.hpp"
#include "ingot/error.hpp"
#include "ingot/open_size.hpp"
#include "ingot/transforms.hpp"
#include "ingot/tree.hpp"

namespace ingot {

// ---- to a file. The library is complete or not there. Its interface is ingot/aoti.h; parameters
// and buffers become constants of it, which are where options.weights says

// The function, traced on the examples; sizes in `open` stay open, others are those of the
// examples. Its inputs are different tensors in storages of their own, whatever the examples share.
// Tensors that the function brings along are constants. User errors: those of a trace (make_fx),
// and for what has no compiled form.
void compile(const TensorFunction& f, const TensorList& examples, const std::vector<OpenSize>& open, const std::string& output,
             const CompileOptions& options = {});
// What a file has: an exported program. User error naming the file for anything else.
void compile_file(const std::string& program, const std::string& output, const CompileOptions& options = {});

// ---- in place: the library is loaded and its file is gone. Runs record no gradients; functions
// with gradients are below. Copies share the library; several threads may call, one run at a time

// A function of the tensors. User error for other numbers of inputs, types and sizes than it was
// compiled for.
TensorFunction compiled_in_place(const TensorFunction& f, const TensorList& examples, const std::vector<OpenSize>& open = {},
                                 const CompileOptions& options = {});

// A model called as its program was exported: positional arguments as a tuple, keyword arguments as
// a dict in any order. User error for another nesting, and for another value of an argument that it
// was compiled for one value of.
using ModelFunction = std::function<Tree(const Tree& args, const Tree& kwargs)>;
ModelFunction compiled_file_in_place(const std::string& program, const CompileOptions& options = {});
// A library that is there already.
ModelFunction load_compiled(const std::string& path);

}  // namespace ingot

namespace ingot::aot {

// ---- functions with gradients

// Makes of a graph what `ingot compile` makes of a program. Outputs that are inputs, or views, are
// that to the caller as well: the library computes what they are views of, and the views are taken
// of its results, or of the arguments, at each call. Writes of the graph to its inputs are done by
// the library. Numbers go in and come out as numbers. The file is gone once it is loaded. User
// errors: those of `compile`, for what has no compiled form. The target must be this machine.
Compiler ingot_compiler(CompileOptions options = {});
// The same for a forward and its backward: two entry points of one library, over one set of
// constants and threads. The forward alone where the backward has no compiled form.
PairCompiler ingot_pair_compiler(CompileOptions options = {});

// The options that the following functions compile with, to be changed: a budget of bytes, a cache,
// no guards.
AotOptions fusing_options(CompileOptions options = {});
// R007: compiled by Ingot both ways, with the min-cut partitioner and the default decompositions.
AotFunction memory_efficient_fusion(TreeFunction f, CompileOptions options = {});
AotFunction memory_efficient_fusion(const TensorFunction& f, CompileOptions options = {});
AotModule memory_efficient_fusion(nn::Module& module, TreeFunction forward, CompileOptions options = {});
AotModule memory_efficient_fusion(nn::Layer& layer, CompileOptions options = {});

// Graphs that Ingot compiled, kept on disk for the cache of functions (ingot/aot/cache.hpp), and
// for whoever compiles the same graph again.
class GraphStore final : public ArtifactStore, public std::enable_shared_from_this<GraphStore> {
 public:
  // Entries and artifacts may lie in one folder, and then share its size.
  explicit GraphStore(std::string folder = default_cache_folder(), int64_t most_bytes = int64_t{1} << 30,
                      CompileOptions options = {});
  ~GraphStore() override;
  GraphStore(const GraphStore&) = delete;
  GraphStore& operator=(const GraphStore&) = delete;

  // ingot_compiler with a memory: what the store has is not compiled again.
  Compiler compiler();
  // ingot_pair_compiler with a memory: a forward and its backward are one library in the store,
  // too. Where the backward has no compiled form, the forward is kept by itself.
  PairCompiler pair_compiler();

  std::optional<Boxed> load(const std::string& key) override;
  std::optional<BoxedPair> load_pair(const std::string& key) override;
  std::string settings() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ingot::aot
