#include "host/loaded_model.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>

#include "base/dlpack_type.hpp"
#include "base/error.hpp"
#include "ingot/aoti_host.h"
#include "host/handles.hpp"
#include "host/host_tensors.hpp"
#include "host/library_entry.hpp"
#include "host/session.hpp"

namespace ingot {
namespace {

template <class Function>
Function* host_function(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

LoadedModel::LoadedModel(const std::string& path, const ingot_options& options) {
  INGOT_REQUIRE(options.models >= 0 && options.threads >= 0, "models and threads must not be negative");
  if (path.ends_with(".pt2")) package_.emplace(unpack_model(path, options.model ? options.model : usual_model(path)));
  library_ = ModelLibrary::load(package_ ? package_->library : path, true);
  open_proxy();
  require(library_->AOTInductorModelContainerCreateWithDevice(&container_,
                                                              static_cast<std::size_t>(options.models ? options.models : 1),
                                                              options.device ? options.device : "cpu", nullptr));
  try {
    if (options.threads && library_->is_own()) require(library_->ingot_container_set_threads(container_, options.threads));
    entries_ = entry_names(*library_);
    read_constants();
  } catch (...) {
    close();
    throw;
  }
}

LoadedModel::~LoadedModel() { close(); }

void LoadedModel::close() {
  library_->AOTInductorModelContainerDelete(container_);
  if (proxy_) host_function<decltype(ingot_host_close_proxy)>("ingot_host_close_proxy")(proxy_);
}

void LoadedModel::require(AOTIRuntimeError error) const {
  if (error == AOTI_RUNTIME_SUCCESS) return;
  const std::string why = library_->last_error();
  throw_user_error(why.empty() ? text(library_->path(), ": a call failed; the library does not say why") : why);
}

void LoadedModel::open_proxy() {
  const std::string file = std::filesystem::path(library_->path()).replace_extension(".json").string();
  if (std::error_code none; library_->is_own() || !std::filesystem::exists(file, none)) return;
  const auto open = host_function<decltype(ingot_host_open_proxy)>("ingot_host_open_proxy");
  char why[1024] = "";
  INGOT_REQUIRE(open, file,
                ": the process has no function ingot_host_open_proxy, which runs operators that the model has no code for");
  INGOT_REQUIRE(open(file.c_str(), &proxy_, why, sizeof why) == AOTI_TORCH_SUCCESS, why);
}

void LoadedModel::read_constants() {
  std::size_t count = 0;
  require(library_->AOTInductorModelContainerGetNumConstants(container_, &count));
  for (std::size_t k = 0; k < count; k++) {
    const char *name = "", *fqn = "";
    int32_t dtype = 0, kind = 0;
    auto c = std::make_unique<Constant>();
    require(library_->AOTInductorModelContainerGetConstantName(container_, k, &name));
    require(library_->AOTInductorModelContainerGetConstantOriginalFQN(container_, k, &fqn));
    require(library_->AOTInductorModelContainerGetConstantDtype(container_, k, &dtype));
    // Libraries of older compilers than ours do not have all of these.
    if (const auto type = library_->AOTInductorModelContainerGetConstantType) require(type(container_, k, &kind));
    if (const auto folded = library_->AOTInductorModelContainerGetConstantFromFolded)
      require(folded(container_, k, &c->info.is_folded));
    if (const auto size = library_->AOTInductorModelContainerGetConstantDataSize) require(size(container_, k, &c->info.bytes));
    c->name = name;
    c->fqn = fqn;
    c->info.name = c->fqn.c_str();
    c->info.dtype = dlpack_type(dtype_of_code(dtype).value_or(DType::f32));
    c->info.is_parameter = kind == 1;
    constants_.push_back(std::move(c));
  }
}

const LoadedModel::Constant& LoadedModel::constant_called(const std::string& fqn) const {
  for (const auto& c : constants_)
    if (c->fqn == fqn) return *c;
  throw_user_error(text("the model has no constant '", fqn, "'; ingot_session_constant says which it has"));
}

std::vector<AtenTensorHandle> LoadedModel::run(std::size_t entry, std::vector<AtenTensorHandle> inputs,
                                               std::size_t output_count) {
  std::vector<AtenTensorHandle> outputs(output_count);
  if (library_->ingot_container_run_entry) {
    require(library_->ingot_container_run_entry(container_, entry, inputs.data(), inputs.size(), outputs.data(), outputs.size()));
    return outputs;
  }
  require(library_->AOTInductorModelContainerRun(container_, inputs.data(), inputs.size(), outputs.data(), outputs.size(),
                                                 nullptr, proxy_));
  // Other compilers' libraries return a handle twice where a value is returned twice (I098).
  for (std::size_t k = 0; k < outputs.size(); k++) {
    if (outputs[k] && std::find(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(k), outputs[k]) !=
                          outputs.begin() + static_cast<std::ptrdiff_t>(k))
      require(host_tensors::share(outputs[k], &outputs[k]));
  }
  return outputs;
}

void LoadedModel::update(std::span<const ingot_named_tensor> tensors, bool inactive, bool full) {
  Handles given(*library_, tensors.size());
  std::vector<AOTInductorConstantMapEntry> pairs;
  for (const ingot_named_tensor& t : tensors) {
    INGOT_REQUIRE(t.name != nullptr, "the name of a constant is null");
    const Constant& constant = constant_called(t.name);
    INGOT_REQUIRE(!constant.info.is_folded, "constant '", t.name, "' is computed from others and cannot be given");
    given.add(handle_over(*library_, t.tensor, text("constant '", t.name, "'")));
    pairs.push_back({constant.name.c_str(), given[given.size() - 1]});
  }
  if (library_->is_own())
    return require(library_->ingot_container_update(container_, pairs.data(), pairs.size(), inactive, full));
  HandleMap map;
  for (const AOTInductorConstantMapEntry& p : pairs) map.emplace(p.name, p.handle);
  require(library_->AOTInductorModelContainerUpdateConstantBuffer(container_, as_handle(map), inactive, full));
}

void LoadedModel::fold(bool inactive) {
  require(library_->AOTInductorModelContainerRunConstantFolding(container_, inactive, nullptr, proxy_));
}

AtenTensorHandle LoadedModel::find_constant(const std::string& fqn, bool inactive) const {
  const Constant& constant = constant_called(fqn);
  AtenTensorHandle handle = nullptr;
  if (!library_->is_own()) {
    INGOT_REQUIRE(library_->AOTInductorModelContainerExtractConstantsMap, library_->path(), " does not give its constants away");
    HandleMap map;
    require(library_->AOTInductorModelContainerExtractConstantsMap(container_, as_handle(map), inactive));
    const auto found = map.find(fqn);
    INGOT_REQUIRE(found != map.end(), "constant '", fqn, "' has no value in that buffer, or is computed from others");
    return found->second;
  }
  require(library_->ingot_container_constant(container_, constant.name.c_str(), inactive, &handle));
  return handle;
}

}  // namespace ingot
