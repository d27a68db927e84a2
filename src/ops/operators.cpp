// Operators that no op of ours is made of: remainders, bits, and what writes. api.cpp has the
// others, of which models are linked with those that their ops call.
#include "ingot/ingot.hpp"
#include "op/call.hpp"

namespace ingot {

Tensor operator%(const Tensor& a, const Tensor& b) { return aten<"remainder.Tensor">(a, b); }
Tensor operator%(const Tensor& a, const Scalar& b) { return aten<"remainder.Scalar">(a, Value(b)); }
Tensor operator~(const Tensor& a) { return aten<"bitwise_not">(a); }
Tensor& Tensor::operator-=(const Scalar& o) { return aten_value<"sub_.Tensor">(*this, Value(o)), *this; }
Tensor& Tensor::operator/=(const Scalar& o) { return aten_value<"div_.Tensor">(*this, Value(o)), *this; }
Tensor& Tensor::operator%=(const Tensor& o) { return aten_value<"remainder_.Tensor">(*this, o), *this; }
Tensor& Tensor::operator%=(const Scalar& o) { return aten_value<"remainder_.Scalar">(*this, Value(o)), *this; }
Tensor& Tensor::operator=(const Tensor& source) && { return copy_(source); }
Tensor& Tensor::operator=(const Scalar& value) && { return fill_(value); }
// clang-format off
#define BITS(symbol, name)                                                                                \
  Tensor operator symbol(const Tensor& a, const Tensor& b) { return aten<name ".Tensor">(a, b); }         \
  Tensor operator symbol(const Tensor& a, const Scalar& b) { return aten<name ".Scalar">(a, Value(b)); }  \
  Tensor& Tensor::operator symbol##=(const Tensor& o) { return aten_value<name "_.Tensor">(*this, o), *this; }
BITS(&, "bitwise_and") BITS(|, "bitwise_or") BITS(^, "bitwise_xor")
// clang-format on
#undef BITS

}  // namespace ingot
