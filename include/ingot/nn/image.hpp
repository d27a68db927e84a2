// Images made larger or smaller, and channels moved.
#pragma once
#include <string>
#include <vector>

#include "ingot/nn/dims.hpp"
#include "ingot/nn/module.hpp"

namespace ingot::nn {

class PixelShuffle : public Layer {
 public:
  explicit PixelShuffle(int64_t upscale_factor) : factor_(upscale_factor) {}
  Tensor forward(const Tensor& x) override;

 private:
  int64_t factor_;
};
class PixelUnshuffle : public Layer {
 public:
  explicit PixelUnshuffle(int64_t downscale_factor) : factor_(downscale_factor) {}
  Tensor forward(const Tensor& x) override;

 private:
  int64_t factor_;
};
class ChannelShuffle : public Layer {
 public:
  explicit ChannelShuffle(int64_t groups) : groups_(groups) {}
  Tensor forward(const Tensor& x) override;

 private:
  int64_t groups_;
};

struct UpsampleOptions {
  Dims size = {};                          // of the result; or
  std::vector<double> scale_factor = {};   // what each spatial dim is multiplied by, one number or one each
  std::string mode = "nearest";            // "nearest-exact", "linear", "bilinear", "bicubic", "trilinear"
  bool align_corners = false;              // of the modes that interpolate
};
class Upsample : public Layer {
 public:
  explicit Upsample(UpsampleOptions o);
  Tensor forward(const Tensor& x) override;

 private:
  UpsampleOptions o_;
};
struct UpsamplingNearest2d : Upsample {
  explicit UpsamplingNearest2d(UpsampleOptions o);  // its size or scale factor
};
struct UpsamplingBilinear2d : Upsample {  // aligns corners
  explicit UpsamplingBilinear2d(UpsampleOptions o);
};

}  // namespace ingot::nn
