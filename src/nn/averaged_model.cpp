#include "ingot/optim/averaged_model.hpp"

#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ingot/nn.hpp"
#include "nn/named_values.hpp"
#include "op/call.hpp"

namespace ingot::optim {

AveragedModel::AveragedModel(nn::Module& module, AveragedModelOptions o) : module_(module), o_(o) {
  INGOT_REQUIRE(!o.decay || (*o.decay >= 0 && *o.decay <= 1), "Invalid decay value ", *o.decay,
                " provided. Please provide a value in [0,1] range.");
  const NoGrad no_grad;
  parameters_ = module.named_parameters().size();
  for (const auto& [name, t] : module.state()) averages_.emplace_back(name, t.detach().clone());
}

void AveragedModel::update() {
  const NoGrad no_grad;
  const nn::NamedTensors now = module_.state();
  INGOT_REQUIRE(now.size() == averages_.size(), "the module had ", averages_.size(),
                " parameters and buffers when its average was made, and has ", now.size(), " now");
  const double weight = o_.decay ? 1 - *o_.decay : 1 / static_cast<double>(updates_ + 1);
  for (std::size_t i = 0; i < now.size(); i++) {
    Tensor& average = averages_[i].second;
    const Tensor t = now[i].second.detach();
    if (updates_ == 0 || (i >= parameters_ && !o_.use_buffers)) average.copy_(t);
    else if (average.is_floating_point() || average.is_complex())
      aten_value<"lerp_.Scalar">(average, t.to(average.dtype()), Scalar(weight));
    else average.copy_(average * (1 - weight) + t * weight);
  }
  updates_++;
}

TensorList AveragedModel::tensors() const {
  TensorList r;
  for (const auto& [name, t] : averages_) r.push_back(t);
  return r;
}
void AveragedModel::copy_to(nn::Module& module) const { module.load_state(averages_); }

nn::NamedTensors AveragedModel::state() const {
  nn::NamedTensors r = {{"n_averaged", nn::value_of(static_cast<double>(updates_))}};
  for (const auto& [name, t] : averages_) r.emplace_back("module." + name, t);
  return r;
}
void AveragedModel::load_state(const nn::NamedTensors& values) {
  nn::GivenState given(values, "the average");
  const double updates = given.number("n_averaged");
  TensorList loaded;
  for (const auto& [name, t] : averages_) {
    loaded.push_back(given.take("module." + name));
    INGOT_REQUIRE(loaded.back().defined() && loaded.back().sizes() == t.sizes(), "load_state: the average needs module.", name,
                  " of size ", t.sizes(), ", found ",
                  loaded.back().defined() ? "size " + to_text(loaded.back().sizes()) : "none");
  }
  given.expect_all_taken();
  const NoGrad no_grad;
  for (std::size_t i = 0; i < loaded.size(); i++) averages_[i].second.copy_(loaded[i]);
  updates_ = static_cast<int64_t>(updates);
}

}  // namespace ingot::optim
