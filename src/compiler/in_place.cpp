// Files of programs to libraries, and libraries as functions of this process.
#include <memory>
#include <utility>

#include "compiler/compiled_program.hpp"
#include "compiler/function_program.hpp"
#include "compiler/pipeline.hpp"
#include "format/load.hpp"
#include "host/package.hpp"
#include "ingot/autograd.hpp"
#include "ingot/compile.hpp"

namespace ingot {
namespace {

// Nothing is left of a library that is compiled in place.
std::string library_in(const TemporaryFolder& folder) { return folder.path() + "/model.so"; }

}  // namespace

void compile_file(const std::string& program, const std::string& output, const CompileOptions& options) {
  const GradModeGuard no_grad(false);
  Program loaded = load_program(program);
  compile(loaded, output, options);
}

TensorFunction compiled_in_place(const TensorFunction& f, const TensorList& examples, const std::vector<OpenSize>& open,
                                 const CompileOptions& options) {
  const TemporaryFolder folder;
  std::shared_ptr<ModelContainerRunner> runner =
      aot_load_runner("cpu", aot_compile(f, examples, library_in(folder), options, open));
  return [runner = std::move(runner)](const TensorList& inputs) {
    const GradModeGuard no_grad(false);
    return runner->run(inputs);
  };
}

ModelFunction compiled_file_in_place(const std::string& program, const CompileOptions& options) {
  const TemporaryFolder folder;
  compile_file(program, library_in(folder), options);
  return load_compiled(library_in(folder));
}

ModelFunction load_compiled(const std::string& path) {
  return [model = aot_load("cpu", path)](const Tree& args, const Tree& kwargs) {
    const GradModeGuard no_grad(false);
    return model(args, kwargs);
  };
}

}  // namespace ingot
