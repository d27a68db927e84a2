// What detectors do with boxes, as operators of torchvision: which of overlapping boxes stay (nms),
// and pooling over boxes of images (roi_align, roi_pool), where each bin may have channels of its
// own (ps_).
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <numeric>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/float_to_int.hpp"
#include "base/parallel.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "ingot/op/vjp.hpp"
#include "ops/batch/rules.hpp"
#include "ops/family.hpp"
#include "ops/common/kept_small.hpp"
#include "ops/index/masked.hpp"
#include "ops/common/stays_eager.hpp"

namespace ingot {
namespace {

// ---- nms

template <class T>
std::vector<int64_t> kept_boxes(const T* boxes, const T* scores, int64_t n, double threshold) {
  std::vector<int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {  // NaN first, as sort has it
    return scores[a] > scores[b] || (scores[a] != scores[a] && scores[b] == scores[b]);
  });
  const auto area = [&](int64_t i) { return (boxes[4 * i + 2] - boxes[4 * i]) * (boxes[4 * i + 3] - boxes[4 * i + 1]); };
  std::vector<bool> gone(static_cast<std::size_t>(n));
  std::vector<int64_t> kept;
  for (std::size_t a = 0; a < order.size(); a++) {
    if (gone[a]) continue;
    const int64_t i = order[a];
    kept.push_back(i);
    const T* p = boxes + 4 * i;
    for (std::size_t b = a + 1; b < order.size(); b++) {
      if (gone[b]) continue;
      const T* q = boxes + 4 * order[b];
      const T w = std::max(T(0), std::min(p[2], q[2]) - std::max(p[0], q[0]));
      const T h = std::max(T(0), std::min(p[3], q[3]) - std::max(p[1], q[1]));
      const T shared = w * h;
      if (shared / (area(i) + area(order[b]) - shared) > threshold) gone[b] = true;
    }
  }
  return kept;
}
// A body and not a kernel: how many boxes stay is known only when all are found.
Value nms_body(const Call& c) {
  const Tensor &boxes = c.tensor(0), &scores = c.tensor(1);
  INGOT_REQUIRE(boxes.dim() == 2, "boxes should be a 2d tensor, got ", boxes.dim(), "D");
  INGOT_REQUIRE(boxes.size(1) == 4, "boxes should have 4 elements in dimension 1, got ", boxes.size(1));
  INGOT_REQUIRE(scores.dim() == 1, "scores should be a 1d tensor, got ", scores.dim(), "D");
  INGOT_REQUIRE(boxes.size(0) == scores.size(0), "boxes and scores should have same number of elements in dimension 0, got ",
                boxes.size(0), " and ", scores.size(0));
  const DType t = boxes.dtype();
  INGOT_REQUIRE(t == DType::f32 || t == DType::f64, "\"nms_kernel\" not implemented for '", scalar_type_name(t), "'");
  INGOT_REQUIRE(t == scores.dtype(), "dets should have the same type as scores");
  if (boxes->is_fake() || scores->is_fake())
    return make_tensor(Geometry::contiguous({data_dependent_size(c.op.schema.name, boxes.size(0))}, DType::i64), boxes.device(),
                       true);
  std::vector<int64_t> kept;
  on_floating(t, "nms_kernel", [&]<class T>(T) {
    const Tensor b = dense(boxes, t), s = dense(scores, t);
    kept = kept_boxes(b.data<T>(), s.data<T>(), boxes.size(0).value(), c[2].to_double());
  });
  const Tensor result = make_tensor(Geometry::contiguous({static_cast<int64_t>(kept.size())}, DType::i64), boxes.device());
  std::copy(kept.begin(), kept.end(), result.data<int64_t>());
  return result;
}

// ---- pooling over boxes

// The images, the bins of a box, and whether each bin reads channels of its own.
struct Pooling {
  int64_t images, channels, height, width, bins_h, bins_w;
  bool own_channels;

