#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ingot/nn/recurrent.hpp"
#include "nn/initial.hpp"
#include "op/call.hpp"

namespace ingot::nn {

Recurrent::Recurrent(int64_t gates, int64_t input_size, int64_t hidden_size, RecurrentOptions o) : hidden_(hidden_size), o_(o) {
  INGOT_REQUIRE(o.num_layers > 0 && hidden_size > 0, "a recurrent module needs at least one layer and one hidden unit");
  INGOT_REQUIRE(o.proj_size >= 0 && o.proj_size < hidden_size, "proj_size has to be smaller than hidden_size, found ",
                o.proj_size, " and ", hidden_size);
  INGOT_REQUIRE(o.proj_size == 0 || gates == 4, "proj_size argument is only supported for LSTM");
  INGOT_REQUIRE(!o.relu || gates == 1, "only an RNN has a relu in the place of its tanh");
  const double bound = inverse_sqrt(hidden_size);
  const int64_t out = o.proj_size ? o.proj_size : hidden_size;
  const int directions = o.bidirectional ? 2 : 1;
  for (int64_t layer = 0; layer < o.num_layers; layer++)
    for (int d = 0; d < directions; d++) {
      const int64_t in = layer == 0 ? input_size : out * directions;
      const std::string suffix = "_l" + std::to_string(layer) + (d ? "_reverse" : "");
      auto weight = [&](const std::string& name, const Shape& size) {
        weights_.push_back(std::make_unique<Tensor>());
        add_parameter(name + suffix, *weights_.back(), uniform(size, bound));
      };
      weight("weight_ih", {gates * hidden_size, in});
      weight("weight_hh", {gates * hidden_size, out});
      if (o.bias) {
        weight("bias_ih", {gates * hidden_size});
        weight("bias_hh", {gates * hidden_size});
      }
      if (o.proj_size) weight("weight_hr", {out, hidden_size});
    }
}

TensorList Recurrent::flat_weights() const {
  TensorList l;
  for (const auto& w : weights_) l.push_back(*w);
  return l;
}

Tensor Recurrent::zero_state(const Tensor& x, int64_t size) const {
  const int64_t states = o_.num_layers * (o_.bidirectional ? 2 : 1);
  if (x.dim() == 2) return zeros({states, size}, {.dtype = x.dtype()});
  return zeros({states, x.size(o_.batch_first ? 0 : 1), size}, {.dtype = x.dtype()});
}

namespace {

// A sequence without a batch is a batch of one.
struct Batched {
  bool is_batch;
  int64_t batch_dim;
  Batched(const Tensor& x, bool batch_first, const char* name) : is_batch(x.dim() == 3), batch_dim(batch_first ? 0 : 1) {
    INGOT_REQUIRE(is_batch || x.dim() == 2, name, ": Expected input to be 2D or 3D, got ", x.dim(), "D instead");
  }
  Tensor up(const Tensor& t, int64_t dim) const { return is_batch ? t : t.unsqueeze(dim); }
  Tensor down(const Tensor& t, int64_t dim) const { return is_batch ? t : t.squeeze(dim); }
};

}  // namespace

LSTM::LSTM(int64_t input_size, int64_t hidden_size, RecurrentOptions o) : Recurrent(4, input_size, hidden_size, o) {}
LSTM::Output LSTM::operator()(const Tensor& x, const Tensor& h, const Tensor& c) {
  INGOT_REQUIRE(h.defined() == c.defined(), "LSTM: give both h and c, or neither");
  const Batched b(x, o_.batch_first, "LSTM");
  const Tensor h0 = h.defined() ? h : zero_state(x, o_.proj_size ? o_.proj_size : hidden_);
  const TensorList state = {b.up(h0, 1), b.up(c.defined() ? c : zero_state(x, hidden_), 1)};
  TensorList r = atens<"lstm.input">(b.up(x, b.batch_dim), state, flat_weights(), o_.bias, o_.num_layers, o_.dropout,
                                     is_training(), o_.bidirectional, o_.batch_first);
  return {b.down(r[0], b.batch_dim), b.down(r[1], 1), b.down(r[2], 1)};
}

GRU::GRU(int64_t input_size, int64_t hidden_size, RecurrentOptions o) : Recurrent(3, input_size, hidden_size, o) {}
GRU::Output GRU::operator()(const Tensor& x, const Tensor& h) {
  const Batched b(x, o_.batch_first, "GRU");
  TensorList r = atens<"gru.input">(b.up(x, b.batch_dim), b.up(h.defined() ? h : zero_state(x, hidden_), 1), flat_weights(),
                                    o_.bias, o_.num_layers, o_.dropout, is_training(), o_.bidirectional, o_.batch_first);
  return {b.down(r[0], b.batch_dim), b.down(r[1], 1)};
}

RNN::RNN(int64_t input_size, int64_t hidden_size, RecurrentOptions o) : Recurrent(1, input_size, hidden_size, o) {}
RNN::Output RNN::operator()(const Tensor& x, const Tensor& h) {
  const Batched b(x, o_.batch_first, "RNN");
  const auto run = [&]<OpName Name>() {
    return atens<Name>(b.up(x, b.batch_dim), b.up(h.defined() ? h : zero_state(x, hidden_), 1), flat_weights(), o_.bias,
                       o_.num_layers, o_.dropout, is_training(), o_.bidirectional, o_.batch_first);
  };
  const TensorList r = o_.relu ? run.operator()<"rnn_relu.input">() : run.operator()<"rnn_tanh.input">();
  return {b.down(r[0], b.batch_dim), b.down(r[1], 1)};
}

// ---- cells

RecurrentCell::RecurrentCell(int64_t gates, int64_t input_size, int64_t hidden_size, bool bias) : hidden_(hidden_size) {
  const double bound = inverse_sqrt(hidden_size);
  add_parameter("weight_ih", weight_ih, uniform({gates * hidden_size, input_size}, bound));
  add_parameter("weight_hh", weight_hh, uniform({gates * hidden_size, hidden_size}, bound));
  add_parameter("bias_ih", bias_ih, bias ? uniform({gates * hidden_size}, bound) : Tensor());
  add_parameter("bias_hh", bias_hh, bias ? uniform({gates * hidden_size}, bound) : Tensor());
}
Tensor RecurrentCell::state_for(const Tensor& x, const Tensor& h) const {
  INGOT_REQUIRE(x.dim() == 1 || x.dim() == 2, "a recurrent cell: Expected input to be 1D or 2D, got ", x.dim(), "D instead");
  if (h.defined()) return x.dim() == 2 ? h : h.unsqueeze(0);
  return zeros({x.dim() == 2 ? x.size(0) : Int(1), hidden_}, {.dtype = x.dtype()});
}

RNNCell::RNNCell(int64_t input_size, int64_t hidden_size, bool bias, const std::string& nonlinearity)
    : RecurrentCell(1, input_size, hidden_size, bias), relu_(nonlinearity == "relu") {
  INGOT_REQUIRE(relu_ || nonlinearity == "tanh", "Unknown nonlinearity: ", nonlinearity, "; expected tanh or relu");
}
Tensor RNNCell::operator()(const Tensor& x, const Tensor& h) {
  const Tensor state = state_for(x, h), in = x.dim() == 2 ? x : x.unsqueeze(0);
  const Tensor y = relu_ ? aten<"rnn_relu_cell">(in, state, weight_ih, weight_hh, bias_ih, bias_hh)
                         : aten<"rnn_tanh_cell">(in, state, weight_ih, weight_hh, bias_ih, bias_hh);
  return x.dim() == 2 ? y : y.squeeze(0);
}
Tensor GRUCell::operator()(const Tensor& x, const Tensor& h) {
  const Tensor in = x.dim() == 2 ? x : x.unsqueeze(0);
  const Tensor y = aten<"gru_cell">(in, state_for(x, h), weight_ih, weight_hh, bias_ih, bias_hh);
  return x.dim() == 2 ? y : y.squeeze(0);
}
LSTMCell::Output LSTMCell::operator()(const Tensor& x, const Tensor& h, const Tensor& c) {
  INGOT_REQUIRE(h.defined() == c.defined(), "LSTMCell: give both h and c, or neither");
  const Tensor in = x.dim() == 2 ? x : x.unsqueeze(0);
  const TensorList state = {state_for(x, h), state_for(x, c)};
  const TensorList r = atens<"lstm_cell">(in, state, weight_ih, weight_hh, bias_ih, bias_hh);
  if (x.dim() == 2) return {r[0], r[1]};
  return {r[0].squeeze(0), r[1].squeeze(0)};
}

}  // namespace ingot::nn
