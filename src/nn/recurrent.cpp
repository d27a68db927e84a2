#include <cmath>

#include "base/error.hpp"
#include "ingot/nn.hpp"
#include "op/call.hpp"

namespace ingot::nn {

Recurrent::Recurrent(int64_t gates, int64_t input_size, int64_t hidden_size, RecurrentOptions o) : hidden_(hidden_size), o_(o) {
  INGOT_REQUIRE(o.num_layers > 0 && hidden_size > 0, "a recurrent module needs at least one layer and one hidden unit");
  const double bound = 1 / std::sqrt(static_cast<double>(hidden_size));
  const int directions = o.bidirectional ? 2 : 1;
  for (int64_t layer = 0; layer < o.num_layers; layer++)
    for (int d = 0; d < directions; d++) {
      const int64_t in = layer == 0 ? input_size : hidden_size * directions;
      const std::string suffix = "_l" + std::to_string(layer) + (d ? "_reverse" : "");
      auto weight = [&](const std::string& name, const Shape& size) {
        NoGrad no_grad;
        weights_.push_back(std::make_unique<Tensor>());
        add_parameter(name + suffix, *weights_.back(), rand(size) * (2 * bound) - bound);
      };
      weight("weight_ih", {gates * hidden_size, in});
      weight("weight_hh", {gates * hidden_size, hidden_size});
      if (o.bias) {
        weight("bias_ih", {gates * hidden_size});
        weight("bias_hh", {gates * hidden_size});
      }
    }
}

TensorList Recurrent::flat_weights() const {
  TensorList l;
  for (const auto& w : weights_) l.push_back(*w);
  return l;
}

Tensor Recurrent::zero_state(const Tensor& x) const {
  const int64_t states = o_.num_layers * (o_.bidirectional ? 2 : 1);
  if (x.dim() == 2) return zeros({states, hidden_}, {.dtype = x.dtype()});
  return zeros({states, x.size(o_.batch_first ? 0 : 1), hidden_}, {.dtype = x.dtype()});
}

LSTM::Output LSTM::operator()(const Tensor& x, const Tensor& h, const Tensor& c) {
  INGOT_REQUIRE(h.defined() == c.defined(), "LSTM: give both h and c, or neither");
  // A sequence without a batch is a batch of one.
  const bool batched = x.dim() == 3;
  INGOT_REQUIRE(batched || x.dim() == 2, "LSTM: Expected input to be 2D or 3D, got ", x.dim(), "D instead");
  const int64_t batch_dim = o_.batch_first ? 0 : 1;
  auto up = [&](const Tensor& t, int64_t d) { return batched ? t : t.unsqueeze(d); };
  auto down = [&](const Tensor& t, int64_t d) { return batched ? t : t.squeeze(d); };
  const TensorList state = {up(h.defined() ? h : zero_state(x), 1), up(c.defined() ? c : zero_state(x), 1)};
  TensorList r = atens<"lstm.input">(up(x, batch_dim), state, flat_weights(), o_.bias, o_.num_layers, o_.dropout, is_training(),
                                     o_.bidirectional, o_.batch_first);
  return {down(r[0], batch_dim), down(r[1], 1), down(r[2], 1)};
}

GRU::Output GRU::operator()(const Tensor& x, const Tensor& h) {
  const bool batched = x.dim() == 3;
  INGOT_REQUIRE(batched || x.dim() == 2, "GRU: Expected input to be 2D or 3D, got ", x.dim(), "D instead");
  const int64_t batch_dim = o_.batch_first ? 0 : 1;
  auto up = [&](const Tensor& t, int64_t d) { return batched ? t : t.unsqueeze(d); };
  auto down = [&](const Tensor& t, int64_t d) { return batched ? t : t.squeeze(d); };
  TensorList r = atens<"gru.input">(up(x, batch_dim), up(h.defined() ? h : zero_state(x), 1), flat_weights(), o_.bias,
                                    o_.num_layers, o_.dropout, is_training(), o_.bidirectional, o_.batch_first);
  return {down(r[0], batch_dim), down(r[1], 1)};
}

}  // namespace ingot::nn