  int64_t channels_out() const { return own_channels ? channels / (bins_h * bins_w) : channels; }
  int64_t channel_in(int64_t out, int64_t h, int64_t w) const { return own_channels ? (out * bins_h + h) * bins_w + w : out; }
};

// Calls f(h, w, at) for each bin of box k; `at` is where its first channel lies in the output.
template <class F>
void for_each_bin(const Pooling& p, int64_t k, const F& f) {
  for (int64_t h = 0; h < p.bins_h; h++)
    for (int64_t w = 0; w < p.bins_w; w++) f(h, w, ((k * p.channels_out()) * p.bins_h + h) * p.bins_w + w);
}
int64_t plane(const Pooling& p, int64_t image, int64_t channel) { return (image * p.channels + channel) * p.height * p.width; }

template <class T>
int64_t image_of(const Pooling& p, const T* box, std::string_view op) {
  const int64_t image = float_to_int<int32_t>(box[0]);
  INGOT_REQUIRE(image >= 0 && image < p.images, op, ": a box is of image ", image, ", but there are ", p.images);
  return image;
}

// How roi_align lays sampling points into a box.
template <class A>
struct Points {
  A start_h, start_w, bin_h, bin_w;
  int64_t grid_h, grid_w;  // of each bin
};
struct AlignOptions {
  double scale;
  int64_t ratio;  // points of a bin along a side; 0: as many as there are pixels
  bool half_pixel, at_least_one;
};
template <class A, class T>
Points<A> points_of(const Pooling& p, const AlignOptions& o, const T* box, std::string_view op) {
  const A scale(o.scale), shift(o.half_pixel ? 0.5 : 0.0);
  Points<A> r;
  r.start_w = A(box[1]) * scale - shift;
  r.start_h = A(box[2]) * scale - shift;
  A w = A(box[3]) * scale - shift - r.start_w, h = A(box[4]) * scale - shift - r.start_h;
  if (o.at_least_one) {
    if (w < A(1)) w = A(1);
    if (h < A(1)) h = A(1);
  }
  r.bin_h = h / A(p.bins_h);
  r.bin_w = w / A(p.bins_w);
  r.grid_h = o.ratio > 0 ? o.ratio : float_to_int<int32_t>(std::ceil(static_cast<T>(r.bin_h)));
  r.grid_w = o.ratio > 0 ? o.ratio : float_to_int<int32_t>(std::ceil(static_cast<T>(r.bin_w)));
  INGOT_REQUIRE(
      r.grid_h < INT32_MAX && r.grid_w < INT32_MAX && (r.grid_h <= 0 || r.grid_w <= 0 || r.grid_h * r.grid_w < INT32_MAX), op,
      ": a box has more sampling points than there are numbers: ", r.grid_h, " by ", r.grid_w, " a bin");
  return r;
}

// The four pixels around a point, and their weights; nothing outside the image.
template <class A>
struct Sample {
  int64_t at[4] = {};
  A weight[4] = {};
};
template <class A>
Sample<A> sample_at(const Pooling& p, A y, A x) {
  Sample<A> s;
  const auto outside = [](A v, int64_t size) { return v < A(-1) || v > A(size); };  // NaN is inside, and so is the result
  if (outside(y, p.height) || outside(x, p.width)) return s;
  int64_t low[2], high[2];
  A above[2];
  const int64_t sizes[] = {p.height, p.width};
  const A at[] = {y, x};
  for (int d = 0; d < 2; d++) {
    const A v = at[d] < A(0) ? A(0) : at[d];
    const int64_t whole = v == v ? static_cast<int64_t>(v) : 0;
    low[d] = std::min(whole, sizes[d] - 1);
    high[d] = std::min(whole + 1, sizes[d] - 1);
    above[d] = low[d] < whole || low[d] == high[d] ? A(0) : v - A(low[d]);
  }
  const A below[] = {A(1) - above[0], A(1) - above[1]};
  for (int k = 0; k < 4; k++) {
    s.at[k] = (k < 2 ? low[0] : high[0]) * p.width + (k % 2 == 0 ? low[1] : high[1]);
    s.weight[k] = (k < 2 ? below[0] : above[0]) * (k % 2 == 0 ? below[1] : above[1]);
  }
  return s;
}
template <class A>
void samples_of_bin(const Pooling& p, const Points<A>& b, int64_t h, int64_t w, std::vector<Sample<A>>& samples) {
  samples.clear();
  for (int64_t i = 0; i < b.grid_h; i++)
    for (int64_t j = 0; j < b.grid_w; j++)
      samples.push_back(sample_at(p, b.start_h + A(h) * b.bin_h + (A(i) + A(0.5)) * b.bin_h / A(b.grid_h),
                                  b.start_w + A(w) * b.bin_w + (A(j) + A(0.5)) * b.bin_w / A(b.grid_w)));
}
template <class A>
A count_of(const Points<A>& b) {
  return A(std::max<int64_t>(b.grid_h, 0) * std::max<int64_t>(b.grid_w, 0));
}

template <class T, class A>
void align_forward(const Pooling& p, const AlignOptions& o, const T* x, const T* boxes, int64_t count, T* out,
                   std::string_view op) {
  const int64_t step = p.bins_h * p.bins_w;
  // A point outside is pixel 0 with weight 0, as in torchvision, so that there must be one.
  INGOT_REQUIRE(p.height > 0 && p.width > 0, op, ": expected images that are not empty, found ", p.height, " by ", p.width);
  parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
    std::vector<Sample<A>> samples;
    for (int64_t k = begin; k < end; k++) {
      const int64_t image = image_of(p, boxes + 5 * k, op);
      const Points<A> b = points_of<A>(p, o, boxes + 5 * k, op);
      // A bin without points is zero, but in the op whose bins have channels of their own, where it
      // is 0 / 0.
      const A points = !p.own_channels && count_of(b) < A(1) ? A(1) : count_of(b);
      for_each_bin(p, k, [&](int64_t h, int64_t w, int64_t at) {
        samples_of_bin(p, b, h, w, samples);
        for (int64_t c = 0; c < p.channels_out(); c++) {
          const T* in = x + plane(p, image, p.channel_in(c, h, w));
          A sum(0);
          for (const Sample<A>& s : samples) {
            A v = s.weight[0] * A(in[s.at[0]]);
            for (int i = 1; i < 4; i++) v += s.weight[i] * A(in[s.at[i]]);
            sum += v;
          }
          out[at + c * step] = static_cast<T>(sum / points);
        }
      });
    }
  });
}
template <class T, class A>
void align_backward(const Pooling& p, const AlignOptions& o, const T* g, const T* boxes, int64_t count, T* gx,
                    std::string_view op) {
  const int64_t step = p.bins_h * p.bins_w;
  parallel_for(0, p.channels_out(), 8, [&](int64_t begin, int64_t end) {
    std::vector<Sample<A>> samples;
    for (int64_t k = 0; k < count; k++) {
      const int64_t image = image_of(p, boxes + 5 * k, op);
      const Points<A> b = points_of<A>(p, o, boxes + 5 * k, op);
      const A points = count_of(b);
      for_each_bin(p, k, [&](int64_t h, int64_t w, int64_t at) {
        samples_of_bin(p, b, h, w, samples);
        for (int64_t c = begin; c < end; c++) {
          T* in = gx + plane(p, image, p.channel_in(c, h, w));
          const A grad(g[at + c * step]);
          for (const Sample<A>& s : samples)
            for (int i = 0; i < 4; i++) in[s.at[i]] = static_cast<T>(A(in[s.at[i]]) + grad * s.weight[i] / points);
        }
      });
    }
  });
}

