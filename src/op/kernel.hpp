// The last layer: the shape rule, then the kernel unless there are no bytes. Derived variants run
// their functional op and write the result; composites come apart here before any layer.
#pragma once
#include "op/call.hpp"

namespace ingot {

Value run_kernel(const Op& op, Args args);
Value run_composite(const Op& op, Args args);

// Whether an argument (or the thread, for a factory) makes the call fake.
bool is_fake_call(Args args);

// A call straight into the caller's tensors, for a thread whose calls go through no layer: true if
// it ran. False, with nothing done, where the op has no kernel of its own, or the tensors have not
// the geometry that its shape rule gives the results (of a pointwise op: not the sizes).
bool call_into(const Op& op, Args args, std::span<const Tensor> results);

// What every in-place or out= call refuses, on real, fake and functional tensors alike: an op whose
// result has another size than the tensor written, whose type cannot be cast to its type, or a
// tensor several of whose elements are one address.
void check_written_size(const Op& op, const Tensor& self, const Shape& sizes);
// out= takes the size of the result, but not where the tensor is an operand of the formula too.
void check_out_size(const Op& op, Args args, const Tensor& out, const Shape& sizes);
void check_written_type(const Op& op, const Tensor& self, DType result);
void check_no_overlap(const Op& op, const Tensor& self);

}  // namespace ingot
