#include "host/loaded_model.hpp"

#include <dlfcn.h>

#include <cstddef>
#include <filesystem>

#include "base/dlpack_type.hpp"
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/given_pool.hpp"
#include "base/log.hpp"
#include "host/dlpack_tensors.hpp"
#include "host/library_entry.hpp"
#include "ingot/aoti_host.h"

namespace ingot {
namespace {

template <class Function>
Function* host_function(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

std::shared_ptr<const UnpackedModel> unpacked(const std::string& path, const ingot_options& options) {
  INGOT_REQUIRE(options.models >= 0 && options.threads >= 0, "models and threads must not be negative");
  if (!is_package(path)) return {};
  const QuietLog quiet;
  return share_model(path, options.model ? options.model : "");
}

AtenTensorHandle handle_of(const ModelLibrary& library, const ListedWeight& w) {
  std::vector<int64_t> sizes = w.sizes, strides = w.strides;
  DLTensor t{};
  t.data = static_cast<char*>(w.storage->data()) + w.offset * size_of(w.dtype);
  t.device = {kDLCPU, 0};
  t.ndim = static_cast<int32_t>(sizes.size());
  t.dtype = dlpack_type(w.dtype);
  t.shape = sizes.data();
  t.strides = strides.data();
  return handle_over(library, &t, text("weight '", w.name, "'"));
}

// What runs the operators that a library which is not ours has no code for: the process's host has
// it.
decltype(ContainerOptions::proxy) open_proxy(const ModelLibrary& library, const std::string& operators) {
  const std::string file =
      operators.empty() ? std::filesystem::path(library.path()).replace_extension(".json").string() : operators;
  if (std::error_code none; library.is_own() || !std::filesystem::exists(file, none)) return {};
  const auto open = host_function<decltype(ingot_host_open_proxy)>("ingot_host_open_proxy");
  INGOT_REQUIRE(open, file,
                ": the process has no function ingot_host_open_proxy, which runs operators that the model has no code for");
  AOTIProxyExecutorHandle proxy = nullptr;
  char why[1024] = "";
  INGOT_REQUIRE(open(file.c_str(), &proxy, why, sizeof why) == AOTI_TORCH_SUCCESS, why);
  return {proxy, host_function<decltype(ingot_host_close_proxy)>("ingot_host_close_proxy")};
}

// Libraries of other compilers, and of before they could, do not say the sizes.
ingot_constant_info info_of(const ModelLibrary& library, std::size_t k, const ModelContainer::Constant& c) {
  ingot_constant_info info{
      c.fqn.c_str(), dlpack_type(dtype_of_code(c.dtype).value_or(DType::f32)), -1, nullptr, c.bytes, c.kind == 1, c.is_folded};
  if (library.ingot_model_constant_sizes) library.ingot_model_constant_sizes(k, &info.rank, &info.sizes);
  return info;
}

ContainerOptions container_options(const ModelLibrary& library, const std::string& operators, const ingot_options& options) {
  ContainerOptions of_container;
  if (options.models) of_container.models = static_cast<std::size_t>(options.models);
  if (options.device) of_container.device = options.device;
  of_container.proxy = open_proxy(library, operators);
  if (!options.pool) return of_container;
  // Libraries of older versions look less closely.
  ingot_thread_pool known;
  char why[256];
  INGOT_REQUIRE(read_pool(*options.pool, &known, why), why);
  INGOT_REQUIRE(library.ingot_container_set_pool, library.path(),
                " was made by an older version of Ingot, or another compiler, and has threads of its own: leave the pool out, or "
                "compile the program again");
  of_container.pool = options.pool;
  return of_container;
}

ModelContainer open_container(const std::string& path, const UnpackedModel* package, const ingot_options& options) {
  std::shared_ptr<const ModelLibrary> library = ModelLibrary::load(package ? package->library : path, true);
  if (package) library->find_beside(package->beside);
  const ContainerOptions of_container = container_options(*library, package ? package->operators : "", options);
  return {std::move(library), of_container, kPlainWords};
}

}  // namespace

LoadedModel::LoadedModel(const std::string& path, const ingot_options& options)
    : package_(unpacked(path, options)), container_(open_container(path, package_.get(), options)) {
  if (options.threads && library().is_own()) container_.set_threads(options.threads);
  entries_ = entry_names(library());
  constants_ = container_.constants();
  if (package_) weights_.give(*package_, container_, [&](const ListedWeight& w) { return handle_of(library(), w); });
  for (std::size_t k = 0; k < constants_.size(); k++) infos_.push_back(info_of(library(), k, constants_[k]));
  const std::size_t entries = library().is_own() ? library().ingot_model_metadata_count() : 0;
  for (std::size_t k = 0; k < entries; k++) {
    Metadata m{};
    container_.require(library().ingot_model_metadata(k, &m.key, &m.value), "ingot_model_metadata(k, &m.key, &m.value)");
    metadata_.push_back(m);
  }
}

const ModelContainer::Constant& LoadedModel::constant_called(const std::string& fqn) const {
  for (const ModelContainer::Constant& c : constants_)
    if (c.fqn == fqn) return c;
  throw_user_error(text("the model has no constant '", fqn, "'; ingot_session_constant says which it has"));
}

void LoadedModel::update(std::span<const ingot_named_tensor> tensors, bool inactive, bool full) {
  Handles given(library(), tensors.size());
  std::vector<AOTInductorConstantMapEntry> pairs;
  for (const ingot_named_tensor& t : tensors) {
    INGOT_REQUIRE(t.name != nullptr, "the name of a constant is null");
    const ModelContainer::Constant& constant = constant_called(t.name);
    INGOT_REQUIRE(!constant.is_folded, "constant '", t.name, "' is computed from others and cannot be given");
    given.add(handle_over(library(), t.tensor, text("constant '", t.name, "'")));
    pairs.push_back({constant.name.c_str(), given[given.size() - 1]});
  }
  container_.update(pairs, ModelContainer::Give::elements, inactive, full);
}

AtenTensorHandle LoadedModel::find_constant(const std::string& fqn, bool inactive) const {
  const ModelContainer::Constant& constant = constant_called(fqn);
  INGOT_REQUIRE(library().is_own() || library().AOTInductorModelContainerExtractConstantsMap, library().path(),
                " does not give its constants away");
  const AtenTensorHandle handle = container_.extract_one(constant, inactive);
  INGOT_REQUIRE(handle, "constant '", fqn, "' has no value in that buffer, or is computed from others");
  return handle;
}

}  // namespace ingot