// The pixels [low, high) of a bin along one side of a box from `start` with `size` pixels, within
// [0, limit].
struct Pixels {
  int64_t low, high;
};
template <class A, class T>
Pixels pixels_of(int64_t bin, int64_t bins, int64_t start, int64_t size, int64_t limit) {
  const A step = A(size) / A(bins);
  const auto whole = [&](T v) { return std::clamp<int64_t>(float_to_int<int32_t>(v) + start, 0, std::max<int64_t>(limit, 0)); };
  return {whole(std::floor(static_cast<T>(A(bin) * step))), whole(std::ceil(static_cast<T>(A(bin + 1) * step)))};
}
// Calls f(image, h, w, at, rows, columns) for each bin of box k. `extra` pixels belong to a box
// beyond its last corner, the last `margin` ones of an image to none.
template <class T, class A, class F>
void for_each_area(const Pooling& p, double scale, const T* boxes, int64_t k, int64_t extra, int64_t margin, std::string_view op,
                   const F& f) {
  const T* box = boxes + 5 * k;
  const int64_t image = image_of(p, box, op);
  int64_t corner[4];
  for (int i = 0; i < 4; i++) corner[i] = float_to_int<int32_t>(std::round(static_cast<T>(A(box[i + 1]) * A(scale))));
  const int64_t width = std::max<int64_t>(corner[2] - corner[0] + extra, 1),
                height = std::max<int64_t>(corner[3] - corner[1] + extra, 1);
  for_each_bin(p, k, [&](int64_t h, int64_t w, int64_t at) {
    f(image, h, w, at, pixels_of<A, T>(h, p.bins_h, corner[1], height, p.height - margin),
      pixels_of<A, T>(w, p.bins_w, corner[0], width, p.width - margin));
  });
}

