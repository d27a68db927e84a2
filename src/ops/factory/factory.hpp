// What the families that make tensors from numbers share.
#pragma once
#include "op/op.hpp"

namespace ingot {

// The argument of this name, which the op's schema must have.
const Value& named(const Call& c, std::string_view name);
// The device a factory names, if it names one.
void take_device(const Call& c, Outputs& o);

using MetaRule = void (*)(const Call&, Outputs&);
using KernelRule = void (*)(const Call&, std::span<const Tensor>);
using LowerRule = void (*)(Lowering&);
constexpr OpDef factory(std::string_view schema, MetaRule meta, KernelRule kernel, LowerRule lower = nullptr) {
  OpDef d{.schema = schema, .form = Form::factory, .meta = meta, .kernel = kernel, .lower = lower};
  d.grad.none = true;
  return d;
}

#define OPTIONS "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"

}  // namespace ingot
