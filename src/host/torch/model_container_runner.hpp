// Runs a model library (I095 to I104).
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/container.hpp"
#include "host/library.hpp"
#include "host/library_entry.hpp"
#include "host/session.hpp"
#include "ingot/tensor.hpp"

namespace ingot {

using ConstantMap = std::unordered_map<std::string, Tensor>;

struct RunnerOptions {
  std::size_t num_models = 1;  // runs at the same time
  std::string device = "cpu";
  std::string cubin_dir = {};  // empty: none
  bool run_single_threaded = false;
  std::string entry = {};  // which of the library's functions; empty: the first
  // Files of the library that do not lie beside it: by the names it knows them by, and the list of
  // operators that it has no code for. Empty: beside it.
  std::map<std::string, std::string> beside = {};
  std::string operators = {};
  const FailureWords* words = nullptr;  // what a failure of the library is said in; null: PyTorch's words
};

// A session of the host over our tensors. Every failure is a user error with the library's text.
// Operators without code in the library run by the file of its name with the ending .json, where
// there is one.
class ModelContainerRunner {
 public:
  explicit ModelContainerRunner(const std::string& path, const RunnerOptions& options = {});
  // One more container of a library that is loaded.
  explicit ModelContainerRunner(std::shared_ptr<const ModelLibrary> library, const RunnerOptions& options = {});
  // Another function of the library over the same container: its constants, threads and random
  // numbers.
  ModelContainerRunner(const ModelContainerRunner& other, const std::string& entry);
  ModelContainerRunner(const ModelContainerRunner&) = delete;
  ModelContainerRunner& operator=(const ModelContainerRunner&) = delete;

  // The outputs may be undefined where the model returns none. Inputs that the model writes have
  // their new values.
  TensorList run(const TensorList& inputs, AOTInductorStreamHandle stream = nullptr);
  // The same; the list is emptied first, so that inputs can be freed during the run.
  TensorList boxed_run(TensorList&& inputs, AOTInductorStreamHandle stream = nullptr);

  std::map<std::string, std::string> constant_names_to_fqns() const;
  std::map<std::string, int32_t> constant_names_to_dtypes() const;
  // Keys are internal names. `user_managed`: the tensors themselves are used, and stay the caller's
  // to keep alive.
  void update_constant_buffer(const ConstantMap& constants, bool use_inactive, bool check_full_update, bool user_managed = false);
  // The same by original names; user error for one that the model does not have.
  void load_constants(const ConstantMap& by_fqn, bool use_inactive, bool check_full_update, bool user_managed = false);
  void update_inactive_constant_buffer(const ConstantMap& constants);
  void update_constant_buffer_from_blob(const std::string& weights_path);
  void run_const_fold(bool use_inactive, AOTInductorStreamHandle stream = nullptr);
  void swap_constant_buffer();
  void free_inactive_constant_buffer();
  // By original name; over the container's own memory, until the next update of that buffer.
  ConstantMap extract_constants_map(bool use_inactive) const;
  std::pair<std::string, std::string> call_spec() const;  // of inputs, of outputs

  // As the library calls them.
  std::vector<std::string> input_names() const;
  std::vector<std::string> output_names() const;

  void set_threads(int count);
  const EntrySession& session() const { return session_; }
  const ModelLibrary& library() const { return session_.library(); }
  // What the library says about the function. User error for one that is not Ingot's: `what` names
  // what asked for it.
  LibraryEntry description(const char* what) const { return session_.description(what); }
  std::string entry_name() const { return session_.name(); }  // "": the library's first
  AOTInductorModelContainerHandle container() const { return session_.container().handle(); }

 private:
  EntrySession session_;
  bool run_single_threaded_ = false;

  TensorList run_owned(Handles inputs, AOTInductorStreamHandle stream);
};

// Makes the runner of a kind of device.
using RunnerFactory = std::function<std::unique_ptr<ModelContainerRunner>(const std::string& path, const RunnerOptions& options)>;
// By device name: "cpu" is there from the start. A further backend adds itself.
std::map<std::string, RunnerFactory>& runner_registry();

}  // namespace ingot
