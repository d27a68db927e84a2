// A195, A196 on the modules of the reference's database that nn.hpp does not have: each is written
// here as the reference defines it, as a formula of operators over parameters and buffers.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

#include "exhaustive/module_check.hpp"
#include "op/call.hpp"
#include "support/no_leaks.hpp"

namespace ingot::aot {
namespace {

using In = const TensorList&;

class Formula final : public nn::Module {
 public:
  using Forward = std::function<TensorList(const Formula&, In)>;
  std::deque<Tensor> state;  // parameters, then buffers

  Formula(const TensorList& parameters, const TensorList& buffers) {
    for (const Tensor& t : parameters) add_parameter(text("p", state.size()), state.emplace_back(), t);
    for (const Tensor& t : buffers) add_buffer(text("b", state.size()), state.emplace_back(), t);
  }
};

ModuleSample formula(std::string name, const TensorList& parameters, const TensorList& buffers, const TensorList& arguments,
                     const Formula::Forward& forward) {
  const auto m = std::make_shared<Formula>(parameters, buffers);
  return {std::move(name), m, [m, forward](In in) { return forward(*m, in); }, arguments};
}
ModuleSample stateless(std::string name, const TensorList& arguments, const std::function<Tensor(In)>& forward) {
  return formula(std::move(name), {}, {}, arguments, [forward](const Formula&, In in) { return TensorList{forward(in)}; });
}

void add_activations(std::vector<ModuleSample>& l) {
  const auto add = [&](const char* name, Tensor (*f)(const Tensor&)) {
    for (const Shape& size : {Shape{}, Shape{4}, Shape{2, 3, 4, 5}})
      l.push_back(stateless(text(name, " of ", size), {randn(size) * 2}, [f](In in) { return f(in[0]); }));
  };
  using T = const Tensor&;
  add("CELU", [](T x) { return aten<"celu">(x, 2.0); });
  add("Hardshrink", [](T x) { return aten<"hardshrink">(x, 0.4); });
  add("Hardtanh", [](T x) { return aten<"hardtanh">(x, -0.5, 0.7); });
  add("ReLU6", [](T x) { return aten<"relu6">(x * 4); });
  add("LogSigmoid", [](T x) { return aten<"log_sigmoid">(x); });
  add("Softshrink", [](T x) { return aten<"softshrink">(x, 0.4); });
  add("Softsign", [](T x) { return x / (x.abs() + 1); });
  add("Tanhshrink", [](T x) { return x - x.tanh(); });
  add("Threshold", [](T x) { return aten<"threshold">(x, 0.3, 2.0); });
  add("Mish", [](T x) { return aten<"mish">(x); });
  add("SELU", [](T x) { return aten<"selu">(x); });
  l.push_back(stateless("GLU", {randn({5, 6})}, [](In in) { return aten<"glu">(in[0], -1); }));
  l.push_back(stateless("GLU over rows", {randn({6, 7})}, [](In in) { return aten<"glu">(in[0], 0); }));
  l.push_back(stateless("Softmax2d", {randn({1, 3, 4, 5})}, [](In in) { return in[0].softmax(-3); }));
  l.push_back(stateless("Softmax2d of one image", {randn({3, 4, 5})}, [](In in) { return in[0].softmax(-3); }));
  for (const int64_t dim : {0, 1}) {
    l.push_back(
        stateless(text("LogSoftmax, dim ", dim), {randn({4, 5})}, [dim](In in) { return aten<"log_softmax.int">(in[0], dim); }));
    l.push_back(stateless(text("Softmin, dim ", dim), {randn({4, 5})}, [dim](In in) { return in[0].neg().softmax(dim); }));
  }
  const auto prelu = [](const Formula& m, In in) { return TensorList{aten<"prelu">(in[0], m.state[0])}; };
  l.push_back(formula("PReLU", {full({1}, 0.25)}, {}, {randn({2, 3, 4})}, prelu));
  l.push_back(formula("PReLU, a weight a channel", {rand({3})}, {}, {randn({2, 3, 4, 5})}, prelu));
}

void add_pools(std::vector<ModuleSample>& l) {
  const auto add = [&](const char* name, const Tensor& x, const std::function<Tensor(const Tensor&)>& f) {
    l.push_back(stateless(name, {x}, [f](In in) { return f(in[0]); }));
  };
  using T = const Tensor&;
  add("AdaptiveAvgPool1d", randn({1, 3, 5}), [](T x) { return aten<"adaptive_avg_pool1d">(x, Shape{3}); });
  add("AdaptiveAvgPool1d of one image", randn({3, 5}), [](T x) { return aten<"adaptive_avg_pool1d">(x, Shape{3}); });
  add("AdaptiveAvgPool3d", randn({2, 3, 5, 2, 7}), [](T x) { return aten<"adaptive_avg_pool3d">(x, Shape{3, 2, 4}); });
  add("AdaptiveAvgPool3d to the last element", randn({1, 1, 3, 5, 6}),
      [](T x) { return aten<"adaptive_avg_pool3d">(x, Shape{1, 1, 1}); });
  add("AdaptiveMaxPool1d", randn({1, 3, 5}), [](T x) { return atens<"adaptive_max_pool1d">(x, Shape{3})[0]; });
  add("AdaptiveMaxPool1d of one image", randn({3, 5}), [](T x) { return atens<"adaptive_max_pool1d">(x, Shape{3})[0]; });
  add("AdaptiveMaxPool3d", randn({2, 3, 5, 6, 7}), [](T x) { return atens<"adaptive_max_pool3d">(x, Shape{3, 4, 5})[0]; });
  add("AdaptiveMaxPool3d of one image", randn({3, 5, 6, 7}),
      [](T x) { return atens<"adaptive_max_pool3d">(x, Shape{3, 3, 3})[0]; });
  // Where the windows lie is drawn in each call.
  add("FractionalMaxPool2d", randn({2, 3, 5, 7}),
      [](T x) { return atens<"fractional_max_pool2d">(x, Shape{2, 2}, Shape{4, 3}, rand({2, 3, 2}))[0]; });
  add("FractionalMaxPool2d of one image", randn({3, 5, 7}),
      [](T x) { return atens<"fractional_max_pool2d">(x, Shape{2, 3}, Shape{4, 3}, rand({1, 3, 2}))[0]; });
  add("FractionalMaxPool3d", randn({2, 4, 5, 5, 5}),
      [](T x) { return atens<"fractional_max_pool3d">(x, Shape{2, 2, 2}, Shape{4, 4, 4}, rand({2, 4, 3}))[0]; });
  add("FractionalMaxPool3d of one image", randn({4, 7, 5, 6}),
      [](T x) { return atens<"fractional_max_pool3d">(x, Shape{2, 2, 2}, Shape{5, 4, 4}, rand({1, 4, 3}))[0]; });
  const auto root = [](T mean, double count, double norm) {
    return (aten<"sign">(mean) * mean.abs().relu() * count).pow(1 / norm);
  };
  add("LPPool1d", rand({1, 3, 7}) + 0.1, [root](T x) { return root(aten<"avg_pool1d">(x.pow(1.5), Shape{2}), 2, 1.5); });
  add("LPPool1d of one image", rand({3, 7}) + 0.1,
      [root](T x) { return root(aten<"avg_pool1d">(x.pow(2), Shape{2}, Shape{3}), 2, 2); });
  add("LPPool2d", rand({1, 3, 7, 7}) + 0.1, [root](T x) { return root(aten<"avg_pool2d">(x.pow(1.5), Shape{2, 2}), 4, 1.5); });
  add("LPPool3d", rand({1, 3, 7, 7, 7}) + 0.1, [root](T x) { return root(aten<"avg_pool3d">(x.pow(2), Shape{2, 2, 2}), 8, 2); });
}

void add_pads(std::vector<ModuleSample>& l) {
  // Of a batch, and of one image.
  const auto add = [&](const std::string& name, int dims, const std::function<Tensor(const Tensor&, const Shape& pad)>& f) {
    const Shape pads[] = {{1, 2}, {1, 2, 3, 2}, {1, 2, 2, 1, 1, 0}}, sizes[] = {{5}, {5, 6}, {4, 5, 6}};
    const auto k = static_cast<std::size_t>(dims - 1);
    for (const bool batch : {true, false}) {
      Shape size = batch ? Shape{2, 3} : Shape{3};
      for (const Int n : sizes[k]) size.push_back(n);
      l.push_back(stateless(text(name, dims, "d", batch ? "" : " of one image"), {randn(size)},
                            [f, pad = pads[k]](In in) { return f(in[0], pad); }));
    }
  };
  using T = const Tensor&;
  for (const int dims : {1, 2, 3}) {
    add("ReflectionPad", dims, [](T x, const Shape& pad) { return aten<"pad">(x, pad, "reflect"); });
    add("ReplicationPad", dims, [](T x, const Shape& pad) { return aten<"pad">(x, pad, "replicate"); });
    add("ZeroPad", dims, [](T x, const Shape& pad) { return aten<"pad">(x, pad, "constant", 0.0); });
    add("CircularPad", dims, [](T x, const Shape& pad) { return aten<"pad">(x, pad, "circular"); });
    add("ConstantPad", dims, [](T x, const Shape& pad) { return aten<"pad">(x, pad, "constant", 2.0); });
  }
}

// (weight, bias, running mean, running variance, number of batches)
TensorList norm_parameters(int64_t channels) { return {rand({channels}) + 0.5, randn({channels})}; }
TensorList norm_buffers(int64_t channels) { return {randn({channels}), rand({channels}) + 0.5, zeros({}, {.dtype = int64})}; }

Tensor local_response(const Tensor& x, int64_t size, double alpha, double beta, double k) {
  Tensor squares = (x * x).unsqueeze(1);
  if (x.dim() == 3) {
    squares = aten<"constant_pad_nd">(squares, Shape{0, 0, size / 2, (size - 1) / 2}, 0);
    squares = aten<"avg_pool2d">(squares, Shape{size, 1}, Shape{1}).squeeze(1);
  } else {
    squares = squares.view({x.size(0), 1, x.size(1), x.size(2), -1});
    squares = aten<"constant_pad_nd">(squares, Shape{0, 0, 0, 0, size / 2, (size - 1) / 2}, 0);
    squares = aten<"avg_pool3d">(squares, Shape{size, 1, 1}, Shape{1}).squeeze(1).view(x.sizes());
  }
  return x / (squares * alpha + k).pow(beta);
}

void add_layers(std::vector<ModuleSample>& l) {
  l.push_back(formula("BatchNorm3d", norm_parameters(3), norm_buffers(3), {randn({2, 3, 4, 4, 4})}, [](const Formula& m, In in) {
    if (m.is_training()) Tensor(m.state[4]).add_(1);
    return TensorList{
        aten<"batch_norm">(in[0], m.state[0], m.state[1], m.state[2], m.state[3], m.is_training(), 0.1, 1e-5, false)};
  }));
  for (const int dims : {1, 2, 3}) {
    Shape size{4, 3};
    for (int d = 0; d < dims; d++) size.push_back(5 + d);
    l.push_back(stateless(text("InstanceNorm", dims, "d"), {randn(size)}, [](In in) {
      return aten<"instance_norm">(in[0], Value(), Value(), Value(), Value(), true, 0.3, 1e-3, false);
    }));
    l.push_back(formula(text("InstanceNorm", dims, "d with statistics"), norm_parameters(3), norm_buffers(3), {randn(size)},
                        [](const Formula& m, In in) {
                          return TensorList{aten<"instance_norm">(in[0], m.state[0], m.state[1], m.state[2], m.state[3],
                                                                  m.is_training(), 0.3, 1e-3, false)};
                        }));
  }
  l.push_back(
      formula("ConvTranspose3d", {randn({2, 3, 2, 3, 2}), randn({3})}, {}, {randn({1, 2, 4, 5, 4})}, [](const Formula& m, In in) {
        return TensorList{aten<"conv_transpose3d.input">(in[0], m.state[0], m.state[1], Shape{2, 2, 2})};
      }));
  l.push_back(stateless("LocalResponseNorm", {randn({1, 5, 7})}, [](In in) { return local_response(in[0], 3, 1e-4, 0.75, 1); }));
  l.push_back(
      stateless("LocalResponseNorm of images", {randn({1, 5, 7, 7})}, [](In in) { return local_response(in[0], 2, 1, 0.5, 2); }));
}

void add_recurrent(std::vector<ModuleSample>& l) {
  constexpr int64_t kIn = 5, kHidden = 4;
  const auto weights = [](int64_t gates, int64_t in, bool bias) {
    TensorList w{randn({gates * kHidden, in}) * 0.5, randn({gates * kHidden, kHidden}) * 0.5};
    if (bias) w.insert(w.end(), {randn({gates * kHidden}), randn({gates * kHidden})});
    return w;
  };
  const auto at = [](const Formula& m, std::size_t k) { return k < m.state.size() ? Value(m.state[k]) : Value(); };
  for (const bool bias : {true, false}) {
    const std::string with = bias ? "" : " without bias";
    const TensorList x{randn({3, kIn}), randn({3, kHidden})}, xc{randn({3, kIn}), randn({3, kHidden}), randn({3, kHidden})};
    l.push_back(formula("RNNCell" + with, weights(1, kIn, bias), {}, x, [at](const Formula& m, In in) {
      return TensorList{aten<"rnn_tanh_cell">(in[0], in[1], m.state[0], m.state[1], at(m, 2), at(m, 3))};
    }));
    l.push_back(formula("RNNCell" + with + " by relu", weights(1, kIn, bias), {}, x, [at](const Formula& m, In in) {
      return TensorList{aten<"rnn_relu_cell">(in[0], in[1], m.state[0], m.state[1], at(m, 2), at(m, 3))};
    }));
    l.push_back(formula("GRUCell" + with, weights(3, kIn, bias), {}, x, [at](const Formula& m, In in) {
      return TensorList{aten<"gru_cell">(in[0], in[1], m.state[0], m.state[1], at(m, 2), at(m, 3))};
    }));
    l.push_back(formula("LSTMCell" + with, weights(4, kIn, bias), {}, xc, [at](const Formula& m, In in) {
      return atens<"lstm_cell">(in[0], TensorList{in[1], in[2]}, m.state[0], m.state[1], at(m, 2), at(m, 3));
    }));
    for (const int64_t layers : {1, 2}) {
      TensorList all;
      for (int64_t k = 0; k < layers; k++)
        for (const Tensor& t : weights(1, k ? kHidden : kIn, bias)) all.push_back(t);
      const TensorList given{randn({3, 6, kIn}), randn({layers, 3, kHidden})};
      l.push_back(formula(text("RNN", with, ", layers ", layers), all, {}, given, [bias, layers](const Formula& m, In in) {
        return atens<"rnn_tanh.input">(in[0], in[1], TensorList(m.state.begin(), m.state.end()), bias, layers, 0.0,
                                       m.is_training(), false, true);
      }));
      l.push_back(
          formula(text("RNN", with, ", layers ", layers, ", by relu"), all, {}, given, [bias, layers](const Formula& m, In in) {
            return atens<"rnn_relu.input">(in[0], in[1], TensorList(m.state.begin(), m.state.end()), bias, layers, 0.0,
                                           m.is_training(), false, true);
          }));
    }
  }
}

struct DecoderLayer : nn::Module {
  nn::MultiheadAttention self_attn, multihead_attn;
  nn::Linear linear1, linear2;
  nn::LayerNorm norm1, norm2, norm3;
  nn::Dropout dropout{0.1};
  bool norm_first;
  explicit DecoderLayer(bool norm_first)
      : self_attn(4, 2, 0.1), multihead_attn(4, 2, 0.1), linear1(4, 8), linear2(8, 4), norm1(Shape{4}), norm2(Shape{4}),
        norm3(Shape{4}), norm_first(norm_first) {
    add("self_attn", self_attn);
    add("multihead_attn", multihead_attn);
    add("linear1", linear1);
    add("linear2", linear2);
    add("norm1", norm1);
    add("norm2", norm2);
    add("norm3", norm3);
    add("dropout", dropout);
  }
  Tensor operator()(const Tensor& target, const Tensor& memory) {
    const auto attend = [&](const Tensor& y) { return dropout(self_attn(y, y, y)); };
    const auto look_up = [&](const Tensor& y) { return dropout(multihead_attn(y, memory, memory)); };
    const auto feed = [&](const Tensor& y) { return dropout(linear2(dropout(linear1(y).relu()))); };
    Tensor x = target;
    if (norm_first) {
      x = x + attend(norm1(x));
      x = x + look_up(norm2(x));
      return x + feed(norm3(x));
    }
    x = norm1(x + attend(x));
    x = norm2(x + look_up(x));
    return norm3(x + feed(x));
  }
};
struct Encoder : nn::Module {
  nn::TransformerEncoderLayer first, second;
  nn::LayerNorm norm{Shape{4}};
  explicit Encoder(const nn::TransformerOptions& o) : first(4, 2, o), second(4, 2, o) {
    add("layers.0", first);
    add("layers.1", second);
    add("norm", norm);
  }
  Tensor operator()(const Tensor& x) { return norm(second(first(x))); }
};
struct Transformer : nn::Module {
  Encoder encoder;
  DecoderLayer decoder;
  nn::LayerNorm norm{Shape{4}};
  explicit Transformer(bool norm_first) : encoder({.dim_feedforward = 8, .norm_first = norm_first}), decoder(norm_first) {
    add("encoder", encoder);
    add("decoder.layers.0", decoder);
    add("decoder.norm", norm);
  }
  Tensor operator()(const Tensor& source, const Tensor& target) { return norm(decoder(target, encoder(source))); }
};

void add_transformers(std::vector<ModuleSample>& l) {
  const auto add = [&](const std::string& name, const auto& m, const TensorList& arguments, const auto& forward) {
    l.push_back({name, m, [m, forward](In in) { return TensorList{forward(*m, in)}; }, arguments});
  };
  for (const bool norm_first : {false, true}) {
    const std::string how = norm_first ? ", norm first" : "";
    add("TransformerEncoder" + how,
        std::make_shared<Encoder>(nn::TransformerOptions{.dim_feedforward = 8, .gelu = norm_first, .norm_first = norm_first}),
        {randn({2, 3, 4})}, [](Encoder& m, In in) { return m(in[0]); });
    add("TransformerDecoderLayer" + how, std::make_shared<DecoderLayer>(norm_first), {randn({3, 2, 4}), randn({5, 2, 4})},
        [](DecoderLayer& m, In in) { return m(in[0], in[1]); });
    add("Transformer" + how, std::make_shared<Transformer>(norm_first), {randn({3, 2, 4}), randn({5, 2, 4})},
        [](Transformer& m, In in) { return m(in[0], in[1]); });
  }
}

// none, mean, sum
Tensor reduced(const Tensor& loss, int64_t reduction) {
  return reduction == 0 ? loss : reduction == 1 ? aten<"mean">(loss) : loss.sum();
}
Tensor log_sigmoid(const Tensor& x) { return aten<"log_sigmoid">(x); }

void add_losses(std::vector<ModuleSample>& l) {
  for (const int64_t r : {0, 1, 2}) {
    const auto add = [&](const char* name, const TensorList& arguments, const std::function<Tensor(In)>& f) {
      l.push_back(stateless(text(name, ", reduction ", r), arguments, f));
    };
    const Tensor signs = aten<"sign">(randn({5})).detach(), one_or_minus = tensor({1, -1, -1, 1, 1}, int64);
    add("CosineEmbeddingLoss", {randn({5, 3}), randn({5, 3}), one_or_minus},
        [r](In in) { return aten<"cosine_embedding_loss">(in[0], in[1], in[2], 0.3, r); });
    add("MarginRankingLoss", {randn({5}), randn({5}), one_or_minus},
        [r](In in) { return aten<"margin_ranking_loss">(in[0], in[1], in[2], 0.5, r); });
    add("MultiLabelMarginLoss", {randn({3, 4}), tensor({3, 0, -1, 1, 1, -1, 0, 2, 0, 1, 2, 3}, int64).view({3, 4})},
        [r](In in) { return aten<"multilabel_margin_loss">(in[0], in[1], r); });
    add("MultiMarginLoss", {randn({5, 10}), randint(0, 10, {5})},
        [r](In in) { return aten<"multi_margin_loss">(in[0], in[1], 2, 0.5, Value(), r); });
    add("SoftMarginLoss", {randn({5, 5}), aten<"sign">(randn({5, 5}))},
        [r](In in) { return aten<"soft_margin_loss">(in[0], in[1].detach(), r); });
    add("MultiLabelSoftMarginLoss", {randn({5, 10}), rand({5, 10})}, [r](In in) {
      const Tensor yes = in[1] * log_sigmoid(in[0]), no = (in[1] * -1 + 1) * log_sigmoid(in[0].neg());
      return reduced((yes + no).neg().sum({-1}) / 10, r);
    });
    add("GaussianNLLLoss", {randn({3, 4}), randn({3, 4}), rand({3, 4}) + 0.1}, [r](In in) {
      Tensor var = in[2].clone();
      {
        const NoGrad scope;
        aten_value<"clamp_">(var, 1e-6);
      }
      const Tensor d = in[0] - in[1];
      return reduced((var.log() + d * d / var) * 0.5, r);
    });
    for (const bool log_input : {true, false})
      add(log_input ? "PoissonNLLLoss" : "PoissonNLLLoss of rates", {rand({2, 3, 4}), rand({2, 3, 4}) * 4},
          [r, log_input](In in) { return aten<"poisson_nll_loss">(in[0], in[1], log_input, true, 1e-8, r); });
    add("HingeEmbeddingLoss", {randn({5}), one_or_minus},
        [r](In in) { return aten<"hinge_embedding_loss">(in[0], in[1], 0.5, r); });
    add("HuberLoss", {randn({5, 10}), randn({5, 10})}, [r](In in) { return aten<"huber_loss">(in[0], in[1], r, 0.7); });
    add("CTCLoss", {randn({20, 3, 6}), randint(1, 6, {3, 5})}, [r](In in) {
      return aten<"ctc_loss.IntList">(aten<"log_softmax.int">(in[0], 2), in[1], Shape{20, 18, 15}, Shape{5, 4, 3}, 0, r, false);
    });
  }
}

std::vector<ModuleSample> database_modules() {
  manual_seed(0);
  std::vector<ModuleSample> l;
  for (const auto add : {add_activations, add_pools, add_pads, add_layers, add_recurrent, add_transformers, add_losses}) add(l);
  return l;
}

using ExhaustiveModules = NoLeaks;

TEST_F(ExhaustiveModules, A195_M01_M03_DatabaseStatic) { check_modules(database_modules(), {}); }
TEST_F(ExhaustiveModules, A196_M01_M03_DatabaseDynamic) { check_modules(database_modules(), {.dynamic = true}); }

// The reference's database.
const char* const kDatabase[] = {"AdaptiveAvgPool1d",
                                 "AdaptiveAvgPool2d",
                                 "AdaptiveAvgPool3d",
                                 "AdaptiveMaxPool1d",
                                 "AdaptiveMaxPool2d",
                                 "AdaptiveMaxPool3d",
                                 "AvgPool1d",
                                 "AvgPool2d",
                                 "AvgPool3d",
                                 "BatchNorm1d",
                                 "BatchNorm2d",
                                 "BatchNorm3d",
                                 "CELU",
                                 "Conv1d",
                                 "Conv2d",
                                 "Conv3d",
                                 "ConvTranspose1d",
                                 "ConvTranspose2d",
                                 "ConvTranspose3d",
                                 "CosineEmbeddingLoss",
                                 "ELU",
                                 "FractionalMaxPool2d",
                                 "FractionalMaxPool3d",
                                 "L1Loss",
                                 "SmoothL1Loss",
                                 "LazyConv1d",
                                 "LazyConv2d",
                                 "LazyConv3d",
                                 "LazyConvTranspose1d",
                                 "LazyConvTranspose2d",
                                 "LazyConvTranspose3d",
                                 "Linear",
                                 "Bilinear",
                                 "LPPool1d",
                                 "LPPool2d",
                                 "LPPool3d",
                                 "MaxPool1d",
                                 "MaxPool2d",
                                 "MaxPool3d",
                                 "KLDivLoss",
                                 "MSELoss",
                                 "MarginRankingLoss",
                                 "MultiLabelMarginLoss",
                                 "MultiMarginLoss",
                                 "SoftMarginLoss",
                                 "MultiLabelSoftMarginLoss",
                                 "NLLLoss",
                                 "GaussianNLLLoss",
                                 "PoissonNLLLoss",
                                 "HingeEmbeddingLoss",
                                 "HuberLoss",
                                 "BCELoss",
                                 "BCEWithLogitsLoss",
                                 "CrossEntropyLoss",
                                 "CTCLoss",
                                 "GELU",
                                 "GLU",
                                 "GroupNorm",
                                 "Hardshrink",
                                 "Hardswish",
                                 "Hardtanh",
                                 "InstanceNorm1d",
                                 "InstanceNorm2d",
                                 "InstanceNorm3d",
                                 "LocalResponseNorm",
                                 "LayerNorm",
                                 "RMSNorm",
                                 "TransformerEncoder",
                                 "TransformerEncoderLayer",
                                 "TransformerDecoderLayer",
                                 "Transformer",
                                 "MultiheadAttention",
                                 "Embedding",
                                 "ReLU",
                                 "LeakyReLU",
                                 "ReLU6",
                                 "PReLU",
                                 "RNNCell",
                                 "GRUCell",
                                 "LSTMCell",
                                 "Sigmoid",
                                 "LogSigmoid",
                                 "SiLU",
                                 "Softmax",
                                 "Softmax2d",
                                 "LogSoftmax",
                                 "Softmin",
                                 "Softplus",
                                 "Softshrink",
                                 "Softsign",
                                 "Tanh",
                                 "Tanhshrink",
                                 "Threshold",
                                 "Mish",
                                 "RNN",
                                 "GRU",
                                 "LSTM",
                                 "ReflectionPad1d",
                                 "ReflectionPad2d",
                                 "ReflectionPad3d",
                                 "ReplicationPad1d",
                                 "ReplicationPad2d",
                                 "ReplicationPad3d",
                                 "SELU",
                                 "ZeroPad1d",
                                 "ZeroPad2d",
                                 "ZeroPad3d",
                                 "CircularPad1d",
                                 "CircularPad2d",
                                 "CircularPad3d",
                                 "ConstantPad1d",
                                 "ConstantPad2d",
                                 "ConstantPad3d"};

TEST_F(ExhaustiveModules, A195_A196_EveryModuleOfTheDatabaseHasASample) {
  std::set<std::string> names;
  for (const auto& samples : {nn_modules(), database_modules()})
    for (const ModuleSample& s : samples) names.insert(s.name.substr(0, s.name.find_first_of(" ,")));
  for (std::string name : kDatabase) {
    if (name.starts_with("Lazy")) name = name.substr(4);  // M01: what it is once it has run
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

}  // namespace
}  // namespace ingot::aot
