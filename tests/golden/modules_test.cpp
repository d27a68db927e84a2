// The `models` goldens rebuilt with the module API: weights loaded by name, results as PyTorch's.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "base/error.hpp"
#include "check/compare.hpp"
#include "format/pt2/load.hpp"
#include "ingot/nn.hpp"
#include "io/safetensors.hpp"
#include "op/call.hpp"

namespace ingot {
namespace {

std::filesystem::path folder(const std::string& model) { return std::filesystem::path(INGOT_GOLDEN_DIR) / "models" / model; }

// Where our module names a weight otherwise than the exported one, in this order: {ours, exported}.
using Renames = std::vector<std::pair<std::string, std::string>>;
std::string exported_name(std::string name, const Renames& renames) {
  for (const auto& [ours, theirs] : renames)
    if (const std::size_t at = name.find(ours); at != std::string::npos) name.replace(at, ours.size(), theirs);
  return name;
}

// Every weight of the program must find its place.
void load_weights(nn::Module& module, const std::string& model, const Renames& renames) {
  const Program program = load_pt2((folder(model) / "model.pt2").string());
  nn::NamedTensors values;
  for (const auto& [name, t] : module.state()) {
    const std::string theirs = exported_name(name, renames);
    ASSERT_TRUE(program.state.contains(theirs)) << model << " has no " << theirs << ", which our " << name << " needs";
    values.emplace_back(name, program.state.at(theirs).tensor);
  }
  EXPECT_EQ(values.size(), program.state.size()) << model << " has weights that our modules have not";
  module.load_state(values);
}

void expect_agrees(const Tensor& got, const Tensor& want, const std::string& what) {
  EXPECT_EQ(compare(got, want, model_tolerance(want)).message, "") << what;
}

using Forward = std::function<TensorList(const Tensor&)>;

// Runs every case of the model; `buffers`: compares what the call left in the module's buffers too.
void check_model(const std::string& model, nn::Module& module, const Forward& forward, bool buffers = false,
                 const Renames& renames = {}) {
  ASSERT_NO_FATAL_FAILURE(load_weights(module, model, renames));
  NoGrad no_grad;
  int cases = 0;
  for (; std::filesystem::exists(folder(model) / text("case", cases, ".safetensors")); cases++) {
    const std::string where = text(model, " case ", cases);
    const SafeTensors golden = SafeTensors::open((folder(model) / text("case", cases, ".safetensors")).string());
    const TensorList got = forward(golden.get("in.0"));
    for (std::size_t k = 0; k < got.size(); k++) expect_agrees(got[k], golden.get(text("out.", k)), text(where, " out.", k));
    EXPECT_FALSE(golden.contains(text("out.", got.size()))) << where << ": PyTorch has more results";
    if (!buffers) continue;
    for (const auto& [name, t] : module.named_buffers()) expect_agrees(t, golden.get("buffer." + name), where + " " + name);
  }
  EXPECT_GT(cases, 0) << model;
}
void check_layer(const std::string& model, nn::Layer& net, bool training = false) {
  net.train(training);
  check_model(model, net, [&](const Tensor& x) { return TensorList{net(x)}; }, training);
}

struct Mlp : nn::Layer {
  nn::Linear a{64, 128}, b{128, 10};
  Mlp() { add("a", a), add("b", b); }
  Tensor forward(const Tensor& x) override { return b(relu(a(x))); }
};
TEST(Modules, Mlp) {
  Mlp net;
  check_layer("mlp", net);
}

TEST(Modules, LeNet) {
  nn::Sequential net{nn::make<nn::Conv2d>(1, 6, Shape{5}, nn::ConvOptions{.padding = {2}}),
                     nn::make<nn::ReLU>(),
                     nn::make<nn::MaxPool2d>(Shape{2}),
                     nn::make<nn::Conv2d>(6, 16, Shape{5}),
                     nn::make<nn::ReLU>(),
                     nn::make<nn::AvgPool2d>(Shape{2}),
                     nn::make<nn::Flatten>(),
                     nn::make<nn::Linear>(400, 120),
                     nn::make<nn::Tanh>(),
                     nn::make<nn::Dropout>(0.5),
                     nn::make<nn::Linear>(120, 10)};
  check_layer("lenet", net);
}

nn::ConvOptions conv3x3(int64_t stride) { return {.stride = {stride}, .padding = {1}, .bias = false}; }

// Two 3x3 convolutions beside the identity, or beside a 1x1 convolution where size or channels
// change.
struct Residual : nn::Layer {
  nn::Conv2d c1, c2;
  nn::BatchNorm2d b1, b2;
  std::unique_ptr<nn::Sequential> d;
  Residual(int64_t in, int64_t out, int64_t stride)
      : c1(in, out, {3}, conv3x3(stride)), c2(out, out, {3}, conv3x3(1)), b1(out), b2(out) {
    add("c1", c1), add("b1", b1), add("c2", c2), add("b2", b2);
    if (in == out && stride == 1) return;
    d.reset(new nn::Sequential{nn::make<nn::Conv2d>(in, out, Shape{1}, nn::ConvOptions{.stride = {stride}, .bias = false}),
                               nn::make<nn::BatchNorm2d>(out)});
    add("d", *d);
  }
  Tensor forward(const Tensor& x) override {
    const Tensor y = b2(c2(relu(b1(c1(x)))));
    return relu(y + (d ? (*d)(x) : x));
  }
};
struct ResNet : nn::Sequential {
  ResNet()
      : Sequential{nn::make<nn::Conv2d>(3, 8, Shape{3}, conv3x3(1)),
                   nn::make<nn::BatchNorm2d>(8),
                   nn::make<nn::ReLU>(),
                   nn::make<Residual>(8, 8, 1),
                   nn::make<Residual>(8, 16, 2),
                   nn::make<Residual>(16, 32, 2),
                   nn::make<nn::AdaptiveAvgPool2d>(Shape{1}),
                   nn::make<nn::Flatten>(),
                   nn::make<nn::Linear>(32, 10)} {}
};
TEST(Modules, ResNet) {
  ResNet net;
  check_layer("resnet_tiny", net);
}
TEST(Modules, ResNetInTraining) {
  ResNet net;
  check_layer("resnet_tiny_trainmode", net, true);
}

// Depthwise, grouped and dilated convolutions, squeeze and excitation.
struct Excitation : nn::Layer {
  nn::Conv2d f{16, 4, {1}}, g{4, 16, {1}};
  Excitation() { add("f", f), add("g", g); }
  Tensor forward(const Tensor& x) override { return x * nn::Hardsigmoid()(g(relu(f(x.mean({2, 3}, true))))); }
};
TEST(Modules, DepthwiseWithExcitation) {
  nn::Sequential net{nn::make<nn::Conv2d>(3, 16, Shape{3}, nn::ConvOptions{.stride = {2}, .padding = {1}}),
                     nn::make<nn::Hardswish>(),
                     nn::make<nn::Conv2d>(16, 16, Shape{3}, nn::ConvOptions{.padding = {1}, .groups = 16}),
                     nn::make<nn::BatchNorm2d>(16),
                     nn::make<nn::Hardswish>(),
                     nn::make<Excitation>(),
                     nn::make<nn::Conv2d>(16, 24, Shape{1}),
                     nn::make<nn::Conv2d>(24, 24, Shape{5}, nn::ConvOptions{.stride = {2}, .padding = {2}, .groups = 24}),
                     nn::make<nn::SiLU>(),
                     nn::make<nn::Conv2d>(24, 24, Shape{3}, nn::ConvOptions{.padding = {2}, .dilation = {2}, .groups = 2}),
                     nn::make<nn::GELU>(),
                     nn::make<nn::AdaptiveAvgPool2d>(Shape{2, 3}),
                     nn::make<nn::Flatten>(),
                     nn::make<nn::Linear>(144, 7)};
  check_layer("depthwise_se", net);
}

struct UNet : nn::Module {
  nn::Conv2d d1, d2, m, o;
  nn::ConvTranspose2d u;
  nn::GroupNorm gn;
  UNet()
      : d1(1, 8, {3}, {.padding = {1}}), d2(8, 16, {3}, {.padding = {1}}), m(16, 8, {3}, {.padding = {1}}), o(8, 2, {1}),
        u(16, 8, {2}, {.stride = {2}}), gn(4, 8) {
    add("d1", d1), add("d2", d2), add("u", u), add("m", m), add("gn", gn), add("o", o);
  }
  TensorList operator()(const Tensor& x) {
    const Tensor left = leaky_relu(d1(x), 0.1);
    const Tensor up = u(relu(d2(nn::MaxPool2d({2})(left))));
    Tensor y = gn(m(cat({up, left}, 1)));
    y = aten<"upsample_bilinear2d.vec">(y, Value(), false, std::vector<double>{2, 2});
    y = o(aten<"upsample_nearest2d.vec">(y, Shape{20, 20}, Value()));
    return {y, y.argmax(1)};
  }
};
TEST(Modules, UNet) {
  UNet net;
  net.eval();
  check_model("unet_tiny", net, [&](const Tensor& x) { return net(x); });
}

// A two-layer LSTM, then a GRU that reads its output in both directions.
struct Recurrences : nn::Module {
  nn::LSTM l{8, 16, {.num_layers = 2, .batch_first = true}};
  nn::GRU g{16, 12, {.batch_first = true, .bidirectional = true}};
  nn::Linear o{24, 3};
  Recurrences() { add("l", l), add("g", g), add("o", o); }
  TensorList operator()(const Tensor& x) {
    const nn::LSTM::Output first = l(x);
    return {o(g(first.output).output.select(1, -1)), first.h, first.c};
  }
};
TEST(Modules, LstmAndGru) {
  Recurrences net;
  net.eval();
  check_model("lstm_gru", net, [&](const Tensor& x) { return net(x); });
}

// The attention blocks of both transformers have PyTorch's weights under names of their own.
const Renames kBlockNames = {{".self_attn.in_proj_", ".a.qkv."},
                             {".self_attn.out_proj.", ".a.o."},
                             {".linear1.", ".f.0."},
                             {".linear2.", ".f.2."},
                             {".norm1.", ".n1."},
                             {".norm2.", ".n2."}};
struct Blocks : nn::Module {
  static nn::TransformerOptions options() {
    return {.dim_feedforward = 128, .dropout = 0, .gelu = true, .batch_first = true, .norm_first = true};
  }
  nn::TransformerEncoderLayer first{32, 4, options()}, second{32, 4, options()};
  Blocks() { add("0", first), add("1", second); }
  Tensor operator()(const Tensor& x, const Tensor& mask = {}, bool is_causal = false) {
    return second(first(x, mask, is_causal), mask, is_causal);
  }
};

struct Vit : nn::Module {
  Tensor c, pos;
  nn::Conv2d p{3, 32, {8}, {.stride = {8}}};
  Blocks b;
  nn::LayerNorm n{{32}};
  nn::Linear h{32, 10};
  Vit() {
    add_parameter("c", c, zeros({1, 1, 32})), add_parameter("pos", pos, zeros({1, 17, 32}));
    add("p", p), add("b", b), add("n", n), add("h", h);
  }
  Tensor operator()(const Tensor& x) {
    const Tensor patches = p(x).flatten(2).transpose(1, 2);
    return h(n(b(cat({c.expand({x.size(0), -1, -1}), patches}, 1) + pos)).select(1, 0));
  }
};
TEST(Modules, VisionTransformer) {
  Vit net;
  net.eval();
  check_model("vit_tiny", net, [&](const Tensor& x) { return TensorList{net(x)}; }, false, kBlockNames);
}

struct Gpt : nn::Module {
  nn::Embedding e{65, 32}, p{64, 32};
  Blocks b;
  nn::LayerNorm n{{32}};
  nn::Linear o{32, 65, false};
  Gpt() { add("e", e), add("p", p), add("b", b), add("n", n), add("o", o); }
  Tensor operator()(const Tensor& tokens) {
    const Int length = tokens.size(1);
    // True where a token would look ahead.
    const Tensor mask = aten<"triu">(ones({length, length}, {.dtype = boolean}), 1);
    return o(n(b(e(tokens) + p(arange(length.number())), mask, true)));
  }
};
TEST(Modules, Gpt) {
  Gpt net;
  net.eval();
  check_model("gpt_tiny", net, [&](const Tensor& x) { return TensorList{net(x)}; }, false, kBlockNames);
}

}  // namespace
}  // namespace ingot
