// ATen's type promotion. Operands fall into three groups: tensors with dims, 0-dim tensors, plain
// numbers; a later group decides only when its category (bool < integer < float < complex) is
// higher than what the earlier ones gave.
#pragma once
#include "ingot/value.hpp"

namespace ingot {

class TypePromotion {
 public:
  void add(const Value& v);  // a tensor or a number; anything else does not take part
  bool empty() const { return !dim_ && !zero_dim_ && !number_; }
  DType result() const;      // requires !empty()

 private:
  std::optional<DType> dim_, zero_dim_, number_;
};

DType result_type(Args operands);
// Whether a result of `from` may be written into `to` by an in-place or out= op.
bool can_cast(DType from, DType to);

}  // namespace ingot
