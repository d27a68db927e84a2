// Compiled models in C++: ingot/ingot.h with destructors and exceptions. It needs the C interface
// alone: libingot_runtime.so (pkg-config ingot, ingot::runtime), or libingot.so, which has it too.
//
//   ingot::Session model("model.so");
//   std::vector<ingot::OwnedTensor> y = model.run({&x});            // x: a DLTensor
//   const float* first = static_cast<const float*>(y[0]->data);
//
// With tensors of ingot/tensor.hpp, by ingot/io.hpp and without a copy:
//
//   ingot::OwnedTensor in(to_dlpack_versioned(x));
//   Tensor out = from_dlpack(model.run({in.get()})[0].release());
//
// What fails throws: UserError for the caller, the file and the machine, InternalError for a defect
// of Ingot. A session is moved, not copied. Several threads may run one; opening it with
// `models` > 1 lets them run at the same time. C++17.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ingot/error.hpp"
#include "ingot/ingot.h"

namespace ingot {

// Throws what a status of the C interface says.
inline void check_status(ingot_status status) {
  if (status == INGOT_INVALID) throw UserError(ingot_error());
  if (status != INGOT_OK) throw InternalError(ingot_error());
}

// A tensor that somebody handed over, whose deleter runs with the value.
class OwnedTensor {
 public:
  OwnedTensor() = default;
  explicit OwnedTensor(DLManagedTensorVersioned* t) noexcept : t_(t) {}
  OwnedTensor(OwnedTensor&& o) noexcept : t_(std::exchange(o.t_, nullptr)) {}
  OwnedTensor& operator=(OwnedTensor&& o) noexcept {
    std::swap(t_, o.t_);
    return *this;
  }
  ~OwnedTensor() {
    if (t_ && t_->deleter) t_->deleter(t_);
  }

  explicit operator bool() const noexcept { return t_ != nullptr; }  // an output that is none has no tensor
  [[nodiscard]] const DLTensor* get() const noexcept { return t_ ? &t_->dl_tensor : nullptr; }
  const DLTensor* operator->() const noexcept { return &t_->dl_tensor; }
  const DLTensor& operator*() const noexcept { return t_->dl_tensor; }
  // The caller's from now on.
  [[nodiscard]] DLManagedTensorVersioned* release() noexcept { return std::exchange(t_, nullptr); }

 private:
  DLManagedTensorVersioned* t_ = nullptr;
};

class Session {
 public:
  // A library (.so) or a package (.pt2).
  explicit Session(const std::string& path, const ingot_options& options = INGOT_OPTIONS_INIT) {
    check_status(ingot_session_open(path.c_str(), &options, &session_));
  }
  Session(Session&& o) noexcept : session_(std::exchange(o.session_, nullptr)) {}
  Session& operator=(Session&& o) noexcept {
    std::swap(session_, o.session_);
    return *this;
  }
  ~Session() { ingot_session_close(session_); }

  // A session for another entry point, over the same weights.
  [[nodiscard]] Session entry(const std::string& name) const {
    ingot_session* entry = nullptr;
    check_status(ingot_session_open_entry(session_, name.c_str(), &entry));
    return Session(entry);
  }
  [[nodiscard]] std::vector<std::string> entries() const {
    std::vector<std::string> names(ingot_session_entry_count(session_));
    for (std::size_t k = 0; k < names.size(); k++) {
      const char* name = nullptr;
      check_status(ingot_session_entry_name(session_, k, &name));
      names[k] = name;
    }
    return names;
  }

  // What it takes and returns; names and sizes live as long as the session.
  [[nodiscard]] std::vector<ingot_value> inputs() const {
    return values(ingot_session_input_count(session_), ingot_session_input);
  }
  [[nodiscard]] std::vector<ingot_value> outputs() const {
    return values(ingot_session_output_count(session_), ingot_session_output);
  }
  // What the library says about itself under the key; UserError where there is no such key.
  [[nodiscard]] std::string metadata(const std::string& key) const {
    const char* value = nullptr;
    check_status(ingot_session_find_metadata(session_, key.c_str(), &value));
    return value;
  }

  // Inputs are borrowed; outputs are in new memory.
  [[nodiscard]] std::vector<OwnedTensor> run(const std::vector<const DLTensor*>& inputs) {
    std::vector<DLManagedTensorVersioned*> outputs(ingot_session_output_count(session_));
    std::vector<OwnedTensor> owned;
    owned.reserve(outputs.size());  // nothing fails once there are outputs
    check_status(ingot_session_run(session_, inputs.data(), inputs.size(), outputs.data(), outputs.size()));
    for (DLManagedTensorVersioned* t : outputs) owned.emplace_back(t);
    return owned;
  }
  // The outputs are in memory of the caller, with the sizes and types of the results. The run
  // writes there itself where it can, as ingot_session_run_into says, and else they are copied; a
  // run that fails may have written there.
  void run_into(const std::vector<const DLTensor*>& inputs, const std::vector<DLTensor*>& outputs) {
    check_status(ingot_session_run_into(session_, inputs.data(), inputs.size(), outputs.data(), outputs.size()));
  }

  void set_threads(int32_t threads) { check_status(ingot_session_set_threads(session_, threads)); }
  void set_seed(uint64_t seed) { check_status(ingot_session_set_seed(session_, seed)); }

  // A copy of a constant.
  [[nodiscard]] OwnedTensor constant(const std::string& name) {
    DLManagedTensorVersioned* tensor = nullptr;
    check_status(ingot_session_get_constant(session_, name.c_str(), false, &tensor));
    return OwnedTensor(tensor);
  }
  // New values for constants, copied into the inactive set; the others keep what they have unless
  // `full`, which wants every parameter. swap() makes the set the active one.
  void update(const std::vector<ingot_named_tensor>& tensors, bool full = false) {
    check_status(ingot_session_update(session_, tensors.data(), tensors.size(), true, full));
  }
  void swap() { check_status(ingot_session_swap(session_)); }

  // For the rest of ingot/ingot.h; it stays the session's.
  [[nodiscard]] ingot_session* get() const noexcept { return session_; }

 private:
  explicit Session(ingot_session* session) : session_(session) {}

  template <class Describe>
  std::vector<ingot_value> values(std::size_t count, Describe describe) const {
    std::vector<ingot_value> all(count);
    for (std::size_t k = 0; k < count; k++) check_status(describe(session_, k, &all[k]));
    return all;
  }

  ingot_session* session_ = nullptr;
};

}  // namespace ingot
