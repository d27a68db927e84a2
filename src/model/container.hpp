// Several interchangeable models over one set of constants, for callers from many threads.
//
// A run, and whatever touches the inactive constants alone, passes the gate with others; what
// changes the active constants passes it alone. So a run sees the constants from before a change or
// from after it, never a mixture. Locks are taken in this order: gate, updates, written, pool.
#pragma once
#include "base/fork_mark.hpp"
#include "ingot/model.h"
#include "model/constant_map.hpp"
#include "model/model.hpp"

namespace ingot::model {

// What an update does with a tensor that it is given. `elements` is that of Ingot's own updates, of
// which several add up; the others are PyTorch's, where buffers and tensor constants that an update
// of the inactive set leaves out are each time what the active one has (I058).
enum class Give {
  storage,  // its whole storage must fit the constant's place (I057); copied
  elements,  // copied, wherever they lie
  in_place,  // used where it is: the user's to keep (I061)
};

// Whether a container begins with the weights of its library.
enum class LibraryWeights { used, ignored };

class Container {
 public:
  Container() = default;
  ~Container();
  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;

  bool make(size_t model_count, const char* device, LibraryWeights weights = LibraryWeights::used);
  // Not where the process was forked while another thread was in a call for the container: then all
  // that is left to do is to let it lie. A failure with its text; costs a load.
  bool is_usable() {
    return fork_mark_.is_sound([this] { return is_idle(); }) || fail_after_fork();
  }
  bool uses_library_weights() const { return uses_library_weights_; }

  // Runs the entry of that place among the program's, on a stream of its device. The input handles
  // stay the caller's, the output handles become it (null after a failure). `places` as Model::run.
  bool run(size_t entry, const AtenTensorHandle* inputs, size_t input_count, AtenTensorHandle* outputs, size_t output_count,
           void* stream, const ingot_tensor_info* places = nullptr);
  // The first one, without locks.
  bool run_single_threaded(const AtenTensorHandle* inputs, size_t input_count, AtenTensorHandle* outputs, size_t output_count,
                           void* stream);

  // Given: a handle or null for each constant.
  bool update(const Array<AtenTensorHandle>& given, bool use_inactive, bool must_be_full, Give give);
  bool update_pairs(const AOTInductorConstantMapEntry* pairs, size_t count, bool use_inactive, bool must_be_full, Give give);
  bool update_from_blob(const uint8_t* blob);
  bool extract(ConstantMap map, bool use_inactive);
  bool extract_one(const char* name, bool use_inactive, AtenTensorHandle* result);  // by internal name; borrowed
  bool fold(bool use_inactive, void* stream);
  bool swap();
  bool free_inactive();
  bool memory(int32_t kind, uint64_t* bytes);  // of an ingot_memory_kind

  Engine& engine() { return engine_; }

 private:
  bool separate(uint32_t k);
  bool is_idle();
  bool fail_after_fork();
  ConstantBuffer& buffer(bool inactive) { return buffers_[inactive ? 1 - active_ : active_]; }
  bool fold_active_and_stay(void* stream);
  bool apply(const Array<AtenTensorHandle>& given, bool use_inactive, bool must_be_full, Give give);
  Model& take_model();
  void give_back(Model& model);

  ForkMark fork_mark_;
  Engine engine_;
  Weights weights_;  // before the buffers, which may refer to it
  bool uses_library_weights_ = true;

  Gate gate_;
  Mutex updates_;  // of the inactive buffer
  // Runs that have to do with constants that runs write come one at a time: each must find what the
  // one before it has left.
  Mutex written_;
  LastStream written_stream_;  // with it
  ConstantBuffer buffers_[2];
  int active_ = 0;
  bool was_active_ = false;  // the inactive one, since its last update

  // A model is in use, or available. On the CPU it is finished when its call returns; on another
  // device its stream may still be at work, which the next run comes after.
  Mutex pool_;
  Condition returned_;
  Array<Model*> available_;
  size_t available_count_ = 0;
  Array<Model*> models_;
};

// Is there such an entry, and are the handles as many as it has?
bool check_counts(size_t entry, const AtenTensorHandle* inputs, size_t input_count, const AtenTensorHandle* outputs,
                  size_t output_count);

// `(cpu|cuda|xpu|mps)(:index)?`, and then the device that the library was compiled for.
bool check_device(const char* device, int32_t* index);

}  // namespace ingot::model
