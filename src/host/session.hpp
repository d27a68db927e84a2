// What ingot/ingot.h calls a session: one entry point of a model that is loaded.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/handles.hpp"
#include "host/library_entry.hpp"
#include "host/loaded_model.hpp"

namespace ingot {

class Session {
 public:
  // The first entry point.
  Session(const std::string& path, const ingot_options& options);
  // Another one of a model that others use as well. User error where it has none of that name.
  Session(std::shared_ptr<LoadedModel> model, std::string_view entry);

  LoadedModel& model() const { return *model_; }
  std::shared_ptr<LoadedModel> share_model() const { return model_; }
  const ModelLibrary& library() const { return model_->library(); }

  const std::vector<std::string>& input_names() const { return input_names_; }
  const std::vector<std::string>& output_names() const { return output_names_; }
  // What else the library says. User error for one that is not Ingot's: `what` names what asked for it.
  LibraryEntry description(const char* what) const { return {library(), entry_, what}; }

  Handles run(std::span<const DLTensor* const> inputs) const;

 private:
  std::shared_ptr<LoadedModel> model_;
  std::size_t entry_ = 0;
  std::vector<std::string> input_names_, output_names_;

  void read_names();
  void read_names_of_first();
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
