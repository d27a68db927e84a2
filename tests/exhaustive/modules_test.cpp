// A195, A196: every module of nn.hpp, in training and in evaluation, as a function of its
// parameters, buffers and arguments (M01, M02), agrees with itself compiled (M03). Losses, which
// are functions in nn.hpp, are modules without state here.
#include <gtest/gtest.h>

#include "exhaustive/module_check.hpp"
#include "support/no_leaks.hpp"

namespace ingot::aot {
namespace {

template <class Layer, class... Given>
ModuleSample layer(std::string name, const Tensor& x, Given&&... given) {
  const auto module = std::make_shared<Layer>(std::forward<Given>(given)...);
  return {std::move(name), module, [module](const TensorList& in) { return TensorList{module->forward(in[0])}; }, {x}};
}
template <class Module, class Forward>
ModuleSample module(std::string name, std::shared_ptr<Module> m, const TensorList& arguments, const Forward& forward) {
  return {std::move(name), m, [m, forward](const TensorList& in) { return forward(*m, in); }, arguments};
}
ModuleSample loss(std::string name, const TensorList& arguments, const std::function<Tensor(const Tensor&, const Tensor&)>& f) {
  return {std::move(name), std::make_shared<nn::Module>(), [f](const TensorList& in) { return TensorList{f(in[0], in[1])}; },
          arguments};
}

void add_layers(std::vector<ModuleSample>& l) {
  l.push_back(layer<nn::Linear>("Linear", randn({4, 10}), 10, 8));
  l.push_back(layer<nn::Linear>("Linear without bias", randn({10}), 10, 8, false));
  l.push_back(layer<nn::Conv1d>("Conv1d", randn({2, 3, 9}), 3, 4, Shape{3}));
  l.push_back(layer<nn::Conv1d>("Conv1d of one image", randn({3, 9}), 3, 4, Shape{3}, nn::ConvOptions{.stride = {2}}));
  l.push_back(layer<nn::Conv2d>("Conv2d", randn({2, 4, 6, 7}), 4, 6, Shape{3},
                                nn::ConvOptions{.stride = {2}, .padding = {1}, .groups = 2}));
  l.push_back(layer<nn::Conv2d>("Conv2d, dilated", randn({2, 3, 7, 7}), 3, 4, Shape{2, 3},
                                nn::ConvOptions{.dilation = {2}, .bias = false}));
  l.push_back(layer<nn::Conv3d>("Conv3d", randn({1, 2, 4, 5, 4}), 2, 3, Shape{2, 3, 2}));
  l.push_back(layer<nn::ConvTranspose1d>("ConvTranspose1d", randn({2, 3, 5}), 3, 4, Shape{3}, nn::ConvOptions{.stride = {2}}));
  l.push_back(layer<nn::ConvTranspose2d>("ConvTranspose2d", randn({2, 4, 3, 4}), 4, 6, Shape{3},
                                         nn::ConvOptions{.stride = {2}, .padding = {1}, .output_padding = {1}, .groups = 2}));
  l.push_back(layer<nn::BatchNorm1d>("BatchNorm1d", randn({5, 3}), 3));
  l.push_back(layer<nn::BatchNorm1d>("BatchNorm1d, not affine", randn({5, 3, 4}), 3, 1e-3, 0.3, false));
  l.push_back(layer<nn::BatchNorm2d>("BatchNorm2d", randn({2, 3, 4, 5}), 3));
  l.push_back(layer<nn::BatchNorm2d>("BatchNorm2d without statistics", randn({2, 3, 4, 5}), 3, 1e-5, 0.1, true, false));
  l.push_back(layer<nn::LayerNorm>("LayerNorm", randn({2, 3, 8}), Shape{8}));
  l.push_back(layer<nn::LayerNorm>("LayerNorm, not affine", randn({2, 3, 8}), Shape{3, 8}, 1e-5, false));
  l.push_back(layer<nn::GroupNorm>("GroupNorm", randn({2, 6, 3}), 3, 6));
  l.push_back(layer<nn::RMSNorm>("RMSNorm", randn({4, 8}), Shape{8}));
  l.push_back(layer<nn::RMSNorm>("RMSNorm, not affine", randn({4, 8}), Shape{8}, 1e-6, false));
  l.push_back(layer<nn::Embedding>("Embedding", randint(0, 10, {3, 4}), 10, 5));
  l.push_back(layer<nn::Embedding>("Embedding with padding", randint(0, 10, {12}), 10, 5, 3));
  l.push_back(layer<nn::MaxPool1d>("MaxPool1d", randn({2, 3, 9}), Shape{3}));
  l.push_back(layer<nn::MaxPool2d>("MaxPool2d", randn({2, 3, 7, 8}), Shape{3}, Shape{2}, Shape{1}));
  l.push_back(layer<nn::MaxPool3d>("MaxPool3d", randn({1, 2, 4, 5, 6}), Shape{2}));
  l.push_back(layer<nn::AvgPool1d>("AvgPool1d", randn({2, 3, 9}), Shape{3}));
  l.push_back(layer<nn::AvgPool2d>("AvgPool2d", randn({2, 3, 7, 8}), Shape{3}, Shape{2}, Shape{1}));
  l.push_back(layer<nn::AvgPool3d>("AvgPool3d", randn({1, 2, 4, 5, 6}), Shape{2}));
  l.push_back(layer<nn::AdaptiveAvgPool2d>("AdaptiveAvgPool2d", randn({2, 3, 7, 8}), Shape{2, 3}));
  l.push_back(layer<nn::AdaptiveMaxPool2d>("AdaptiveMaxPool2d", randn({2, 3, 7, 8}), Shape{2, 3}));
  l.push_back(layer<nn::Dropout>("Dropout", randn({4, 10}), 0.3));
  l.push_back(layer<nn::Flatten>("Flatten", randn({2, 3, 4})));
  l.push_back(layer<nn::ReLU>("ReLU", randn({4, 5})));
  l.push_back(layer<nn::Sigmoid>("Sigmoid", randn({4, 5})));
  l.push_back(layer<nn::Tanh>("Tanh", randn({4, 5})));
  l.push_back(layer<nn::SiLU>("SiLU", randn({4, 5})));
  l.push_back(layer<nn::Hardsigmoid>("Hardsigmoid", randn({4, 5}) * 3));
  l.push_back(layer<nn::Hardswish>("Hardswish", randn({4, 5}) * 3));
  l.push_back(layer<nn::GELU>("GELU", randn({4, 5})));
  l.push_back(layer<nn::GELU>("GELU, approximate", randn({4, 5}), "tanh"));
  l.push_back(layer<nn::LeakyReLU>("LeakyReLU", randn({4, 5}), 0.2));
  l.push_back(layer<nn::ELU>("ELU", randn({4, 5}), 1.5));
  l.push_back(layer<nn::Softplus>("Softplus", randn({4, 5})));
  l.push_back(layer<nn::Softmax>("Softmax", randn({4, 5}), 1));
  l.push_back(layer<nn::Sequential>("Sequential", randn({4, 5}),
                                    std::initializer_list<std::shared_ptr<nn::Layer>>{
                                        nn::make<nn::Linear>(5, 6), nn::make<nn::BatchNorm1d>(6), nn::make<nn::Dropout>(0.5),
                                        nn::make<nn::ReLU>(), nn::make<nn::Linear>(6, 3)}));
  l.push_back(
      layer<nn::TransformerEncoderLayer>("TransformerEncoderLayer", randn({2, 5, 8}), 8, 2,
                                         nn::TransformerOptions{.dim_feedforward = 16, .dropout = 0.2, .batch_first = true}));
  l.push_back(
      layer<nn::TransformerEncoderLayer>("TransformerEncoderLayer, norm first", randn({5, 2, 8}), 8, 2,
                                         nn::TransformerOptions{.dim_feedforward = 16, .gelu = true, .norm_first = true}));
}

void add_modules(std::vector<ModuleSample>& l) {
  using Arguments = const TensorList&;
  l.push_back(module("Bilinear", std::make_shared<nn::Bilinear>(3, 4, 2), {randn({5, 3}), randn({5, 4})},
                     [](nn::Bilinear& m, Arguments in) { return TensorList{m(in[0], in[1])}; }));
  for (const std::string mode : {"sum", "mean", "max"}) {
    l.push_back(module("EmbeddingBag, " + mode, std::make_shared<nn::EmbeddingBag>(10, 3, mode), {randint(0, 10, {2, 4})},
                       [](nn::EmbeddingBag& m, Arguments in) { return TensorList{m(in[0])}; }));
    l.push_back(module("EmbeddingBag with offsets, " + mode, std::make_shared<nn::EmbeddingBag>(10, 3, mode),
                       {randint(0, 10, {7}), arange(0, 6, 2)},
                       [](nn::EmbeddingBag& m, Arguments in) { return TensorList{m(in[0], in[1])}; }));
  }
  const auto lstm = [](nn::LSTM& m, Arguments in) {
    const nn::LSTM::Output r = in.size() > 1 ? m(in[0], in[1], in[2]) : m(in[0]);
    return TensorList{r.output, r.h, r.c};
  };
  const auto gru = [](nn::GRU& m, Arguments in) {
    const nn::GRU::Output r = in.size() > 1 ? m(in[0], in[1]) : m(in[0]);
    return TensorList{r.output, r.h};
  };
  const nn::RecurrentOptions deep{.num_layers = 2, .batch_first = true, .bidirectional = true, .dropout = 0.3};
  l.push_back(module("LSTM", std::make_shared<nn::LSTM>(4, 3), {randn({5, 2, 4})}, lstm));
  l.push_back(module("LSTM from a state", std::make_shared<nn::LSTM>(4, 3, nn::RecurrentOptions{.bias = false}),
                     {randn({5, 2, 4}), randn({1, 2, 3}), randn({1, 2, 3})}, lstm));
  l.push_back(module("LSTM, deep", std::make_shared<nn::LSTM>(4, 3, deep), {randn({2, 5, 4})}, lstm));
  l.push_back(module("GRU", std::make_shared<nn::GRU>(4, 3), {randn({5, 2, 4})}, gru));
  l.push_back(module("GRU from a state", std::make_shared<nn::GRU>(4, 3), {randn({5, 4}), randn({1, 3})}, gru));
  l.push_back(module("GRU, deep", std::make_shared<nn::GRU>(4, 3, deep), {randn({2, 5, 4})}, gru));
  l.push_back(module("MultiheadAttention", std::make_shared<nn::MultiheadAttention>(8, 2, 0.2),
                     {randn({3, 2, 8}), randn({5, 2, 8}), randn({5, 2, 8})},
                     [](nn::MultiheadAttention& m, Arguments in) { return TensorList{m(in[0], in[1], in[2])}; }));
  l.push_back(module("MultiheadAttention with a mask", std::make_shared<nn::MultiheadAttention>(8, 2, 0, false, true),
                     {randn({2, 5, 8}), triu(ones({5, 5}), 1).to(boolean)},
                     [](nn::MultiheadAttention& m, Arguments in) { return TensorList{m(in[0], in[0], in[0], in[1], true)}; }));
}

void add_losses(std::vector<ModuleSample>& l) {
  using T = const Tensor&;
  for (const nn::Reduction r : {nn::Reduction::none, nn::Reduction::mean, nn::Reduction::sum}) {
    const std::string by = text(", reduction ", static_cast<int64_t>(r));
    const TensorList numbers = {randn({4, 5}), randn({4, 5})}, probabilities = {rand({4, 5}), rand({4, 5})};
    const TensorList classes = {randn({4, 5}), randint(0, 5, {4})};
    l.push_back(loss("MSELoss" + by, numbers, [r](T x, T y) { return nn::mse_loss(x, y, r); }));
    l.push_back(loss("L1Loss" + by, numbers, [r](T x, T y) { return nn::l1_loss(x, y, r); }));
    l.push_back(loss("SmoothL1Loss" + by, numbers, [r](T x, T y) { return nn::smooth_l1_loss(x, y, 0.5, r); }));
    l.push_back(loss("CrossEntropyLoss" + by, classes, [r](T x, T y) { return nn::cross_entropy(x, y, r, 0.1); }));
    l.push_back(loss("NLLLoss" + by, classes, [r](T x, T y) { return nn::nll_loss(x, y, r); }));
    l.push_back(loss("BCELoss" + by, probabilities, [r](T x, T y) { return nn::binary_cross_entropy(x, y, r); }));
    l.push_back(loss("BCEWithLogitsLoss" + by, numbers, [r](T x, T y) { return nn::binary_cross_entropy_with_logits(x, y, r); }));
    l.push_back(loss("KLDivLoss" + by, numbers, [r](T x, T y) { return nn::kl_div(x, y, r); }));
  }
}

}  // namespace

std::vector<ModuleSample> nn_modules() {
  manual_seed(0);
  std::vector<ModuleSample> l;
  add_layers(l);
  add_modules(l);
  add_losses(l);
  return l;
}

using ExhaustiveModules = NoLeaks;

TEST_F(ExhaustiveModules, A195_M01_M03_Static) { check_modules(nn_modules(), {}); }
TEST_F(ExhaustiveModules, A196_M01_M03_Dynamic) { check_modules(nn_modules(), {.dynamic = true}); }

}  // namespace ingot::aot
