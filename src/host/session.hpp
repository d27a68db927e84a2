// One entry point of a container, over handles.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/container.hpp"
#include "host/library_entry.hpp"

namespace ingot {

struct SessionRunOptions {
  AOTInductorStreamHandle stream = nullptr;  // null on the CPU
  // Memory of the caller for each output, as ingot_container_run_into, of a library that has it.
  const ingot_tensor_info* places = nullptr;
  bool single_threaded = false;  // without locks, the first entry point alone: no other call of the container is under way
};

// Not the Session of ingot/session.hpp, which is a program's, by way of the C interface.
//
// Of the first entry point PyTorch's functions say everything, whoever made the library; of others
// those of Ingot's libraries do.
class EntrySession {
 public:
  // `entry`: its name; empty: the first. User error where the library has none of that name.
  explicit EntrySession(std::shared_ptr<ModelContainer> container, std::string_view entry = {});

  ModelContainer& container() const { return *owner_; }
  const std::shared_ptr<ModelContainer>& share_container() const { return owner_; }
  const ModelLibrary& library() const { return owner_->library(); }

  std::string name() const;  // "": the library's first
  // As the library calls them; none where it does not say.
  std::optional<std::vector<std::string>> input_names(CallSite from = CallSite::current()) const;
  std::optional<std::vector<std::string>> output_names(CallSite from = CallSite::current()) const;
  // How arguments and results are nested, as JSON.
  std::pair<std::string, std::string> call_spec(CallSite from = CallSite::current()) const;
  // What else the library says. User error for one that is not Ingot's: `what` names what asked for
  // it.
  LibraryEntry description(const char* what) const { return {library(), entry_, what}; }

  // Each output is a handle of its own, or null where the model returns none.
  Handles run(Handles inputs, const SessionRunOptions& options = {}, CallSite from = CallSite::current()) const;

 private:
  std::shared_ptr<ModelContainer> owner_;
  AOTInductorModelContainerHandle container_;
  std::size_t entry_;

  std::size_t output_count(CallSite from) const;
  void require(AOTIRuntimeError error, const char* call, CallSite from) const { owner_->require(error, call, from); }
  void require_function(bool is_there, const char* function, const char* action) const {
    owner_->require_function(is_there, function, action);
  }
};

}  // namespace ingot
