// Interpolation to a new size: nearest, linear, cubic in one to three dims, with gradients. The
// .vec overloads take a size or factors and come apart into the plain ones.
#include <cmath>
#include <iterator>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "ingot/ingot.hpp"
#include "kernels/resample.hpp"
#include "op/call.hpp"
#include "ingot/op/vjp.hpp"
#include "ops/batch/rules.hpp"
#include "ops/family.hpp"
#include "ops/common/kept_small.hpp"
#include "ops/common/rule_for.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

using kernels::Interpolation;

constexpr bool takes_corners(Interpolation m) { return m != Interpolation::nearest && m != Interpolation::nearest_exact; }

void check_sizes(const Call& c, const Shape& in, const Shape& out) {
  INGOT_REQUIRE(in.dim() == out.dim() + 2, c.op.schema.name, ": It is expected input_size equals to ", out.dim() + 2,
                ", but got size ", in.dim());
  for (int i = 0; i < out.dim(); i++)
    INGOT_REQUIRE(in[i + 2] > 0 && out[i] > 0, c.op.schema.name,
                  ": Input and output sizes should be greater than 0, but got input ", in, " and output size ", out);
  INGOT_REQUIRE(in[1] > 0, c.op.schema.name, ": Non-empty ", in.dim(), "D data tensor expected but got a tensor with sizes ", in);
}
// Cubic gradients come out contiguous, everything else like what came in.
Geometry layout(Shape sizes, const Tensor& like, bool contiguous) {
  Geometry g;
  g.strides = contiguous ? contiguous_strides(sizes) : strides_for(sizes, suggest_memory_format(like.sizes(), like.strides()));
  g.sizes = std::move(sizes);
  g.dtype = like.dtype();
  return g;
}

struct Way {
  int space;  // dims
  Interpolation mode;
};

// The scales stand last, one for each dim of space.
kernels::Resample describe(Way way, const Call& c, const Tensor& in, const Tensor& out, int corners_at) {
  kernels::Resample r{};
  r.dims = way.space;
  r.mode = way.mode;
  r.align_corners = takes_corners(way.mode) && c[corners_at].to_bool();
  const int scales = corners_at + takes_corners(way.mode);
  for (int i = 0; i < way.space; i++) {
    r.in[i] = in.size(i + 2).value();
    r.out[i] = out.size(i + 2).value();
    r.scale[i] = c[scales + i].double_or(0);
  }
  return r;
}

template <class F>
void for_planes(const kernels::Resample& r, int64_t planes, int64_t scratch_bytes, const F& f) {
  int64_t size = 1;
  for (int i = 0; i < r.dims; i++) size *= std::max(r.in[i], r.out[i]);
  parallel_for(0, planes, std::max<int64_t>(1, 16384 / size), [&](int64_t begin, int64_t end) {
    const Scratch scratch(scratch_bytes);
    f(begin, end, scratch.get());
  });
}

