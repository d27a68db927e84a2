// torchvision's deformable convolution: a convolution whose every weight reads the image at a place
// of its own. Both ways are products of the weights with columns, which are what the weights read;
// the columns are kernels, the products matrix products.
#include <algorithm>
#include <cmath>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/parallel.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "ingot/op/vjp.hpp"
#include "ops/batch/rules.hpp"
#include "ops/family.hpp"
#include "ops/common/kept_small.hpp"

namespace ingot {
namespace {

// ---- columns: [images, channels * weights, places]

struct Columns {
  int64_t images, channels, height, width, kernel_h, kernel_w, out_h, out_w, stride_h, stride_w, pad_h, pad_w, dilation_h,
      dilation_w, groups;
  bool masked;

  int64_t places() const { return out_h * out_w; }
  int64_t weights() const { return kernel_h * kernel_w; }
  int64_t channels_of_group() const { return channels / groups; }
};

// Where the weight (i, j) reads for the place (y, x) of the result, by the offsets that lie at
// `offset`, `places` apart.
template <class A, class T>
struct Point {
  A y, x;
  Point(const Columns& d, const T* offset, int64_t weight, int64_t place)
      : y(A(place / d.out_w * d.stride_h - d.pad_h + weight / d.kernel_w * d.dilation_h) +
          A(offset[2 * weight * d.places() + place])),
        x(A(place % d.out_w * d.stride_w - d.pad_w + weight % d.kernel_w * d.dilation_w) +
          A(offset[(2 * weight + 1) * d.places() + place])) {}
};
// The four pixels around a point: what is outside the image is zero.
template <class A, class T>
struct Corners {
  A value[4] = {};  // (low, low), (low, high), (high, low), (high, high) in y, x
  int64_t at[4];  // -1: outside
  A above_y, above_x;  // how far the point is from the low corner
  bool near = false;  // some corner may be inside

  Corners(const Columns& d, const T* image, const Point<A, T>& p) {
    near = p.y >= A(-1) && p.y < A(d.height) && p.x >= A(-1) && p.x < A(d.width);
    if (!near) return;
    const A low_y = kernels::floor(p.y), low_x = kernels::floor(p.x);
    above_y = p.y - low_y;
    above_x = p.x - low_x;
    for (int k = 0; k < 4; k++) {
      const int64_t y = static_cast<int64_t>(low_y) + k / 2, x = static_cast<int64_t>(low_x) + k % 2;
      at[k] = y >= 0 && y < d.height && x >= 0 && x < d.width ? y * d.width + x : -1;
      if (at[k] >= 0) value[k] = A(image[at[k]]);
    }
  }
  A weight(int k) const { return (k < 2 ? A(1) - above_y : above_y) * (k % 2 == 0 ? A(1) - above_x : above_x); }
  A interpolated() const {
    A sum = weight(0) * value[0];
    for (int k = 1; k < 4; k++) sum += weight(k) * value[k];
    return sum;
  }
  A slope_y() const { return above_x * (value[3] - value[1]) + (A(1) - above_x) * (value[2] - value[0]); }
  A slope_x() const { return above_y * (value[3] - value[2]) + (A(1) - above_y) * (value[1] - value[0]); }
};
// A point on the edge, one pixel before the image, reads nothing; its slopes are those of the
// pixels beside it.
template <class A, class T>
bool reads(const Corners<A, T>& c, const Point<A, T>& p) {
  return c.near && p.y > A(-1) && p.x > A(-1);
}

// A point that is no number reads none either, unless it is outside in any case.
template <class A, class T>
bool is_unknown(const Columns& d, const Point<A, T>& p) {
  const auto outside = [](A v, int64_t size) { return v < A(-1) || v == A(-1) || v >= A(size); };
  return !(p.y == p.y && p.x == p.x) && !outside(p.y, d.height) && !outside(p.x, d.width);
}

template <class T, class A>
void columns_forward(const Columns& d, const T* x, const T* offset, const T* mask, T* out) {
  const int64_t places = d.places(), weights = d.weights();
  parallel_for(0, d.images * d.channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; plane++) {
      const int64_t group = plane / d.channels * d.groups + plane % d.channels / d.channels_of_group();
      for (int64_t w = 0; w < weights; w++)
        for (int64_t i = 0; i < places; i++) {
          const Point<A, T> p(d, offset + group * 2 * weights * places, w, i);
          const Corners<A, T> c(d, x + plane * d.height * d.width, p);
          A v = reads(c, p) ? c.interpolated() : is_unknown(d, p) ? p.y + p.x : A(0);
          if (d.masked) v = A(mask[(group * weights + w) * places + i]) * v;
          out[(plane * weights + w) * places + i] = static_cast<T>(v);
        }
    }
  });
}
// The gradients are zero before. A group of channels shares its offsets: one task.
template <class T, class A>
void columns_backward(const Columns& d, const T* g, const T* x, const T* offset, const T* mask, T* gx, T* goffset, T* gmask) {
  const int64_t places = d.places(), weights = d.weights(), channels = d.channels_of_group();
  parallel_for(0, d.images * d.groups, 1, [&](int64_t begin, int64_t end) {
    for (int64_t group = begin; group < end; group++)
      for (int64_t w = 0; w < weights; w++)
        for (int64_t i = 0; i < places; i++) {
          const Point<A, T> p(d, offset + group * 2 * weights * places, w, i);
          const int64_t in_mask = (group * weights + w) * places + i;
          const A factor = d.masked ? A(mask[in_mask]) : A(1);
          A along_y(0), along_x(0), along_mask(0);
          for (int64_t k = 0; k < channels; k++) {
            const int64_t plane = group * channels + k;
            const Corners<A, T> c(d, x + plane * d.height * d.width, p);
            if (!c.near) {
              if (is_unknown(d, p)) along_mask = p.y + p.x;
              break;
            }
            const A grad(g[(plane * weights + w) * places + i]);
            along_y += factor * c.slope_y() * grad;
            along_x += factor * c.slope_x() * grad;
            if (!reads(c, p)) continue;
            along_mask += grad * c.interpolated();
            for (int n = 0; n < 4; n++)
              if (c.at[n] >= 0) {
                T& at = gx[plane * d.height * d.width + c.at[n]];
                at = static_cast<T>(A(at) + factor * c.weight(n) * grad);
              }
          }
          goffset[((group * weights + w) * 2) * places + i] = static_cast<T>(along_y);
          goffset[((group * weights + w) * 2 + 1) * places + i] = static_cast<T>(along_x);
          if (d.masked) gmask[in_mask] = static_cast<T>(along_mask);
        }
  });
}

