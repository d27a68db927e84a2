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
#include <memory>
#include <utility>

#include "ingot/ingot.hpp"
#include "ingot/nn/gradients.hpp"
#include "ingot/nn/init.hpp"
#include "ingot/nn/named_tensors.hpp"

namespace ingot::nn {

class TrainingFlag;

class Module {
 public:
  Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module();

  // Depth first, in the order of registration; "encoder.weight". A tensor registered twice is
  // listed once, or under `every_name`.
  NamedTensors named_parameters(bool every_name = false) const;
  TensorList parameters() const;
  NamedTensors named_buffers() const;
  NamedTensors state() const;  // parameters and buffers that are saved
  // Where they are kept: the tensors of named_parameters(true), then of named_buffers(), whichever
  // tensors these are by then.
  std::vector<const Tensor*> members() const;
  std::vector<const Module*> modules() const;  // this one and all below, parents first

  void train(bool on = true);
  void eval() { train(false); }
  // A function that asks while it is compiled (aot_function) is compiled again once the answer is
  // another.
  bool is_training() const;
  // What is_training() tells, for who wants to look again later: it outlives the module.
  const Ref<TrainingFlag>& training_flag() const { return training_; }
  void zero_grad(bool set_to_none = true);  // drops every parameter's gradient, or fills it with zeros
  // Converts floating and complex parameters, with their gradients, and buffers; `dtype` is
  // floating or complex. Parameters stay the tensors they are: an optimizer made before goes on
  // with them. Buffers become other tensors.
  void to(DType dtype);

  // Copies values into the parameters and buffers. User error listing every missing, unexpected or
  // misshapen name; a tensor of several names needs one of them, and takes what its last has.
  void load_state(const NamedTensors& values);
  void save(const std::string& path) const;  // safetensors
  void load(const std::string& path);

 protected:
  void add(std::string name, Module& child) { children_.emplace_back(std::move(name), &child); }
  void add_parameter(std::string name, Tensor& member, Tensor value);  // an undefined value: the module has none
  void add_buffer(std::string name, Tensor& member, Tensor value);
  // A member that is neither, and no part of the state. Known by its name, it can be watched
  // (AttributeScope).
  void add_attribute(std::string name, Tensor& member) { attributes_.emplace_back(std::move(name), &member); }

 private:
  std::vector<std::pair<std::string, Module*>> children_;
  std::vector<std::pair<std::string, Tensor*>> parameters_, buffers_, attributes_;
  Ref<TrainingFlag> training_;
  template <class F> void visit(const std::string& prefix, const F& f) const;
  friend class StateScope;
  friend class AttributeScope;
};

// In the scope the module's parameters and buffers are `state`, in the order of Module::state(): a
// module as a function of its state. What a forward writes into a buffer is written into these
// tensors. With `every_name` the parameters are those of named_parameters(true), and each name has
// the tensor given for it, also where the names stood for one tensor.
class StateScope {
 public:
  StateScope(Module& module, const TensorList& state, bool every_name = false);
  ~StateScope();
  StateScope(const StateScope&) = delete;
  StateScope& operator=(const StateScope&) = delete;

 private:
  std::vector<std::pair<Tensor*, Tensor>> old_;
};

// At the end of the scope the tensors that were added as attributes are again what they were at its
// beginning.
class AttributeScope {
 public:
  explicit AttributeScope(Module& module);
  ~AttributeScope();
  AttributeScope(const AttributeScope&) = delete;
  AttributeScope& operator=(const AttributeScope&) = delete;

  std::vector<std::string> assigned() const;  // names of those that are other tensors now

 private:
  struct Attribute {
    std::string name;
    Tensor* member;
    Tensor before;
  };
  std::vector<Attribute> attributes_;
};

// A module of one tensor to one tensor.
class Layer : public Module {
 public:
  virtual Tensor forward(const Tensor& x) = 0;
  Tensor operator()(const Tensor& x) { return forward(x); }
};

class Sequential : public Layer {
 public:
  Sequential(std::initializer_list<std::shared_ptr<Layer>> layers);
  Tensor forward(const Tensor& x) override;

 private:
  std::vector<std::shared_ptr<Layer>> layers_;
};
// nn::Sequential net{nn::make<nn::Linear>(4, 8), nn::make<nn::ReLU>()};
template <class T, class... A>
std::shared_ptr<Layer> make(A&&... args) {
  return std::make_shared<T>(std::forward<A>(args)...);
}

// ---- linear
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

// ---- convolution. Options hold for every spatial dim; per-dim values are given as lists.
struct ConvOptions {
  Shape stride = {1}, padding = {0}, dilation = {1}, output_padding = {0};
  int64_t groups = 1;
  bool bias = true;
};
class Convolution : public Layer {
 public:
  Tensor forward(const Tensor& x) override;
  Tensor weight, bias;

 protected:
  Convolution(int dims, bool transposed, int64_t in_channels, int64_t out_channels, const Shape& kernel, ConvOptions o);

