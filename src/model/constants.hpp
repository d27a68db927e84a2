// One of a container's two sets of constants: where the elements of each are, and how far they have
// come.
#pragma once
#include "ingot/aoti.h"
#include "model/device.hpp"
#include "model/folded.hpp"
#include "model/host.hpp"
#include "model/memory.hpp"
#include "model/program.h"
#include "model/weights.hpp"

namespace ingot::model {

enum class ConstantState { NONE, INITIALIZED, FOLDED };
const char* to_text(ConstantState state);

// The constant of that internal name, or -1.
int64_t find_constant(const char* name);

// Whether the library's weights are mapped from a file, its own or another (I067).
inline bool has_mapped_weights() {
  return ingot_the_program.weights == INGOT_WEIGHTS_EXTERNAL || ingot_the_program.weights == INGOT_WEIGHTS_APPENDED;
}
inline uint32_t stored_constant_count() { return ingot_the_program.constant_count - ingot_the_program.folded_count; }

// The constant whose storage constant k lies in: k itself where it shares none.
inline uint32_t owner_of(uint32_t k) {
  const uint32_t shares = ingot_the_program.constants[k].shares;
  return shares ? shares - 1 : k;
}
// Whether two constants are the same elements.
bool are_alike(uint32_t a, uint32_t b);

// Own elements are in one block, a constant at a multiple of 64 bytes, in the order of the table. A
// constant that is still as it came is where the library or its file has it, but one that runs
// write is in the block from the beginning: others may have the library's bytes too, and a file's
// are forgotten after foldings. A user's is where the user has it. Constants of one storage are
// always in one place: what is done to one of them is done to all that are alike, and is seen in
// the others. On a device that is not the CPU the library's constants are copied into the block,
// and are given to it as they lie there. What is folded from the library's own constants is that of
// all containers (folded.hpp).
class ConstantBuffer {
 public:
  ConstantBuffer() = default;
  ~ConstantBuffer() { clear(); }
  ConstantBuffer(const ConstantBuffer&) = delete;
  ConstantBuffer& operator=(const ConstantBuffer&) = delete;

  bool make(const Device& device);

  // All below return false after a failure, having changed nothing.
  bool load(const Weights& weights);
  bool load_blob(const uint8_t* blob);  // in table order without gaps
  bool check(uint32_t k, AtenTensorHandle tensor,
             bool in_place) const;  // could it be constant k? (in place: laid out as compiled)
  bool check_storage(uint32_t k, AtenTensorHandle tensor) const;  // does its whole storage fit the place of constant k?
  bool copy_tensor(uint32_t k, AtenTensorHandle tensor);
  bool copy_constant(uint32_t k, const ConstantBuffer& other);
  // The value that another buffer has, whatever becomes of that one: in the same place where nobody
  // will change it there but the user, else copied.
  bool begin_as(uint32_t k, ConstantBuffer& other);
  // Whether it is where the other buffer has it, by begin_as, and not in memory of the user.
  bool is_in_place_of(uint32_t k, const ConstantBuffer& other) const;
  void refer_to(uint32_t k, AtenTensorHandle tensor);  // takes the handle; laid out as compiled
  // The tensor of constant k, which is this buffer's; null where it has no value, or after a
  // failure.
  AtenTensorHandle tensor(uint32_t k);

  // After changes; what was folded before is of no use.
  void now_initialized();
  void take_folded(Folded* folded);  // the use is the buffer's then; state FOLDED
  void clear();  // releases everything; state NONE

  // Are all that a folding may read where the library or its file has them? Who has a tensor over
  // them may have written there (Weights::is_lent).
  bool is_as_loaded() const { return is_as_loaded_; }
  // Bytes that it has memory for: of stored constants, and of folded ones.
  uint64_t own_bytes() const;
  const Folded* folded() const { return folded_; }

  bool is_alone(uint32_t k) const;  // whether its storage is nobody else's, or of constants that are alike
  bool has(uint32_t k) const { return present_[k]; }
  int64_t first_missing() const;  // of the stored constants, or -1
  void* const* elements() const { return elements_.data(); }

  ConstantState state = ConstantState::NONE;

 private:
  // Where a storage is: it has no value, or no bytes; among the library's weights; in the block; in
  // the user's tensor.
  enum class Place : uint8_t { nowhere, library, block, user };

  char* slot(uint32_t k);  // null after a failure
  void place(uint32_t k, char* storage, Place where);  // of an owner: all that lie in its storage move along
  char* own_storage(uint32_t k);  // its place in the block, where the owner's elements are from now on; null after a failure
  void now_present(uint32_t k);  // and those that are alike
  bool copy_view(uint32_t k, const void* data, const int64_t* strides, int32_t way);
  void forget_tensor(uint32_t k);
  void drop_folded();

  Array<void*> elements_;  // of every constant: the first element
  Array<uint8_t> present_;
  Array<AtenTensorHandle> tensors_;  // made when asked for, or the user's
  Array<Place> places_;  // of owners
  Folded* folded_ = nullptr;
  Array<uint64_t> slots_;  // where each begins in the block, and at last where it ends
  bool any_shares_ = false;  // any two constants, a storage
  bool is_as_loaded_ = false;
  const Weights* weights_ = nullptr;  // of the container, where anything is in them
  Device device_;
  Pages block_;  // of the CPU
  char* device_block_ = nullptr;  // of another device
};

}  // namespace ingot::model
