// A model file that a user of ingot/ingot.h opened, a library or a package: its container, with
// what sessions over it point to.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/container.hpp"
#include "host/package.hpp"
#include "host/package_weights.hpp"
#include "ingot/ingot.h"

namespace ingot {

class LoadedModel {
 public:
  LoadedModel(const std::string& path, const ingot_options& options);
  LoadedModel(const LoadedModel&) = delete;
  LoadedModel& operator=(const LoadedModel&) = delete;

  ModelContainer& container() { return container_; }
  const ModelLibrary& library() const { return container_.library(); }

  // The names of the functions that it has. A library that is not ours has one.
  const std::vector<std::string>& entries() const { return entries_; }
  const std::vector<ingot_constant_info>& constants() const { return infos_; }
  // What the library says about itself; nothing of one that is not ours.
  struct Metadata {
    const char *key, *value;
  };
  const std::vector<Metadata>& metadata() const { return metadata_; }

  // By names in the exported program.
  void update(std::span<const ingot_named_tensor> tensors, bool inactive, bool full);
  // The container's own tensor of a weight.
  AtenTensorHandle find_constant(const std::string& fqn, bool inactive) const;

 private:
  std::shared_ptr<const UnpackedModel> package_;
  PackageWeights weights_;
  ModelContainer container_;
  std::vector<std::string> entries_;
  std::vector<ModelContainer::Constant> constants_;
  std::vector<ingot_constant_info> infos_;  // of each of them; refer to their names
  std::vector<Metadata> metadata_;

  const ModelContainer::Constant& constant_called(const std::string& fqn) const;
};

}  // namespace ingot
