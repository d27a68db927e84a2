// Functions of elements, softmax and its like, dropout.
#pragma once
#include <optional>
#include <string>
#include <utility>

#include "ingot/nn/linear.hpp"
#include "ingot/nn/module.hpp"

namespace ingot::nn {

// Without parameters: INGOT_LAYER(Name). With numbers: their names and defaults.
#define INGOT_LAYER(Name)                     \
  struct Name : Layer {                       \
    Tensor forward(const Tensor& x) override; \
  }
#define INGOT_LAYER_OF(Name, T, a, default_a)            \
  class Name : public Layer {                            \
   public:                                               \
    explicit Name(T a default_a) : a##_(std::move(a)) {} \
    Tensor forward(const Tensor& x) override;            \
                                                         \
   private:                                              \
    T a##_;                                              \
  }
#define INGOT_LAYER_OF_TWO(Name, a, default_a, b, default_b)                    \
  class Name : public Layer {                                                   \
   public:                                                                      \
    explicit Name(double a default_a, double b default_b) : a##_(a), b##_(b) {} \
    Tensor forward(const Tensor& x) override;                                   \
                                                                                \
   private:                                                                     \
    double a##_, b##_;                                                          \
  }
INGOT_LAYER(ReLU);
INGOT_LAYER(ReLU6);
INGOT_LAYER(SELU);
INGOT_LAYER(SiLU);
INGOT_LAYER(Mish);
INGOT_LAYER(Sigmoid);
INGOT_LAYER(LogSigmoid);
INGOT_LAYER(Hardsigmoid);
INGOT_LAYER(Hardswish);
INGOT_LAYER(Tanh);
INGOT_LAYER(Tanhshrink);
INGOT_LAYER(Softsign);
INGOT_LAYER(Softmax2d);  // over the channels of an image
INGOT_LAYER_OF(CELU, double, alpha, = 1.0);
INGOT_LAYER_OF(ELU, double, alpha, = 1.0);
INGOT_LAYER_OF(LeakyReLU, double, slope, = 0.01);
INGOT_LAYER_OF(Hardshrink, double, lambd, = 0.5);
INGOT_LAYER_OF(Softshrink, double, lambd, = 0.5);
INGOT_LAYER_OF(GELU, std::string, approximate, = "none");
INGOT_LAYER_OF(GLU, int64_t, dim, = -1);
INGOT_LAYER_OF(Softmax, int64_t, dim, );
INGOT_LAYER_OF(Softmin, int64_t, dim, );
INGOT_LAYER_OF(LogSoftmax, int64_t, dim, );
INGOT_LAYER_OF_TWO(Softplus, beta, = 1, threshold, = 20);
INGOT_LAYER_OF_TWO(Hardtanh, min_val, = -1, max_val, = 1);
INGOT_LAYER_OF_TWO(Threshold, threshold, , value, );
INGOT_LAYER_OF_TWO(RReLU, lower, = 1.0 / 8, upper, = 1.0 / 3);  // a slope drawn for each element; evaluating, their mean
#undef INGOT_LAYER
#undef INGOT_LAYER_OF
#undef INGOT_LAYER_OF_TWO

class PReLU : public Layer {
 public:
  explicit PReLU(int64_t num_parameters = 1, double init = 0.25);
  Tensor forward(const Tensor& x) override;
  Tensor weight;
};

// ---- dropout: user error for a probability outside of [0, 1]
class DropoutBase : public Layer {
 public:
  explicit DropoutBase(double p = 0.5);

 protected:
  double p_;
};
#define INGOT_DROPOUT(Name)                   \
  struct Name : DropoutBase {                 \
    using DropoutBase::DropoutBase;           \
    Tensor forward(const Tensor& x) override; \
  }
INGOT_DROPOUT(Dropout);
INGOT_DROPOUT(Dropout1d);  // whole channels
INGOT_DROPOUT(Dropout2d);
INGOT_DROPOUT(Dropout3d);
INGOT_DROPOUT(AlphaDropout);  // keeps mean and variance of what SELU makes
INGOT_DROPOUT(FeatureAlphaDropout);
#undef INGOT_DROPOUT

// Grave et al., Efficient softmax approximation for GPUs: frequent classes first, the rest in
// clusters whose layers are the smaller the rarer they are. `cutoffs` rise, below `classes`.
class AdaptiveLogSoftmaxWithLoss : public Module {
 public:
  AdaptiveLogSoftmaxWithLoss(int64_t in_features, int64_t classes, std::vector<int64_t> cutoffs, double div_value = 4,
                             bool head_bias = false);
  struct Output {
    Tensor output, loss;  // log probability of each target, and minus their mean
  };
  Output operator()(const Tensor& x, const Tensor& target);
  Tensor log_prob(const Tensor& x);  // of every class
  Tensor predict(const Tensor& x);   // the likeliest class

 private:
  std::vector<int64_t> cutoffs_;  // and the number of classes
  Linear head_;
  ModuleList<Sequential> tail_;
  int64_t shortlist() const { return cutoffs_[0]; }
  Tensor log_prob_by(const Tensor& x, const Tensor& head) const;
};

}  // namespace ingot::nn
