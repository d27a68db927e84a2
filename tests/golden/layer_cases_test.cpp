// Layers and losses: every case of scripts/torch_nn_cases.py, with PyTorch's weights by PyTorch's
// names, in PyTorch's numbers: results, gradients, and what is left in buffers.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "base/error.hpp"
#include "check/compare.hpp"
#include "ingot/nn.hpp"
#include "io/safetensors.hpp"

namespace ingot {
namespace {

using namespace nn;
using In = const TensorList&;

struct LayerCase {
  std::shared_ptr<Module> module;
  std::function<TensorList(In)> forward;
};
using LayerCases = std::map<std::string, LayerCase>;

const SafeTensors& layer_golden() {
  static const SafeTensors file = SafeTensors::open(std::string(INGOT_GOLDEN_DIR) + "/nn/layers.safetensors");
  return file;
}

template <class M, class F>
LayerCase made(std::shared_ptr<M> m, F f) {
  return {m, [m, f](In in) { return f(*m, in); }};
}
// A layer of one tensor, or a module called with all its arguments.
template <class M, class... A>
LayerCase layer_of(A... given) {
  return made(std::make_shared<M>(given...), [](M& m, In in) { return TensorList{m(in[0])}; });
}
template <class M, class... A>
LayerCase of_two(A... given) {
  return made(std::make_shared<M>(given...), [](M& m, In in) { return TensorList{m(in[0], in[1])}; });
}
template <class M, class... A>
LayerCase of_three(A... given) {
  return made(std::make_shared<M>(given...), [](M& m, In in) { return TensorList{m(in[0], in[1], in[2])}; });
}

void add_activations(LayerCases& c) {
  c["ReLU"] = layer_of<ReLU>();
  c["ReLU6"] = layer_of<ReLU6>();
  c["SELU"] = layer_of<SELU>();
  c["SiLU"] = layer_of<SiLU>();
  c["Mish"] = layer_of<Mish>();
  c["Sigmoid"] = layer_of<Sigmoid>();
  c["LogSigmoid"] = layer_of<LogSigmoid>();
  c["Hardsigmoid"] = layer_of<Hardsigmoid>();
  c["Hardswish"] = layer_of<Hardswish>();
  c["Tanh"] = layer_of<Tanh>();
  c["Tanhshrink"] = layer_of<Tanhshrink>();
  c["Softsign"] = layer_of<Softsign>();
  c["CELU"] = layer_of<CELU>();
  c["ELU"] = layer_of<ELU>();
  c["LeakyReLU"] = layer_of<LeakyReLU>();
  c["Hardshrink"] = layer_of<Hardshrink>();
  c["Softshrink"] = layer_of<Softshrink>();
  c["GELU"] = layer_of<GELU>();
  c["GLU"] = layer_of<GLU>();
  c["Softplus"] = layer_of<Softplus>();
  c["Hardtanh"] = layer_of<Hardtanh>();
  c["PReLU"] = layer_of<PReLU>();
  c["Identity"] = layer_of<Identity>();
  c["CELU_2"] = layer_of<CELU>(2.0);
  c["ELU_half"] = layer_of<ELU>(0.5);
  c["LeakyReLU_2"] = layer_of<LeakyReLU>(0.2);
  c["Hardshrink_1"] = layer_of<Hardshrink>(1.0);
  c["Softshrink_1"] = layer_of<Softshrink>(1.0);
  c["GELU_tanh"] = layer_of<GELU>("tanh");
  c["GLU_0"] = layer_of<GLU>(0);
  c["Softplus_3"] = layer_of<Softplus>(3.0, 2.0);
  c["Hardtanh_2"] = layer_of<Hardtanh>(-0.5, 2.0);
  c["Threshold"] = layer_of<Threshold>(0.3, 2.0);
  c["RReLU"] = layer_of<RReLU>();
  c["RReLU_wide"] = layer_of<RReLU>(0.1, 0.9);
  c["PReLU_3"] = layer_of<PReLU>(3, 0.5);
  c["Softmax"] = layer_of<Softmax>(0);
  c["Softmin"] = layer_of<Softmin>(1);
  c["LogSoftmax"] = layer_of<LogSoftmax>(1);
  c["Softmax2d"] = layer_of<Softmax2d>();
  c["Dropout"] = layer_of<Dropout>();
  c["Dropout1d"] = layer_of<Dropout1d>();
  c["Dropout2d"] = layer_of<Dropout2d>();
  c["Dropout3d"] = layer_of<Dropout3d>();
  c["AlphaDropout"] = layer_of<AlphaDropout>();
  c["FeatureAlphaDropout"] = layer_of<FeatureAlphaDropout>();
  using Adaptive = AdaptiveLogSoftmaxWithLoss;
  const auto adaptive = [] { return std::make_shared<Adaptive>(6, 9, std::vector<int64_t>{3, 6}, 2.0, true); };
  c["AdaptiveLogSoftmaxWithLoss"] = made(adaptive(), [](Adaptive& m, In in) {
    const auto [output, loss] = m(in[0], in[1]);
    return TensorList{output, loss};
  });
  c["AdaptiveLogSoftmaxWithLoss_log_prob"] = made(adaptive(), [](Adaptive& m, In in) { return TensorList{m.log_prob(in[0])}; });
}

void add_linears(LayerCases& c) {
  c["Linear"] = layer_of<Linear>(4, 3);
  c["Linear_plain"] = layer_of<Linear>(4, 3, false);
  c["Bilinear"] = of_two<Bilinear>(3, 2, 2);
  c["Flatten"] = layer_of<Flatten>();
  c["Unflatten"] = layer_of<Unflatten>(1, Shape{2, 3});
  c["Embedding"] = layer_of<Embedding>(5, 3);
  c["Embedding_padding"] = layer_of<Embedding>(5, 3, -2, false, EmbeddingOptions{.scale_grad_by_freq = true});
  c["Embedding_norm"] =
      layer_of<Embedding>(5, 3, std::optional<int64_t>(), false, EmbeddingOptions{.max_norm = 1.0, .norm_type = 1.0});
  c["EmbeddingBag"] = layer_of<EmbeddingBag>(5, 3);
  c["EmbeddingBag_max"] = of_two<EmbeddingBag>(5, 3, "max");
  c["EmbeddingBag_weights"] = of_three<EmbeddingBag>(5, 3, "sum", false, EmbeddingBagOptions{.padding_idx = 3});
  c["EmbeddingBag_last"] =
      of_two<EmbeddingBag>(5, 3, "sum", false, EmbeddingBagOptions{.max_norm = 1.0, .include_last_offset = true});
  c["CosineSimilarity"] = of_two<CosineSimilarity>();
  c["PairwiseDistance"] = of_two<PairwiseDistance>();
  c["PairwiseDistance_1"] = of_two<PairwiseDistance>(1.0, 1e-3, true);
}

void add_convolutions(LayerCases& c) {
  c["Conv1d"] = layer_of<Conv1d>(2, 3, 3);
  c["Conv1d_same"] = layer_of<Conv1d>(2, 2, 4, ConvOptions{.padding = "same", .dilation = 2, .bias = false});
  c["Conv2d"] = layer_of<Conv2d>(2, 4, 3, ConvOptions{.stride = 2, .padding = 1, .groups = 2});
  c["Conv2d_lists"] = layer_of<Conv2d>(1, 2, Dims{3, 2}, ConvOptions{.stride = {1, 2}, .padding = {2, 1}, .dilation = {2, 1}});
  c["Conv2d_same"] = layer_of<Conv2d>(1, 2, Dims{2, 3}, ConvOptions{.padding = "same"});
  for (const std::string mode : {"reflect", "replicate", "circular"})
    c["Conv2d_" + mode] = layer_of<Conv2d>(1, 2, 3, ConvOptions{.padding = {1, 2}, .padding_mode = mode});
  c["Conv2d_circular_same"] = layer_of<Conv2d>(1, 2, Dims{2, 3}, ConvOptions{.padding = "same", .padding_mode = "circular"});
  c["Conv3d"] = layer_of<Conv3d>(1, 2, 2, ConvOptions{.padding = {1, 0, 1}});
  c["ConvTranspose1d"] = layer_of<ConvTranspose1d>(2, 2, 3, ConvOptions{.stride = 2, .output_padding = 1});
  c["ConvTranspose2d"] = layer_of<ConvTranspose2d>(2, 4, 3, ConvOptions{.stride = 2, .padding = 1, .dilation = 2, .groups = 2});
  c["ConvTranspose3d"] = layer_of<ConvTranspose3d>(1, 2, 2, ConvOptions{.stride = {2, 1, 1}});
  c["Unfold"] = layer_of<Unfold>(Dims{2, 3}, WindowOptions{.padding = 1, .stride = 2});
  c["Fold"] = layer_of<Fold>(Dims{4, 5}, Dims{2, 3}, WindowOptions{.stride = {2, 1}});
}

template <class Batch, class Instance>
void add_channel_norms(LayerCases& c, const std::string& dims) {
  c["BatchNorm" + dims] = layer_of<Batch>(2);
  c["BatchNorm" + dims + "_eval"] = layer_of<Batch>(2, 1e-3);
  c["InstanceNorm" + dims] = layer_of<Instance>(2);
  c["InstanceNorm" + dims + "_affine"] = layer_of<Instance>(2, 1e-3, 0.3, true, true);
  c["InstanceNorm" + dims + "_eval"] = layer_of<Instance>(2, 1e-5, 0.1, false, true);
  c["InstanceNorm" + dims + "_one"] = layer_of<Instance>(2, 1e-5, 0.1, true);
}
void add_norms(LayerCases& c) {
  add_channel_norms<BatchNorm1d, InstanceNorm1d>(c, "1d");
  add_channel_norms<BatchNorm2d, InstanceNorm2d>(c, "2d");
  add_channel_norms<BatchNorm3d, InstanceNorm3d>(c, "3d");
  c["BatchNorm1d_average"] = layer_of<BatchNorm1d>(3, 1e-5, std::optional<double>());
  c["BatchNorm2d_plain"] = layer_of<BatchNorm2d>(2, 1e-5, 0.1, false, false);
  c["LayerNorm"] = layer_of<LayerNorm>(4);
  c["LayerNorm_two"] = layer_of<LayerNorm>(Dims{3, 4}, 1e-3, true, false);
  c["GroupNorm"] = layer_of<GroupNorm>(2, 4);
  c["RMSNorm"] = layer_of<RMSNorm>(4);
  c["RMSNorm_eps"] = layer_of<RMSNorm>(Dims{4}, 1e-2, false);
  c["LocalResponseNorm"] = layer_of<LocalResponseNorm>(3);
  c["LocalResponseNorm_2"] = layer_of<LocalResponseNorm>(2, 1.0, 0.5, 2.0);
}

template <class Max, class Avg, class Lp, class AdaptiveAvg, class AdaptiveMax, class Unpool>
void add_pools_of(LayerCases& c, const std::string& dims) {
  c["MaxPool" + dims] = layer_of<Max>(2);
  c["MaxPool" + dims + "_options"] = layer_of<Max>(2, 1, 1, MaxPoolOptions{.dilation = 2, .ceil_mode = true});
  c["AvgPool" + dims] = layer_of<Avg>(2);
  c["AvgPool" + dims + "_options"] = layer_of<Avg>(3, 2, 1, AvgPoolOptions{.ceil_mode = true, .count_include_pad = false});
  c["LPPool" + dims] = layer_of<Lp>(2.0, 2);
  c["LPPool" + dims + "_3"] = layer_of<Lp>(3.0, 3, 1, true);
  c["AdaptiveAvgPool" + dims] = layer_of<AdaptiveAvg>(3);
  c["AdaptiveMaxPool" + dims] = layer_of<AdaptiveMax>(2);
  c["MaxUnpool" + dims] = of_two<Unpool>(2);
  const Shape sizes[] = {{7}, {6, 5}, {4, 5, 4}};
  c["MaxUnpool" + dims + "_size"] = made(
      std::make_shared<Unpool>(2), [size = sizes[dims[0] - '1']](Unpool& m, In in) { return TensorList{m(in[0], in[1], size)}; });
}
template <class Reflection, class Replication, class Zero, class Circular, class Constant>
void add_pads_of(LayerCases& c, const std::string& dims, const Dims& pad) {
  c["ReflectionPad" + dims] = layer_of<Reflection>(pad);
  c["ReplicationPad" + dims] = layer_of<Replication>(pad);
  c["ZeroPad" + dims] = layer_of<Zero>(pad);
  c["CircularPad" + dims] = layer_of<Circular>(pad);
  c["ConstantPad" + dims] = layer_of<Constant>(1, 2.5);
}
void add_pools(LayerCases& c) {
  add_pools_of<MaxPool1d, AvgPool1d, LPPool1d, AdaptiveAvgPool1d, AdaptiveMaxPool1d, MaxUnpool1d>(c, "1d");
  add_pools_of<MaxPool2d, AvgPool2d, LPPool2d, AdaptiveAvgPool2d, AdaptiveMaxPool2d, MaxUnpool2d>(c, "2d");
  add_pools_of<MaxPool3d, AvgPool3d, LPPool3d, AdaptiveAvgPool3d, AdaptiveMaxPool3d, MaxUnpool3d>(c, "3d");
  add_pads_of<ReflectionPad1d, ReplicationPad1d, ZeroPad1d, CircularPad1d, ConstantPad1d>(c, "1d", {1, 2});
  add_pads_of<ReflectionPad2d, ReplicationPad2d, ZeroPad2d, CircularPad2d, ConstantPad2d>(c, "2d", {1, 2, 2, 1});
  add_pads_of<ReflectionPad3d, ReplicationPad3d, ZeroPad3d, CircularPad3d, ConstantPad3d>(c, "3d", {1, 2, 2, 1, 1, 0});
  c["AvgPool2d_divisor"] = layer_of<AvgPool2d>(Dims{3, 2}, Dims(), 0, AvgPoolOptions{.divisor_override = 4});
  c["AdaptiveAvgPool2d_keep"] = layer_of<AdaptiveAvgPool2d>(Dims{-1, 2});
  c["FractionalMaxPool2d"] = made(
      std::make_shared<FractionalMaxPool2d>(2, FractionalPoolOptions{.output_size = {3, 2}}), [](FractionalMaxPool2d& m, In in) {
        return TensorList{m.with_indices(in[0], layer_golden().get("FractionalMaxPool2d/samples")).first};
      });
  c["FractionalMaxPool3d"] = made(
      std::make_shared<FractionalMaxPool3d>(2, FractionalPoolOptions{.output_ratio = {0.5}}), [](FractionalMaxPool3d& m, In in) {
        return TensorList{m.with_indices(in[0], layer_golden().get("FractionalMaxPool3d/samples")).first};
      });
}

void add_images(LayerCases& c) {
  const auto upsample = [](UpsampleOptions o) { return layer_of<Upsample>(o); };
  c["PixelShuffle"] = layer_of<PixelShuffle>(2);
  c["PixelUnshuffle"] = layer_of<PixelUnshuffle>(2);
  c["ChannelShuffle"] = layer_of<ChannelShuffle>(2);
  c["Upsample"] = upsample({.scale_factor = {2}});
  c["Upsample_size"] = upsample({.size = {5, 3}});
  c["Upsample_3d"] = upsample({.scale_factor = {1.5, 2, 1}});
  c["Upsample_exact"] = upsample({.size = 5, .mode = "nearest-exact"});
  c["Upsample_linear"] = upsample({.size = 7, .mode = "linear"});
  c["Upsample_bilinear"] = upsample({.scale_factor = {1.5}, .mode = "bilinear"});
  c["Upsample_bicubic"] = upsample({.size = {5, 4}, .mode = "bicubic", .align_corners = true});
  c["Upsample_trilinear"] = upsample({.scale_factor = {2}, .mode = "trilinear", .align_corners = true});
  c["UpsamplingNearest2d"] = layer_of<UpsamplingNearest2d>(UpsampleOptions{.scale_factor = {2}});
  c["UpsamplingBilinear2d"] = layer_of<UpsamplingBilinear2d>(UpsampleOptions{.size = {3, 5}});
}

template <class M, class... A>
LayerCase recurrent_of(A... given) {
  return made(std::make_shared<M>(given...), [](M& m, In in) {
    if constexpr (std::is_same_v<M, LSTM>) {
      const auto [output, h, cell] = m(in[0]);
      return TensorList{output, h, cell};
    } else {
      const auto [output, h] = in.size() > 1 ? m(in[0], in[1]) : m(in[0]);
      return TensorList{output, h};
    }
  });
}
template <class M, class Cell>
void add_recurrent_of(LayerCases& c, const std::string& name) {
  c[name] = recurrent_of<M>(3, 2);
  c[name + "_deep"] = recurrent_of<M>(3, 2, RecurrentOptions{.num_layers = 2, .batch_first = true, .bidirectional = true});
  c[name + "_one"] = recurrent_of<M>(3, 2, RecurrentOptions{.bias = false});
  if constexpr (!std::is_same_v<Cell, LSTMCell>) c[name + "Cell"] = layer_of<Cell>(3, 2);
}
void add_recurrent(LayerCases& c) {
  add_recurrent_of<RNN, RNNCell>(c, "RNN");
  add_recurrent_of<GRU, GRUCell>(c, "GRU");
  add_recurrent_of<LSTM, LSTMCell>(c, "LSTM");
  c["RNN_relu"] = recurrent_of<RNN>(3, 2, RecurrentOptions{.relu = true});
  c["RNNCell_relu"] = of_two<RNNCell>(3, 2, true, "relu");
  c["GRUCell_plain"] = of_two<GRUCell>(3, 2, false);
  c["LSTM_proj"] = recurrent_of<LSTM>(3, 4, RecurrentOptions{.num_layers = 2, .proj_size = 2});
  for (const char* name : {"LSTMCell", "LSTMCell_state"})
    c[name] = made(std::make_shared<LSTMCell>(3, 2), [](LSTMCell& m, In in) {
      const auto [h, cell] = in.size() > 1 ? m(in[0], in[1], in[2]) : m(in[0]);
      return TensorList{h, cell};
    });
}

void add_attention(LayerCases& c) {
  using Attention = MultiheadAttention;
  c["MultiheadAttention"] = of_three<Attention>(4, 2);
  c["MultiheadAttention_weights"] = made(std::make_shared<Attention>(4, 2), [](Attention& m, In in) {
    const auto [y, w] = m.with_weights(in[0], in[1], in[2], in[3]);
    return TensorList{y, w};
  });
  c["MultiheadAttention_heads"] = made(std::make_shared<Attention>(4, 2, 0, false, true), [](Attention& m, In in) {
    const auto [y, w] = m.with_weights(in[0], in[1], in[1], {}, in[2], false);
    return TensorList{y, w};
  });
  const AttentionOptions all{.add_bias_kv = true, .add_zero_attn = true, .kdim = 3, .vdim = 5};
  c["MultiheadAttention_all"] = made(std::make_shared<Attention>(4, 2, 0, true, false, all),
                                     [](Attention& m, In in) { return TensorList{m(in[0], in[1], in[2], in[3], false, in[4])}; });
  const TransformerOptions o{.dim_feedforward = 6, .dropout = 0};
  c["TransformerEncoderLayer"] = layer_of<TransformerEncoderLayer>(4, 2, o);
  c["TransformerEncoderLayer_first"] =
      made(std::make_shared<TransformerEncoderLayer>(
               4, 2,
               TransformerOptions{
                   .dim_feedforward = 6, .dropout = 0, .gelu = true, .norm_first = true, .bias = false, .layer_norm_eps = 1e-3}),
           [](TransformerEncoderLayer& m, In in) { return TensorList{m(in[0], {}, false, in[1])}; });
  c["TransformerDecoderLayer"] = of_two<TransformerDecoderLayer>(4, 2, o);
  c["TransformerDecoderLayer_first"] =
      made(std::make_shared<TransformerDecoderLayer>(
               4, 2, TransformerOptions{.dim_feedforward = 6, .dropout = 0, .batch_first = true, .norm_first = true}),
           [](TransformerDecoderLayer& m, In in) {
             return TensorList{m(in[0], in[1], {.mask = in[2]}, {.key_padding_mask = in[3]})};
           });
  c["TransformerEncoder"] = layer_of<TransformerEncoder>(4, 2, 2, o, true);
  c["TransformerDecoder"] = of_two<TransformerDecoder>(4, 2, 2, o);
  c["Transformer"] = made(std::make_shared<Transformer>(4, 2, 1, 1, o),
                          [](Transformer& m, In in) { return TensorList{m(in[0], in[1], {}, {.mask = in[2]})}; });
}

void add_losses(LayerCases& c) {
  const Tensor weight = tensor({0.5, 1, 2, 0.25}), more = tensor({1.5, 2, 3, 1.25});
  for (const auto& [r, by] : {std::pair{Reduction::none, "_none"}, {Reduction::mean, "_mean"}, {Reduction::sum, "_sum"}}) {
    const std::string s = by;
    c["MSELoss" + s] = of_two<MSELoss>(MSELossOptions{r});
    c["L1Loss" + s] = of_two<L1Loss>(L1LossOptions{r});
    c["SmoothL1Loss" + s] = of_two<SmoothL1Loss>(SmoothL1LossOptions{.reduction = r, .beta = 0.5});
    c["HuberLoss" + s] = of_two<HuberLoss>(HuberLossOptions{.reduction = r, .delta = 0.7});
    c["CrossEntropyLoss" + s] = of_two<CrossEntropyLoss>(
        CrossEntropyLossOptions{.weight = weight, .ignore_index = 3, .reduction = r, .label_smoothing = 0.1});
    c["NLLLoss" + s] = of_two<NLLLoss>(NLLLossOptions{.weight = weight, .ignore_index = 0, .reduction = r});
    c["BCELoss" + s] = of_two<BCELoss>(BCELossOptions{.weight = weight, .reduction = r});
    c["BCEWithLogitsLoss" + s] =
        of_two<BCEWithLogitsLoss>(BCEWithLogitsLossOptions{.weight = weight, .pos_weight = more, .reduction = r});
    c["KLDivLoss" + s] = of_two<KLDivLoss>(KLDivLossOptions{.reduction = r});
    c["PoissonNLLLoss" + s] =
        of_two<PoissonNLLLoss>(PoissonNLLLossOptions{.log_input = false, .full = true, .eps = 0.01, .reduction = r});
    c["HingeEmbeddingLoss" + s] = of_two<HingeEmbeddingLoss>(HingeEmbeddingLossOptions{.margin = 0.5, .reduction = r});
    c["SoftMarginLoss" + s] = of_two<SoftMarginLoss>(SoftMarginLossOptions{r});
    c["MultiLabelMarginLoss" + s] = of_two<MultiLabelMarginLoss>(MultiLabelMarginLossOptions{r});
    c["MultiLabelSoftMarginLoss" + s] =
        of_two<MultiLabelSoftMarginLoss>(MultiLabelSoftMarginLossOptions{.weight = weight, .reduction = r});
    c["MultiMarginLoss" + s] =
        of_two<MultiMarginLoss>(MultiMarginLossOptions{.p = 2, .margin = 0.5, .weight = weight, .reduction = r});
    c["GaussianNLLLoss" + s] = of_three<GaussianNLLLoss>(GaussianNLLLossOptions{.full = true, .eps = 0.3, .reduction = r});
    c["MarginRankingLoss" + s] = of_three<MarginRankingLoss>(MarginRankingLossOptions{.margin = 0.5, .reduction = r});
    c["CosineEmbeddingLoss" + s] = of_three<CosineEmbeddingLoss>(CosineEmbeddingLossOptions{.margin = 0.2, .reduction = r});
    c["TripletMarginLoss" + s] =
        of_three<TripletMarginLoss>(TripletMarginLossOptions{.margin = 0.8, .swap = true, .reduction = r});
    c["TripletMarginWithDistanceLoss" + s] = of_three<TripletMarginWithDistanceLoss>(
        TripletMarginWithDistanceLossOptions{.margin = 0.8, .swap = true, .reduction = r});
    c["CTCLoss" + s] = made(std::make_shared<CTCLoss>(CTCLossOptions{.blank = 1, .reduction = r}),
                            [](CTCLoss& m, In in) { return TensorList{m(in[0], in[1], in[2], in[3])}; });
  }
  c["CrossEntropyLoss_probabilities"] = of_two<CrossEntropyLoss>();
  c["KLDivLoss_batchmean"] = of_two<KLDivLoss>(KLDivLossOptions{.log_target = true, .batchmean = true});
  c["GaussianNLLLoss_row"] = of_three<GaussianNLLLoss>();
  c["MultiMarginLoss_1"] = of_two<MultiMarginLoss>();
}

// The cases that PyTorch ran in evaluation.
bool evaluates(const std::string& name) {
  return name.ends_with("_eval") || name.starts_with("RReLU") || name.find("Dropout") != std::string::npos;
}

void check_layer_case(const std::string& name, const LayerCase& c) {
  SCOPED_TRACE(name);
  NamedTensors state;
  TensorList in;
  std::map<std::string, Tensor> gradients, after;
  std::size_t results = 0;
  for (const std::string& key : layer_golden().names()) {
    if (!key.starts_with(name + "/")) continue;
    const std::string rest = key.substr(name.size() + 1), last = rest.substr(rest.find('.') + 1);
    const Tensor t = layer_golden().get(key);
    if (rest.starts_with("state.")) state.emplace_back(last, t);
    if (rest.starts_with("in.")) in.push_back(t.clone());
    if (rest.starts_with("out.")) results++;
    if (rest.starts_with("grad.")) gradients[last] = t;
    if (rest.starts_with("after.")) after[last] = t;
  }
  c.module->train(!evaluates(name));
  c.module->load_state(state);  // PyTorch's names, all of them
  std::map<std::string, Tensor> leaves;
  for (const auto& [key, p] : c.module->named_parameters()) leaves[key] = p;
  for (std::size_t i = 0; i < in.size(); i++)
    if (const std::string key = std::to_string(i); gradients.contains(key)) leaves[key] = in[i].requires_grad_();
  const TensorList out = c.forward(in);
  ASSERT_EQ(out.size(), results);
  const auto expect = [&](const Tensor& got, const Tensor& want, const std::string& what) {
    ASSERT_TRUE(got.defined()) << what;
    const double most = want.is_floating_point() && want.numel() != 0 ? want.abs().max().item_double() : 0;
    EXPECT_EQ(compare(got.detach(), want, {1e-5 * (most + 1), 1e-4}).message, "") << what;
  };
  Tensor loss = zeros({});
  for (std::size_t i = 0; i < out.size(); i++) {
    expect(out[i], layer_golden().get(text(name, "/out.", i)), text("result ", i));
    loss = loss + (out[i].flatten() * cos(arange(out[i].numel()).to(float32))).sum();
  }
  if (loss.requires_grad()) loss.backward();
  for (const auto& [key, want] : gradients) expect(leaves.at(key).grad(), want, "gradient of " + key);
  for (const auto& [key, t] : c.module->named_buffers())
    if (after.contains(key)) expect(t, after.at(key), "buffer " + key);
}

TEST(LayerCases, HavePyTorchsNumbers) {
  LayerCases cases;
  for (const auto add : {add_activations, add_linears, add_convolutions, add_norms, add_pools, add_images, add_recurrent,
                         add_attention, add_losses})
    add(cases);
  std::set<std::string> made_here, of_pytorch;
  for (const auto& [name, c] : cases) made_here.insert(name);
  for (const std::string& key : layer_golden().names()) of_pytorch.insert(key.substr(0, key.find('/')));
  EXPECT_EQ(made_here, of_pytorch);
  for (const auto& [name, c] : cases) {
    try {
      check_layer_case(name, c);
    } catch (const UserError& e) {
      ADD_FAILURE() << name << ": " << e.what();
    }
  }
}

}  // namespace
}  // namespace ingot