// ---- self, output_size[, align_corners], scales…
void upsample_meta(Way way, const Call& c, Outputs& o) {
  const Tensor& x = c.tensor(0);
  const Shape& out = c[1].ints();
  INGOT_REQUIRE(out.dim() == way.space, c.op.schema.name, ": It is expected output_size equals to ", way.space, ", but got size ",
                out.dim());
  check_sizes(c, x.sizes(), out);
  INGOT_REQUIRE(is_floating(x.dtype()) || x.dtype() == DType::u8, "\"", c.op.schema.name, "\" not implemented for '",
                scalar_type_name(x.dtype()), "'");
  INGOT_REQUIRE(x.dtype() != DType::u8 || way.space == 2 || !takes_corners(way.mode),
                "\"compute_indices_weights_linear\" not implemented for 'Byte'");
  Shape sizes{x.size(0), x.size(1)};
  for (Int n : out) sizes.push_back(n);
  o.add(layout(std::move(sizes), x, false));
}
// Where PyTorch keeps the weights in the type of the tensor: not in the kernels that it has for
// planes and for channels last.
bool rounds_weights(Way way, const Tensor& x) {
  if (way.mode != Interpolation::linear) return way.mode == Interpolation::cubic;
  return way.space == 1 || (way.space == 3 && suggest_memory_format(x.sizes(), x.strides()) == MemoryFormat::contiguous);
}
void upsample_kernel(Way way, const Call& c, std::span<const Tensor> r) {
  const bool bytes = r[0].dtype() == DType::u8;
  if (bytes && takes_corners(way.mode)) {
    const DenseResult out(r[0], DType::u8);
    const Tensor x = dense(c.tensor(0), DType::u8);
    const kernels::Resample k = describe(way, c, x, r[0], 2);
    for_planes(k, x.size(0).value() * x.size(1).value(), kernels::resample_bytes_scratch(k),
               [&](int64_t begin, int64_t end, void* s) {
                 kernels::resample_bytes(k, x.data<uint8_t>(), out.data<uint8_t>(), begin, end, s);
               });
    return out.finish();
  }
  const DType t = bytes ? DType::f32 : kernel_dtype(r[0].dtype());
  const bool rounds = rounds_weights(way, c.tensor(0));
  on_kept_small(bytes || !rounds ? t : r[0].dtype(), c.op.schema.name, [&]<class T, class W>(T, W) {
    const DenseResult out(r[0], t);
    const Tensor x = dense(c.tensor(0), t);
    const kernels::Resample k = describe(way, c, x, r[0], 2);
    for_planes(k, x.size(0).value() * x.size(1).value(), kernels::resample_scratch_bytes<T>(k),
               [&](int64_t begin, int64_t end, void* s) {
                 kernels::resample_forward<T, W>(k, x.data<T>(), out.data<T>(), begin, end, s);
               });
    out.finish();
  });
}
// ---- grad_output, output_size, input_size[, align_corners], scales…
void upsample_backward_meta(Way way, const Call& c, Outputs& o) {
  const Tensor& g = c.tensor(0);
  const Shape &out = c[1].ints(), &in = c[2].ints();
  INGOT_REQUIRE(out.dim() == way.space, c.op.schema.name, ": It is expected output_size equals to ", way.space, ", but got size ",
                out.dim());
  check_sizes(c, in, out);
  Shape want{in[0], in[1]};
  for (Int n : out) want.push_back(n);
  INGOT_REQUIRE(g.sizes() == want, c.op.schema.name,
                ": Expected grad_output to have the same shape as output; output.size = ", want,
                " but got grad_output.size = ", g.sizes());
  INGOT_REQUIRE(is_floating(g.dtype()), "\"", c.op.schema.name, "\" not implemented for '", scalar_type_name(g.dtype()), "'");
  o.add(layout(in, g, way.mode == Interpolation::cubic));
}
void upsample_backward_kernel(Way way, const Call& c, std::span<const Tensor> r) {
  on_floating(r[0].dtype(), c.op.schema.name, [&]<class T>(T) {
    const DType t = kernel_dtype(r[0].dtype());
    const DenseResult out(r[0], t);
    const Tensor g = dense(c.tensor(0), t);
    const kernels::Resample k = describe(way, c, r[0], g, 3);
    for_planes(
        k, g.size(0).value() * g.size(1).value(), kernels::resample_scratch_bytes<T>(k),
        [&](int64_t begin, int64_t end, void* s) { kernels::resample_backward(k, g.data<T>(), out.data<T>(), begin, end, s); });
    out.finish();
  });
}

// f(self, size, rest…) and f_backward(grad, size, self's sizes, rest…) are each other's gradient.
void upsample_vjp(Vjp& v) {
  Values args{v.grad(), v.arg(1), v.sizes(0)};
  for (std::size_t i = 2; i < v.args.size(); i++) args.push_back(v.args[i]);
  v.set(0, call(op(v.op->schema.name + "_backward"), args).tensor());
}
void upsample_backward_vjp(Vjp& v) {
  Values args{v.grad(), v.arg(1)};
  for (std::size_t i = 3; i < v.args.size(); i++) args.push_back(v.args[i]);
  const std::string& name = v.op->schema.name;
  v.set(0, call(op(name.substr(0, name.size() - std::string_view("_backward").size())), args).tensor());
}

