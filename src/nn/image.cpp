#include "ingot/nn/image.hpp"

#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"

namespace ingot::nn {

Tensor PixelShuffle::forward(const Tensor& x) { return aten<"pixel_shuffle">(x, factor_); }
Tensor PixelUnshuffle::forward(const Tensor& x) { return aten<"pixel_unshuffle">(x, factor_); }
Tensor ChannelShuffle::forward(const Tensor& x) { return aten<"channel_shuffle">(x, groups_); }

Upsample::Upsample(UpsampleOptions o) : o_(std::move(o)) {
  INGOT_REQUIRE(o_.size.empty() != o_.scale_factor.empty(), "only one of size or scale_factor should be defined, found ",
                o_.size.empty() ? "neither" : "both");
}

Tensor Upsample::forward(const Tensor& x) {
  const int dims = static_cast<int>(x.dim()) - 2;
  INGOT_REQUIRE(dims >= 1 && dims <= 3, "Input Error: Only 3D, 4D and 5D input Tensors supported (got ", x.dim(), "D)");
  const bool is_nearest = o_.mode.starts_with("nearest");
  INGOT_REQUIRE(!is_nearest || !o_.align_corners,
                "align_corners option can only be set with the interpolating modes: linear | "
                "bilinear | bicubic | trilinear");
  Value size, scales;
  if (o_.size.empty()) {
    const auto& given = o_.scale_factor;
    INGOT_REQUIRE(given.size() == 1 || given.size() == static_cast<std::size_t>(dims), "scale_factor: expected 1 or ", dims,
                  " numbers, found ", given.size());
    scales = given.size() == 1 ? std::vector<double>(static_cast<std::size_t>(dims), given[0]) : given;
  } else {
    size = o_.size.of(dims);
  }
  const auto is = [&](const char* mode, int of_dims) { return o_.mode == mode && dims == of_dims; };
  if (is("nearest", 1)) return aten<"upsample_nearest1d.vec">(x, size, scales);
  if (is("nearest", 2)) return aten<"upsample_nearest2d.vec">(x, size, scales);
  if (is("nearest", 3)) return aten<"upsample_nearest3d.vec">(x, size, scales);
  if (is("nearest-exact", 1)) return aten<"_upsample_nearest_exact1d.vec">(x, size, scales);
  if (is("nearest-exact", 2)) return aten<"_upsample_nearest_exact2d.vec">(x, size, scales);
  if (is("nearest-exact", 3)) return aten<"_upsample_nearest_exact3d.vec">(x, size, scales);
  if (is("linear", 1)) return aten<"upsample_linear1d.vec">(x, size, o_.align_corners, scales);
  if (is("bilinear", 2)) return aten<"upsample_bilinear2d.vec">(x, size, o_.align_corners, scales);
  if (is("bicubic", 2)) return aten<"upsample_bicubic2d.vec">(x, size, o_.align_corners, scales);
  if (is("trilinear", 3)) return aten<"upsample_trilinear3d.vec">(x, size, o_.align_corners, scales);
  throw_user_error(text("Upsample: got ", x.dim(), "D input, which mode ", o_.mode,
                        " does not take: linear needs 3D input, bilinear and bicubic 4D, trilinear 5D"));
}

UpsamplingNearest2d::UpsamplingNearest2d(UpsampleOptions o)
    : Upsample({.size = std::move(o.size), .scale_factor = std::move(o.scale_factor)}) {}
UpsamplingBilinear2d::UpsamplingBilinear2d(UpsampleOptions o)
    : Upsample(
          {.size = std::move(o.size), .scale_factor = std::move(o.scale_factor), .mode = "bilinear", .align_corners = true}) {}

}  // namespace ingot::nn
