// Pooling and padding. A window, and each option, is one value for every spatial dim, or a list of
// one each; without a stride windows lie side by side.
#pragma once
#include <optional>
#include <string>
#include <utility>

#include "ingot/nn/dims.hpp"
#include "ingot/nn/module.hpp"

namespace ingot::nn {

// Kernel, stride and padding. Layers of one, two and three dims say how many in dims().
class Pool : public Layer {
 protected:
  Pool(Dims kernel, Dims stride, Dims padding)
      : kernel_(std::move(kernel)), stride_(std::move(stride)), padding_(std::move(padding)) {}
  virtual int dims() const = 0;
  Shape kernel() const { return kernel_.of(dims()); }
  Shape stride() const { return stride_.empty() ? Shape() : stride_.of(dims()); }
  Shape padding() const { return padding_.of(dims()); }

 private:
  Dims kernel_, stride_, padding_;
};

struct MaxPoolOptions {
  Dims dilation = 1;
  bool ceil_mode = false;
};
class MaxPool : public Pool {
 public:
  explicit MaxPool(Dims kernel, Dims stride = {}, Dims padding = 0, MaxPoolOptions o = {})
      : Pool(std::move(kernel), std::move(stride), std::move(padding)), o_(std::move(o)) {}
  Tensor forward(const Tensor& x) override;
  std::pair<Tensor, Tensor> with_indices(const Tensor& x);  // and where the largest are, as MaxUnpool takes them

 private:
  MaxPoolOptions o_;
};
struct AvgPoolOptions {
  bool ceil_mode = false, count_include_pad = true;
  std::optional<int64_t> divisor_override = {};  // in two and three dims
};
class AvgPool : public Pool {
 public:
  explicit AvgPool(Dims kernel, Dims stride = {}, Dims padding = 0, AvgPoolOptions o = {})
      : Pool(std::move(kernel), std::move(stride), std::move(padding)), o_(o) {}
  Tensor forward(const Tensor& x) override;

 private:
  AvgPoolOptions o_;
};
class LPPool : public Pool {  // the norm of each window
 public:
  LPPool(double norm_type, Dims kernel, Dims stride = {}, bool ceil_mode = false)
      : Pool(std::move(kernel), std::move(stride), 0), norm_(norm_type), ceil_(ceil_mode) {}
  Tensor forward(const Tensor& x) override;

 private:
  double norm_;
  bool ceil_;
};
class MaxUnpool : public Pool {  // values back to where MaxPool::with_indices found them
 public:
  explicit MaxUnpool(Dims kernel, Dims stride = {}, Dims padding = 0)
      : Pool(std::move(kernel), std::move(stride), std::move(padding)) {}
  // `output_size`: of the spatial dims; without one, the smallest that has such windows.
  Tensor operator()(const Tensor& x, const Tensor& indices, const Shape& output_size = {});

 private:
  Tensor forward(const Tensor& x) override;  // user error: it needs indices
};
struct FractionalPoolOptions {  // one of the two
  Dims output_size = {};
  std::vector<double> output_ratio = {};
};
class FractionalMaxPool : public Pool {  // windows at random places, so that the result has this size
 public:
  FractionalMaxPool(Dims kernel, FractionalPoolOptions o) : Pool(std::move(kernel), {}, 0), o_(std::move(o)) {}
  Tensor forward(const Tensor& x) override { return with_indices(x).first; }
  // `samples`: where the windows lie, [batch, channels, dims] in [0, 1); drawn where not given.
  std::pair<Tensor, Tensor> with_indices(const Tensor& x, const Tensor& samples = {});

 private:
  FractionalPoolOptions o_;
};
class AdaptivePool : public Layer {  // windows such that the result has this size; -1 keeps a dim
 public:
  explicit AdaptivePool(Dims output_size) : output_(std::move(output_size)) {}

 protected:
  virtual int dims() const = 0;
  Shape output(const Tensor& x) const;

 private:
  Dims output_;
};
class AdaptiveAvgPool : public AdaptivePool {
 public:
  using AdaptivePool::AdaptivePool;
  Tensor forward(const Tensor& x) override;
};
class AdaptiveMaxPool : public AdaptivePool {
 public:
  using AdaptivePool::AdaptivePool;
  Tensor forward(const Tensor& x) override { return with_indices(x).first; }
  std::pair<Tensor, Tensor> with_indices(const Tensor& x);
};

// Values around the spatial dims: one number for every side, or two for each dim, the last dim's
// first, as PyTorch has them.
class Pad : public Layer {
 public:
  Tensor forward(const Tensor& x) override;

 protected:
  explicit Pad(Dims padding, double value = 0) : padding_(std::move(padding)), value_(value) {}
  virtual int dims() const = 0;
  virtual const char* mode() const = 0;

 private:
  Dims padding_;
  double value_;
};
#define INGOT_PAD(Name, how)                                 \
  class Name : public Pad {                                  \
   public:                                                   \
    explicit Name(Dims padding) : Pad(std::move(padding)) {} \
                                                             \
   protected:                                                \
    const char* mode() const override { return how; }        \
  }
INGOT_PAD(ReflectionPad, "reflect");
INGOT_PAD(ReplicationPad, "replicate");
INGOT_PAD(CircularPad, "circular");
INGOT_PAD(ZeroPad, "constant");
#undef INGOT_PAD
class ConstantPad : public Pad {
 public:
  ConstantPad(Dims padding, double value) : Pad(std::move(padding), value) {}

 protected:
  const char* mode() const override { return "constant"; }
};

#define INGOT_DIMS(Base, n)                                                          \
  struct Base##n##d : Base {                                                         \
    using Base::Base;                                                                \
    Base##n##d(Base##n##d&) = delete; /* {2, 3} is a size, never a module to copy */ \
    int dims() const override { return n; }                                          \
  }
#define INGOT_ALL_DIMS(Base) \
  INGOT_DIMS(Base, 1);       \
  INGOT_DIMS(Base, 2);       \
  INGOT_DIMS(Base, 3)
INGOT_ALL_DIMS(MaxPool);
INGOT_ALL_DIMS(AvgPool);
INGOT_ALL_DIMS(LPPool);
INGOT_ALL_DIMS(MaxUnpool);
INGOT_DIMS(FractionalMaxPool, 2);
INGOT_DIMS(FractionalMaxPool, 3);
INGOT_ALL_DIMS(AdaptiveAvgPool);
INGOT_ALL_DIMS(AdaptiveMaxPool);
INGOT_ALL_DIMS(ReflectionPad);
INGOT_ALL_DIMS(ReplicationPad);
INGOT_ALL_DIMS(CircularPad);
INGOT_ALL_DIMS(ZeroPad);
INGOT_ALL_DIMS(ConstantPad);
#undef INGOT_ALL_DIMS
#undef INGOT_DIMS

}  // namespace ingot::nn
