// What a Tensor points to. Geometry is in elements; strides and offset are those of the storage.
#pragma once
#include <atomic>
#include <memory>

#include "ingot/geometry.hpp"
#include "ingot/tensor.hpp"
#include "tensor/storage.hpp"

namespace ingot {

// State a layer above the kernel keeps on a tensor. The layer's folder defines the class; the
// tensor only owns it.
struct LayerState {
  virtual ~LayerState() = default;
};
// What makes a tensor a batched, functional or wrapper tensor. A second handle to the value needs a
// copy of it.
struct SpecialState : LayerState {
  virtual std::unique_ptr<SpecialState> clone() const = 0;
};

struct TensorImpl final : Counted {
  Ref<Storage> storage;
  Geometry geom;
  bool inference = false;                // made in inference mode: no version counting, never saved for backward
  uint8_t layers = 0;                    // bit k: a call with this tensor must visit layer k (op/call.hpp)
  std::unique_ptr<LayerState> autograd;  // src/autograd: leaf, node, view record
  std::unique_ptr<SpecialState> special; // batched, functional or wrapper state: one of them; `layers` tells which

  TensorImpl(Ref<Storage> s, Geometry g);
  ~TensorImpl() override;

  const Shape& sizes() const { return geom.sizes; }
  const Shape& strides() const { return geom.strides; }
  DType dtype() const { return geom.dtype; }
  Device device() const { return storage->device(); }
  bool is_fake() const { return storage->is_fake(); }
  // Address of the first element. Requires real bytes.
  char* bytes() const { return static_cast<char*>(storage->data()) + geom.offset.number() * element_size(); }
  int64_t element_size() const;

  static int64_t live();  // tensors alive in the process

  // A number for this value: handles made for bookkeeping (a tensor saved for backward) share it
  // with the tensor they stand for, no other two tensors of the process do. The tracer knows values
  // by it.
  uint64_t identity() const;
  void share_identity(const TensorImpl& o) { identity_ = o.identity(); }

 private:
  mutable std::atomic<uint64_t> identity_{0};  // 0: not asked for yet
};

inline TensorImpl* Tensor::impl() const { return static_cast<TensorImpl*>(impl_.get()); }

// A fresh tensor with uninitialised bytes (or none, if `fake`), big enough for its geometry.
Tensor make_tensor(Geometry g, Device device = {}, bool fake = false);
// Another view of t's storage, without any layer's state.
Tensor make_alias(const Tensor& t, Geometry g);
// Another handle to the value of t, without history.
Tensor detached(const Tensor& t);

}  // namespace ingot
