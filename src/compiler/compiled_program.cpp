#include "compiler/compiled_program.hpp"

#include "base/dtype_code.hpp"
#include "base/error.hpp"
#include "base/parallel.hpp"
#include "import/tree_spec.hpp"
#include "ingot/autograd.hpp"
#include "runtime/package.hpp"
#include "tensor/impl.hpp"
#include "tensor/random.hpp"

namespace ingot {
namespace {

using InputKind = InputSpec::Kind;

// The tensors that the library takes: a caller's numbers become tensors of the type it wants, and effect tokens, which no
// caller knows of, are empty.
TensorList library_inputs(const ModelLibrary& library, const ExportedProgram& program, Args given) {
  std::size_t users = 0, fixed = 0;
  for (const InputSpec& s : program.inputs)
    if (s.kind == InputKind::user) s.node == nullptr ? fixed++ : users++;
  const bool with_fixed = fixed > 0 && given.size() == users + fixed;
  INGOT_REQUIRE(with_fixed || given.size() == users, program.name, ": expected ", users, " inputs, found ", given.size());
  TensorList inputs;
  std::size_t next = 0;
  for (const InputSpec& s : program.inputs) {
    if (s.kind == InputKind::token && s.node != nullptr) inputs.push_back(make_tensor(Geometry::contiguous({0}, DType::f32)));
    if (s.kind != InputKind::user) continue;
    if (s.node == nullptr) {
      next += with_fixed;
      continue;
    }
    const Value& v = given[next++];
    if (v.is_tensor()) {
      inputs.push_back(v.tensor());
      continue;
    }
    INGOT_REQUIRE(v.is_number(), program.name, ": input ", s.name, ": expected a tensor or a number, found ", v.kind_name());
    ingot_value_info info{};
    library.ingot_model_input(inputs.size(), &info);
    Tensor t = make_tensor(Geometry::contiguous({}, dtype_of_code(info.dtype).value_or(DType::i64)));
    inputs.push_back(t.fill_(v.to_scalar()));
  }
  return inputs;
}

// What the program's caller gets: numbers come back as tensors of one element; None and texts, which the program fixes, do
// not come back at all.
Values caller_results(const ExportedProgram& program, const TensorList& outputs) {
  Values results;
  std::size_t next = 0;
  for (std::size_t i = 0; i < program.outputs.size(); i++) {
    const OutputSpec::Kind kind = program.outputs[i].kind;
    if (kind == OutputSpec::Kind::token || kind == OutputSpec::Kind::buffer_mutation || kind == OutputSpec::Kind::parameter_mutation ||
        kind == OutputSpec::Kind::user_input_mutation)
      continue;
    const Argument& a = program.graph.outputs[i];
    if (a.is_none() || (a.is_value() && !a.value().is_number())) {
      results.push_back(a.is_none() ? Value() : a.value());
      continue;
    }
    INGOT_REQUIRE(next < outputs.size(), program.name, ": the library returned ", outputs.size(), " values, the program returns more");
    const Tensor& t = outputs[next++];
    const bool is_tensor = a.is_node() && a.node()->meta.is_tensor();
    results.push_back(is_tensor ? Value(t) : Value(t.item()));
  }
  INGOT_REQUIRE(next == outputs.size(), program.name, ": the library returned ", outputs.size(), " values, the program returns ", next);
  return results;
}

void require_device(const std::string& device) {
  INGOT_REQUIRE(device == "cpu" || device == "cuda" || device.starts_with("cuda:"), "Unsupported device ", device);
}

// Wherever tests compile to, nothing is left of it.
std::string library_in(const TemporaryFolder& folder) { return folder.path() + "/model.so"; }

}  // namespace

CompiledProgram::CompiledProgram(ExportedProgram& program, const CompileOptions& options) {
  const TemporaryFolder folder;
  compile(program, library_in(folder), options);
  library_ = ModelLibrary::load(library_in(folder));
}

Values CompiledProgram::run(ExportedProgram& program, Args inputs) const {
  const GradModeGuard no_grad(false);
  ModelContainerRunner runner(library_);
  library_->require_own("a comparison with its program");
  const TensorList given = library_inputs(*library_, program, inputs);
  runner.set_threads(num_threads());
  const Draw before = default_generator()->state();
  library_->ingot_container_set_draw(runner.container(), before.seed, before.offset);
  const TensorList outputs = runner.run(given);
  Draw after = before;
  library_->ingot_container_get_draw(runner.container(), &after.seed, &after.offset);
  default_generator()->set_state(after);
  for (const auto& [fqn, t] : runner.extract_constants_map(false)) {
    const auto entry = program.state.find(fqn);
    if (entry != program.state.end() && !entry->second.is_parameter && entry->second.tensor.defined()) entry->second.tensor.copy_(t);
  }
  return caller_results(program, outputs);
}

std::string aot_compile(const TensorFunction& model, const TensorList& example_inputs, const std::string& output, const CompileOptions& options,
                        const std::vector<OpenSize>& dynamic_shapes) {
  const GradModeGuard no_grad(false);
  compile(model, example_inputs, dynamic_shapes, output, options);
  return output;
}

std::string aot_compile(ExportedProgram& model, const Tree& args, const Tree& kwargs, const std::string& output, const CompileOptions& options) {
  for (const ModuleCall& c : model.facts.module_calls) {
    if (!c.fqn.empty() || !c.in_spec) continue;
    const Tree given = Tree::tuple({args, kwargs});
    try {
      flatten(given, *c.in_spec, "inputs");
    } catch (const UserError& e) {
      throw_user_error(text("Trying to flatten user inputs with exported input tree spec: \n", tree_spec_text(*c.in_spec),
                            "\nbut actually got inputs with tree spec of: \n", tree_spec_text(flatten(given).spec), "\n(", e.what(), ")"));
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

TensorList aot_run(const std::string& device, const TensorFunction& model, const TensorList& example_inputs, const CompileOptions& options,
                   const std::vector<OpenSize>& dynamic_shapes) {
  return aot_run_multiple(device, model, {example_inputs}, options, dynamic_shapes)[0];
}

Tree aot_run(const std::string& device, ExportedProgram& model, const Tree& args, const Tree& kwargs, const CompileOptions& options) {
  const TemporaryFolder folder;
  return aot_load(device, aot_compile(model, args, kwargs, library_in(folder), options))(args, kwargs);
}

std::vector<TensorList> aot_run_multiple(const std::string& device, const TensorFunction& model, const std::vector<TensorList>& list_of_inputs,
                                         const CompileOptions& options, const std::vector<OpenSize>& dynamic_shapes) {
  INGOT_REQUIRE(!list_of_inputs.empty(), "run_multiple needs at least one list of inputs");
  require_device(device);
  const TemporaryFolder folder;
  const auto runner = aot_load_runner(device, aot_compile(model, list_of_inputs[0], library_in(folder), options, dynamic_shapes));
  std::vector<TensorList> results;
  for (const TensorList& inputs : list_of_inputs) results.push_back(runner->run(inputs));
  return results;
}

}  // namespace ingot
