// Normalisation.
#pragma once
#include <optional>

#include "ingot/nn/dims.hpp"
#include "ingot/nn/module.hpp"

namespace ingot::nn {

// Statistics of channels, and what is learned about them.
class ChannelNorm : public Layer {
 public:
  Tensor weight, bias, running_mean, running_var, num_batches_tracked;

 protected:
  ChannelNorm(int64_t features, double eps, std::optional<double> momentum, bool affine, bool track_running_stats);
  virtual void check(const Tensor& x) const = 0;
  double eps_;
  std::optional<double> momentum_;
};
class BatchNorm : public ChannelNorm {  // running statistics; train() normalises by the batch
 public:
  // Without a momentum the running statistics are averages over all batches so far.
  explicit BatchNorm(int64_t features, double eps = 1e-5, std::optional<double> momentum = 0.1, bool affine = true,
                     bool track_running_stats = true)
      : ChannelNorm(features, eps, momentum, affine, track_running_stats) {}
  Tensor forward(const Tensor& x) override;
};
class InstanceNorm : public ChannelNorm {  // each image by itself
 public:
  explicit InstanceNorm(int64_t features, double eps = 1e-5, double momentum = 0.1, bool affine = false,
                        bool track_running_stats = false)
      : ChannelNorm(features, eps, momentum, affine, track_running_stats) {}
  Tensor forward(const Tensor& x) override;

 protected:
  virtual int dims() const = 0;
  void check(const Tensor& x) const override;
};
#define INGOT_NORM(n)                           \
  struct BatchNorm##n##d : BatchNorm {          \
    using BatchNorm::BatchNorm;                 \
    void check(const Tensor& x) const override; \
  };                                            \
  struct InstanceNorm##n##d : InstanceNorm {    \
    using InstanceNorm::InstanceNorm;           \
    int dims() const override { return n; }     \
  }
INGOT_NORM(1);
INGOT_NORM(2);
INGOT_NORM(3);
#undef INGOT_NORM

class LayerNorm : public Layer {
 public:
  explicit LayerNorm(Dims normalized_shape, double eps = 1e-5, bool affine = true, bool bias = true);
  LayerNorm(LayerNorm&) = delete;  // {2, 3} is a size, never a module to copy
  Tensor forward(const Tensor& x) override;
  Tensor weight, bias;

 private:
  Shape shape_;
  double eps_;
};
class GroupNorm : public Layer {
 public:
  GroupNorm(int64_t groups, int64_t channels, double eps = 1e-5, bool affine = true);
  Tensor forward(const Tensor& x) override;
  Tensor weight, bias;

 private:
  int64_t groups_;
  double eps_;
};
class RMSNorm : public Layer {
 public:
  explicit RMSNorm(Dims normalized_shape, std::optional<double> eps = {}, bool affine = true);
  RMSNorm(RMSNorm&) = delete;  // {2, 3} is a size, never a module to copy
  Tensor forward(const Tensor& x) override;
  Tensor weight;

 private:
  Shape shape_;
  std::optional<double> eps_;
};
class LocalResponseNorm : public Layer {  // over `size` channels that are neighbours
 public:
  explicit LocalResponseNorm(int64_t size, double alpha = 1e-4, double beta = 0.75, double k = 1)
      : size_(size), alpha_(alpha), beta_(beta), k_(k) {}
  Tensor forward(const Tensor& x) override;

 private:
  int64_t size_;
  double alpha_, beta_, k_;
};

}  // namespace ingot::nn
