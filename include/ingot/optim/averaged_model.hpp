// A moving average (EMA), or the mean (SWA), of a module's parameters as they are trained.
//
//   optim::AveragedModel average(net, {.decay = 0.999});
//   … optimizer.step(); average.update();
//   {
//     const nn::StateScope averaged(net, average.tensors());  // in the scope the module is the average
//     evaluate(net);
//   }
#pragma once
#include <optional>

#include "ingot/nn/named_tensors.hpp"

namespace ingot::nn {
class Module;
}

namespace ingot::optim {

struct AveragedModelOptions {
  std::optional<double> decay = {};  // of a moving average; without one: the mean of all updates
  bool use_buffers = false;     // averages the buffers, too; else they are the module's last
};
class AveragedModel {
 public:
  // Starts as a copy of what the module has, which the first update replaces. The module must
  // outlive it.
  AveragedModel(nn::Module& module, AveragedModelOptions o = {});
  void update();
  int64_t updates() const { return updates_; }
  TensorList tensors() const;  // in the order of Module::state()
  void copy_to(nn::Module& module) const;

  // PyTorch's names: "n_averaged", "module.weight".
  nn::NamedTensors state() const;
  void load_state(const nn::NamedTensors& values);

 private:
  nn::Module& module_;
  AveragedModelOptions o_;
  int64_t updates_ = 0;
  nn::NamedTensors averages_;
  std::size_t parameters_ = 0;
};

}  // namespace ingot::optim