template <class T, class A>
void largest_forward(const Pooling& p, double scale, const T* x, const T* boxes, int64_t count, T* out, int32_t* places,
                     std::string_view op) {
  const int64_t step = p.bins_h * p.bins_w;
  parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; k++)
      for_each_area<T, A>(p, scale, boxes, k, 1, 0, op,
                          [&](int64_t image, int64_t, int64_t, int64_t at, Pixels rows, Pixels columns) {
                            const bool empty = rows.high <= rows.low || columns.high <= columns.low;
                            for (int64_t c = 0; c < p.channels; c++) {
                              const T* in = x + plane(p, image, c);
                              T most = empty ? T(0) : static_cast<T>(A(-FLT_MAX));
                              int64_t place = -1;
                              for (int64_t i = rows.low; i < rows.high; i++)
                                for (int64_t j = columns.low; j < columns.high; j++)
                                  if (in[i * p.width + j] > most) {
                                    place = i * p.width + j;
                                    most = in[place];
                                  }
                              out[at + c * step] = most;
                              places[at + c * step] = static_cast<int32_t>(place);
                            }
                          });
  });
}
template <class T, class A>
void mean_forward(const Pooling& p, double scale, const T* x, const T* boxes, int64_t count, T* out, std::string_view op) {
  const int64_t step = p.bins_h * p.bins_w;
  parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; k++)  // the last row and column of an image belong to no bin, as in torchvision
      for_each_area<T, A>(
          p, scale, boxes, k, 0, 1, op, [&](int64_t image, int64_t h, int64_t w, int64_t at, Pixels rows, Pixels columns) {
            const int64_t area = std::max<int64_t>(rows.high - rows.low, 0) * std::max<int64_t>(columns.high - columns.low, 0);
            for (int64_t c = 0; c < p.channels_out(); c++) {
              const T* in = x + plane(p, image, p.channel_in(c, h, w));
              A sum(0);
              for (int64_t i = rows.low; i < rows.high; i++)
                for (int64_t j = columns.low; j < columns.high; j++) sum += A(in[i * p.width + j]);
              out[at + c * step] = static_cast<T>(area == 0 ? A(0) : sum / A(area));
            }
          });
  });
}
template <class T, class A>
void mean_backward(const Pooling& p, double scale, const T* g, const T* boxes, int64_t count, T* gx, std::string_view op) {
  const int64_t step = p.bins_h * p.bins_w;
  for (int64_t k = 0; k < count; k++)  // here they do, as in torchvision
    for_each_area<T, A>(
        p, scale, boxes, k, 0, 0, op, [&](int64_t image, int64_t h, int64_t w, int64_t at, Pixels rows, Pixels columns) {
          const int64_t area = std::max<int64_t>(rows.high - rows.low, 0) * std::max<int64_t>(columns.high - columns.low, 0);
          for (int64_t c = 0; c < p.channels_out(); c++) {
            T* in = gx + plane(p, image, p.channel_in(c, h, w));
            const A share = A(g[at + c * step]) / A(area);
            for (int64_t i = rows.low; i < rows.high; i++)
              for (int64_t j = columns.low; j < columns.high; j++)
                in[i * p.width + j] = static_cast<T>(A(in[i * p.width + j]) + share);
          }
        });
}

