// Images as patches: im2col and col2im, and the shuffles between channels and pixels.
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "op/vjp.hpp"
#include "ops/accumulate.hpp"
#include "ops/families.hpp"
#include "ops/view_geometry.hpp"
#include "tensor/geometry.hpp"
#include "tensor/rows.hpp"

namespace ingot {
namespace {

int rank(const Tensor& t) { return static_cast<int>(t.dim()); }

// ---- im2col, col2im. Arguments kernel, dilation, padding, stride stand in this order in both.

struct Window {
  Shape kernel, dilation, padding, stride;
  Window(const Call& c, int first)
      : kernel(c[first].ints()), dilation(c[first + 1].ints()), padding(c[first + 2].ints()), stride(c[first + 3].ints()) {
    for (const Shape* s : {&kernel, &dilation, &padding, &stride})
      INGOT_REQUIRE(s->size() == 2, c.op.schema.name, ": expected two numbers for kernel_size, dilation, padding and stride, found ", *s);
    for (int d = 0; d < 2; d++)
      INGOT_REQUIRE(kernel[d] > 0 && dilation[d] > 0 && stride[d] > 0 && padding[d] >= 0, c.op.schema.name, ": kernel_size ", kernel, ", dilation ",
                    dilation, " and stride ", stride, " should be greater than zero, padding ", padding, " should be non-negative");
  }
  // Number of window positions along dim d of an image of this extent.
  Int blocks(Int extent, int d) const { return floor_div(extent + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1, stride[d]) + 1; }
};

// Calls f(window position (i, j), part of the columns, part of the image): both parts are [batch…, channel, rows, columns]
// views of the same shape, of the blocks whose window position lies inside the image. `columns` is [batch…, C·kh·kw, L].
template <class F>
void each_window_position(const Window& w, const Geometry& columns, const Geometry& image, const F& f) {
  const int n = image.dim(), channel = n - 3;
  const int64_t kh = w.kernel[0].number(), kw = w.kernel[1].number();
  const int64_t extent[] = {image.sizes[n - 2].number(), image.sizes[n - 1].number()};
  const int64_t blocks[] = {w.blocks(extent[0], 0).number(), w.blocks(extent[1], 1).number()};
  // [batch…, C, kh, kw, rows, cols]
  Geometry c = split_dim(columns, channel + 1, blocks[0], blocks[1]);
  c = split_dim(std::move(c), channel, image.sizes[channel], kh * kw);
  c = split_dim(std::move(c), channel + 1, kh, kw);
  for (int64_t i = 0; i < kh; i++) {
    for (int64_t j = 0; j < kw; j++) {
      Geometry part = select_geometry(select_geometry(c, channel + 1, i), channel + 1, j);
      Geometry pixels = image;
      bool empty = false;
      for (int d = 0; d < 2; d++) {
        const int64_t stride = w.stride[d].number(), at = (d == 0 ? i : j) * w.dilation[d].number() - w.padding[d].number();
        // blocks b with 0 <= at + b * stride < extent
        const int64_t first = at >= 0 ? 0 : (-at + stride - 1) / stride, end = std::min(blocks[d], at >= extent[d] ? 0 : (extent[d] - 1 - at) / stride + 1);
        if (first >= end) {
          empty = true;
          break;
        }
        part = slice_geometry(part, n - 2 + d, first, end, 1);
        pixels = slice_geometry(pixels, n - 2 + d, at + first * stride, at + (end - 1) * stride + 1, stride);
      }
      if (!empty) f(part, pixels);
    }
  }
}

void im2col_meta(const Call& c, Outputs& o) {
  const Tensor& self = c.tensor(0);
  const Window w(c, 1);
  const int n = rank(self);
  INGOT_REQUIRE(n == 3 || n == 4, "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: ",
                self.sizes());
  const Int rows = w.blocks(self.sizes()[n - 2], 0), cols = w.blocks(self.sizes()[n - 1], 1);
  INGOT_REQUIRE(rows >= 1 && cols >= 1, "Given input with spatial size ", self.sizes().sub(n - 2, n), ", kernel_size=", w.kernel, ", dilation=",
                w.dilation, ", padding=", w.padding, ", calculated shape of the array of sliding blocks as (", rows, ", ", cols,
                "), but its components must be at least one.");
  Shape sizes = self.sizes().sub(0, n - 3);
  sizes.push_back(self.sizes()[n - 3] * w.kernel.product());
  sizes.push_back(rows * cols);
  o.add(std::move(sizes), self.dtype());
}
void im2col_kernel(const Call& c, std::span<const Tensor> r) {
  fill_elements(r[0], 0);
  each_window_position(Window(c, 1), r[0]->geom, c.tensor(0)->geom, [&](const Geometry& columns, const Geometry& pixels) {
    copy_elements(make_alias(r[0], columns), make_alias(c.tensor(0), pixels));
  });
}
void col2im_meta(const Call& c, Outputs& o) {
  const Tensor& self = c.tensor(0);
  const Shape& size = c[1].ints();
  const Window w(c, 2);
  const int n = rank(self);
  INGOT_REQUIRE(n == 2 || n == 3, "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input, but "
                "got: ", self.sizes());
  INGOT_REQUIRE(size.size() == 2, "It is expected output_size equals to 2, but got size ", size.dim());
  const Int kernel = w.kernel.product(), channels = floor_div(self.sizes()[n - 2], kernel);
  INGOT_REQUIRE(mod(self.sizes()[n - 2], kernel) == 0, "Expected size of input's dimension ", n - 2, " to be divisible by the product of kernel_size, "
                "but got input.size(", n - 2, ")=", self.sizes()[n - 2], " and kernel_size=", w.kernel, ".");
  const Int rows = w.blocks(size[0], 0), cols = w.blocks(size[1], 1);
  INGOT_REQUIRE(rows >= 1 && cols >= 1 && self.sizes()[n - 1] == rows * cols, "Given output_size=", size, ", kernel_size=", w.kernel, ", dilation=",
                w.dilation, ", padding=", w.padding, ", stride=", w.stride, ", expected size of input's dimension ", n - 1,
                " to match the calculated number of sliding blocks ", rows, " * ", cols, " = ", rows * cols, ", but got input.size(", n - 1, ")=",
                self.sizes()[n - 1], ".");
  Shape sizes = self.sizes().sub(0, n - 2);
  for (Int s : {channels, size[0], size[1]}) sizes.push_back(s);
  o.add(std::move(sizes), self.dtype());
}
void col2im_kernel(const Call& c, std::span<const Tensor> r) {
  fill_elements(r[0], 0);
  each_window_position(Window(c, 2), c.tensor(0)->geom, r[0]->geom, [&](const Geometry& columns, const Geometry& pixels) {
    add_elements(make_alias(r[0], pixels), make_alias(c.tensor(0), columns));
  });
}

// ---- shuffles: both sides with their dims split, one copy between them

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
  INGOT_REQUIRE(rank(self) >= 3, "pixel_shuffle expects input to have at least 3 dimensions, but got input with ", rank(self), " dimension(s)");
  INGOT_REQUIRE(r > 0, "pixel_shuffle expects a positive upscale_factor, but got ", r);
  Shape sizes = self.sizes();
  const int n = sizes.dim();
  INGOT_REQUIRE(mod(sizes[n - 3], r * r) == 0, "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
                "but input.size(-3)=", sizes[n - 3], " is not divisible by ", r * r);
  sizes[n - 3] = floor_div(sizes[n - 3], r * r);
  sizes[n - 2] = sizes[n - 2] * r;
  sizes[n - 1] = sizes[n - 1] * r;
  o.add(shuffled_result(self, std::move(sizes)));
}
void pixel_unshuffle_meta(const Call& c, Outputs& o) {
  const Tensor& self = c.tensor(0);
  const Int r = c[1].to_int();
  INGOT_REQUIRE(rank(self) >= 3, "pixel_unshuffle expects input to have at least 3 dimensions, but got input with ", rank(self), " dimension(s)");
  INGOT_REQUIRE(r > 0, "pixel_unshuffle expects a positive downscale_factor, but got ", r);
  Shape sizes = self.sizes();
  const int n = sizes.dim();
  INGOT_REQUIRE(mod(sizes[n - 2], r) == 0 && mod(sizes[n - 1], r) == 0, "pixel_unshuffle expects height and width to be divisible by downscale_factor, "
                "but input.size(-2)=", sizes[n - 2], " and input.size(-1)=", sizes[n - 1], " are not divisible by ", r);
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
  INGOT_REQUIRE(mod(self.sizes()[1], groups) == 0, "Number of channels must be divisible by groups. Got ", self.sizes()[1], " channels and ", groups,
                " groups.");
  o.add(shuffled_result(self, self.sizes()));
}
void channel_shuffle_kernel(const Call& c, std::span<const Tensor> r) {
  const Int groups = c[1].to_int(), rest = floor_div(r[0].sizes()[1], groups);
  Geometry to = split_dim(r[0]->geom, 1, rest, groups), from = split_dim(c.tensor(0)->geom, 1, groups, rest);
  std::swap(from.sizes[1], from.sizes[2]);
  std::swap(from.strides[1], from.strides[2]);
  copy_elements(make_alias(r[0], std::move(to)), make_alias(c.tensor(0), std::move(from)));
}

constinit const OpDef kOps[] = {
    {.schema = "aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
     .form = Form::external,
     .meta = im2col_meta,
     .kernel = im2col_kernel,
     .vjp =
         [](Vjp& v) {
           const Shape& s = v.sizes(0);
           v.set(0, aten<"col2im">(v.grad(), Shape{s[s.dim() - 2], s[s.dim() - 1]}, v.arg(1), v.arg(2), v.arg(3), v.arg(4)));
         }},
    {.schema = "aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
     .form = Form::external,
     .meta = col2im_meta,
     .kernel = col2im_kernel,
     .vjp = [](Vjp& v) { v.set(0, aten<"im2col">(v.grad(), v.arg(2), v.arg(3), v.arg(4), v.arg(5))); }},
    {.schema = "aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",
     .form = Form::external,
     .meta = pixel_shuffle_meta,
     .kernel =
         [](const Call& c, std::span<const Tensor> r) {
           const Int factor = c[1].to_int();
           copy_elements(make_alias(r[0], large_side(r[0]->geom, factor)), make_alias(c.tensor(0), small_side(c.tensor(0)->geom, factor)));
         },
     .vjp = [](Vjp& v) { v.set(0, aten<"pixel_unshuffle">(v.grad(), v.arg(1))); }},
    {.schema = "aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
     .form = Form::external,
     .meta = pixel_unshuffle_meta,
     .kernel =
         [](const Call& c, std::span<const Tensor> r) {
           const Int factor = c[1].to_int();
           copy_elements(make_alias(r[0], small_side(r[0]->geom, factor)), make_alias(c.tensor(0), large_side(c.tensor(0)->geom, factor)));
         },
     .vjp = [](Vjp& v) { v.set(0, aten<"pixel_shuffle">(v.grad(), v.arg(1))); }},
    {.schema = "aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor",
     .form = Form::external,
     .meta = channel_shuffle_meta,
     .kernel = channel_shuffle_kernel,
     .vjp = [](Vjp& v) { v.set(0, aten<"channel_shuffle">(v.grad(), floor_div(v.sizes(0)[1], v.arg(1).to_int()))); }},
    {.schema = "aten::native_channel_shuffle(Tensor self, SymInt groups) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value { return aten<"channel_shuffle">(c[0], c[1]); }},
};

}  // namespace

Family patch_family() { return kOps; }

}  // namespace ingot
