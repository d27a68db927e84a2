#include "host/torch/package_loader.hpp"

#include <sys/utsname.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/log.hpp"
#include "host/torch/handle.hpp"
#include "io/json.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

constexpr const char* kDeviceKey = "AOTI_DEVICE_KEY";

PackageMetadata parse_metadata(std::string_view json, const std::string& what) {
  INGOT_REQUIRE(!json.empty(), what, ": No device information found.");
  const JsonDocument document(json, what);
  PackageMetadata metadata;
  for (const auto& [key, value] : document.root().fields()) metadata.emplace(key, value.string());
  return metadata;
}

const std::string& device_key(const PackageMetadata& metadata, const std::string& path) {
  const auto device = metadata.find(kDeviceKey);
  INGOT_REQUIRE(device != metadata.end(), path, ": No device information found.");
  return device->second;
}

// What differs between the machine that wrote the package and this one need not matter, so it is
// said and no more.
void warn_of_differences(const PackageMetadata& saved) {
  utsname machine{};
  uname(&machine);
  for (const auto& [key, now] : machine_metadata(saved.at(kDeviceKey), machine.machine)) {
    const auto it = saved.find(key);
    if (it == saved.end() || it->second == now) continue;
    warn(text("Device information mismatch for ", key, ": ", now, " vs ", it->second,
              ". This could cause some issues when loading the AOTInductor compiled artifacts."));
  }
}

}  // namespace

PackageMetadata machine_metadata(const std::string& device, const std::string& machine) {
  PackageMetadata metadata = {
      {kDeviceKey, device}, {"AOTI_PLATFORM", "linux"}, {"AOTI_MACHINE", machine}, {"AOTI_COMPUTE_CAPABILITY", ""}};
  if (machine == "aarch64") metadata.emplace("AOTI_CPU_ISA", "ASIMD");
#if defined(__x86_64__)
  if (machine == "x86_64") {
    std::string isa = __builtin_cpu_supports("avx512f") ? "AVX512" : __builtin_cpu_supports("avx2") ? "AVX2" : "";
    if (isa == "AVX512" && __builtin_cpu_supports("avx512vnni"))
      isa += __builtin_cpu_supports("amx-tile") ? " AVX512_VNNI AMX_TILE" : " AVX512_VNNI";
    metadata.emplace("AOTI_CPU_ISA", isa);
  }
#endif
  return metadata;
}

ModelPackageLoader::ModelPackageLoader(const std::string& path, const LoaderOptions& options)
    : path_(path), model_([&] {
        if (options.run_single_threaded)
          INGOT_REQUIRE(options.num_runners == 1, "num_runners must be 1 when run_single_threaded is true");
        else INGOT_REQUIRE(options.num_runners >= 1, "num_runners must be >=1 when run_single_threaded is false");
        return unpack_model(path, options.model_name, [&](const std::string& metadata) {
          metadata_ = parse_metadata(metadata, path);
          return device_key(metadata_, path) != "cpu";  // code of the CPU has no files of its own
        });
      }()) {
  const std::string& device = device_key(metadata_, path);
  const auto factory = runner_registry().find(device);
  INGOT_REQUIRE(factory != runner_registry().end(), "Unsupported device key found: ", device);
  warn_of_differences(metadata_);
  RunnerOptions runner;
  runner.num_models = options.num_runners;
  runner.device = options.device_index < 0 ? device : text(device, ":", options.device_index);
  if (model_.folder) runner.cubin_dir = model_.folder->path();
  runner.beside = model_.beside;
  runner.operators = model_.operators;
  runner.run_single_threaded = options.run_single_threaded;
  runner.words = options.words;
  runner_ = factory->second(model_.library, runner);
  if (const ModelPackageLoader* other = options.share_weights_with) {
    INGOT_REQUIRE(std::filesystem::equivalent(path, other->path_), path, ": the loader to share weights with is one of ",
                  other->path_, "; models of one package share weights");
    weights_.share(other->weights_);
  }
  weights_.give(model_, runner_->session().container(), [](const ListedWeight& w) {
    return new_handle(
        Tensor(make_ref<TensorImpl>(w.storage, Geometry{Shape(w.sizes), Shape(w.strides), Int(w.offset), w.dtype})));
  });
}

std::vector<std::string> ModelPackageLoader::constant_fqns() const {
  std::vector<std::string> fqns;
  for (const auto& [name, fqn] : runner_->constant_names_to_fqns()) fqns.push_back(fqn);
  return fqns;
}

PackageMetadata ModelPackageLoader::load_metadata_from_package(const std::string& path, const std::string& model_name) {
  PackageMetadata metadata = parse_metadata(read_model_metadata(path, model_name), path);
  device_key(metadata, path);
  return metadata;
}

}  // namespace ingot