// input, offset, mask stand at `at`; kernel_h … use_mask at `options`: two numbers each of the
// kernel, stride, padding, dilation, then offset_groups and use_mask.
Columns columns_of(const Call& c, int at, int options) {
  const Tensor &x = c.tensor(at), &offset = c.tensor(at + 1);
  const auto n = [&](int k) { return c[options + k].to_int64(); };
  return {x.size(0).value(),
          x.size(1).value(),
          x.size(2).value(),
          x.size(3).value(),
          n(0),
          n(1),
          offset.size(2).value(),
          offset.size(3).value(),
          n(2),
          n(3),
          n(4),
          n(5),
          n(6),
          n(7),
          n(8),
          c[options + 9].to_bool()};
}
void check_types(const Tensor& x, const Tensor& other) {
  INGOT_REQUIRE(x.dtype() == other.dtype(), "expected scalar type ", scalar_type_name(x.dtype()), " but found ",
                scalar_type_name(other.dtype()));
}
void columns_meta(const Call& c, Outputs& o) {
  const Tensor &x = c.tensor(0), &offset = c.tensor(1);
  check_types(x, offset);
  if (c[12].to_bool()) check_types(x, c.tensor(2));
  o.add(Shape{x.size(0), x.size(1) * c[3].to_int() * c[4].to_int(), offset.size(2) * offset.size(3)}, x.dtype());
}
template <class F>
void on_deformable(DType t, const F& f) {
  if (t == DType::bf16) throw_user_error(text("\"deformable_im2col\" not implemented for '", scalar_type_name(t), "'"));
  on_kept_small(t, "deformable_im2col", f);
}
void columns_kernel(const Call& c, std::span<const Tensor> r) {
  if (r[0].numel() == 0) return;
  on_deformable(r[0].dtype(), [&]<class T, class A>(T, A) {
    const DType t = kernel_dtype(r[0].dtype());
    const DenseResult out(r[0], t);
    const Tensor x = dense(c.tensor(0), t), offset = dense(c.tensor(1), t), mask = dense(c.tensor(2), t);
    columns_forward<T, A>(columns_of(c, 0, 3), x.data<T>(), offset.data<T>(), mask.data<T>(), out.data<T>());
    out.finish();
  });
}
void columns_backward_meta(const Call& c, Outputs& o) {
  for (int i = 1; i < 4; i++) o.add(c.tensor(i).sizes(), c.tensor(i).dtype());
}
void columns_backward_kernel(const Call& c, std::span<const Tensor> r) {
  for (const Tensor& t : r) fill_elements(t, 0);
  if (c.tensor(0).numel() == 0) return;
  on_deformable(r[0].dtype(), [&]<class T, class A>(T, A) {
    const DType t = kernel_dtype(r[0].dtype());
    const DenseResult gx(r[0], t), goffset(r[1], t), gmask(r[2], t);
    for (const DenseResult* d : {&gx, &goffset, &gmask})
      if (d->buffer().dtype() != r[0].dtype()) fill_elements(d->buffer(), 0);
    const Tensor g = dense(c.tensor(0), t), x = dense(c.tensor(1), t), offset = dense(c.tensor(2), t),
                 mask = dense(c.tensor(3), t);
    columns_backward<T, A>(columns_of(c, 1, 4), g.data<T>(), x.data<T>(), offset.data<T>(), mask.data<T>(), gx.data<T>(),
                           goffset.data<T>(), gmask.data<T>());
    for (const DenseResult* d : {&gx, &goffset, &gmask}) d->finish();
  });
}

