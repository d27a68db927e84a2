#include "host/torch/model_container_runner.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/error.hpp"
#include "io/file.hpp"
#include "host/handles.hpp"
#include "host/torch/handle.hpp"

namespace ingot {

// The call, with its text and line for the message of I007.
#define INGOT_MODEL_CALL(function, ...) require(library_->function(__VA_ARGS__), #function "(" #__VA_ARGS__ ")", __LINE__)

void ModelContainerRunner::require(AOTIRuntimeError error, const char* call, int line) const {
  if (error == AOTI_RUNTIME_SUCCESS) return;
  const std::string failed = text(call, " API call failed at model_container_runner.cpp, line ", line),
                    why = library_->last_error();
  throw_user_error(why.empty() ? failed : text(why, " (", failed, ")"));
}

void ModelContainerRunner::check_options(const RunnerOptions& options) {
  INGOT_REQUIRE(options.entry.empty() || !options.run_single_threaded,
                "run_single_threaded runs the first entry point alone: leave '", options.entry, "' out");
  if (options.run_single_threaded)
    INGOT_REQUIRE(options.num_models == 1, "num_models must be 1 when run_single_threaded is true");
  else INGOT_REQUIRE(options.num_models >= 1, "num_models must be >=1 when run_single_threaded is false");
}

ModelContainerRunner::ModelContainerRunner(const std::string& path, const RunnerOptions& options)
    : ModelContainerRunner((check_options(options), ModelLibrary::load(path)), options) {}

ModelContainerRunner::ModelContainerRunner(std::shared_ptr<const ModelLibrary> library, const RunnerOptions& options)
    : library_(std::move(library)), run_single_threaded_(options.run_single_threaded),
      entry_(entry_place(*library_, options.entry)) {
  check_options(options);
  require_host_functions();
  INGOT_REQUIRE(
      !library_->is_own() || !library_->ingot_tensor_is_own(),
      "the model does not see this program's tensors: the program must export the functions aoti_torch_* (link it with ingot_runner's options)");
  proxy_ = ProxyExecutor::open(std::filesystem::path(library_->path()).replace_extension(".json").string());
  const char* cubin_dir = options.cubin_dir.empty() ? nullptr : options.cubin_dir.c_str();
  INGOT_MODEL_CALL(AOTInductorModelContainerCreateWithDevice, &container_, options.num_models, options.device.c_str(), cubin_dir);
  owner_ = {container_, [library = library_](AOTInductorModelContainerHandle c) {
              if (library->AOTInductorModelContainerDelete(c) != AOTI_RUNTIME_SUCCESS)
                std::fputs("AOTInductorModelContainerDelete failed\n", stderr);
            }};
}

ModelContainerRunner::ModelContainerRunner(const ModelContainerRunner& other, const std::string& entry)
    : library_(other.library_), proxy_(other.proxy_), owner_(other.owner_), container_(other.container_),
      entry_(entry_place(*library_, entry)) {}

ModelContainerRunner::~ModelContainerRunner() = default;

TensorList ModelContainerRunner::run(const TensorList& inputs, AOTInductorStreamHandle stream) {
  OwnedHandles handles;
  for (const Tensor& t : inputs) handles.add(t);
  return run_owned(handles, stream);
}

TensorList ModelContainerRunner::boxed_run(TensorList&& inputs, AOTInductorStreamHandle stream) {
  OwnedHandles handles;
  for (Tensor& t : inputs) handles.add(std::exchange(t, Tensor()));
  inputs.clear();
  return run_owned(handles, stream);
}

TensorList ModelContainerRunner::run_owned(OwnedHandles& inputs, AOTInductorStreamHandle stream) {
  std::size_t count = 0;
  if (entry_ > 0) count = description("an entry point").info().output_count;
  else INGOT_MODEL_CALL(AOTInductorModelContainerGetNumOutputs, container_, &count);
  std::vector<AtenTensorHandle> outputs(count);
  std::vector<AtenTensorHandle> given(inputs.data(), inputs.data() + inputs.size());
  const AOTIProxyExecutorHandle proxy = proxy_ ? proxy_->handle() : nullptr;
  if (entry_ > 0) {
    inputs.release();
    INGOT_MODEL_CALL(ingot_container_run_entry, container_, entry_, given.data(), given.size(), outputs.data(), count);
  } else if (run_single_threaded_) {
    INGOT_REQUIRE(library_->AOTInductorModelContainerRunSingleThreaded,
                  "No run_single_threaded in .so! Consider rebuild your model with the latest AOTInductor.");
    inputs.release();  // stolen, also by a run that fails
    INGOT_MODEL_CALL(AOTInductorModelContainerRunSingleThreaded, container_, given.data(), given.size(), outputs.data(), count,
                     stream, proxy);
  } else {
    inputs.release();
    INGOT_MODEL_CALL(AOTInductorModelContainerRun, container_, given.data(), given.size(), outputs.data(), count, stream, proxy);
  }
  TensorList results;
  for (AtenTensorHandle h : outputs) results.push_back(h ? h->tensor : Tensor());
  std::sort(outputs.begin(), outputs.end());  // one handle may stand for several outputs
  outputs.erase(std::unique(outputs.begin(), outputs.end()), outputs.end());
  for (AtenTensorHandle h : outputs) delete h;
  return results;
}

bool ModelContainerRunner::is_folded(std::size_t constant) const {
  bool folded = false;
  if (library().AOTInductorModelContainerGetConstantFromFolded)
    INGOT_MODEL_CALL(AOTInductorModelContainerGetConstantFromFolded, container_, constant, &folded);
  return folded;
}

std::map<std::string, std::string> ModelContainerRunner::constant_names_to_fqns() const {
  std::map<std::string, std::string> names;
  std::size_t count = 0;
  INGOT_MODEL_CALL(AOTInductorModelContainerGetNumConstants, container_, &count);
  for (std::size_t k = 0; k < count; k++) {
    if (is_folded(k)) continue;
    const char *name = nullptr, *fqn = nullptr;
    INGOT_MODEL_CALL(AOTInductorModelContainerGetConstantName, container_, k, &name);
    INGOT_MODEL_CALL(AOTInductorModelContainerGetConstantOriginalFQN, container_, k, &fqn);
    names.emplace(name, fqn);
  }
  return names;
}

std::map<std::string, int32_t> ModelContainerRunner::constant_names_to_dtypes() const {
  std::map<std::string, int32_t> dtypes;
  std::size_t count = 0;
  INGOT_MODEL_CALL(AOTInductorModelContainerGetNumConstants, container_, &count);
  for (std::size_t k = 0; k < count; k++) {
    if (is_folded(k)) continue;
    const char* name = nullptr;
    int32_t dtype = 0;
    INGOT_MODEL_CALL(AOTInductorModelContainerGetConstantName, container_, k, &name);
    INGOT_MODEL_CALL(AOTInductorModelContainerGetConstantDtype, container_, k, &dtype);
    dtypes.emplace(name, dtype);
  }
  return dtypes;
}

void ModelContainerRunner::update_constant_buffer(const ConstantMap& constants, bool use_inactive, bool check_full_update,
                                                  bool user_managed) {
  OwnedHandles handles;
  HandleMap map;
  for (const auto& [name, t] : constants) map.emplace(name, handles.add(t));
  if (!user_managed) {
    INGOT_MODEL_CALL(AOTInductorModelContainerUpdateConstantBuffer, container_, as_handle(map), use_inactive, check_full_update);
    return;
  }
  INGOT_REQUIRE(library_->AOTInductorModelContainerUpdateUserManagedConstantBuffer,
                "No update_user_managed_constant_buffer in .so! Consider rebuild your model with the latest AOTInductor.");
  INGOT_MODEL_CALL(AOTInductorModelContainerUpdateUserManagedConstantBuffer, container_, as_handle(map), use_inactive,
                   check_full_update);
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
  OwnedHandles handles;
  HandleMap map;
  for (const auto& [name, t] : constants) map.emplace(name, handles.add(t));
  INGOT_MODEL_CALL(AOTInductorModelContainerUpdateInactiveConstantBuffer, container_, as_handle(map));
}

void ModelContainerRunner::update_constant_buffer_from_blob(const std::string& weights_path) {
  INGOT_REQUIRE(library_->AOTInductorModelContainerGetConstantsBlobSize && library_->AOTInductorModelUpdateConstantsFromBlob,
                "No update_constants_from_blob in .so! Consider rebuild your model with the latest AOTInductor.");
  uint64_t size = 0;
  INGOT_MODEL_CALL(AOTInductorModelContainerGetConstantsBlobSize, container_, &size);
  Ref<MappedFile> file;
  try {
    file = MappedFile::open(weights_path);
  } catch (const UserError& e) {
    throw_user_error(text("Failed to open external weights file: ", weights_path, ": ", e.what()));
  }
  INGOT_REQUIRE(file->size() >= size, "mmap() failed: ", weights_path, " has ", file->size(),
                " bytes, the library's constants need ", size);
  INGOT_MODEL_CALL(AOTInductorModelUpdateConstantsFromBlob, container_, reinterpret_cast<const uint8_t*>(file->data()));
}

void ModelContainerRunner::run_const_fold(bool use_inactive, AOTInductorStreamHandle stream) {
  const AOTIProxyExecutorHandle proxy = proxy_ ? proxy_->handle() : nullptr;
  INGOT_MODEL_CALL(AOTInductorModelContainerRunConstantFolding, container_, use_inactive, stream, proxy);
}

void ModelContainerRunner::swap_constant_buffer() { INGOT_MODEL_CALL(AOTInductorModelContainerSwapConstantBuffer, container_); }

void ModelContainerRunner::free_inactive_constant_buffer() {
  INGOT_REQUIRE(library_->AOTInductorModelContainerFreeInactiveConstantBuffer,
                "No free_inactive_constant_buffer in .so! Consider rebuild your model with the latest AOTInductor.");
  INGOT_MODEL_CALL(AOTInductorModelContainerFreeInactiveConstantBuffer, container_);
}

ConstantMap ModelContainerRunner::extract_constants_map(bool use_inactive) const {
  INGOT_REQUIRE(library_->AOTInductorModelContainerExtractConstantsMap,
                "No extract_constants_map in .so! Consider rebuild your model with the latest AOTInductor.");
  HandleMap map;
  INGOT_MODEL_CALL(AOTInductorModelContainerExtractConstantsMap, container_, as_handle(map), use_inactive);
  ConstantMap constants;
  for (const auto& [fqn, handle] : map) constants.emplace(fqn, tensor_of(handle));
  return constants;
}

std::pair<std::string, std::string> ModelContainerRunner::call_spec() const {
  if (entry_ > 0) {
    const ingot_entry_info info = description("a call specification").info();
    return {info.in_spec, info.out_spec};
  }
  const char *in = nullptr, *out = nullptr;
  INGOT_MODEL_CALL(AOTInductorModelContainerGetCallSpec, container_, &in, &out);
  return {in, out};
}

std::vector<std::string> ModelContainerRunner::input_names() const {
  if (entry_ > 0) {
    const LibraryEntry entry = description("names of inputs");
    std::vector<std::string> names;
    for (std::size_t k = 0; k < entry.info().input_count; k++) names.emplace_back(entry.input(k).name);
    return names;
  }
  INGOT_REQUIRE(library_->AOTInductorModelContainerGetNumInputs && library_->AOTInductorModelContainerGetInputName,
                library_->path(), " does not say what its inputs are called");
  std::size_t count = 0;
  INGOT_MODEL_CALL(AOTInductorModelContainerGetNumInputs, container_, &count);
  std::vector<std::string> names;
  for (std::size_t k = 0; k < count; k++) {
    const char* name = nullptr;
    INGOT_MODEL_CALL(AOTInductorModelContainerGetInputName, container_, k, &name);
    names.emplace_back(name);
  }
  return names;
}

std::vector<std::string> ModelContainerRunner::output_names() const {
  if (entry_ > 0) {
    const LibraryEntry entry = description("names of outputs");
    std::vector<std::string> names;
    for (std::size_t k = 0; k < entry.info().output_count; k++) names.emplace_back(entry.output(k).name);
    return names;
  }
  INGOT_REQUIRE(library_->AOTInductorModelContainerGetOutputName, library_->path(), " does not say what its outputs are called");
  std::size_t count = 0;
  INGOT_MODEL_CALL(AOTInductorModelContainerGetNumOutputs, container_, &count);
  std::vector<std::string> names;
  for (std::size_t k = 0; k < count; k++) {
    const char* name = nullptr;
    INGOT_MODEL_CALL(AOTInductorModelContainerGetOutputName, container_, k, &name);
    names.emplace_back(name);
  }
  return names;
}

std::string ModelContainerRunner::entry_name() const {
  return entry_ == 0 ? "" : description("the name of an entry point").info().name;
}

void ModelContainerRunner::set_threads(int count) {
  library_->require_own("setting threads");
  INGOT_MODEL_CALL(ingot_container_set_threads, container_, count);
}

std::map<std::string, RunnerFactory>& runner_registry() {
  static std::map<std::string, RunnerFactory> registry = {{"cpu", [](const std::string& path, const RunnerOptions& options) {
                                                             return std::make_unique<ModelContainerRunner>(path, options);
                                                           }}};
  return registry;
}

}  // namespace ingot