// ---- the ops

void check_boxes(const Call& c, std::string_view what, std::string_view kernel) {
  const Tensor &t = c.tensor(0), &boxes = c.tensor(1);
  INGOT_REQUIRE(t.dim() == 4, c.op.schema.name, ": expected ", what, " of 4 dims, found sizes ", t.sizes());
  INGOT_REQUIRE(boxes.dim() == 2 && boxes.size(1) == 5, "rois must have shape as Tensor[K, 5]");
  INGOT_REQUIRE(t.dtype() == boxes.dtype(), "Expected tensor for argument #1 '", what,
                "' to have the same type as tensor for argument #2 'rois'; but type torch.", scalar_type_name(t.dtype()),
                "Tensor does not equal torch.", scalar_type_name(boxes.dtype()), "Tensor (while checking arguments for ", kernel,
                ")");
}
template <bool kOwnChannels, bool kPlaces>
void forward_meta(const Call& c, Outputs& o) {
  check_boxes(c, "input", text(c.op.schema.name, "_forward_kernel"));
  const Tensor& x = c.tensor(0);
  const Int h = c[3].to_int(), w = c[4].to_int();
  Int channels = x.size(1);
  INGOT_REQUIRE(!(h < 0) && !(w < 0), c.op.schema.name, ": expected a pooled size of no less than 0, found ", h, " by ", w);
  if (kOwnChannels) {
    INGOT_REQUIRE(h * w > 0 && mod(channels, h * w) == 0, "input channels must be a multiple of pooling height * pooling width");
    channels = floor_div(channels, h * w);
  }
  const Shape sizes{c.tensor(1).size(0), channels, h, w};
  o.add(sizes, x.dtype());
  if (kPlaces) o.add(sizes, DType::i32);
}
// grad, rois, …, then the sizes of the images at `sizes`.
template <int kSizes, bool kOwnChannels>
void backward_meta(const Call& c, Outputs& o) {
  check_boxes(c, "grad", text(c.op.schema.name.substr(1), "_kernel"));
  const Tensor& g = c.tensor(0);
  const Int channels = c[kSizes + 1].to_int(), read = kOwnChannels ? g.size(1) * g.size(2) * g.size(3) : g.size(1);
  INGOT_REQUIRE(g.size(0) == c.tensor(1).size(0) && (g.numel() == 0 || read == channels), c.op.schema.name,
                ": a gradient of sizes ", g.sizes(), " is not that of ", c.tensor(1).size(0), " boxes and ", channels,
                " channels");
  o.add(Shape{c[kSizes].to_int(), channels, c[kSizes + 2].to_int(), c[kSizes + 3].to_int()}, g.dtype());
}