// ---- the convolution

// input, weight, offset, mask, bias, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w,
// groups, offset_groups, use_mask at `at`.
struct Convolution {
  Tensor x, weight, offset, mask, bias;
  Int stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups;
  bool masked;

  Convolution(const Call& c, int at)
      : x(c.tensor(at)), weight(c.tensor(at + 1)), offset(c.tensor(at + 2)), mask(c.tensor(at + 3)), bias(c.tensor(at + 4)),
        stride_h(c[at + 5].to_int()), stride_w(c[at + 6].to_int()), pad_h(c[at + 7].to_int()), pad_w(c[at + 8].to_int()),
        dilation_h(c[at + 9].to_int()), dilation_w(c[at + 10].to_int()), groups(c[at + 11].to_int()),
        offset_groups(c[at + 12].to_int()), masked(c[at + 13].to_bool()) {
    check();
  }
  void check() const {
    const auto truth = [](bool ok, std::string_view what) {
      INGOT_REQUIRE(
          ok, "Expected ", what,
          " to be true, but got false.  (Could this error message be improved?  If so, please report an enhancement request "
          "to PyTorch.)");
    };
    truth(x.dim() == 4, "input_c.ndimension() == 4");
    truth(offset.dim() == 4, "offset_c.ndimension() == 4");
    truth(!masked || mask.dim() == 4, "!use_mask || mask_c.ndimension() == 4");
    truth(weight.dim() == 4, "weight_c.ndimension() == 4");
    const Int h = weight.size(2), w = weight.size(3), weights = h * w;
    INGOT_REQUIRE(h > 0 && w > 0, "weight_h: ", h, " weight_w: ", w);
    INGOT_REQUIRE(stride_h > 0 && stride_w > 0, "stride_h: ", stride_h, " stride_w: ", stride_w);
    INGOT_REQUIRE(!(pad_h < 0) && !(pad_w < 0), "pad_h: ", pad_h, " pad_w: ", pad_w);
    INGOT_REQUIRE(dilation_h > 0 && dilation_w > 0, "dilation_h: ", dilation_h, " dilation_w: ", dilation_w);
    INGOT_REQUIRE(groups > 0 && offset_groups > 0, "deform_conv2d: expected groups and offset_groups of at least 1, found ",
                  groups, " and ", offset_groups);
    truth(weight.size(1) * groups == x.size(1), "weight_c.size(1) * n_weight_grps == input_c.size(1)");
    truth(mod(weight.size(0), groups) == 0, "weight_c.size(0) % n_weight_grps == 0");
    INGOT_REQUIRE(offset.size(1) == offset_groups * 2 * weights, "offset.shape[1] is not valid: got: ", offset.size(1),
                  " expected: ", offset_groups * 2 * weights);
    INGOT_REQUIRE(!masked || mask.size(1) == offset_groups * weights, "mask.shape[1] is not valid: got: ", mask.size(1),
                  " expected: ", offset_groups * weights);
    truth(mod(x.size(1), offset_groups) == 0, "input_c.size(1) % n_offset_grps == 0");
    INGOT_REQUIRE(offset.size(0) == x.size(0), "invalid batch size of offset");
    const Int out_h = floor_div(x.size(2) + 2 * pad_h - dilation_h * (h - 1) - 1, stride_h) + 1;
    const Int out_w = floor_div(x.size(3) + 2 * pad_w - dilation_w * (w - 1) - 1, stride_w) + 1;
    INGOT_REQUIRE(offset.size(2) == out_h && offset.size(3) == out_w, "offset output dims: (", offset.size(2), ", ",
                  offset.size(3), ") - computed output dims: (", out_h, ", ", out_w, ")");
    INGOT_REQUIRE(mask.dim() > 0 && mask.size(0) == x.size(0), "invalid batch size of mask");
    INGOT_REQUIRE(!masked || (mask.size(2) == out_h && mask.size(3) == out_w), "mask output dims: (", mask.size(2), ", ",
                  masked ? mask.size(3) : Int(0), ") - computed output dims: (", out_h, ", ", out_w, ")");
    INGOT_REQUIRE(out_h > 0 && out_w > 0, "Calculated output size too small - out_h: ", out_h, " out_w: ", out_w);
  }
  Tensor columns() const {
    return aten<"ingot::deform_columns">(x, offset, mask, weight.size(2), weight.size(3), stride_h, stride_w, pad_h, pad_w,
                                         dilation_h, dilation_w, offset_groups, masked);
  }
  // The rows of each image and group, as matrices one after the other.
  Tensor matrices(const Tensor& t) const {
    return t.reshape({x.size(0) * groups, floor_div(t.size(1), groups), offset.size(2) * offset.size(3)});
  }
  Tensor weights_of_images() const {
    const Int rows = floor_div(weight.size(0), groups), columns = weight.size(1) * weight.size(2) * weight.size(3);
    return weight.reshape({1, groups, rows, columns})
        .expand({x.size(0), groups, rows, columns})
        .reshape({x.size(0) * groups, rows, columns});
  }
};
Value convolution_body(const Call& c) {
  const Convolution d(c, 0);
  const Tensor bias = d.bias.view({1, d.weight.size(0), 1, 1});
  const Tensor product = aten<"bmm">(d.weights_of_images(), d.matrices(d.columns()));
  return product.view({d.x.size(0), d.weight.size(0), d.offset.size(2), d.offset.size(3)}) + bias;
}
Value deform_backward_body(const Call& c) {
  const Convolution d(c, 1);
  const Tensor& grad = c.tensor(0);
  const Tensor g = d.matrices(grad.reshape({d.x.size(0), d.weight.size(0), d.offset.size(2) * d.offset.size(3)}));
  const Tensor of_columns = aten<"bmm">(d.weights_of_images().transpose(1, 2), g);
  const Tensor columns = d.columns();
  const TensorList sampled = atens<"ingot::deform_columns_backward">(
      of_columns.reshape(columns.sizes()), d.x, d.offset, d.mask, d.weight.size(2), d.weight.size(3), d.stride_h, d.stride_w,
      d.pad_h, d.pad_w, d.dilation_h, d.dilation_w, d.offset_groups, d.masked);
  const Tensor of_weight = aten<"bmm">(g, d.matrices(columns).transpose(1, 2));
  return TensorList{
      sampled[0],
      of_weight.view({d.x.size(0), d.groups, of_weight.size(1), of_weight.size(2)}).sum(Shape{0}).view(d.weight.sizes()),
      sampled[1], sampled[2], grad.sum(Shape{0, 2, 3})};
}