// floor(size * factor). Factors with few binary digits (2, 0.5, 1.25 …) keep an open size open.
Int scaled_size(Int size, double factor) {
  if (size.is_number()) return static_cast<int64_t>(static_cast<double>(size.number()) * factor);
  for (int64_t d = 1; d <= 1024; d *= 2)
    if (const double n = factor * static_cast<double>(d); n == std::floor(n) && n < 1e9)
      return floor_div(size * static_cast<int64_t>(n), d);
  return static_cast<int64_t>(static_cast<double>(size.value()) * factor);
}
// input, output_size?[, align_corners], scale_factors?
Value vec_body(const Op& sized, int space, bool corners, const Call& c) {
  const Tensor& x = c.tensor(0);
  const Value &size = c[1], &factors = c[2 + corners];
  INGOT_REQUIRE(x.dim() == space + 2, c.op.schema.name, ": expected an input of ", space + 2, " dims, found ", x.sizes());
  INGOT_REQUIRE(size.is_none() != factors.is_none(), "Must specify exactly one of output_size and scale_factors");
  std::vector<double> f;
  if (factors.is_floats()) f = factors.floats();
  else if (factors.is_ints())
    for (Int n : factors.ints()) f.push_back(static_cast<double>(n.value()));
  Shape out = size.is_none() ? Shape{} : size.ints();
  INGOT_REQUIRE(size.is_none() ? std::ssize(f) == space : out.dim() == space, c.op.schema.name, ": expected ", space,
                " values for output_size or scale_factors, found ", size.is_none() ? f.size() : out.size());
  if (size.is_none())
    for (int i = 0; i < space; i++) out.push_back(scaled_size(x.size(i + 2), f[static_cast<std::size_t>(i)]));
  Values args{x, out};
  if (corners) args.push_back(c[2]);
  for (int i = 0; i < space; i++) args.push_back(f.empty() ? Value() : Value(f[static_cast<std::size_t>(i)]));
  return call(sized, args);
}

template <int Space, Interpolation Mode>
constexpr OpDef upsample(std::string_view schema) {
  return {.schema = schema,
          .meta = rule_for<upsample_meta, Way{Space, Mode}>,
          .kernel = rule_for<upsample_kernel, Way{Space, Mode}>,
          .vjp = upsample_vjp,
          .batch = batch_samples<Space + 1>};
}
template <int Space, Interpolation Mode>
constexpr OpDef upsample_backward(std::string_view schema) {
  return {.schema = schema,
          .meta = rule_for<upsample_backward_meta, Way{Space, Mode}>,
          .kernel = rule_for<upsample_backward_kernel, Way{Space, Mode}>,
          .vjp = upsample_backward_vjp,
          .batch = batch_samples<Space + 1>};
}
template <int Space, bool Corners, OpName Sized>
constexpr OpDef vec(std::string_view schema) {
  return {.schema = schema, .form = Form::composite, .body = [](const Call& c) {
            return vec_body(op_ref<Sized>(), Space, Corners, c);
          }};
}

// The argument lists of each rank.
#define SELF_1D "(Tensor self, SymInt[1] output_size, "
#define SELF_2D "(Tensor self, SymInt[2] output_size, "
#define SELF_3D "(Tensor self, SymInt[3] output_size, "
#define GRAD_1D "(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, "
#define GRAD_2D "(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, "
#define GRAD_3D "(Tensor grad_output, SymInt[3] output_size, SymInt[5] input_size, "
#define SCALES_1D "float? scales=None) -> Tensor"
#define SCALES_2D "float? scales_h=None, float? scales_w=None) -> Tensor"
#define SCALES_3D "float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor"
#define CORNERS "bool align_corners, "
#define VEC "(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor"
#define VEC_CORNERS "(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor"

