// Shuffles of channels, and between channels and pixels: both sides with their dims split, one copy
// between them.
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ingot/op/vjp.hpp"
#include "op/call.hpp"
#include "ops/batch/rules.hpp"
#include "ops/common/rank.hpp"
#include "ops/family.hpp"
#include "ops/shape/view_geometry.hpp"
#include "tensor/geometry.hpp"
#include "tensor/rows.hpp"

namespace ingot {
namespace {

Geometry shuffled_result(const Tensor& self, Shape sizes) {
  Geometry g;
  g.dtype = self.dtype();
  g.strides = strides_for(sizes, suggest_memory_format(self.sizes(), self.strides()));
  g.sizes = std::move(sizes);
  return g;
}
// [batch…, C, r·h, r·w] split to [batch…, C, r, r, h, w]: the layout both directions meet in.
Geometry large_side(const Geometry& g, Int r) {
  const int n = g.dim();
  Geometry s = split_dim(g, n - 1, floor_div(g.sizes[n - 1], r), r);
  s = split_dim(std::move(s), n - 2, floor_div(g.sizes[n - 2], r), r);  // [batch…, C, h, r, w, r]
  Shape order;
  for (int i = 0; i < n - 2; i++) order.push_back(i);
  for (int i : {n - 1, n + 1, n - 2, n}) order.push_back(i);
  return permute_geometry(s, order);
}
// [batch…, C·r·r, h, w] split the same way.
Geometry small_side(const Geometry& g, Int r) {
  const int channel = g.dim() - 3;
  Geometry s = split_dim(g, channel, floor_div(g.sizes[channel], r * r), r * r);
  return split_dim(std::move(s), channel + 1, r, r);
}
void pixel_shuffle_meta(const Call& c, Outputs& o) {
  const Tensor& self = c.tensor(0);
  const Int r = c[1].to_int();
  INGOT_REQUIRE(rank(self) >= 3, "pixel_shuffle expects input to have at least 3 dimensions, but got input with ", rank(self),
                " dimension(s)");
  INGOT_REQUIRE(r > 0, "pixel_shuffle expects a positive upscale_factor, but got ", r);
  Shape sizes = self.sizes();
  const int n = sizes.dim();
  INGOT_REQUIRE(mod(sizes[n - 3], r * r) == 0,
                "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
                "but input.size(-3)=",
                sizes[n - 3], " is not divisible by ", r * r);
  sizes[n - 3] = floor_div(sizes[n - 3], r * r);
  sizes[n - 2] = sizes[n - 2] * r;
  sizes[n - 1] = sizes[n - 1] * r;
  o.add(shuffled_result(self, std::move(sizes)));
}
void pixel_unshuffle_meta(const Call& c, Outputs& o) {
  const Tensor& self = c.tensor(0);
  const Int r = c[1].to_int();
  INGOT_REQUIRE(rank(self) >= 3, "pixel_unshuffle expects input to have at least 3 dimensions, but got input with ", rank(self),
                " dimension(s)");
  INGOT_REQUIRE(r > 0, "pixel_unshuffle expects a positive downscale_factor, but got ", r);
  Shape sizes = self.sizes();
  const int n = sizes.dim();
  INGOT_REQUIRE(mod(sizes[n - 2], r) == 0 && mod(sizes[n - 1], r) == 0,
                "pixel_unshuffle expects height and width to be divisible by downscale_factor, "
                "but input.size(-2)=",
                sizes[n - 2], " and input.size(-1)=", sizes[n - 1], " are not divisible by ", r);
  sizes[n - 3] = sizes[n - 3] * r * r;
  sizes[n - 2] = floor_div(sizes[n - 2], r);
  sizes[n - 1] = floor_div(sizes[n - 1], r);
  o.add(shuffled_result(self, std::move(sizes)));
}

void channel_shuffle_meta(const Call& c, Outputs& o) {
  const Tensor& self = c.tensor(0);
  const Int groups = c[1].to_int();
  INGOT_REQUIRE(rank(self) > 2, "channel_shuffle expects input with > 2 dims, but got input with sizes ", self.sizes());
  INGOT_REQUIRE(groups > 0, "Number of groups to divide channels in must be positive. Value of groups:", groups);
  INGOT_REQUIRE(mod(self.sizes()[1], groups) == 0, "Number of channels must be divisible by groups. Got ", self.sizes()[1],
                " channels and ", groups, " groups.");
  o.add(shuffled_result(self, self.sizes()));
}
void channel_shuffle_kernel(const Call& c, std::span<const Tensor> r) {
  const Int groups = c[1].to_int(), rest = floor_div(r[0].sizes()[1], groups);
  Geometry to = split_dim(r[0]->geom, 1, rest, groups), from = split_dim(c.tensor(0)->geom, 1, groups, rest);
  std::swap(from.sizes[1], from.sizes[2]);
  std::swap(from.strides[1], from.strides[2]);
  copy_elements(make_alias(r[0], std::move(to)), make_alias(c.tensor(0), std::move(from)));
}

// The samples are the first dim whatever the rank.
Value batch_channel_shuffle(const Batching& b) { return batch_samples(b, b.rank(0) - 1); }

constexpr OpDef kShuffleOps[] = {
    {.schema = "aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",
     .form = Form::external,
     .meta = pixel_shuffle_meta,
     .kernel =
         [](const Call& c, std::span<const Tensor> r) {
           const Int factor = c[1].to_int();
           copy_elements(make_alias(r[0], large_side(r[0]->geom, factor)),
                         make_alias(c.tensor(0), small_side(c.tensor(0)->geom, factor)));
         },
     .vjp = [](Vjp& v) { v.set(0, aten<"pixel_unshuffle">(v.grad(), v.arg(1))); },
     .batch = batch_leading},
    {.schema = "aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
     .form = Form::external,
     .meta = pixel_unshuffle_meta,
     .kernel =
         [](const Call& c, std::span<const Tensor> r) {
           const Int factor = c[1].to_int();
           copy_elements(make_alias(r[0], small_side(r[0]->geom, factor)),
                         make_alias(c.tensor(0), large_side(c.tensor(0)->geom, factor)));
         },
     .vjp = [](Vjp& v) { v.set(0, aten<"pixel_shuffle">(v.grad(), v.arg(1))); },
     .batch = batch_leading},
    {.schema = "aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor",
     .form = Form::external,
     .meta = channel_shuffle_meta,
     .kernel = channel_shuffle_kernel,
     .vjp = [](Vjp& v) { v.set(0, aten<"channel_shuffle">(v.grad(), floor_div(v.sizes(0)[1], v.arg(1).to_int()))); },
     .batch = batch_channel_shuffle},
    {.schema = "aten::native_channel_shuffle(Tensor self, SymInt groups) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value { return aten<"channel_shuffle">(c[0], c[1]); }},
};

}  // namespace

INGOT_FAMILY(shuffle, kShuffleOps)

}  // namespace ingot