constexpr OpDef kDeformConvOps[] = {
    {.schema =
         "torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt "
         "stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool "
         "use_mask) -> Tensor",
     .body = convolution_body,
     .vjp =
         [](Vjp& v) {
           const TensorList g = atens<"torchvision::_deform_conv2d_backward">(
               v.grad(), v.saved(0), v.saved(1), v.saved(2), v.saved(3), v.saved(4), v.arg(5), v.arg(6), v.arg(7), v.arg(8),
               v.arg(9), v.arg(10), v.arg(11), v.arg(12), v.arg(13));
           for (int i = 0; i < 5; i++)
             if (v.need(i)) v.set(i, g[static_cast<std::size_t>(i)]);
         },
     .saves = {{0}, {1}, {2}, {3}, {4}}},
    {.schema =
         "torchvision::_deform_conv2d_backward(Tensor grad, Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, "
         "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt "
         "offset_groups, bool use_mask) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
     .body = deform_backward_body},
    // What the weights read of the image, and its gradients.
    {.schema =
         "ingot::deform_columns(Tensor input, Tensor offset, Tensor mask, SymInt kernel_h, SymInt kernel_w, SymInt stride_h, SymInt "
         "stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt offset_groups, bool use_mask) -> Tensor",
     .meta = columns_meta,
     .kernel = columns_kernel,
     .vjp =
         [](Vjp& v) {
           Values args{v.grad(), v.saved(0), v.saved(1), v.saved(2)};
           for (int i = 3; i < 13; i++) args.push_back(v.arg(i));
           const TensorList g = call(op_ref<"ingot::deform_columns_backward">(), args).tensors();
           for (int i = 0; i < 3; i++)
             if (v.need(i)) v.set(i, g[static_cast<std::size_t>(i)]);
         },
     .saves = {{0}, {1}, {2}},
     .batch = batch_samples<3>},
    {.schema =
         "ingot::deform_columns_backward(Tensor grad, Tensor input, Tensor offset, Tensor mask, SymInt kernel_h, SymInt kernel_w, "
         "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt offset_groups, "
         "bool use_mask) -> (Tensor, Tensor, Tensor)",
     .meta = columns_backward_meta,
     .kernel = columns_backward_kernel,
     .batch = batch_samples<2>},
};

}  // namespace

INGOT_FAMILY(deform_conv, kDeformConvOps)

}  // namespace ingot
