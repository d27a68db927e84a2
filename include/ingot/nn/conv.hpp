// Convolutions. A kernel, and each option, is one value for every spatial dim, or a list of one
// each: Conv2d(3, 8, 3), Conv2d(3, 8, {3, 5}, {.stride = 2, .padding = "same"}).
#pragma once
#include <string>

#include "ingot/nn/dims.hpp"
#include "ingot/nn/module.hpp"

namespace ingot::nn {

// Zeros on either side of each dim; "valid": none; "same": as many as keep the size.
class ConvPadding : public Dims {
 public:
  using Dims::Dims;
  template <std::size_t N>
  ConvPadding(const char (&name)[N]) : ConvPadding(std::string(name)) {}
  ConvPadding(const std::string& name);  // user error for another name
  bool is_same() const { return same_; }

 private:
  bool same_ = false;
};
struct ConvOptions {
  Dims stride = 1;
  ConvPadding padding = 0;
  Dims dilation = 1, output_padding = 0;
  int64_t groups = 1;
  bool bias = true;
  std::string padding_mode = "zeros";  // or "reflect", "replicate", "circular"
};
class Convolution : public Layer {
 public:
  Tensor forward(const Tensor& x) override;
  Tensor weight, bias;

 protected:
  Convolution(int dims, bool transposed, int64_t in_channels, int64_t out_channels, const Dims& kernel, ConvOptions o);

 private:
  int dims_;
  bool transposed_;
  Shape kernel_, stride_, padding_, dilation_, output_padding_;
  ConvOptions o_;
};
#define INGOT_CONV(Name, dims, transposed)                                \
  struct Name : Convolution {                                             \
    Name(int64_t in, int64_t out, const Dims& kernel, ConvOptions o = {}) \
        : Convolution(dims, transposed, in, out, kernel, std::move(o)) {} \
  }
INGOT_CONV(Conv1d, 1, false);
INGOT_CONV(Conv2d, 2, false);
INGOT_CONV(Conv3d, 3, false);
INGOT_CONV(ConvTranspose1d, 1, true);
INGOT_CONV(ConvTranspose2d, 2, true);
INGOT_CONV(ConvTranspose3d, 3, true);
#undef INGOT_CONV

// Windows of an image as columns, and back, where they overlap added.
struct WindowOptions {
  Dims dilation = 1, padding = 0, stride = 1;
};
class Unfold : public Layer {
 public:
  explicit Unfold(Dims kernel, WindowOptions o = {}) : kernel_(std::move(kernel)), o_(std::move(o)) {}
  Unfold(Unfold&) = delete;  // {2, 3} is a size, never a module to copy
  Tensor forward(const Tensor& x) override;

 private:
  Dims kernel_;
  WindowOptions o_;
};
class Fold : public Layer {
 public:
  Fold(Dims output_size, Dims kernel, WindowOptions o = {})
      : output_(std::move(output_size)), kernel_(std::move(kernel)), o_(std::move(o)) {}
  Tensor forward(const Tensor& x) override;

 private:
  Dims output_, kernel_;
  WindowOptions o_;
};

}  // namespace ingot::nn
