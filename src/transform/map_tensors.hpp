// The same value with every tensor replaced.
#pragma once
#include "op/value.hpp"

namespace ingot {

// f is called for each tensor that is defined, in order.
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
template <class F>
void for_each_tensor(const Value& v, const F& f) {
  if (v.is_tensor()) f(v.tensor());
  else if (v.is_tensors()) {
    for (const Tensor& t : v.tensors())
      if (t.defined()) f(t);
  } else if (v.is_values())
    for (const Value& e : v.values()) for_each_tensor(e, f);
}

}  // namespace ingot
