#include "compiler/compiled_program.hpp"

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "compiler/program_calls.hpp"
#include "program/tree_spec.hpp"
#include "ingot/autograd.hpp"
#include "host/package.hpp"
#include "tensor/random.hpp"

namespace ingot {
namespace {

void require_device(const std::string& device) {
  const std::string_view index = device.starts_with("cuda:") ? std::string_view(device).substr(5) : std::string_view();
  const bool is_known =
      device == "cpu" || device == "cuda" || (!index.empty() && index.find_first_not_of("0123456789") == index.npos);
  INGOT_REQUIRE(is_known, "Unsupported device ", device);
}

// Wherever tests compile to, nothing is left of it.
std::string library_in(const TemporaryFolder& folder) { return folder.path() + "/model.so"; }

}  // namespace

CompiledProgram::CompiledProgram(Program& program, const CompileOptions& options, const FailureWords* words) : words_(words) {
  const TemporaryFolder folder;
  compile(program, library_in(folder), options);
  library_ = ModelLibrary::load(library_in(folder));
}

Values CompiledProgram::run(Program& program, Args inputs, std::size_t entry) const {
  const GradModeGuard no_grad(false);
  RunnerOptions options{.words = words_};
  if (entry > 0) options.entry = program.entries.at(entry).name;
  ModelContainerRunner runner(library_, options);
  library_->require_own("a comparison with its program");
  const TensorList given = library_inputs(program, inputs, entry);
  runner.set_threads(num_threads());
  const Draw before = default_generator()->state();
  library_->ingot_container_set_draw(runner.container(), before.seed, before.offset);
  const TensorList outputs = runner.run(given);
  Draw after = before;
  library_->ingot_container_get_draw(runner.container(), &after.seed, &after.offset);
  default_generator()->set_state(after);
  take_back_state(program, runner.extract_constants_map(false), entry);
  return caller_results(program, outputs, entry);
}

std::string aot_compile(const TensorFunction& model, const TensorList& example_inputs, const std::string& output,
                        const CompileOptions& options, const std::vector<OpenSize>& dynamic_shapes) {
  const GradModeGuard no_grad(false);
  compile(model, example_inputs, dynamic_shapes, output, options);
  return output;
}

std::string aot_compile(Program& model, const Tree& args, const Tree& kwargs, const std::string& output,
                        const CompileOptions& options) {
  if (const std::optional<CallSpec>& c = model.main().call_spec) {
    const Tree given = Tree::tuple({args, kwargs});
    try {
      flatten(given, c->in_spec, "inputs");
    } catch (const UserError& e) {
      throw_user_error(text("Trying to flatten user inputs with exported input tree spec: \n", tree_spec_text(c->in_spec),
                            "\nbut actually got inputs with tree spec of: \n", tree_spec_text(flatten(given).spec), "\n(",
                            e.what(), ")"));
    }
  }
  const GradModeGuard no_grad(false);
  compile(model, output, options);
  return output;
}

std::unique_ptr<ModelContainerRunner> aot_load_runner(const std::string& device, const std::string& path) {
  RunnerOptions options;
  options.device = device;
  return std::make_unique<ModelContainerRunner>(path, options);
}

CallableModel aot_load(const std::string& device, const std::string& path) {
  require_device(device);
  return CallableModel(aot_load_runner(device, path));
}

TensorList aot_run(const std::string& device, const TensorFunction& model, const TensorList& example_inputs,
                   const CompileOptions& options, const std::vector<OpenSize>& dynamic_shapes) {
  return aot_run_multiple(device, model, {example_inputs}, options, dynamic_shapes)[0];
}

Tree aot_run(const std::string& device, Program& model, const Tree& args, const Tree& kwargs, const CompileOptions& options) {
  const TemporaryFolder folder;
  return aot_load(device, aot_compile(model, args, kwargs, library_in(folder), options))(args, kwargs);
}

std::vector<TensorList> aot_run_multiple(const std::string& device, const TensorFunction& model,
                                         const std::vector<TensorList>& list_of_inputs, const CompileOptions& options,
                                         const std::vector<OpenSize>& dynamic_shapes) {
  INGOT_REQUIRE(!list_of_inputs.empty(), "run_multiple needs at least one list of inputs");
  require_device(device);
  const TemporaryFolder folder;
  const auto runner = aot_load_runner(device, aot_compile(model, list_of_inputs[0], library_in(folder), options, dynamic_shapes));
  std::vector<TensorList> results;
  for (const TensorList& inputs : list_of_inputs) results.push_back(runner->run(inputs));
  return results;
}

}  // namespace ingot