Pooling pooling_of(const Tensor& images, const Tensor& pooled, bool own_channels) {
  return {images.size(0).value(),
          images.size(1).value(),
          images.size(2).value(),
          images.size(3).value(),
          pooled.size(2).value(),
          pooled.size(3).value(),
          own_channels};
}
// Calls f<T, A>() for the types that torchvision takes.
template <class F>
void on_pooled(DType t, std::string_view kernel, const F& f) {
  if (t == DType::bf16) throw_user_error(text("\"", kernel, "\" not implemented for '", scalar_type_name(t), "'"));
  on_kept_small(t, kernel, f);
}
// The part of a forward or backward op that is the same for all: buffers, types, nothing to do.
template <class F>
void forward_kernel(const Call& c, std::span<const Tensor> r, const F& f) {
  if (r[0].numel() == 0) return;
  on_pooled(r[0].dtype(), text(c.op.schema.name, "_forward_kernel"), [&]<class T, class A>(T, A) {
    const DType t = kernel_dtype(r[0].dtype());
    const DenseResult out(r[0], t);
    const Tensor x = dense(c.tensor(0), t), boxes = dense(c.tensor(1), t);
    f.template operator()<T, A>(x.data<T>(), boxes.data<T>(), boxes.size(0).value(), out.data<T>());
    out.finish();
  });
}
template <class F>
void backward_kernel(const Call& c, std::span<const Tensor> r, const F& f) {
  fill_elements(r[0], 0);
  if (c.tensor(0).numel() == 0 || r[0].numel() == 0) return;
  on_pooled(r[0].dtype(), text(c.op.schema.name.substr(1), "_kernel"), [&]<class T, class A>(T, A) {
    const DType t = kernel_dtype(r[0].dtype());
    const DenseResult gx(r[0], t);
    if (!gx.buffer().is_same(r[0])) fill_elements(gx.buffer(), 0);
    const Tensor g = dense(c.tensor(0), t), boxes = dense(c.tensor(1), t);
    f.template operator()<T, A>(g.data<T>(), boxes.data<T>(), boxes.size(0).value(), gx.data<T>());
    gx.finish();
  });
}
// Which channel each bin reads.
void write_channels(const Pooling& p, const Tensor& channels) {
  int32_t* out = channels.data<int32_t>();
  for (int64_t i = 0, n = channels.numel().value(); i < n; i++) out[i] = static_cast<int32_t>(i % p.channels);
}

