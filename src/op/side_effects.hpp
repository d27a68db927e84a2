// What a program does beside calling ops, told to whoever records the program. Layers that do the
// same for themselves tell nobody.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "op/op.hpp"

namespace ingot {

class ProgramListener {
 public:
  virtual void grad_mode_set(bool on) = 0;
  // A call that changes what autograd knows of its first argument, and that no layer below hears
  // of.
  virtual void called(const Op& op, Args args) = 0;
  // One that graphs have no node for: "a hook".
  virtual void side_effect(std::string_view what) = 0;
  // Whether this call of an op that goes through the layers whole where it is recorded is recorded
  // as the calls of its program.
  virtual bool takes_apart(const Op& op, Args args) const = 0;
  // Whether what a program of an op repeats is to be one call of scan, and not as many calls as
  // there are rows.
  virtual bool keeps_loops() const { return false; }

  // Functions that the program brings with it, such as a forward and its backward
  // (custom_function), for a listener that records them.
  virtual bool records_functions() const { return false; }
  // Runs f, whose calls are a function of its own of these inputs, and returns what the function is
  // called from now on. User error for one that uses other values of the program.
  virtual std::string record_function(std::string_view name, const Values& inputs, const std::function<Values()>& f) = 0;
  // A call of an op whose first arguments are functions that were recorded, and these its results.
  virtual void called(const Op& op, const std::vector<std::string>& functions, Args args, const Value& results) = 0;

 protected:
  ~ProgramListener() = default;
};

// Of this thread; null: nobody listens.
ProgramListener*& program_listener();

void tell_side_effect(std::string_view what);

// Sets the mode of this thread for the program.
void switch_grad_mode(bool on);

}  // namespace ingot
