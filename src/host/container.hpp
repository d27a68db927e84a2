// A container of a model library: models over one set of constants. It is worked with through the
// library's functions and over handles, so that it does not matter whose tensors the process has.
// Sessions share one; adapters say what their users hear.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "host/handles.hpp"
#include "host/library.hpp"

namespace ingot {

// The line of an adapter that asks for a call of the library.
using CallSite = std::source_location;

// How an adapter tells its users what went wrong.
struct FailureWords {
  // A call of the library failed: its text, and where it was asked for.
  std::string (*failed)(const ModelLibrary& library, const char* call, const CallSite& from);
  // The library has no such function, which came later; `action` is what PyTorch's runner calls
  // what it does.
  std::string (*missing)(const char* function, const char* action);
  // A container could not be deleted, and nobody is left to catch an exception.
  void (*not_deleted)();
};
// The library's own text and nothing else: for who does not know our functions by name.
extern const FailureWords kPlainWords;

struct ContainerOptions {
  std::size_t models = 1;  // runs at the same time
  std::string device = "cpu";
  std::string cubin_dir = {};  // empty: none
  // Whose threads run it; null: those of the process. Libraries of before
  // ingot_container_set_pool have threads of their own.
  const ingot_thread_pool* pool = nullptr;
  // Runs operators that the library has no code for; may be null.
  std::shared_ptr<std::remove_pointer_t<AOTIProxyExecutorHandle>> proxy = {};
};

class ModelContainer {
 public:
  // Every failure, here and below, is a user error in these words.
  ModelContainer(std::shared_ptr<const ModelLibrary> loaded, const ContainerOptions& options, const FailureWords& words,
                 CallSite from = CallSite::current());
  ~ModelContainer();
  ModelContainer(const ModelContainer&) = delete;
  ModelContainer& operator=(const ModelContainer&) = delete;

  const ModelLibrary& library() const { return *library_; }
  // Keeps the library loaded as long as somebody holds it: tensors outlive containers.
  std::shared_ptr<const ModelLibrary> share_library() const { return library_; }
  AOTInductorModelContainerHandle handle() const { return container_; }
  AOTIProxyExecutorHandle proxy() const { return proxy_.get(); }

  struct Constant {
    std::string name, fqn;  // in the library, in the exported program
    int32_t dtype = 0;
    int32_t kind = 0;  // as I018 numbers them; 0 also where the library does not say
    bool is_folded = false;  // computed from others: nobody sets it
    std::size_t bytes = 0;  // 0 also where the library does not say
  };
  std::vector<Constant> constants(CallSite from = CallSite::current()) const;

  // Constants by their names in the library, which ignores those that it does not know. The handles
  // stay the caller's.
  using Pairs = std::span<const AOTInductorConstantMapEntry>;
  enum class Give {
    elements,  // copies what the tensors show; of a library that is not ours, as the next one
    storages,  // copies the storages that they lie in
    in_place   // the storages themselves are used, and stay the caller's to keep alive
  };
  void update(Pairs pairs, Give give, bool inactive, bool full, CallSite from = CallSite::current());
  // All parameters of the inactive buffer, copied as storages.
  void update_inactive(Pairs pairs, CallSite from = CallSite::current());
  // All constants from a file that holds them in order without gaps.
  void update_from_blob(const std::string& path, CallSite from = CallSite::current());
  void fold(bool inactive, AOTInductorStreamHandle stream = nullptr, CallSite from = CallSite::current());
  void swap(CallSite from = CallSite::current());
  void free_inactive(CallSite from = CallSite::current());
  // The container's own tensors, by names in the exported program, until the next update of that
  // buffer.
  HandleMap extract(bool inactive, CallSite from = CallSite::current()) const;
  // One of them; null where it has no value in that buffer.
  AtenTensorHandle extract_one(const Constant& constant, bool inactive, CallSite from = CallSite::current()) const;

  // Of a library that Ingot made.
  void set_threads(int32_t count, CallSite from = CallSite::current());
  void set_seed(uint64_t seed, CallSite from = CallSite::current());
  uint64_t memory(ingot_memory_kind kind, CallSite from = CallSite::current()) const;

  // Unless the call went well, or the function is there.
  void require(AOTIRuntimeError error, const char* call, CallSite from = CallSite::current()) const;
  void require_function(bool is_there, const char* function, const char* action) const;

 private:
  std::shared_ptr<const ModelLibrary> library_;
  std::shared_ptr<std::remove_pointer_t<AOTIProxyExecutorHandle>> proxy_;
  FailureWords words_;
  AOTInductorModelContainerHandle container_ = nullptr;
};

// For functions that have `from`, of classes that have library() and require(): the call, with its
// text for the message.
#define INGOT_MODEL_CALL(function, ...) require(library().function(__VA_ARGS__), #function "(" #__VA_ARGS__ ")", from)
#define INGOT_NEED_FUNCTION(function, action) require_function(library().function != nullptr, #function, action)

}  // namespace ingot
