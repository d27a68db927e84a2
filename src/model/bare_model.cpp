#include "model/bare_model.hpp"

namespace ingot::model {
namespace {

// Those that no constant has taken go when it ends.
class TakenMap {
 public:
  explicit TakenMap(ConstantMap map) {
    if (!handles_.make(ingot_the_program.constant_count)) is_well_ = false;
    map.for_each([&](const char* name, AtenTensorHandle handle) {
      const int64_t k = is_well_ ? find_constant(name) : -1;
      if (k >= 0) handles_[static_cast<size_t>(k)] = handle;
      else if (handle) host().delete_tensor_object(handle);
    });
  }
  ~TakenMap() {
    for (size_t k = 0; k < handles_.size(); k++) {
      if (handles_[k]) host().delete_tensor_object(handles_[k]);
    }
  }
  TakenMap(const TakenMap&) = delete;
  TakenMap& operator=(const TakenMap&) = delete;

  bool is_well() const { return is_well_; }
  AtenTensorHandle& operator[](uint32_t k) { return handles_[k]; }

 private:
  Array<AtenTensorHandle> handles_;
  bool is_well_ = true;
};

}  // namespace

bool BareModel::make(ConstantMap* constants) {
  const bool is_made = engine_.make() && constants_.make(engine_.device) && model_.make(engine_.device);
  if (constants) return update(*constants) && is_made;
  if (!is_made || !weights_.open(ingot_the_program) || !constants_.load(weights_)) return false;
  constants_.now_initialized();
  return true;
}

bool BareModel::update(ConstantMap map) {
  TakenMap given(map);
  if (!given.is_well()) return false;
  const uint32_t stored = stored_constant_count();
  for (uint32_t k = 0; k < stored; k++) {
    if (given[k] && !constants_.check(k, given[k], false)) return false;
  }
  constants_.clear();
  for (uint32_t k = 0; k < stored; k++) {
    if (!given[k]) continue;
    // The handle itself where its elements lie as the code expects them, else a copy.
    if (constants_.check(k, given[k], true)) {
      constants_.refer_to(k, given[k]);
      given[k] = nullptr;
    } else if (!constants_.copy_tensor(k, given[k])) {
      return false;
    }
  }
  constants_.now_initialized();
  return true;
}

bool BareModel::run(const AtenTensorHandle* inputs, AtenTensorHandle* outputs) {
  const NoGrad no_grad;
  if (constants_.state != ConstantState::FOLDED && !model_.fold(engine_, constants_, weights_, nullptr)) return false;
  return model_.run(engine_, 0, constants_, inputs, outputs, nullptr);
}

}  // namespace ingot::model
