// Operators of a user that write their arguments: those of the programs in tests/data/higher_order,
// which PyTorch exported.
#pragma once
#include "ingot/ingot.hpp"
#include "op/call.hpp"

namespace ingot::testing {

inline constexpr OpDef kWritingOps[] = {
    {.schema = "hops::bump(Tensor(a!) x, Tensor by, int times=1) -> ()",
     .body = [](const Call& c) -> Value {
       (void)aten<"add_.Tensor">(c[0], aten<"mul.Scalar">(c[1], c[2]));
       return {};
     }},
    {.schema = "hops::swap(Tensor(a!) x, Tensor(b!) y) -> Tensor",
     .body = [](const Call& c) -> Value {
       const Tensor kept = aten<"clone">(c[0]);
       (void)aten<"copy_">(c[0], c[1]);
       (void)aten<"copy_">(c[1], kept);
       return aten<"mul.Tensor">(c[0], c[1]);
     }},
    // What it does depends on what its arguments share.
    {.schema = "hops::chain(Tensor(a!) x, Tensor(b!) y) -> ()",
     .body = [](const Call& c) -> Value {
       (void)aten<"add_.Scalar">(c[0], 1);
       (void)aten<"mul_.Scalar">(c[1], 2);
       return {};
     }},
    {.schema = "hops::many(Tensor(a!)[] xs, Tensor(b!)? o, Tensor a) -> Tensor",
     .body = [](const Call& c) -> Value {
       int64_t times = 0;
       for (const Value& x : list_elements(c[0])) (void)aten<"add_.Tensor">(x, aten<"mul.Scalar">(c[2], ++times));
       if (c[1].is_tensor()) (void)aten<"mul_.Scalar">(c[1], 2);
       return aten<"add.Scalar">(c[2], 1);
     }},
    {.schema = "hops::two(Tensor(a!) x, float k) -> (Tensor, Tensor)",
     .body = [](const Call& c) -> Value {
       (void)aten<"mul_.Scalar">(c[0], c[1]);
       return TensorList{aten<"add.Scalar">(c[0], 1), aten<"sub.Scalar">(c[0], 1)};
     }},
};

inline void register_writing_ops() {
  static const bool registered = (register_ops(kWritingOps), true);
  (void)registered;
}

}  // namespace ingot::testing
