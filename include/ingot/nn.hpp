// Neural-network modules with PyTorch's names, defaults, parameter names and initialisation.
//
//   struct Net : nn::Layer {
//     nn::Linear hidden{784, 128}, out{128, 10};
//     Net() { add("hidden", hidden); add("out", out); }
//     Tensor forward(const Tensor& x) override { return out(relu(hidden(x))); }
//   };
//
// A module is not copied or moved: it holds the addresses of its members.
#pragma once
#include "ingot/ingot.hpp"
#include "ingot/nn/activation.hpp"
#include "ingot/nn/attention.hpp"
#include "ingot/nn/conv.hpp"
#include "ingot/nn/gradients.hpp"
#include "ingot/nn/image.hpp"
#include "ingot/nn/init.hpp"
#include "ingot/nn/linear.hpp"
#include "ingot/nn/losses.hpp"
#include "ingot/nn/module.hpp"
#include "ingot/nn/norm.hpp"
#include "ingot/nn/pooling.hpp"
#include "ingot/nn/recurrent.hpp"
