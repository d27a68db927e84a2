// Compile, load and run in one go: what tests and the command line do (section 10 of the runtime's
// description).
#pragma once
#include <memory>

#include "compiler/pipeline.hpp"
#include "graph/tree.hpp"
#include "host/torch/callable.hpp"

namespace ingot {

// A program as a library that is loaded. The file is gone once it is: nothing is left behind.
class CompiledProgram {
 public:
  // `words`: what a failure of a run is said in; null: PyTorch's words.
  explicit CompiledProgram(Program& program, const CompileOptions& options = {}, const FailureWords* words = nullptr);
  // A library that is there already.
  explicit CompiledProgram(const std::string& library, const FailureWords* words = nullptr)
      : library_(ModelLibrary::load(library)), words_(words) {}

  // Runs an entry point in a container of its own on the inputs that `program.run` takes, and
  // leaves behind what that would: new values of inputs and buffers in them, and the random stream
  // of the thread where the run left it.
  Values run(Program& program, Args inputs, std::size_t entry = 0) const;

 private:
  std::shared_ptr<const ModelLibrary> library_;
  const FailureWords* words_;
};

// ---- I114 to I117

// Compiles the function, traced on the examples, and returns the path of the library.
std::string aot_compile(const TensorFunction& model, const TensorList& example_inputs, const std::string& output,
                        const CompileOptions& options = {}, const std::vector<OpenSize>& dynamic_shapes = {});
// The same for a program, whose examples must be nested as its call spec says.
std::string aot_compile(Program& model, const Tree& args, const Tree& kwargs, const std::string& output,
                        const CompileOptions& options = {});

// One model on "cpu"; another device is the library's to accept.
std::unique_ptr<ModelContainerRunner> aot_load_runner(const std::string& device, const std::string& path);
// User error for another device than "cpu", "cuda" and "cuda:N".
CallableModel aot_load(const std::string& device, const std::string& path);

// Compiles, loads, and calls it on the examples.
TensorList aot_run(const std::string& device, const TensorFunction& model, const TensorList& example_inputs,
                   const CompileOptions& options = {}, const std::vector<OpenSize>& dynamic_shapes = {});
Tree aot_run(const std::string& device, Program& model, const Tree& args, const Tree& kwargs = Tree::dict({}),
             const CompileOptions& options = {});
// Compiles from the first of the lists alone, loads once, and calls it on each.
std::vector<TensorList> aot_run_multiple(const std::string& device, const TensorFunction& model,
                                         const std::vector<TensorList>& list_of_inputs, const CompileOptions& options = {},
                                         const std::vector<OpenSize>& dynamic_shapes = {});

}  // namespace ingot
