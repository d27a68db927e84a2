// Linear layers, look-up, and layers that only change a shape.
#pragma once
#include <optional>
#include <string>

#include "ingot/nn/module.hpp"

namespace ingot::nn {

struct Identity : Layer {
  Tensor forward(const Tensor& x) override { return x; }
};
class Linear : public Layer {
 public:
  Linear(int64_t in_features, int64_t out_features, bool bias = true);
  Tensor forward(const Tensor& x) override;
  Tensor weight, bias;
};
class Bilinear : public Module {
 public:
  Bilinear(int64_t in1, int64_t in2, int64_t out_features, bool bias = true);
  Tensor operator()(const Tensor& a, const Tensor& b);
  Tensor weight, bias;
};

class Flatten : public Layer {
 public:
  explicit Flatten(int64_t start_dim = 1, int64_t end_dim = -1) : start_(start_dim), end_(end_dim) {}
  Tensor forward(const Tensor& x) override { return x.flatten(start_, end_); }

 private:
  int64_t start_, end_;
};
class Unflatten : public Layer {
 public:
  Unflatten(int64_t dim, Shape sizes) : dim_(dim), sizes_(std::move(sizes)) {}
  Tensor forward(const Tensor& x) override;

 private:
  int64_t dim_;
  Shape sizes_;
};

// ---- look-up
struct EmbeddingOptions {
  std::optional<double> max_norm = {};  // rows that are looked up are first made no longer than this
  double norm_type = 2;
  bool scale_grad_by_freq = false;
};
class Embedding : public Layer {
 public:
  Embedding(int64_t entries, int64_t dim, std::optional<int64_t> padding_idx = {},
            bool sparse = false,  // of gradients: ingot/sparse.hpp
            EmbeddingOptions o = {});
  Tensor forward(const Tensor& indices) override;
  Tensor weight;

 private:
  int64_t padding_idx_;
  bool sparse_;
  EmbeddingOptions o_;
};
struct EmbeddingBagOptions {
  std::optional<double> max_norm = {};
  double norm_type = 2;
  bool scale_grad_by_freq = false, include_last_offset = false;
  std::optional<int64_t> padding_idx = {};
};
class EmbeddingBag : public Module {
 public:
  EmbeddingBag(int64_t entries, int64_t dim, const std::string& mode = "mean", bool sparse = false, EmbeddingBagOptions o = {});
  // 2-dim indices need no offsets. Weights of the indices are for the mode "sum".
  Tensor operator()(const Tensor& indices, const Tensor& offsets = {}, const Tensor& per_sample_weights = {});
  Tensor weight;

 private:
  int64_t mode_;
  bool sparse_;
  EmbeddingBagOptions o_;
};

// ---- distances
class CosineSimilarity : public Module {
 public:
  explicit CosineSimilarity(int64_t dim = 1, double eps = 1e-8) : dim_(dim), eps_(eps) {}
  Tensor operator()(const Tensor& a, const Tensor& b) const;

 private:
  int64_t dim_;
  double eps_;
};
class PairwiseDistance : public Module {
 public:
  explicit PairwiseDistance(double p = 2, double eps = 1e-6, bool keepdim = false) : p_(p), eps_(eps), keepdim_(keepdim) {}
  Tensor operator()(const Tensor& a, const Tensor& b) const;

 private:
  double p_, eps_;
  bool keepdim_;
};

}  // namespace ingot::nn
