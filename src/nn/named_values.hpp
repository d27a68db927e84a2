// Numbers among named tensors, as state has them, and the tensors of a file.
#pragma once
#include "ingot/nn/named_tensors.hpp"
#include "io/safetensors.hpp"

namespace ingot::nn {

Tensor value_of(double x);  // float64, without dims
NamedTensors all_of(const SafeTensors& file);

// The values of a state that is loaded, each to be taken once.
class GivenState {
 public:
  // `what` is in messages: "the scheduler".
  GivenState(const NamedTensors& values, const char* what) : values_(values), what_(what) {}
  double number(const std::string& name);  // user error where there is none
  Tensor take(const std::string& name);    // undefined where there is none
  void expect_all_taken() const;           // user error that names the rest

 private:
  NamedTensors values_;
  const char* what_;
};

}  // namespace ingot::nn
