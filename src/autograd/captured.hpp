// What the functions of a higher-order op bring along. A function is a black box that may use any
// tensor of the program around it; the tape must know those that require grad, as it knows the
// operands. So functions are watched while they run, and for the backward each is made a function
// of what it was found to bring along, too.
#pragma once
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "op/call.hpp"

namespace ingot {

// Tensors of the program around a function, by the identity that the function knows them by, in the
// order of their first use.
struct Captured {
  std::vector<uint64_t> identities;
  TensorList tensors;
};

// While a function runs: which tensors are its own (operands, and what its calls made), and which
// stand for others.
class FunctionRegion {
 public:
  explicit FunctionRegion(Args operands);
  ~FunctionRegion();
  FunctionRegion(const FunctionRegion&) = delete;
  FunctionRegion& operator=(const FunctionRegion&) = delete;

  // From here on `by` takes the place of the tensor.
  void replace(uint64_t identity, const Tensor& by) { replaced_.emplace(identity, by); }
  // What the tape is to see for a tensor that the function uses.
  Tensor use(const Tensor& t);
  Values use(Args args);
  void made(const Value& results);
  const Captured& captured() const { return captured_; }

  // Of this thread; null outside of functions.
  static FunctionRegion* current();

 private:
  FunctionRegion* outer_;
  std::unordered_set<uint64_t> own_;
  std::unordered_map<uint64_t, Tensor> replaced_;
  Captured captured_;
};

// The arguments of a call whose functions run at the autograd layer again, without a tape of their
// own, and note in `captured` what they bring along that requires grad.
Values watched_functions(Args args, const std::shared_ptr<Captured>& captured);
// The arguments of the same call with that as operands after the others, and functions that take
// them.
Values with_captured_operands(const Op& op, Args args, const Captured& captured);

}  // namespace ingot
