// Recurrent networks, whole and cell by cell.
#pragma once
#include <string>

#include "ingot/nn/module.hpp"

namespace ingot::nn {

struct RecurrentOptions {
  int64_t num_layers = 1;
  bool bias = true, batch_first = false, bidirectional = false;
  double dropout = 0;
  int64_t proj_size = 0;  // LSTM: the size of h, where it is not the hidden size
  bool relu = false;      // RNN: instead of tanh
};
class Recurrent : public Module {
 protected:
  Recurrent(int64_t gates, int64_t input_size, int64_t hidden_size, RecurrentOptions o);
  Tensor zero_state(const Tensor& x, int64_t size) const;
  TensorList flat_weights() const;
  int64_t hidden_;
  RecurrentOptions o_;

 private:
  std::vector<std::unique_ptr<Tensor>> weights_;  // weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, …
};
class LSTM : public Recurrent {
 public:
  LSTM(int64_t input_size, int64_t hidden_size, RecurrentOptions o = {});
  struct Output {
    Tensor output, h, c;
  };
  Output operator()(const Tensor& x, const Tensor& h = {}, const Tensor& c = {});
};
class GRU : public Recurrent {
 public:
  GRU(int64_t input_size, int64_t hidden_size, RecurrentOptions o = {});
  struct Output {
    Tensor output, h;
  };
  Output operator()(const Tensor& x, const Tensor& h = {});
};
class RNN : public Recurrent {
 public:
  RNN(int64_t input_size, int64_t hidden_size, RecurrentOptions o = {});
  using Output = GRU::Output;
  Output operator()(const Tensor& x, const Tensor& h = {});
};

// One step. Without a state they start from zeros.
class RecurrentCell : public Module {
 public:
  Tensor weight_ih, weight_hh, bias_ih, bias_hh;

 protected:
  RecurrentCell(int64_t gates, int64_t input_size, int64_t hidden_size, bool bias);
  Tensor state_for(const Tensor& x, const Tensor& h) const;
  int64_t hidden_;
};
class RNNCell : public RecurrentCell {
 public:
  RNNCell(int64_t input_size, int64_t hidden_size, bool bias = true, const std::string& nonlinearity = "tanh");
  Tensor operator()(const Tensor& x, const Tensor& h = {});

 private:
  bool relu_;
};
class GRUCell : public RecurrentCell {
 public:
  GRUCell(int64_t input_size, int64_t hidden_size, bool bias = true) : RecurrentCell(3, input_size, hidden_size, bias) {}
  Tensor operator()(const Tensor& x, const Tensor& h = {});
};
class LSTMCell : public RecurrentCell {
 public:
  LSTMCell(int64_t input_size, int64_t hidden_size, bool bias = true) : RecurrentCell(4, input_size, hidden_size, bias) {}
  struct Output {
    Tensor h, c;
  };
  Output operator()(const Tensor& x, const Tensor& h = {}, const Tensor& c = {});
};

}  // namespace ingot::nn
