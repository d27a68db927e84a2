#include "host/torch/model_container_runner.hpp"

#include <filesystem>
#include <string_view>

#include "base/error.hpp"
#include "base/log.hpp"
#include "host/torch/handle.hpp"
#include "host/torch/proxy_executor.hpp"

namespace ingot {
namespace {

// The words of I007, I102 and I097.
std::string failed_call(const ModelLibrary& library, const char* call, const CallSite& from) {
  const std::string_view path = from.file_name(), file = path.substr(path.rfind('/') + 1);
  const std::string failed = text(call, " API call failed at ", file, ", line ", from.line()), why = library.last_error();
  return why.empty() ? failed : text(why, " (", failed, ")");
}
std::string missing_function(const char*, const char* action) {
  return text("No ", action, " in .so! Consider rebuild your model with the latest AOTInductor.");
}
void not_deleted() { say(INGOT_LOG_ERROR, "AOTInductorModelContainerDelete failed"); }
constexpr FailureWords kWords = {failed_call, missing_function, not_deleted};

void check_options(const RunnerOptions& options) {
  INGOT_REQUIRE(options.entry.empty() || !options.run_single_threaded,
                "run_single_threaded runs the first entry point alone: leave '", options.entry, "' out");
  if (options.run_single_threaded)
    INGOT_REQUIRE(options.num_models == 1, "num_models must be 1 when run_single_threaded is true");
  else INGOT_REQUIRE(options.num_models >= 1, "num_models must be >=1 when run_single_threaded is false");
}

std::shared_ptr<ModelContainer> open_container(std::shared_ptr<const ModelLibrary> library, const RunnerOptions& options) {
  check_options(options);
  require_host_functions();
  INGOT_REQUIRE(
      !library->is_own() || !library->ingot_tensor_is_own(),
      "the model does not see this program's tensors: the program must export the functions aoti_torch_* (link it with ingot_runner's options)");
  ContainerOptions of_container = {options.num_models, options.device, options.cubin_dir};
  library->find_beside(options.beside);
  std::shared_ptr<ProxyExecutor> proxy = ProxyExecutor::open(
      options.operators.empty() ? std::filesystem::path(library->path()).replace_extension(".json").string() : options.operators);
  if (proxy) of_container.proxy = {proxy, proxy->handle()};
  return std::make_shared<ModelContainer>(std::move(library), of_container, options.words ? *options.words : kWords,
                                          CallSite::current());
}

// Handles that look at tensors, as pairs of the C ABI with the names of constants, which stay the
// map's.
struct GivenConstants {
  GivenConstants(const ModelLibrary& library, const ConstantMap& constants) : handles(library, constants.size()) {
    for (const auto& [name, t] : constants) {
      handles.add(new_handle(t));
      pairs.push_back({name.c_str(), handles[handles.size() - 1]});
    }
  }
  Handles handles;
  std::vector<AOTInductorConstantMapEntry> pairs;
};

}  // namespace

ModelContainerRunner::ModelContainerRunner(const std::string& path, const RunnerOptions& options)
    : ModelContainerRunner((check_options(options), ModelLibrary::load(path)), options) {}

ModelContainerRunner::ModelContainerRunner(std::shared_ptr<const ModelLibrary> library, const RunnerOptions& options)
    : session_(open_container(std::move(library), options), options.entry), run_single_threaded_(options.run_single_threaded) {}

ModelContainerRunner::ModelContainerRunner(const ModelContainerRunner& other, const std::string& entry)
    : session_(other.session_.share_container(), entry) {}

TensorList ModelContainerRunner::run(const TensorList& inputs, AOTInductorStreamHandle stream) {
  Handles handles(library(), inputs.size());
  for (const Tensor& t : inputs) handles.add(new_handle(t));
  return run_owned(std::move(handles), stream);
}

TensorList ModelContainerRunner::boxed_run(TensorList&& inputs, AOTInductorStreamHandle stream) {
  Handles handles(library(), inputs.size());
  for (Tensor& t : inputs) handles.add(new_handle(std::exchange(t, Tensor())));
  inputs.clear();
  return run_owned(std::move(handles), stream);
}

TensorList ModelContainerRunner::run_owned(Handles inputs, AOTInductorStreamHandle stream) {
  const Handles outputs = session_.run(std::move(inputs), {.stream = stream, .single_threaded = run_single_threaded_});
  TensorList results;
  for (std::size_t k = 0; k < outputs.size(); k++) results.push_back(outputs[k] ? outputs[k]->tensor : Tensor());
  return results;
}

std::map<std::string, std::string> ModelContainerRunner::constant_names_to_fqns() const {
  std::map<std::string, std::string> names;
  for (const ModelContainer::Constant& c : session_.container().constants())
    if (!c.is_folded) names.emplace(c.name, c.fqn);
  return names;
}

std::map<std::string, int32_t> ModelContainerRunner::constant_names_to_dtypes() const {
  std::map<std::string, int32_t> dtypes;
  for (const ModelContainer::Constant& c : session_.container().constants())
    if (!c.is_folded) dtypes.emplace(c.name, c.dtype);
  return dtypes;
}

void ModelContainerRunner::update_constant_buffer(const ConstantMap& constants, bool use_inactive, bool check_full_update,
                                                  bool user_managed) {
  const GivenConstants given(library(), constants);
  session_.container().update(given.pairs, user_managed ? ModelContainer::Give::in_place : ModelContainer::Give::storages,
                              use_inactive, check_full_update);
}

void ModelContainerRunner::load_constants(const ConstantMap& by_fqn, bool use_inactive, bool check_full_update,
                                          bool user_managed) {
  std::map<std::string, std::string> names_of_fqns;
  for (const auto& [name, fqn] : constant_names_to_fqns()) names_of_fqns.emplace(fqn, name);
  ConstantMap by_name;
  for (const auto& [fqn, t] : by_fqn) {
    const auto name = names_of_fqns.find(fqn);
    INGOT_REQUIRE(name != names_of_fqns.end(), "Constant not found: ", fqn);
    by_name.emplace(name->second, t);
  }
  update_constant_buffer(by_name, use_inactive, check_full_update, user_managed);
}

void ModelContainerRunner::update_inactive_constant_buffer(const ConstantMap& constants) {
  session_.container().update_inactive(GivenConstants(library(), constants).pairs);
}

void ModelContainerRunner::update_constant_buffer_from_blob(const std::string& weights_path) {
  session_.container().update_from_blob(weights_path);
}

void ModelContainerRunner::run_const_fold(bool use_inactive, AOTInductorStreamHandle stream) {
  session_.container().fold(use_inactive, stream);
}

void ModelContainerRunner::swap_constant_buffer() { session_.container().swap(); }

void ModelContainerRunner::free_inactive_constant_buffer() { session_.container().free_inactive(); }

ConstantMap ModelContainerRunner::extract_constants_map(bool use_inactive) const {
  ConstantMap constants;
  for (const auto& [fqn, handle] : session_.container().extract(use_inactive)) constants.emplace(fqn, tensor_of(handle));
  return constants;
}

std::pair<std::string, std::string> ModelContainerRunner::call_spec() const { return session_.call_spec(); }

std::vector<std::string> ModelContainerRunner::input_names() const {
  auto names = session_.input_names();
  INGOT_REQUIRE(names, library().path(), " does not say what its inputs are called");
  return *std::move(names);
}

std::vector<std::string> ModelContainerRunner::output_names() const {
  auto names = session_.output_names();
  INGOT_REQUIRE(names, library().path(), " does not say what its outputs are called");
  return *std::move(names);
}

void ModelContainerRunner::set_threads(int count) {
  library().require_own("setting threads");
  session_.container().set_threads(count);
}

std::map<std::string, RunnerFactory>& runner_registry() {
  static std::map<std::string, RunnerFactory> registry = {{"cpu", [](const std::string& path, const RunnerOptions& options) {
                                                             return std::make_unique<ModelContainerRunner>(path, options);
                                                           }}};
  return registry;
}

}  // namespace ingot
