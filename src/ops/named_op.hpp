// An op by its name, looked up by the first call: what generated functions call (src/generate).
#pragma once
#include <atomic>
#include <initializer_list>

#include "op/call.hpp"

namespace ingot {

class NamedOp {
 public:
  constexpr NamedOp(const char* name) : name_(name) {}
  Value operator()(std::initializer_list<Value> args) {
    const Op* o = op_.load(std::memory_order_acquire);
    if (!o) op_.store(o = &op(name_), std::memory_order_release);
    return call(*o, args);
  }

 private:
  const char* name_;
  std::atomic<const Op*> op_ = nullptr;
};

inline Value value_of(const OptionalShape& s) { return s ? Value(*s) : Value(); }
inline Value value_of(const std::vector<Scalar>& l) { return Values(l.begin(), l.end()); }

}  // namespace ingot
