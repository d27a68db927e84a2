// A model without a container: one set of constants, no locks.
#pragma once
#include "model/constant_map.hpp"
#include "model/model.hpp"

namespace ingot::model {

class BareModel {
 public:
  bool make(ConstantMap* constants);   // takes the map's handles, also when it fails; null: the library's own constants
  bool update(ConstantMap constants);  // replaces all constants; takes the handles, also when it fails
  bool run(const AtenTensorHandle* inputs, AtenTensorHandle* outputs);  // the input handles stay the caller's

 private:
  Engine engine_;
  Weights weights_;
  ConstantBuffer constants_;
  Model model_;
};

}  // namespace ingot::model
