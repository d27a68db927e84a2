// What a program does beside calling ops, told to whoever records the program. Layers that do the same for themselves tell nobody.
#pragma once
#include <string_view>

#include "op/op.hpp"

namespace ingot {

class ActListener {
 public:
  virtual void grad_mode_set(bool on) = 0;
  // A call that changes what autograd knows of its first argument, and that no layer below hears of.
  virtual void called(const Op& op, Args args) = 0;
  // An act that graphs have no node for: "a custom function (Cube)".
  virtual void acted(std::string_view what) = 0;

 protected:
  ~ActListener() = default;
};

// Of this thread; null: nobody listens.
ActListener*& act_listener();

void tell_act(std::string_view what);

// Sets the mode of this thread for the program.
void switch_grad_mode(bool on);

}  // namespace ingot