 private:
  int dims_;
  bool transposed_;
  ConvOptions o_;
};
struct Conv1d : Convolution {
  Conv1d(int64_t in, int64_t out, const Shape& kernel, ConvOptions o = {})
      : Convolution(1, false, in, out, kernel, std::move(o)) {}
};
struct Conv2d : Convolution {
  Conv2d(int64_t in, int64_t out, const Shape& kernel, ConvOptions o = {})
      : Convolution(2, false, in, out, kernel, std::move(o)) {}
};
struct Conv3d : Convolution {
  Conv3d(int64_t in, int64_t out, const Shape& kernel, ConvOptions o = {})
      : Convolution(3, false, in, out, kernel, std::move(o)) {}
};
struct ConvTranspose1d : Convolution {
  ConvTranspose1d(int64_t in, int64_t out, const Shape& kernel, ConvOptions o = {})
      : Convolution(1, true, in, out, kernel, std::move(o)) {}
};
struct ConvTranspose2d : Convolution {
  ConvTranspose2d(int64_t in, int64_t out, const Shape& kernel, ConvOptions o = {})
      : Convolution(2, true, in, out, kernel, std::move(o)) {}
};

// ---- normalisation
class BatchNorm : public Layer {  // running statistics; train() normalises by the batch
 public:
  // Without a momentum the running statistics are averages over all batches so far.
  explicit BatchNorm(int64_t features, double eps = 1e-5, std::optional<double> momentum = 0.1, bool affine = true,
                     bool track_running_stats = true);
  Tensor forward(const Tensor& x) override;
  Tensor weight, bias, running_mean, running_var, num_batches_tracked;

 protected:
  virtual void check(const Tensor& x) const = 0;

 private:
  double eps_;
  std::optional<double> momentum_;
};
struct BatchNorm1d : BatchNorm {
  using BatchNorm::BatchNorm;
  void check(const Tensor& x) const override;
};
struct BatchNorm2d : BatchNorm {
  using BatchNorm::BatchNorm;
  void check(const Tensor& x) const override;
};
class LayerNorm : public Layer {
 public:
  explicit LayerNorm(Shape normalized_shape, double eps = 1e-5, bool affine = true);
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
  explicit RMSNorm(Shape normalized_shape, std::optional<double> eps = {}, bool affine = true);
  Tensor forward(const Tensor& x) override;
  Tensor weight;

 private:
  Shape shape_;
  std::optional<double> eps_;
};

// ---- lookup
class Embedding : public Layer {
 public:
  Embedding(int64_t entries, int64_t dim, std::optional<int64_t> padding_idx = {},
            bool sparse = false);  // of gradients: ingot/sparse.hpp
  Tensor forward(const Tensor& indices) override;
  Tensor weight;

 private:
  int64_t padding_idx_;
  bool sparse_;
};
class EmbeddingBag : public Module {
 public:
  EmbeddingBag(int64_t entries, int64_t dim, const std::string& mode = "mean", bool sparse = false);
  Tensor operator()(const Tensor& indices, const Tensor& offsets = {});  // 2-dim indices need no offsets
  Tensor weight;

 private:
  int64_t mode_;
  bool sparse_;
};

// ---- pooling and dropout
class Pool : public Layer {
 protected:
  Pool(Shape kernel, Shape stride, Shape padding)
      : kernel_(std::move(kernel)), stride_(std::move(stride)), padding_(std::move(padding)) {}
  Shape kernel_, stride_, padding_;
};
#define INGOT_POOL(Name)                                                    \
  struct Name : Pool {                                                      \
    explicit Name(Shape kernel, Shape stride = {}, Shape padding = {0})     \
        : Pool(std::move(kernel), std::move(stride), std::move(padding)) {} \
    Tensor forward(const Tensor& x) override;                               \
  }
INGOT_POOL(MaxPool1d);
INGOT_POOL(MaxPool2d);
INGOT_POOL(MaxPool3d);
INGOT_POOL(AvgPool1d);
INGOT_POOL(AvgPool2d);
INGOT_POOL(AvgPool3d);
#undef INGOT_POOL
class AdaptiveAvgPool2d : public Layer {
 public:
  explicit AdaptiveAvgPool2d(Shape output) : output_(std::move(output)) {}
  Tensor forward(const Tensor& x) override;

 private:
  Shape output_;
};
class AdaptiveMaxPool2d : public Layer {
 public:
  explicit AdaptiveMaxPool2d(Shape output) : output_(std::move(output)) {}
  Tensor forward(const Tensor& x) override;

 private:
  Shape output_;
};
class Dropout : public Layer {
 public:
  explicit Dropout(double p = 0.5);
  Tensor forward(const Tensor& x) override;

 private:
  double p_;
};
class Flatten : public Layer {
 public:
  explicit Flatten(int64_t start_dim = 1, int64_t end_dim = -1) : start_(start_dim), end_(end_dim) {}
  Tensor forward(const Tensor& x) override { return x.flatten(start_, end_); }