void roi_align_kernel(const Call& c, std::span<const Tensor> r) {
  const bool aligned = c[6].to_bool();
  const AlignOptions o{c[2].to_double(), c[5].to_int64(), aligned, !aligned};
  forward_kernel(c, r, [&]<class T, class A>(const T* x, const T* boxes, int64_t n, T* out) {
    align_forward<T, A>(pooling_of(c.tensor(0), r[0], false), o, x, boxes, n, out, c.op.schema.name);
  });
}
void roi_align_backward_kernel(const Call& c, std::span<const Tensor> r) {
  const bool aligned = c[10].to_bool();
  const AlignOptions o{c[2].to_double(), c[9].to_int64(), aligned, !aligned};
  backward_kernel(c, r, [&]<class T, class A>(const T* g, const T* boxes, int64_t n, T* gx) {
    align_backward<T, A>(pooling_of(r[0], c.tensor(0), false), o, g, boxes, n, gx, c.op.schema.name);
  });
}
void ps_roi_align_kernel(const Call& c, std::span<const Tensor> r) {
  const AlignOptions o{c[2].to_double(), c[5].to_int64(), true, false};
  const Pooling p = pooling_of(c.tensor(0), r[0], true);
  forward_kernel(c, r, [&]<class T, class A>(const T* x, const T* boxes, int64_t n, T* out) {
    align_forward<T, A>(p, o, x, boxes, n, out, c.op.schema.name);
  });
  write_channels(p, r[1]);
}
void ps_roi_align_backward_kernel(const Call& c, std::span<const Tensor> r) {
  const AlignOptions o{c[3].to_double(), c[6].to_int64(), true, false};
  backward_kernel(c, r, [&]<class T, class A>(const T* g, const T* boxes, int64_t n, T* gx) {
    align_backward<T, A>(pooling_of(r[0], c.tensor(0), true), o, g, boxes, n, gx, c.op.schema.name);
  });
}
void roi_pool_kernel(const Call& c, std::span<const Tensor> r) {
  forward_kernel(c, r, [&]<class T, class A>(const T* x, const T* boxes, int64_t n, T* out) {
    largest_forward<T, A>(pooling_of(c.tensor(0), r[0], false), c[2].to_double(), x, boxes, n, out, r[1].data<int32_t>(),
                          c.op.schema.name);
  });
}
void roi_pool_backward_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor places = dense(c.tensor(2), DType::i32);
  INGOT_REQUIRE(places.sizes() == c.tensor(0).sizes(), c.op.schema.name, ": expected an argmax of the gradient's size ",
                c.tensor(0).sizes(), ", found ", places.sizes());
  backward_kernel(c, r, [&]<class T, class A>(const T* g, const T* boxes, int64_t n, T* gx) {
    const Pooling p = pooling_of(r[0], c.tensor(0), false);
    const int64_t bins = p.bins_h * p.bins_w, pixels = p.height * p.width;
    for (int64_t i = 0; i < n * p.channels * bins; i++) {
      const int64_t place = places.data<int32_t>()[i], k = i / (p.channels * bins);
      INGOT_REQUIRE(place < pixels, c.op.schema.name, ": argmax is ", place, ", but an image has ", pixels, " pixels");
      if (place < 0) continue;
      T& at = gx[plane(p, image_of(p, boxes + 5 * k, c.op.schema.name), i / bins % p.channels) + place];
      at = static_cast<T>(A(at) + A(g[i]));
    }
  });
}
void ps_roi_pool_kernel(const Call& c, std::span<const Tensor> r) {
  const Pooling p = pooling_of(c.tensor(0), r[0], true);
  forward_kernel(c, r, [&]<class T, class A>(const T* x, const T* boxes, int64_t n, T* out) {
    mean_forward<T, A>(p, c[2].to_double(), x, boxes, n, out, c.op.schema.name);
  });
  write_channels(p, r[1]);
}
void ps_roi_pool_backward_kernel(const Call& c, std::span<const Tensor> r) {
  backward_kernel(c, r, [&]<class T, class A>(const T* g, const T* boxes, int64_t n, T* gx) {
    mean_backward<T, A>(pooling_of(r[0], c.tensor(0), true), c[3].to_double(), g, boxes, n, gx, c.op.schema.name);
  });
}

// A batch of images is images more, one of boxes boxes more. The image of a box is a number in its
// type: half has 2048 of them.
Value batch_boxes(const Batching& b) {
  (void)b.member_results();
  if (b.batched(0) && is_reduced_floating(b.tensor(1).dtype()) && b.size * b.sizes(0)[0] > 2048) return batch_loop(b);
  Values args = b.args;
  Tensor boxes = b.front(1);
  if (b.batched(0)) {
    args[0] = merge_dims(b.tensor(0), 0);
    const Tensor first = aten<"arange">(b.size, boxes.dtype(), Value(), boxes.device()).view({b.size, 1, 1});
    const Tensor image = aten<"trunc">(boxes.slice(2, 0, 1));  // one that is not there is none of another member either
    const Int images = b.sizes(0)[0];
    const Tensor there = aten<"logical_and">(aten<"ge.Scalar">(image, 0), aten<"lt.Scalar">(image, images));
    boxes = cat({aten<"where.ScalarOther">(there, image + aten<"mul.Scalar">(first, images), -1), boxes.slice(2, 1, 5)}, 2);
  }
  args[1] = merge_dims(boxes, 0);
  const Value r = call(b.op, args);
  const auto of_members = [&](const Tensor& t) { return split_dim(t, 0, b.size, b.sizes(1)[0]); };
  if (r.is_tensor()) return of_members(r.tensor());
  return TensorList{of_members(r.tensors()[0]), of_members(r.tensors()[1])};
}

