// What a vjp rule sees: gradients of the results, saved tensors, and which gradients are wanted. A
// rule sets a gradient in the broadcast result shape if that is natural: the engine sums it back to
// the argument's shape and casts its dtype.
#pragma once
#include <string_view>
#include <utility>
#include <vector>

#include "ingot/op/definition.hpp"

namespace ingot {

class Vjp {
 public:
  // Gradient of a result. Undefined only for an op with several results of which this one was not
  // used.
  const Tensor& grad(int result = 0) const { return grads[static_cast<std::size_t>(result)]; }
  Tensor grad_or_zeros(int result) const;  // zeros of the result's shape instead of undefined

  // Whether the gradient of argument i is wanted. Rules must not compute others: dead ops would
  // show in a trace.
  bool need(int i) const { return needs[static_cast<std::size_t>(i)]; }
  bool need_any() const {
    for (bool n : needs)
      if (n) return true;
    return false;
  }
  // Of a list argument: member k.
  bool need(int i, int k) const { return list_needs[static_cast<std::size_t>(i)][static_cast<std::size_t>(k)]; }

  // A tensor argument listed in the op's saves; undefined if it was None.
  Tensor saved(int i) const { return args[static_cast<std::size_t>(i)].tensor_or_none(); }
  const TensorList& saved_list(int i) const { return args[static_cast<std::size_t>(i)].tensors(); }
  const Tensor& result(int k = 0) const { return results[static_cast<std::size_t>(k)]; }
  // A non-tensor argument, as it was given. Tensors that were not saved are None here.
  const Value& arg(int i) const { return args[static_cast<std::size_t>(i)]; }
  // Whether argument i was a tensor (a `Tensor` parameter may hold a number, a `Tensor?` nothing).
  bool is_tensor(int i) const { return tensor_arg[static_cast<std::size_t>(i)]; }
  // Geometry of a tensor argument (of member k of a list) or of a result, saved or not.
  const Geometry& geom(int i, int k = 0) const { return arg_geoms[static_cast<std::size_t>(i)][static_cast<std::size_t>(k)]; }
  int list_size(int i) const { return static_cast<int>(arg_geoms[static_cast<std::size_t>(i)].size()); }
  const Geometry& result_geom(int k = 0) const { return result_geoms[static_cast<std::size_t>(k)]; }
  const Shape& sizes(int i) const { return geom(i).sizes; }

  void set(int i, Tensor g) { set(i, 0, std::move(g)); }
  void set(int i, int k, Tensor g) { out[static_cast<std::size_t>(i)][static_cast<std::size_t>(k)] = std::move(g); }

  // Filled by the engine.
  const Op* op = nullptr;
  TensorList grads, results;
  Values args;
  std::vector<bool> needs, tensor_arg;
  std::vector<std::vector<bool>> list_needs;
  std::vector<std::vector<Geometry>> arg_geoms;
  std::vector<Geometry> result_geoms;
  std::vector<TensorList> out;
};

// Throws PyTorch's text for a gradient that does not exist: "the derivative for 'zeta' is not
// implemented."
[[noreturn]] void derivative_not_implemented(std::string_view what);
// The same, if the gradient of argument i is asked for.
inline void not_implemented_for(const Vjp& v, int i, std::string_view what) {
  if (v.need(i)) derivative_not_implemented(what);
}
// The rule of an op none of whose arguments has a gradient: it refuses under the op's own name
// ('nextafter').
void refuse_vjp(Vjp& v);

}  // namespace ingot
