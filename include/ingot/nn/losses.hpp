// Losses: functions, and the modules of torch.nn that call them.
#pragma once
#include <functional>
#include <optional>

#include "ingot/nn/module.hpp"

namespace ingot::nn {

enum class Reduction : int64_t { none, mean, sum };

// ---- functions
Tensor mse_loss(const Tensor& input, const Tensor& target, Reduction r = Reduction::mean);
Tensor l1_loss(const Tensor& input, const Tensor& target, Reduction r = Reduction::mean);
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, double beta = 1.0, Reduction r = Reduction::mean);
Tensor huber_loss(const Tensor& input, const Tensor& target, double delta = 1.0, Reduction r = Reduction::mean);
Tensor cross_entropy(const Tensor& logits, const Tensor& target, Reduction r = Reduction::mean, double label_smoothing = 0);
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target, Reduction r = Reduction::mean);
Tensor binary_cross_entropy(const Tensor& probabilities, const Tensor& target, Reduction r = Reduction::mean);
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target, Reduction r = Reduction::mean);
Tensor kl_div(const Tensor& log_probabilities, const Tensor& target, Reduction r = Reduction::mean);
Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& variance, bool full = false, double eps = 1e-6,
                         Reduction r = Reduction::mean);
Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target, const Tensor& weight = {},
                                   Reduction r = Reduction::mean);

