// Wrapper tensors: tensors of a user's class. A wrapper is inner tensors plus metadata behind one
// outer tensor, and its class says what every op does with it.
//
// The outer tensor is what autograd and functionalize see: it has sizes, strides, a storage without
// bytes that its views share, and the version counter. The inner tensors may be wrappers again,
// never batched or functional tensors. Ops that a class makes run at the wrapper layer or below it,
// so they leave neither history nor versions on the inner tensors.
#pragma once
#include <functional>

#include "op/call.hpp"

namespace ingot {

// One class of wrappers. All wrappers of the class share the object; two objects are two classes.
class WrapperClass : public Counted {
 public:
  virtual std::string name() const = 0;

  // A wrapper flattens to its inner tensors, by these names and in this order, and its metadata.
  virtual std::vector<std::string> inner_names(const Value& metadata) const = 0;
  // The wrapper of these inner tensors; `sizes` and `strides` are those of the tensor that was
  // flattened.
  virtual Tensor unflatten(const TensorList& inner, const Value& metadata, const Shape& sizes, const Shape& strides) const = 0;

  // Gradients of wrappers. A backward is compiled before they come, for some that look like the
  // results they are of (R041): what the class makes of such a result. When they come with other
  // metadata (R166): the gradient with this one, undefined where it cannot be.
  virtual Tensor as_gradient(const Tensor& result) const { return result; }
  virtual Tensor with_metadata(const Tensor& /*gradient*/, const Value& /*metadata*/) const { return {}; }

  // Whether its wrappers have a storage that their views share. Tensors that are no strided bytes
  // (sparse ones) have none: its size counts as zero, no two tensors are on one storage, what a
  // view op returns is a tensor of its own, and set_ and resize_ are refused.
  virtual bool has_storage() const { return true; }

  // Whether the class takes this call. Its arguments may hold wrappers of other classes, which are
  // asked in order of their first wrapper among the arguments.
  virtual bool handles(const Op&, Args) const { return true; }
  // Runs the op; control flow is none of its business, since the functions that it calls are given
  // wrappers. Whatever it makes of the inner tensors, the caller sees the aliasing that the schema
  // promises: a view shares the outer storage of its argument, and an op that writes returns the
  // tensor it wrote.
  virtual Value dispatch(const Op& op, Args args) const = 0;
};

struct WrapperState final : SpecialState {
  Ref<const WrapperClass> cls;
  TensorList inner;
  Value metadata;

  // Another handle to the value: an in-place view op on the wrapper must not reach the inner
  // tensors of a saved one.
  std::unique_ptr<SpecialState> clone() const override;
};

// Null for a tensor that is not a wrapper.
WrapperState* wrapper_state(const Tensor& t);
// False for a wrapper of a class that says so.
bool has_storage(const Tensor& t);
// The inner tensor of that name. User error for another name, or a tensor that is not a wrapper.
const Tensor& inner_tensor(const Tensor& wrapper, std::string_view name);

// A wrapper that looks as `like` does: sizes, strides, offset, type, device and size of the
// storage.
Tensor make_wrapper(Ref<const WrapperClass> cls, TensorList inner, Value metadata, const Tensor& like);
// A wrapper with a look of its own. Its storage is as big as the geometry needs.
Tensor make_wrapper(Ref<const WrapperClass> cls, TensorList inner, Value metadata, Geometry geometry, Device device);

// What most classes do: the op on the first inner tensors, on the second ones, and so on, each time
// with all other arguments as they are; then `wrap` makes a wrapper of the results at one place. An
// argument that comes back is handed through, and results that are no tensors are those of the
// first run. User error for an op that writes a plain tensor with several inner tensors at once.
Value run_on_components(const WrapperClass& cls, const Op& op, Args args, const std::function<Tensor(const TensorList&)>& wrap);

}  // namespace ingot
