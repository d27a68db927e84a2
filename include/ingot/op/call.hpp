// Calls of any op by its name: all of ATen that Ingot has, and ops that a program registered.
//
//   Tensor y = aten<"add.Tensor">(a, b);                    // the look-up is done once
//   TensorList parts = atens<"split.Tensor">(y, 2, 1);
//   Value z = call(op("aten::mul.Tensor"), {a, b});         // a name that is known when the program runs
//
// Arguments are those of the schema, in its order. Safe from any thread, as far as the ops' tensors
// are: two threads may not write one tensor.
#pragma once
#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string_view>

#include "ingot/value.hpp"

namespace ingot {

struct Op;
#ifndef INGOT_OP  // The op of this name. In what models are linked with the linker finds it (src/eager/archive.hpp).
#define INGOT_OP(name) op(name.text)
#endif

// The op "add.Tensor" or "aten::add.Tensor"; derived variants ("add_.Tensor", "add.out") are made
// on first use. User error naming the nearest known overloads if there is none.
const Op& op(std::string_view name);
const Op* find_op(std::string_view name);

// Arguments past the last given one take the schema's defaults. Checks kinds against the schema.
// Results: a Tensor, a TensorList (several results, or a list), or another value; in-place and out=
// variants return what they wrote.
Value call(const Op& op, Args args);
inline Value call(const Op& op, std::initializer_list<Value> args) { return call(op, Args(args.begin(), args.size())); }

// Calls by name with the look-up done once: aten<"mul.Tensor">(a, b).
template <std::size_t N>
struct OpName {
  char text[N];
  constexpr OpName(const char (&s)[N]) { std::copy_n(s, N, text); }
};
template <OpName Name>
const Op& op_ref() {
  static const Op& o = INGOT_OP(Name);
  return o;
}
template <OpName Name, class... A>
Value aten_value(const A&... a) {
  const Value args[] = {Value(a)...};
  return call(op_ref<Name>(), Args(args));
}
template <OpName Name, class... A>
Tensor aten(const A&... a) {
  return aten_value<Name>(a...).tensor();
}
template <OpName Name, class... A>
TensorList atens(const A&... a) {
  return aten_value<Name>(a...).tensors();
}

}  // namespace ingot
