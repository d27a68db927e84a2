// A model library that is loaded into this process, and its functions.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "ingot/aoti.h"
#include "ingot/model.h"

namespace ingot {

// Without these a library is no model (I095).
// clang-format off
#define INGOT_REQUIRED_MODEL_FUNCTIONS(X)                                                                               \
  X(AOTInductorModelContainerCreateWithDevice) X(AOTInductorModelContainerDelete) X(AOTInductorModelContainerGetNumOutputs) \
  X(AOTInductorModelContainerRun) X(AOTInductorModelContainerGetNumConstants) X(AOTInductorModelContainerGetConstantName)   \
  X(AOTInductorModelContainerGetConstantOriginalFQN) X(AOTInductorModelContainerGetConstantDtype)                           \
  X(AOTInductorModelContainerUpdateConstantBuffer) X(AOTInductorModelContainerUpdateInactiveConstantBuffer)                 \
  X(AOTInductorModelContainerRunConstantFolding) X(AOTInductorModelContainerSwapConstantBuffer)                             \
  X(AOTInductorModelContainerGetCallSpec)

// Libraries of older compilers lack some of these; they fail when they are used.
#define INGOT_OPTIONAL_MODEL_FUNCTIONS(X)                                                                               \
  X(AOTInductorModelContainerRunSingleThreaded) X(AOTInductorModelContainerFreeInactiveConstantBuffer)                  \
  X(AOTInductorModelContainerExtractConstantsMap) X(AOTInductorModelContainerUpdateUserManagedConstantBuffer)           \
  X(AOTInductorModelContainerGetConstantsBlobSize) X(AOTInductorModelUpdateConstantsFromBlob)

// Those that are not there are done without, and nobody is told. A library without the functions of
// entry points has one.
#define INGOT_QUIET_MODEL_FUNCTIONS(X)                                                                                  \
  X(AOTInductorGetLastError) X(AOTInductorModelContainerGetNumInputs) X(AOTInductorModelContainerGetInputName)          \
  X(AOTInductorModelContainerGetOutputName) X(ingot_model_entry_count) X(ingot_model_entry)                             \
  X(ingot_model_find_entry) X(ingot_entry_input) X(ingot_entry_output) X(ingot_entry_symbol) X(ingot_entry_guard)       \
  X(ingot_container_run_entry) X(ingot_model_set_weights_file) X(ingot_model_constant_sizes)                  \
  X(ingot_entry_symbol_values) X(ingot_print_errors) X(ingot_model_set_log)         \
  X(ingot_container_set_pool) X(ingot_container_memory) X(ingot_container_run_into)

// What only Ingot's own libraries have: all of them or none.
#define INGOT_OWN_MODEL_FUNCTIONS(X)                                                                                    \
  X(ingot_last_error) X(ingot_model_name) X(ingot_model_input_count) X(ingot_model_output_count)                        \
  X(ingot_model_symbol_count) X(ingot_model_guard_count) X(ingot_model_metadata_count) X(ingot_model_level_count)       \
  X(ingot_model_input) X(ingot_model_output) X(ingot_model_symbol) X(ingot_model_guard) X(ingot_model_metadata)         \
  X(ingot_model_level) X(ingot_model_level_used) X(ingot_model_weights_file) X(ingot_container_set_threads)             \
  X(ingot_container_get_threads) X(ingot_container_set_draw) X(ingot_container_get_draw) X(ingot_container_update)      \
  X(ingot_container_constant) X(ingot_tensor_from_memory) X(ingot_tensor_describe) X(ingot_tensor_delete)               \
  X(ingot_tensor_is_own) X(AOTInductorModelContainerGetConstantType) X(AOTInductorModelContainerGetConstantFromFolded)      \
  X(AOTInductorModelContainerGetConstantDataSize)
// clang-format on

// Loads a library that defines operators by PyTorch's stable interface, for the rest of the
// process: models that are opened later may call them. User error with the loader's text.
void load_operators(const std::string& path);

class ModelLibrary {
 public:
  // User error with the loader's text for a file that cannot be loaded or is no model. `is_quiet`:
  // says nothing about optional functions that are missing, and what the library itself says does
  // not go to stderr (base/log.hpp).
  static std::shared_ptr<const ModelLibrary> load(const std::string& path, bool is_quiet = false);
  ~ModelLibrary();
  ModelLibrary(const ModelLibrary&) = delete;
  ModelLibrary& operator=(const ModelLibrary&) = delete;

  const std::string& path() const { return path_; }
  bool is_own() const { return is_own_; }  // made by Ingot
  // User error unless it is: `what` names what asked for it.
  void require_own(const char* what) const;
  // Before its first container: paths of files, by the names under which it looks for them beside
  // itself.
  void find_beside(const std::map<std::string, std::string>& paths) const;
  // Why the last call failed; "" where the library cannot say. What it can say it does not print:
  // whoever asks does.
  std::string last_error() const;

  // Of a library that is not ours, ingot_tensor_from_memory, _describe and _delete are those of the
  // process's host.
#define INGOT_MODEL_FUNCTION(name) decltype(&::name) name = nullptr;
  INGOT_REQUIRED_MODEL_FUNCTIONS(INGOT_MODEL_FUNCTION)
  INGOT_OPTIONAL_MODEL_FUNCTIONS(INGOT_MODEL_FUNCTION)
  INGOT_OWN_MODEL_FUNCTIONS(INGOT_MODEL_FUNCTION)
  INGOT_QUIET_MODEL_FUNCTIONS(INGOT_MODEL_FUNCTION)
#undef INGOT_MODEL_FUNCTION

 private:
  ModelLibrary(const std::string& path, bool is_quiet);
  std::string path_;
  void* handle_ = nullptr;
  bool is_own_ = false;
};

}  // namespace ingot