// The gradient of the images; boxes have none.
constexpr OpDef kBoxesOps[] = {
    {.schema = "torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
     .body = nms_body,
     .grad = {.none = true},
     .autocast = Autocast::float32,
     .lower = stays_eager,
     .batch = refuse_dynamic_shape},
    {.schema =
         "torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int "
         "sampling_ratio, bool aligned) -> Tensor",
     .meta = forward_meta<false, false>,
     .kernel = roi_align_kernel,
     .vjp =
         [](Vjp& v) {
           const Shape& s = v.sizes(0);
           if (v.need(0))
             v.set(0, aten<"torchvision::_roi_align_backward">(v.grad(), v.saved(1), v.arg(2), v.arg(3), v.arg(4), s[0], s[1],
                                                               s[2], s[3], v.arg(5), v.arg(6)));
         },
     .saves = {{1}},
     .batch = batch_boxes},
    {.schema =
         "torchvision::_roi_align_backward(Tensor grad, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
         "SymInt batch_size, SymInt channels, SymInt height, SymInt width, int sampling_ratio, bool aligned) -> Tensor",
     .meta = backward_meta<5, false>,
     .kernel = roi_align_backward_kernel},
    {.schema =
         "torchvision::ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int "
         "sampling_ratio) -> (Tensor, Tensor)",
     .meta = forward_meta<true, true>,
     .kernel = ps_roi_align_kernel,
     .vjp =
         [](Vjp& v) {
           const Shape& s = v.sizes(0);
           if (v.need(0))
             v.set(0, aten<"torchvision::_ps_roi_align_backward">(v.grad(), v.saved(1), v.result(1), v.arg(2), v.arg(3), v.arg(4),
                                                                  v.arg(5), s[0], s[1], s[2], s[3]));
         },
     .saves = {{1}, {kResult - 1}},
     .grad = {.results = 1},
     .batch = batch_boxes},
    {.schema =
         "torchvision::_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, float spatial_scale, SymInt "
         "pooled_height, SymInt pooled_width, int sampling_ratio, SymInt batch_size, SymInt channels, SymInt height, SymInt width) -> "
         "Tensor",
     .meta = backward_meta<7, true>,
     .kernel = ps_roi_align_backward_kernel},
    {.schema =
         "torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) -> (Tensor, "
         "Tensor)",
     .meta = forward_meta<false, true>,
     .kernel = roi_pool_kernel,
     .vjp =
         [](Vjp& v) {
           const Shape& s = v.sizes(0);
           if (v.need(0))
             v.set(0, aten<"torchvision::_roi_pool_backward">(v.grad(), v.saved(1), v.result(1), v.arg(2), v.arg(3), v.arg(4),
                                                              s[0], s[1], s[2], s[3]));
         },
     .saves = {{1}, {kResult - 1}},
     .grad = {.results = 1},
     .batch = batch_boxes},
    {.schema =
         "torchvision::_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, float spatial_scale, SymInt pooled_height, SymInt "
         "pooled_width, SymInt batch_size, SymInt channels, SymInt height, SymInt width) -> Tensor",
     .meta = backward_meta<6, false>,
     .kernel = roi_pool_backward_kernel},
    {.schema =
         "torchvision::ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) -> "
         "(Tensor, Tensor)",
     .meta = forward_meta<true, true>,
     .kernel = ps_roi_pool_kernel,
     .vjp =
         [](Vjp& v) {
           const Shape& s = v.sizes(0);
           if (v.need(0))
             v.set(0, aten<"torchvision::_ps_roi_pool_backward">(v.grad(), v.saved(1), v.result(1), v.arg(2), v.arg(3), v.arg(4),
                                                                 s[0], s[1], s[2], s[3]));
         },
     .saves = {{1}, {kResult - 1}},
     .grad = {.results = 1},
     .batch = batch_boxes},
    {.schema = "torchvision::_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, float spatial_scale, SymInt "
               "pooled_height, SymInt pooled_width, SymInt batch_size, SymInt channels, SymInt height, SymInt width) -> Tensor",
     .meta = backward_meta<6, true>,
     .kernel = ps_roi_pool_backward_kernel},
};

}  // namespace

INGOT_FAMILY(boxes, kBoxesOps)

}  // namespace ingot