 private:
  int64_t start_, end_;
};

// ---- activations
struct ReLU : Layer {
  Tensor forward(const Tensor& x) override { return relu(x); }
};
struct Sigmoid : Layer {
  Tensor forward(const Tensor& x) override { return sigmoid(x); }
};
struct Tanh : Layer {
  Tensor forward(const Tensor& x) override { return tanh(x); }
};
struct SiLU : Layer {
  Tensor forward(const Tensor& x) override { return silu(x); }
};
struct Hardsigmoid : Layer {
  Tensor forward(const Tensor& x) override;
};
struct Hardswish : Layer {
  Tensor forward(const Tensor& x) override;
};
class GELU : public Layer {
 public:
  explicit GELU(std::string approximate = "none") : approximate_(std::move(approximate)) {}
  Tensor forward(const Tensor& x) override { return gelu(x, approximate_); }

 private:
  std::string approximate_;
};
class LeakyReLU : public Layer {
 public:
  explicit LeakyReLU(double slope = 0.01) : slope_(slope) {}
  Tensor forward(const Tensor& x) override { return leaky_relu(x, slope_); }

 private:
  double slope_;
};
class ELU : public Layer {
 public:
  explicit ELU(double alpha = 1.0) : alpha_(alpha) {}
  Tensor forward(const Tensor& x) override { return elu(x, alpha_); }

 private:
  double alpha_;
};
class Softplus : public Layer {
 public:
  Tensor forward(const Tensor& x) override { return softplus(x); }
};
class Softmax : public Layer {
 public:
  explicit Softmax(int64_t dim) : dim_(dim) {}
  Tensor forward(const Tensor& x) override { return softmax(x, dim_); }

 private:
  int64_t dim_;
};

// ---- recurrent
struct RecurrentOptions {
  int64_t num_layers = 1;
  bool bias = true, batch_first = false, bidirectional = false;
  double dropout = 0;
};
class Recurrent : public Module {
 protected:
  Recurrent(int64_t gates, int64_t input_size, int64_t hidden_size, RecurrentOptions o);
  Tensor zero_state(const Tensor& x) const;
  TensorList flat_weights() const;
  int64_t hidden_;
  RecurrentOptions o_;

 private:
  std::vector<std::unique_ptr<Tensor>> weights_;  // weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, …
};
class LSTM : public Recurrent {
 public:
  LSTM(int64_t input_size, int64_t hidden_size, RecurrentOptions o = {}) : Recurrent(4, input_size, hidden_size, o) {}
  struct Output {
    Tensor output, h, c;
  };
  Output operator()(const Tensor& x, const Tensor& h = {}, const Tensor& c = {});
};
class GRU : public Recurrent {
 public:
  GRU(int64_t input_size, int64_t hidden_size, RecurrentOptions o = {}) : Recurrent(3, input_size, hidden_size, o) {}
  struct Output {
    Tensor output, h;
  };
  Output operator()(const Tensor& x, const Tensor& h = {});
};

// ---- attention
class MultiheadAttention : public Module {
 public:
  MultiheadAttention(int64_t embed_dim, int64_t num_heads, double dropout = 0, bool bias = true, bool batch_first = false);
  // `mask`: true (or -inf) where attention is not allowed, [target, source] or [batch*heads,
  // target, source]. `is_causal` says that no position looks ahead; a mask beside it is taken to
  // say the same.
  Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask = {}, bool is_causal = false);
  Tensor in_proj_weight, in_proj_bias;
  Linear out_proj;

 private:
  int64_t embed_, heads_;
  double dropout_;
  bool batch_first_;
};
struct TransformerOptions {
  int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  bool gelu = false, batch_first = false, norm_first = false;
};
class TransformerEncoderLayer : public Layer {
 public:
  TransformerEncoderLayer(int64_t d_model, int64_t nhead, TransformerOptions o = {});
  using Layer::operator();
  Tensor forward(const Tensor& x) override { return (*this)(x, {}, false); }
  Tensor operator()(const Tensor& x, const Tensor& mask, bool is_causal = false);

  MultiheadAttention self_attn;
  Linear linear1, linear2;
  LayerNorm norm1, norm2;

 private:
  Dropout dropout_, dropout1_, dropout2_;
  TransformerOptions o_;
};

// ---- losses
enum class Reduction : int64_t { none, mean, sum };
Tensor mse_loss(const Tensor& input, const Tensor& target, Reduction r = Reduction::mean);
Tensor l1_loss(const Tensor& input, const Tensor& target, Reduction r = Reduction::mean);
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, double beta = 1.0, Reduction r = Reduction::mean);
Tensor cross_entropy(const Tensor& logits, const Tensor& target, Reduction r = Reduction::mean, double label_smoothing = 0);
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target, Reduction r = Reduction::mean);
Tensor binary_cross_entropy(const Tensor& probabilities, const Tensor& target, Reduction r = Reduction::mean);
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target, Reduction r = Reduction::mean);
Tensor kl_div(const Tensor& log_probabilities, const Tensor& target, Reduction r = Reduction::mean);

}  // namespace ingot::nn