constexpr OpDef kResampleOps[] = {
    upsample<1, Interpolation::nearest>("aten::upsample_nearest1d" SELF_1D SCALES_1D),
    upsample<2, Interpolation::nearest>("aten::upsample_nearest2d" SELF_2D SCALES_2D),
    upsample<3, Interpolation::nearest>("aten::upsample_nearest3d" SELF_3D SCALES_3D),
    upsample<1, Interpolation::nearest_exact>("aten::_upsample_nearest_exact1d" SELF_1D SCALES_1D),
    upsample<2, Interpolation::nearest_exact>("aten::_upsample_nearest_exact2d" SELF_2D SCALES_2D),
    upsample<3, Interpolation::nearest_exact>("aten::_upsample_nearest_exact3d" SELF_3D SCALES_3D),
    upsample<1, Interpolation::linear>("aten::upsample_linear1d" SELF_1D CORNERS SCALES_1D),
    upsample<2, Interpolation::linear>("aten::upsample_bilinear2d" SELF_2D CORNERS SCALES_2D),
    upsample<3, Interpolation::linear>("aten::upsample_trilinear3d" SELF_3D CORNERS SCALES_3D),
    upsample<2, Interpolation::cubic>("aten::upsample_bicubic2d" SELF_2D CORNERS SCALES_2D),
    upsample<2, Interpolation::linear_aa>("aten::_upsample_bilinear2d_aa" SELF_2D CORNERS SCALES_2D),
    upsample<2, Interpolation::cubic_aa>("aten::_upsample_bicubic2d_aa" SELF_2D CORNERS SCALES_2D),
    upsample_backward<1, Interpolation::nearest>("aten::upsample_nearest1d_backward" GRAD_1D SCALES_1D),
    upsample_backward<2, Interpolation::nearest>("aten::upsample_nearest2d_backward" GRAD_2D SCALES_2D),
    upsample_backward<3, Interpolation::nearest>("aten::upsample_nearest3d_backward" GRAD_3D SCALES_3D),
    upsample_backward<1, Interpolation::nearest_exact>("aten::_upsample_nearest_exact1d_backward" GRAD_1D SCALES_1D),
    upsample_backward<2, Interpolation::nearest_exact>("aten::_upsample_nearest_exact2d_backward" GRAD_2D SCALES_2D),
    upsample_backward<3, Interpolation::nearest_exact>("aten::_upsample_nearest_exact3d_backward" GRAD_3D SCALES_3D),
    upsample_backward<1, Interpolation::linear>("aten::upsample_linear1d_backward" GRAD_1D CORNERS SCALES_1D),
    upsample_backward<2, Interpolation::linear>("aten::upsample_bilinear2d_backward" GRAD_2D CORNERS SCALES_2D),
    upsample_backward<3, Interpolation::linear>("aten::upsample_trilinear3d_backward" GRAD_3D CORNERS SCALES_3D),
    upsample_backward<2, Interpolation::cubic>("aten::upsample_bicubic2d_backward" GRAD_2D CORNERS SCALES_2D),
    upsample_backward<2, Interpolation::linear_aa>("aten::_upsample_bilinear2d_aa_backward" GRAD_2D CORNERS SCALES_2D),
    upsample_backward<2, Interpolation::cubic_aa>("aten::_upsample_bicubic2d_aa_backward" GRAD_2D CORNERS SCALES_2D),
    vec<1, false, "upsample_nearest1d">("aten::upsample_nearest1d.vec" VEC),
    vec<2, false, "upsample_nearest2d">("aten::upsample_nearest2d.vec" VEC),
    vec<3, false, "upsample_nearest3d">("aten::upsample_nearest3d.vec" VEC),
    vec<1, false, "_upsample_nearest_exact1d">("aten::_upsample_nearest_exact1d.vec" VEC),
    vec<2, false, "_upsample_nearest_exact2d">("aten::_upsample_nearest_exact2d.vec" VEC),
    vec<3, false, "_upsample_nearest_exact3d">("aten::_upsample_nearest_exact3d.vec" VEC),
    vec<1, true, "upsample_linear1d">("aten::upsample_linear1d.vec" VEC_CORNERS),
    vec<2, true, "upsample_bilinear2d">("aten::upsample_bilinear2d.vec" VEC_CORNERS),
    vec<3, true, "upsample_trilinear3d">("aten::upsample_trilinear3d.vec" VEC_CORNERS),
    vec<2, true, "upsample_bicubic2d">("aten::upsample_bicubic2d.vec" VEC_CORNERS),
    vec<2, true, "_upsample_bilinear2d_aa">("aten::_upsample_bilinear2d_aa.vec" VEC_CORNERS),
    vec<2, true, "_upsample_bicubic2d_aa">("aten::_upsample_bicubic2d_aa.vec" VEC_CORNERS),
};

}  // namespace

INGOT_FAMILY(resample, kResampleOps)

}  // namespace ingot
