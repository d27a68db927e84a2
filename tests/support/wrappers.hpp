// The two classes of wrapper tensors that the specification's tests use, and the mode that makes
// wrappers of new tensors.
#pragma once
#include "transform/mode.hpp"
#include "op/wrapper.hpp"

namespace ingot::testing {

// Two tensors of one shape; every op runs on both. The outer tensor looks as `a` does and requires
// grad if `a` does.
Tensor two_tensor(const Tensor& a, const Tensor& b);
bool is_two_tensor(const Tensor& t);
const Tensor& a(const Tensor& two_tensor);
const Tensor& b(const Tensor& two_tensor);

using Numbers = std::vector<double>;
Numbers values(const Tensor& t);
// The TwoTensor of x and -x.
Tensor two(const Numbers& x, const Shape& size);

// ConstantExtraMetadataTensor: one tensor `elem` and a number that is its metadata. Results of ops
// get the default number.
inline constexpr int64_t kDefaultAttribute = 4;
Tensor metadata_tensor(const Tensor& elem, int64_t constant_attribute = kDefaultAttribute);
bool is_metadata_tensor(const Tensor& t);
int64_t constant_attribute(const Tensor& t);

// A tensor without storage: the values at these places of dim 0, zeros elsewhere. Scaling, copies
// and the sum of two tensors with the same places stay sparse; any other op gets, and gives, dense
// tensors.
Tensor sparse_tensor(const Tensor& places, const Tensor& values, Int size);
bool is_sparse_tensor(const Tensor& t);
Tensor to_dense(const Tensor& t);

// Whether the op makes a tensor of numbers alone.
bool is_tensor_constructor(const Op& op);

// In this mode every tensor constructor returns a TwoTensor of what it makes and of its clone
// (H04).
class TwoTensorMode : public Mode {
 public:
  Value call(const Op& op, Args args) override;
};

}  // namespace ingot::testing
