// Wrappers as plain tensors: how a tensor is taken apart down to tensors that are no wrappers, and
// put together again.
#pragma once
#include <functional>
#include <memory>

#include "op/wrapper.hpp"

namespace ingot {

// What a tensor is made of. It keeps no tensor alive.
struct WrapperLayout {
  Ref<const WrapperClass> cls;       // null: a plain tensor, a leaf
  Value metadata;
  Shape sizes, strides;              // of the outer tensor
  std::vector<WrapperLayout> inner;  // in the order of cls->inner_names(metadata)

  std::size_t leaves() const;        // plain tensors, at any depth
};

WrapperLayout layout_of(const Tensor& t);
// Whether the same classes nest in the same way, whatever the metadata and the sizes are.
bool same_classes(const WrapperLayout& a, const WrapperLayout& b);
// The same, and the metadata is the same everywhere.
bool same_metadata(const WrapperLayout& a, const WrapperLayout& b);
std::string to_text(const WrapperLayout& l);  // TwoTensor(a=Tensor, b=Tensor)

struct Flattened {
  TensorList leaves;  // of every tensor in turn, depth first
  std::vector<WrapperLayout> layouts;
};
Flattened flatten_wrappers(const TensorList& tensors);
// Tensors of these layouts over other leaves. Wrappers over the very same leaves are one tensor,
// and wrappers of a class all of whose leaves share storage share their outer storage: what aliased
// before it was flattened does so again. User error where the layouts want another number of leaves
// than there are.
TensorList unflatten_wrappers(const std::vector<WrapperLayout>& layouts, const TensorList& leaves);

// A function of wrappers as a function of plain tensors, which is what can be traced: it makes
// wrappers of its arguments, calls the function and takes the results apart. `results` has the
// layouts of the latest call's results.
using TensorFunction = std::function<TensorList(const TensorList&)>;
struct DenseFunction {
  TensorFunction function;
  std::shared_ptr<const std::vector<WrapperLayout>> results;
};
DenseFunction dense_function(TensorFunction f, std::vector<WrapperLayout> arguments);

}  // namespace ingot
