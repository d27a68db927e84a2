// A model library with a container of its own, worked with through the library's own functions, so that it does not matter whose
// tensors the process has. Sessions share one.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ingot/ingot.h"
#include "host/library.hpp"
#include "host/package.hpp"

namespace ingot {

class LoadedModel {
 public:
  LoadedModel(const std::string& path, const ingot_options& options);
  ~LoadedModel();
  LoadedModel(const LoadedModel&) = delete;
  LoadedModel& operator=(const LoadedModel&) = delete;

  const ModelLibrary& library() const { return *library_; }
  // Keeps the library loaded as long as somebody holds it: tensors outlive sessions.
  std::shared_ptr<const ModelLibrary> share_library() const { return library_; }
  AOTInductorModelContainerHandle container() const { return container_; }

  // The names of the functions that it has. A library that is not ours has one.
  const std::vector<std::string>& entries() const { return entries_; }
  // Takes the input handles, whether it goes well or not; those of the outputs are the caller's.
  std::vector<AtenTensorHandle> run(std::size_t entry, std::vector<AtenTensorHandle> inputs, std::size_t output_count);

  void update(std::span<const ingot_named_tensor> tensors, bool inactive, bool full);
  void fold(bool inactive);
  // The container's own tensor of a weight.
  AtenTensorHandle find_constant(const std::string& fqn, bool inactive) const;

  struct Constant {
    std::string name, fqn;
    ingot_constant_info info;  // refers to fqn
  };
  const std::vector<std::unique_ptr<Constant>>& constants() const { return constants_; }

  // User error with the library's text unless the call went well.
  void require(AOTIRuntimeError error) const;

 private:
  std::optional<UnpackedModel> package_;
  std::shared_ptr<const ModelLibrary> library_;
  AOTInductorModelContainerHandle container_ = nullptr;
  std::vector<std::unique_ptr<Constant>> constants_;
  std::vector<std::string> entries_;
  AOTIProxyExecutorHandle proxy_ = nullptr;  // of a library that is not ours: operators that it has no code for

  void open_proxy();
  void close();
  void read_constants();
  const Constant& constant_called(const std::string& fqn) const;
};

}  // namespace ingot
