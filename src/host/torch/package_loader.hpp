// Loads one model of a package (I108 to I113).
#pragma once
#include "host/torch/model_container_runner.hpp"
#include "host/package.hpp"
#include "host/package_weights.hpp"

namespace ingot {

struct LoaderOptions {
  std::string model_name = "model";  // as PyTorch's; empty: as unpack_model chooses
  bool run_single_threaded = false;
  std::size_t num_runners = 1;
  int device_index = -1;  // -1: the device's default
  // A loader of another model of the same package: storages that both models have weights in are
  // read once, and the models look at the same bytes, also after the other loader is gone.
  const class ModelPackageLoader* share_weights_with = nullptr;
  const FailureWords* words = nullptr;  // as RunnerOptions has them
};

using PackageMetadata = std::map<std::string, std::string>;

class ModelPackageLoader {
 public:
  // User error for a package or a model that cannot be loaded, in the words of I105 to I113.
  explicit ModelPackageLoader(const std::string& path, const LoaderOptions& options = {});

  TensorList run(const TensorList& inputs, AOTInductorStreamHandle stream = nullptr) { return runner_->run(inputs, stream); }
  TensorList boxed_run(TensorList&& inputs, AOTInductorStreamHandle stream = nullptr) {
    return runner_->boxed_run(std::move(inputs), stream);
  }
  std::pair<std::string, std::string> call_spec() const { return runner_->call_spec(); }
  const PackageMetadata& metadata() const { return metadata_; }
  ModelContainerRunner& runner() { return *runner_; }

  std::vector<std::string> constant_fqns() const;
  // Keys are original names; user error for one that the model does not have.
  void load_constants(const ConstantMap& by_fqn, bool use_inactive, bool check_full_update, bool user_managed = false) {
    runner_->load_constants(by_fqn, use_inactive, check_full_update, user_managed);
  }
  // Keys are internal names.
  void update_constant_buffer(const ConstantMap& by_name, bool use_inactive, bool check_full_update, bool user_managed = false) {
    runner_->update_constant_buffer(by_name, use_inactive, check_full_update, user_managed);
  }

  static PackageMetadata load_metadata_from_package(const std::string& path, const std::string& model_name);

 private:
  std::string path_;  // of the package
  PackageMetadata metadata_;
  UnpackedModel model_;
  PackageWeights weights_;
  std::unique_ptr<ModelContainerRunner> runner_;  // after the files it is loaded from, so that it goes first
};

// What PyTorch writes into packages about the machine they are for: platform, machine, instructions
// ("ASIMD", "AVX2"; those of this machine, left out for another one), compute capability (of a
// GPU), device.
PackageMetadata machine_metadata(const std::string& device, const std::string& machine);

}  // namespace ingot
