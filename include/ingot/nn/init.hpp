// Initial values: torch.nn.init. Each writes the tensor, without a gradient, and returns it.
//
//   nn::init::kaiming_normal_(conv.weight, {.mode = nn::init::Fan::out, .nonlinearity = nn::init::Nonlinearity::relu});
#pragma once
#include <utility>

#include "ingot/tensor.hpp"

namespace ingot::nn::init {

enum class Nonlinearity : uint8_t { linear, sigmoid, tanh, relu, leaky_relu, selu };  // linear: convolutions too
// What keeps the variance through a layer with this nonlinearity; `param` is the slope of a leaky
// relu.
double calculate_gain(Nonlinearity nonlinearity, double param = 0.01);
// Inputs and outputs of a weight of a linear layer or a convolution: user error for fewer than two
// dims.
std::pair<int64_t, int64_t> fan_in_and_fan_out(const Tensor& weight);

Tensor uniform_(Tensor t, double a = 0, double b = 1);
Tensor normal_(Tensor t, double mean = 0, double std = 1);
// A normal distribution without what is outside of [a, b].
Tensor trunc_normal_(Tensor t, double mean = 0, double std = 1, double a = -2, double b = 2);
Tensor constant_(Tensor t, double value);
Tensor ones_(Tensor t);
Tensor zeros_(Tensor t);
Tensor eye_(Tensor t);                           // a matrix: the identity
Tensor dirac_(Tensor t, int64_t groups = 1);     // weights of a convolution that keeps its channels
Tensor orthogonal_(Tensor t, double gain = 1);   // a matrix whose rows, or columns, are orthonormal
Tensor sparse_(Tensor t, double sparsity, double std = 0.01);  // normal, with this part of each column zero

Tensor xavier_uniform_(Tensor t, double gain = 1);
Tensor xavier_normal_(Tensor t, double gain = 1);
enum class Fan : uint8_t { in, out };
struct KaimingOptions {
  double a = 0;  // the slope of a leaky relu
  Fan mode = Fan::in;
  Nonlinearity nonlinearity = Nonlinearity::leaky_relu;
};
Tensor kaiming_uniform_(Tensor t, KaimingOptions o = {});
Tensor kaiming_normal_(Tensor t, KaimingOptions o = {});

}  // namespace ingot::nn::init
