// The tensors of a value, at any depth: the one walk for every layer.
#pragma once
#include "ingot/value.hpp"

namespace ingot {

// Calls f for each tensor that is defined, in order. A list may mix tensors with other values, and
// hold lists.
template <class F>
void for_each_tensor(const Value& v, const F& f) {
  if (v.is_tensor()) f(v.tensor());
  else if (v.is_tensors()) {
    for (const Tensor& t : v.tensors())
      if (t.defined()) f(t);
  } else if (v.is_values())
    for (const Value& e : v.values()) for_each_tensor(e, f);
}
template <class F>
void for_each_tensor(Args args, const F& f) {
  for (const Value& v : args) for_each_tensor(v, f);
}

// The same value with f(t) in the place of each such tensor.
template <class F>
Value map_tensors(const Value& v, const F& f) {
  if (v.is_tensor()) return f(v.tensor());
  if (v.is_tensors()) {
    TensorList l;
    for (const Tensor& t : v.tensors()) l.push_back(t.defined() ? f(t) : t);
    return l;
  }
  if (v.is_values()) {
    Values l;
    for (const Value& e : v.values()) l.push_back(map_tensors(e, f));
    return l;
  }
  return v;
}
template <class F>
Values map_tensors(Args args, const F& f) {
  Values r;
  r.reserve(args.size());
  for (const Value& v : args) r.push_back(map_tensors(v, f));
  return r;
}

}  // namespace ingot
