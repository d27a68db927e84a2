// ResNet-18, from the project's own modules.
#pragma once
#include <memory>
#include <vector>

#include "ingot/nn.hpp"

namespace ingot::testing {

struct ResidualBlock : nn::Layer {
  nn::Conv2d conv1, conv2;
  nn::BatchNorm2d bn1, bn2;
  std::unique_ptr<nn::Conv2d> shortcut;  // where the size changes
  std::unique_ptr<nn::BatchNorm2d> shortcut_bn;

  ResidualBlock(int64_t in, int64_t out, int64_t stride)
      : conv1(in, out, {3, 3}, {.stride = {stride}, .padding = {1}, .bias = false}),
        conv2(out, out, {3, 3}, {.padding = {1}, .bias = false}), bn1(out), bn2(out) {
    add("conv1", conv1);
    add("bn1", bn1);
    add("conv2", conv2);
    add("bn2", bn2);
    if (stride == 1 && in == out) return;
    shortcut = std::make_unique<nn::Conv2d>(in, out, Shape{1, 1}, nn::ConvOptions{.stride = {stride}, .bias = false});
    shortcut_bn = std::make_unique<nn::BatchNorm2d>(out);
    add("downsample.0", *shortcut);
    add("downsample.1", *shortcut_bn);
  }
  Tensor forward(const Tensor& x) override {
    const Tensor y = bn2(conv2(relu(bn1(conv1(x)))));
    return relu(y + (shortcut ? (*shortcut_bn)((*shortcut)(x)) : x));
  }
};

struct ResNet18 : nn::Layer {
  nn::Conv2d conv1{3, 64, {7, 7}, {.stride = {2}, .padding = {3}, .bias = false}};
  nn::BatchNorm2d bn1{64};
  std::vector<std::unique_ptr<ResidualBlock>> blocks;
  nn::Linear fc{512, 1000};

  ResNet18() {
    add("conv1", conv1);
    add("bn1", bn1);
    int64_t in = 64;
    for (int layer = 0; layer < 4; layer++)
      for (int block = 0; block < 2; block++) {
        const int64_t out = 64 << layer;
        blocks.push_back(std::make_unique<ResidualBlock>(in, out, layer > 0 && block == 0 ? 2 : 1));
        add("layer" + std::to_string(layer + 1) + "." + std::to_string(block), *blocks.back());
        in = out;
      }
    add("fc", fc);
  }
  Tensor forward(const Tensor& image) override {
    Tensor x = max_pool2d(relu(bn1(conv1(image))), {3, 3}, {2, 2}, {1, 1});
    for (const auto& b : blocks) x = (*b)(x);
    return fc(x.mean({2, 3}));
  }
};

}  // namespace ingot::testing
