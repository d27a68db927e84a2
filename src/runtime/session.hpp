// What ingot/ingot.h calls a session: a container of a model library, worked with through the library's own functions, so
// that it does not matter whose tensors the process has.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ingot/ingot.h"
#include "runtime/library.hpp"
#include "runtime/package.hpp"

namespace ingot {

class Session {
 public:
  Session(const std::string& path, const ingot_options& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const ModelLibrary& library() const { return *library_; }
  const std::vector<std::string>& input_names() const { return input_names_; }
  const std::vector<std::string>& output_names() const { return output_names_; }
  AOTInductorModelContainerHandle container() const { return container_; }

  // Handles of the outputs, which are the caller's.
  std::vector<AtenTensorHandle> run(std::span<const DLTensor* const> inputs);
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
  // Keeps the library loaded as long as somebody holds it: tensors outlive sessions.
  std::shared_ptr<const ModelLibrary> share_library() const { return library_; }

 private:
  std::optional<UnpackedModel> package_;
  std::shared_ptr<const ModelLibrary> library_;
  AOTInductorModelContainerHandle container_ = nullptr;
  std::vector<std::unique_ptr<Constant>> constants_;
  std::vector<std::string> input_names_, output_names_;
  AOTIProxyExecutorHandle proxy_ = nullptr;  // of a library that is not ours: operators that it has no code for

  void open_proxy();
  void close();
  void read_names();
  void read_constants();
  const Constant& constant_called(const std::string& fqn) const;
};

// A handle over the caller's memory; `what` starts messages about it. User error for a tensor that models do not take.
AtenTensorHandle handle_over(const ModelLibrary& library, const DLTensor* t, const std::string& what);
// The tensor of a handle, which it takes over, as DLPack has it.
DLManagedTensorVersioned* managed_tensor(std::shared_ptr<const ModelLibrary> library, AtenTensorHandle handle);
// A copy of the elements of a tensor in new memory, dense and row-major.
DLManagedTensorVersioned* managed_copy(const ingot_tensor_info& t);
// Copies elements into the caller's memory. User error for other sizes or another element type.
void copy_into(const ingot_tensor_info& from, const DLTensor* to, const std::string& what);

}  // namespace ingot