// ---- modules of an input and a target
class Loss : public Module {
 public:
  virtual Tensor forward(const Tensor& input, const Tensor& target) = 0;
  Tensor operator()(const Tensor& input, const Tensor& target) { return forward(input, target); }
};
// `Options` are what PyTorch's constructor takes, by its names.
#define INGOT_LOSS(Name)                                                \
  class Name : public Loss {                                            \
   public:                                                              \
    explicit Name(Name##Options o = {}) : o_(std::move(o)) {}           \
    Tensor forward(const Tensor& input, const Tensor& target) override; \
                                                                        \
   private:                                                             \
    Name##Options o_;                                                   \
  }
// Those with a weight of each class or element, which is a buffer as PyTorch's is.
#define INGOT_WEIGHTED_LOSS(Name)                                       \
  class Name : public Loss {                                            \
   public:                                                              \
    explicit Name(Name##Options o = {});                                \
    Tensor forward(const Tensor& input, const Tensor& target) override; \
    Tensor weight;                                                      \
                                                                        \
   private:                                                             \
    Name##Options o_;                                                   \
  }
struct LossOptions {
  Reduction reduction = Reduction::mean;
};
using MSELossOptions = LossOptions;
using L1LossOptions = LossOptions;
using SoftMarginLossOptions = LossOptions;
using MultiLabelMarginLossOptions = LossOptions;
INGOT_LOSS(MSELoss);
INGOT_LOSS(L1Loss);
INGOT_LOSS(SoftMarginLoss);
INGOT_LOSS(MultiLabelMarginLoss);
struct SmoothL1LossOptions {
  Reduction reduction = Reduction::mean;
  double beta = 1;
};
INGOT_LOSS(SmoothL1Loss);
struct HuberLossOptions {
  Reduction reduction = Reduction::mean;
  double delta = 1;
};
INGOT_LOSS(HuberLoss);
struct KLDivLossOptions {
  Reduction reduction = Reduction::mean;
  bool log_target = false;
  bool batchmean = false;  // PyTorch's reduction of this name: the sum, divided by the batch
};
INGOT_LOSS(KLDivLoss);
struct PoissonNLLLossOptions {
  bool log_input = true, full = false;
  double eps = 1e-8;
  Reduction reduction = Reduction::mean;
};
INGOT_LOSS(PoissonNLLLoss);
struct HingeEmbeddingLossOptions {
  double margin = 1;
  Reduction reduction = Reduction::mean;
};
INGOT_LOSS(HingeEmbeddingLoss);

struct CrossEntropyLossOptions {
  Tensor weight = {};  // of each class
  int64_t ignore_index = -100;
  Reduction reduction = Reduction::mean;
  double label_smoothing = 0;
};
INGOT_WEIGHTED_LOSS(CrossEntropyLoss);
struct NLLLossOptions {
  Tensor weight = {};  // of each class
  int64_t ignore_index = -100;
  Reduction reduction = Reduction::mean;
};
INGOT_WEIGHTED_LOSS(NLLLoss);
struct BCELossOptions {
  Tensor weight = {};  // of each element
  Reduction reduction = Reduction::mean;
};
INGOT_WEIGHTED_LOSS(BCELoss);
using MultiLabelSoftMarginLossOptions = BCELossOptions;  // of each class
INGOT_WEIGHTED_LOSS(MultiLabelSoftMarginLoss);
struct MultiMarginLossOptions {
  int64_t p = 1;
  double margin = 1;
  Tensor weight = {};  // of each class
  Reduction reduction = Reduction::mean;
};
INGOT_WEIGHTED_LOSS(MultiMarginLoss);
#undef INGOT_LOSS
#undef INGOT_WEIGHTED_LOSS
struct BCEWithLogitsLossOptions {
  Tensor weight = {}, pos_weight = {};
  Reduction reduction = Reduction::mean;
};
class BCEWithLogitsLoss : public Loss {
 public:
  explicit BCEWithLogitsLoss(BCEWithLogitsLossOptions o = {});
  Tensor forward(const Tensor& logits, const Tensor& target) override;
  Tensor weight, pos_weight;

 private:
  Reduction reduction_;
};

// ---- modules of three tensors
class TernaryLoss : public Module {
 public:
  virtual Tensor forward(const Tensor& a, const Tensor& b, const Tensor& c) = 0;
  Tensor operator()(const Tensor& a, const Tensor& b, const Tensor& c) { return forward(a, b, c); }
};
#define INGOT_LOSS(Name)                                                        \
  class Name : public TernaryLoss {                                             \
   public:                                                                      \
    explicit Name(Name##Options o = {}) : o_(std::move(o)) {}                   \
    Tensor forward(const Tensor& a, const Tensor& b, const Tensor& c) override; \
                                                                                \
   private:                                                                     \
    Name##Options o_;                                                           \
  }
struct GaussianNLLLossOptions {
  bool full = false;
  double eps = 1e-6;
  Reduction reduction = Reduction::mean;
};
INGOT_LOSS(GaussianNLLLoss);  // input, target, variance
struct MarginLossOptions {
  double margin = 0;
  Reduction reduction = Reduction::mean;
};
using MarginRankingLossOptions = MarginLossOptions;
using CosineEmbeddingLossOptions = MarginLossOptions;
INGOT_LOSS(MarginRankingLoss);   // two inputs, and 1 or -1 for which is to be larger
INGOT_LOSS(CosineEmbeddingLoss);  // two inputs, and 1 or -1 for whether they are alike
struct TripletMarginLossOptions {
  double margin = 1, p = 2, eps = 1e-6;
  bool swap = false;
  Reduction reduction = Reduction::mean;
};
INGOT_LOSS(TripletMarginLoss);  // anchor, positive, negative
struct TripletMarginWithDistanceLossOptions {
  std::function<Tensor(const Tensor&, const Tensor&)> distance_function = {};  // without one: PairwiseDistance
  double margin = 1;
  bool swap = false;
  Reduction reduction = Reduction::mean;
};
INGOT_LOSS(TripletMarginWithDistanceLoss);
#undef INGOT_LOSS

struct CTCLossOptions {
  int64_t blank = 0;
  Reduction reduction = Reduction::mean;
  bool zero_infinity = false;
};
class CTCLoss : public Module {
 public:
  explicit CTCLoss(CTCLossOptions o = {}) : o_(o) {}
  // Lengths are given as tensors or as lists.
  Tensor operator()(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                    const Tensor& target_lengths) const;
  Tensor operator()(const Tensor& log_probs, const Tensor& targets, const Shape& input_lengths,
                    const Shape& target_lengths) const;

 private:
  CTCLossOptions o_;
};

}  // namespace ingot::nn
