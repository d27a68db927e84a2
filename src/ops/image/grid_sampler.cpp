// Sampling at the points of a grid, and the grid of an affine map.
#include "base/error.hpp"
#include "base/parallel.hpp"
#include "ingot/ingot.hpp"
#include "kernels/resample.hpp"
#include "op/call.hpp"
#include "ingot/op/vjp.hpp"
#include "ops/batch/rules.hpp"
#include "ops/family.hpp"
#include "ops/common/kept_small.hpp"
#include "ops/common/stays_eager.hpp"

namespace ingot {
namespace {

// input, grid, interpolation_mode, padding_mode, align_corners stand at `at`.
void check_grid(const Call& c, int at, int space) {
  const Tensor &x = c.tensor(at), &grid = c.tensor(at + 1);
  INGOT_REQUIRE(x.dim() == space + 2 && grid.dim() == x.dim(), "grid_sampler(): expected ", space + 2,
                "D input and grid with same number of dimensions, but got input with sizes ", x.sizes(), " and grid with sizes ",
                grid.sizes());
  INGOT_REQUIRE(x.size(0) == grid.size(0),
                "grid_sampler(): expected grid and input to have same batch size, but got input with sizes ", x.sizes(),
                " and grid with sizes ", grid.sizes());
  INGOT_REQUIRE(grid.size(-1) == space, "grid_sampler(): expected grid to have size ", space,
                " in last dimension, but got grid with sizes ", grid.sizes());
  INGOT_REQUIRE(x.dtype() == grid.dtype() && is_floating(x.dtype()),
                "grid_sampler(): expected input and grid of one floating dtype, found ", x.dtype(), " and ", grid.dtype());
  for (int i = 0; i < space; i++)
    INGOT_REQUIRE(x.size(i + 2) > 0, "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes ",
                  x.sizes());
  const int64_t mode = c[at + 2].to_int64(), padding = c[at + 3].to_int64();
  INGOT_REQUIRE(mode >= 0 && mode <= 2 && padding >= 0 && padding <= 2,
                "grid_sampler(): interpolation_mode and padding_mode are 0, 1 or 2, found ", mode, " and ", padding);
  INGOT_REQUIRE(space == 2 || mode != 2, "grid_sampler(): bicubic interpolation only supports 4D input");
}
Shape sampled_sizes(const Tensor& x, const Tensor& grid) {
  Shape s{x.size(0), x.size(1)};
  for (int i = 1; i + 1 < grid.dim(); i++) s.push_back(grid.size(i));
  return s;
}
kernels::GridSample describe(const Call& c, int at, int space) {
  const Tensor &x = c.tensor(at), &grid = c.tensor(at + 1);
  kernels::GridSample s{};
  s.dims = space;
  s.mode = static_cast<kernels::GridInterpolation>(c[at + 2].to_int64());
  s.padding = static_cast<kernels::GridPadding>(c[at + 3].to_int64());
  s.align_corners = c[at + 4].to_bool();
  s.batch = x.size(0).value();
  s.channels = x.size(1).value();
  for (int i = 0; i < space; i++) {
    s.in[i] = x.size(i + 2).value();
    s.out[i] = grid.size(i + 1).value();
  }
  return s;
}

template <int Space>
void sampler_meta(const Call& c, Outputs& o) {
  check_grid(c, 0, Space);
  o.add(sampled_sizes(c.tensor(0), c.tensor(1)), c.tensor(0).dtype());
}
template <int Space>
void sampler_kernel(const Call& c, std::span<const Tensor> r) {
  on_kept_small(r[0].dtype(), "grid_sampler", [&]<class T, class A>(T, A) {
    const DType t = kernel_dtype(r[0].dtype());
    const DenseResult out(r[0], t);
    const Tensor x = dense(c.tensor(0), t), grid = dense(c.tensor(1), t);
    if (r[0].numel() == 0) return;
    const kernels::GridSample s = describe(c, 0, Space);
    parallel_for(0, kernels::grid_sample_forward_tasks(s), 16, [&](int64_t begin, int64_t end) {
      kernels::grid_sample_forward<T, A>(s, x.data<T>(), grid.data<T>(), out.data<T>(), begin, end);
    });
    out.finish();
  });
}
template <int Space>
void sampler_vjp(Vjp& v) {
  const std::vector<bool> mask{v.need(0), v.need(1)};
  TensorList g;
  if constexpr (Space == 2)
    g = atens<"grid_sampler_2d_backward">(v.grad(), v.saved(0), v.saved(1), v.arg(2), v.arg(3), v.arg(4), mask);
  else g = atens<"grid_sampler_3d_backward">(v.grad(), v.saved(0), v.saved(1), v.arg(2), v.arg(3), v.arg(4), mask);
  if (v.need(0)) v.set(0, g[0]);
  if (v.need(1)) v.set(1, g[1]);
}
// grad_output, input, grid, modes…, output_mask. The gradient of the grid is always there, as in
// PyTorch.
template <int Space>
Value sampler_backward_body(const Call& c) {
  check_grid(c, 1, Space);
  const Tensor &g = c.tensor(0), &x = c.tensor(1), &grid = c.tensor(2);
  INGOT_REQUIRE(g.sizes() == sampled_sizes(x, grid), c.op.schema.name, ": expected grad_output of size ", sampled_sizes(x, grid),
                ", found ", g.sizes());
  const std::vector<bool>& mask = c[6].bools();
  INGOT_REQUIRE(mask.size() == 2, c.op.schema.name, ": expected an output_mask of 2 entries, found ", mask.size());
  const bool fake = g->is_fake() || x->is_fake() || grid->is_fake();
  TensorList out(2);
  if (mask[0]) out[0] = make_tensor(Geometry::contiguous(x.sizes(), x.dtype()), x.device(), fake);
  out[1] = make_tensor(Geometry::contiguous(grid.sizes(), grid.dtype()), x.device(), fake);
  if (fake) return out;
  on_kept_small(x.dtype(), c.op.schema.name, [&]<class T, class A>(T, A) {
    const DType t = kernel_dtype(x.dtype());
    const DenseResult ggrid(out[1], t);
    std::optional<DenseResult> gx;
    if (mask[0]) gx.emplace(out[0], t);
    const Tensor dg = dense(g, t), dx = dense(x, t), dgrid = dense(grid, t);
    if (g.numel() == 0) {
      for (const Tensor& r : out)
        if (r.defined()) fill_elements(r, 0);
      return;
    }
    const kernels::GridSample s = describe(c, 1, Space);
    parallel_for(0, s.batch, 1, [&](int64_t begin, int64_t end) {
      kernels::grid_sample_backward<T, A>(s, dg.data<T>(), dx.data<T>(), dgrid.data<T>(), gx ? gx->data<T>() : nullptr,
                                          ggrid.data<T>(), begin, end);
    });
    if (gx) gx->finish();
    ggrid.finish();
  });
  return out;
}

Value sampler_body(const Call& c) {
  const int64_t rank = c.tensor(0).dim();
  INGOT_REQUIRE(rank == 4 || rank == 5,
                "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input with sizes ",
                c.tensor(0).sizes());
  return rank == 4 ? aten<"grid_sampler_2d">(c[0], c[1], c[2], c[3], c[4])
                   : aten<"grid_sampler_3d">(c[0], c[1], c[2], c[3], c[4]);
}

// ---- affine grids

// n points of [-1, 1]: with align_corners the first and last are the ends, else all are centres of
// n equal cells.
Tensor axis_points(Int n, bool align_corners, const Tensor& like) {
  const Tensor i = aten<"arange">(n, like.dtype(), Value(), like.device());
  const Tensor centred = aten<"add.Scalar">(aten<"mul.Scalar">(i, 2), Int(1) - n);
  return aten<"div.Scalar">(centred, align_corners ? max(n - 1, Int(1)) : n);
}
// [N, points, dims + 1]: x, y (, z), 1
Tensor base_grid(const Tensor& like, const Shape& size, bool align_corners) {
  const int space = size.dim() - 2;
  Shape full = size;
  full.erase(1);
  full.push_back(1);
  TensorList parts;
  for (int k = space - 1; k >= 0; k--) {
    Shape s = Shape::filled(full.size(), 1);
    s[static_cast<std::size_t>(k) + 1] = size[static_cast<std::size_t>(k) + 2];
    parts.push_back(axis_points(size[static_cast<std::size_t>(k) + 2], align_corners, like).view(s).expand(full));
  }
  parts.push_back(aten<"ones">(full, like.dtype(), Value(), like.device()));
  Int points = 1;
  for (int k = 0; k < space; k++) points = points * size[static_cast<std::size_t>(k) + 2];
  return cat(parts, -1).view({size[0], points, space + 1});
}
void check_affine(const Tensor& theta, const Shape& size) {
  INGOT_REQUIRE(size.dim() == 4 || size.dim() == 5,
                "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size ", size);
  const int space = size.dim() - 2;
  INGOT_REQUIRE(theta.dim() == 3 && theta.size(0) == size[0] && theta.size(1) == space && theta.size(2) == space + 1,
                "Expected a batch of ", space, "D affine matrices of shape Nx", space, "x", space + 1, " for size ", size,
                ". Got ", theta.sizes());
}
Value affine_body(const Call& c) {
  const Tensor& theta = c.tensor(0);
  const Shape& size = c[1].ints();
  check_affine(theta, size);
  Shape out = size;
  out.erase(1);
  out.push_back(size.dim() - 2);
  return aten<"bmm">(base_grid(theta, size, c[2].to_bool()), theta.transpose(1, 2)).view(out);
}
Value affine_backward_body(const Call& c) {
  const Tensor& g = c.tensor(0);
  const Shape& size = c[1].ints();
  INGOT_REQUIRE(size.dim() == 4 || size.dim() == 5, "affine_grid_generator_backward: expected a size of 4 or 5 dims, found ",
                size);
  const Tensor base = base_grid(g, size, c[2].to_bool());
  return aten<"bmm">(base.transpose(1, 2), g.reshape({size[0], base.size(1), size.dim() - 2})).transpose(1, 2);
}

constexpr OpDef kGridSamplerOps[] = {
    {.schema =
         "aten::grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
     .form = Form::composite,
     .body = sampler_body,
     .autocast = Autocast::float32},
    {.schema =
         "aten::grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
     .meta = sampler_meta<2>,
     .kernel = sampler_kernel<2>,
     .vjp = sampler_vjp<2>,
     .saves = {{0}, {1}},
     .autocast = Autocast::float32,
     .batch = batch_samples<3>},
    {.schema =
         "aten::grid_sampler_2d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool "
         "align_corners, bool[2] output_mask) -> (Tensor, Tensor)",
     .body = sampler_backward_body<2>,
     .lower = stays_eager,
     .batch = batch_samples<3>},
    {.schema =
         "aten::grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
     .meta = sampler_meta<3>,
     .kernel = sampler_kernel<3>,
     .vjp = sampler_vjp<3>,
     .saves = {{0}, {1}},
     .autocast = Autocast::float32,
     .batch = batch_samples<4>},
    {.schema =
         "aten::grid_sampler_3d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool "
         "align_corners, bool[2] output_mask) -> (Tensor, Tensor)",
     .body = sampler_backward_body<3>,
     .lower = stays_eager,
     .batch = batch_samples<4>},
    {.schema = "aten::affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor",
     .body = affine_body,
     .vjp = [](Vjp& v) { v.set(0, aten<"affine_grid_generator_backward">(v.grad(), v.arg(1), v.arg(2))); }},
    {.schema = "aten::affine_grid_generator_backward(Tensor grad, SymInt[] size, bool align_corners) -> Tensor",
     .form = Form::composite,
     .body = affine_backward_body},
};

}  // namespace

INGOT_FAMILY(grid_sampler, kGridSamplerOps)

}  // namespace ingot
