// Convolution as blocked gather and gemm, and directly for depthwise. See convolution.hpp for the
// contract.
#include "kernels/convolution.hpp"

#include "kernels/gemm.hpp"
#include "kernels/rounded.hpp"

namespace ingot::kernels {
namespace {

constexpr int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

// The description with space widened to three dimensions, and its products.
struct Geometry {
  int64_t in[3], kernel[3], out[3], stride[3], padding[3], dilation[3];
  int64_t in_size, taps, out_size;      // elements of one plane, of one kernel, of one output plane
  int64_t group_in, group_out, depth;   // channels of a group; depth = group_in * taps
  bool direct;                          // depthwise
  bool pointwise;                       // one tap, unit stride, no padding: the input is its own column matrix

  explicit Geometry(const Convolution& c) {
    in_size = taps = out_size = 1;
    pointwise = true;
    for (int d = 0; d < 3; ++d) {
      const int from = d - (3 - c.dims);
      in[d] = from < 0 ? 1 : c.in[from];
      kernel[d] = from < 0 ? 1 : c.kernel[from];
      out[d] = from < 0 ? 1 : c.out[from];
      stride[d] = from < 0 ? 1 : c.stride[from];
      padding[d] = from < 0 ? 0 : c.padding[from];
      dilation[d] = from < 0 ? 1 : c.dilation[from];
      in_size *= in[d];
      taps *= kernel[d];
      out_size *= out[d];
      pointwise = pointwise && kernel[d] == 1 && stride[d] == 1 && padding[d] == 0 && in[d] == out[d];
    }
    group_in = c.in_channels / c.groups;
    group_out = c.out_channels / c.groups;
    depth = group_in * taps;
    direct = group_in == 1 && group_out <= 4;
  }

  // Output positions [low, high) of dimension d whose input under kernel position k is inside.
  void inside(int d, int64_t k, int64_t& low, int64_t& high) const {
    const int64_t shift = k * dilation[d] - padding[d];  // input = output * stride + shift
    low = shift >= 0 ? 0 : ceil_div(-shift, stride[d]);
    high = in[d] - shift <= 0 ? 0 : min(out[d], ceil_div(in[d] - shift, stride[d]));
    if (low > high) low = high;
  }
};

// The output positions of every tap, as runs along the last dimension, taps outermost and in order:
// inside(tap, out_at, in_at, count) where the tap reads the input, outputs out_at + i and inputs
// in_at + i * stride[2], 0 <= i < count;
// padding(tap, out_at, count) where it reads zeros.
template <class Inside, class Padding>
void for_each_run(const Geometry& g, Inside inside, Padding padding) {
  for (int64_t tap = 0; tap < g.taps; ++tap) {
    const int64_t kw = tap % g.kernel[2], kh = tap / g.kernel[2] % g.kernel[1], kd = tap / g.kernel[2] / g.kernel[1];
    int64_t w0, w1;
    g.inside(2, kw, w0, w1);
    for (int64_t d = 0; d < g.out[0]; ++d)
      for (int64_t h = 0; h < g.out[1]; ++h) {
        const int64_t line = (d * g.out[1] + h) * g.out[2];
        const int64_t id = d * g.stride[0] - g.padding[0] + kd * g.dilation[0];
        const int64_t ih = h * g.stride[1] - g.padding[1] + kh * g.dilation[1];
        if (w0 == w1 || id < 0 || id >= g.in[0] || ih < 0 || ih >= g.in[1]) {
          padding(tap, line, g.out[2]);
          continue;
        }
        const int64_t iw = w0 * g.stride[2] - g.padding[2] + kw * g.dilation[2];
        if (w0 > 0) padding(tap, line, w0);
        inside(tap, line + w0, (id * g.in[1] + ih) * g.in[2] + iw, w1 - w0);
        if (w1 < g.out[2]) padding(tap, line + w1, g.out[2] - w1);
      }
  }
}
// For gradients of the input, which padding does not have.
constexpr auto skip_padding = [](int64_t, int64_t, int64_t) {};

template <class T>
void gather(const Geometry& g, const T* x, int64_t channels, int64_t p0, int64_t p1, T* columns) {
  const int64_t line0 = p0 / g.out[2], line1 = ceil_div(p1, g.out[2]);
  for (int64_t row = 0; row < channels * g.taps; ++row) {
    const int64_t tap = row % g.taps;
    const int64_t kw = tap % g.kernel[2], kh = tap / g.kernel[2] % g.kernel[1], kd = tap / g.kernel[2] / g.kernel[1];
    const T* plane = x + row / g.taps * g.in_size;
    int64_t inside0, inside1;
    g.inside(2, kw, inside0, inside1);
    T* to = columns + row * (p1 - p0);
    for (int64_t line = line0; line < line1; ++line) {
      const int64_t w0 = line == line0 ? p0 - line * g.out[2] : 0, w1 = min(g.out[2], p1 - line * g.out[2]);
      const int64_t id = line / g.out[1] * g.stride[0] - g.padding[0] + kd * g.dilation[0];
      const int64_t ih = line % g.out[1] * g.stride[1] - g.padding[1] + kh * g.dilation[1];
      int64_t low = w1, high = w1;
      if (id >= 0 && id < g.in[0] && ih >= 0 && ih < g.in[1]) {
        low = min(max(w0, inside0), w1);
        high = max(min(w1, inside1), low);
      }
      const T* from = plane + (id * g.in[1] + ih) * g.in[2] + kw * g.dilation[2] - g.padding[2];
      int64_t w = w0;
      for (; w < low; ++w) *to++ = T(0);
      if (g.stride[2] == 1) {
        for (; w < high; ++w) *to++ = from[w];
      } else {
        for (; w < high; ++w) *to++ = from[w * g.stride[2]];
      }
      for (; w < w1; ++w) *to++ = T(0);
    }
  }
}

template <class T>
void scatter(const Geometry& g, const T* columns, int64_t channels, T* x) {
  for (int64_t channel = 0; channel < channels; ++channel) {
    T* const plane = x + channel * g.in_size;
    const T* const rows = columns + channel * g.taps * g.out_size;
    const auto add = [&](int64_t tap, int64_t out_at, int64_t in_at, int64_t count) {
      const T* from = rows + tap * g.out_size + out_at;
      T* to = plane + in_at;
      if (g.stride[2] == 1) {
        for (int64_t i = 0; i < count; ++i) to[i] += from[i];
      } else {
        for (int64_t i = 0; i < count; ++i) to[i * g.stride[2]] += from[i];
      }
    };
    for_each_run(g, add, skip_padding);
  }
}

// Equal blocks of about `target`, in multiples of `unit`.
struct Blocks {
  int64_t size, count;
  Blocks(int64_t total, int64_t target, int64_t unit) {
    count = max(1, ceil_div(total, max(unit, target)));
    size = max(1, min(total, round_up(ceil_div(total, count), unit)));
    count = max(1, ceil_div(total, size));
  }
};

constexpr int64_t kColumnElements = 1 << 18;  // about 1 MB of float columns at a time

Blocks position_blocks(const Geometry& g) {
  if (g.direct) return {1, 1, 1};
  return {g.out_size, min(2048, max(192, kColumnElements / max(1, g.depth))), 96};
}
// Output channels of one forward task: split only when positions alone would leave cores idle.
Blocks output_blocks(const Geometry& g) {
  if (g.direct) return {1, 1, 1};
  const int64_t parts = max(1, 8 / position_blocks(g).count);
  return {g.group_out, max(64, ceil_div(g.group_out, parts)), 8};
}
// Input channels whose whole column matrix is made at once for the input gradient: enough rows to
// keep gemm busy, but few when the planes are large.
Blocks channel_blocks(const Geometry& g) {
  if (g.direct) return {1, 1, 1};
  const int64_t fit = 8 * kColumnElements / max(1, g.taps * g.out_size);
  return {g.group_in, max(ceil_div(12, g.taps), min(fit, max(8, ceil_div(96, g.taps)))), 1};
}
constexpr int64_t kWeightPositions = 2048;

template <class T>
T* after_columns(void* scratch, int64_t elements) {
  return reinterpret_cast<T*>(static_cast<char*>(scratch) + round_up(elements * static_cast<int64_t>(sizeof(T)), 64));
}
template <class T>
int64_t bytes_for(int64_t columns, int64_t m, int64_t n, int64_t k) {
  return round_up(columns * static_cast<int64_t>(sizeof(T)), 64) + gemm_scratch_bytes<T>(m, n, k);
}
// gemm's need for a product no larger than this in any dimension: below two columns it packs
// nothing.
template <class T>
int64_t bytes_for_any(int64_t columns, int64_t k) {
  return max(bytes_for<T>(columns, 2, 2, k), bytes_for<T>(columns, 1, 1, k));
}

// ---- depthwise: padding is multiplied as the zero it is, so that infinities and NaN under it are
// seen ----

template <class T>
void direct_forward(const Geometry& g, const T* x, const T* w, T* y) {
  for_each_run(
      g,
      [&](int64_t tap, int64_t out_at, int64_t in_at, int64_t count) {
        for (int64_t i = 0; g.stride[2] == 1 && i < count; ++i) y[out_at + i] += w[tap] * x[in_at + i];
        for (int64_t i = 0; g.stride[2] != 1 && i < count; ++i) y[out_at + i] += w[tap] * x[in_at + i * g.stride[2]];
      },
      [&](int64_t tap, int64_t out_at, int64_t count) {
        for (int64_t i = 0; i < count; ++i) y[out_at + i] += w[tap] * T(0);
      });
}
template <class T>
void direct_backward_input(const Geometry& g, const T* gy, const T* w, T* gx) {
  for_each_run(
      g,
      [&](int64_t tap, int64_t out_at, int64_t in_at, int64_t count) {
        for (int64_t i = 0; g.stride[2] == 1 && i < count; ++i) gx[in_at + i] += w[tap] * gy[out_at + i];
        for (int64_t i = 0; g.stride[2] != 1 && i < count; ++i) gx[in_at + i * g.stride[2]] += w[tap] * gy[out_at + i];
      },
      skip_padding);
}
template <class T>
void direct_backward_weight(const Geometry& g, const T* gy, const T* x, T* gw) {
  for_each_run(
      g,
      [&](int64_t tap, int64_t out_at, int64_t in_at, int64_t count) {
        T sum = 0;
        for (int64_t i = 0; i < count; ++i) sum += gy[out_at + i] * x[in_at + i * g.stride[2]];
        gw[tap] += sum;
      },
      [&](int64_t tap, int64_t out_at, int64_t count) {
        for (int64_t i = 0; i < count; ++i) gw[tap] += gy[out_at + i] * T(0);
      });
}

}  // namespace

template <class T>
void gather_columns(const Convolution& c, const T* x, int64_t channels, int64_t p0, int64_t p1, T* columns) {
  if (p0 < p1) gather(Geometry(c), x, channels, p0, p1, columns);
}
template <class T>
void scatter_columns(const Convolution& c, const T* columns, int64_t channels, T* x) {
  scatter(Geometry(c), columns, channels, x);
}

// ---- forward: a task is (image, group, block of output positions, block of output channels) ----

int64_t convolution_forward_tasks(const Convolution& c) {
  const Geometry g(c);
  return c.batch * c.groups * position_blocks(g).count * output_blocks(g).count;
}

template <class T>
int64_t convolution_forward_scratch_bytes(const Convolution& c) {
  const Geometry g(c);
  if (g.direct) return 0;
  return bytes_for_any<T>(g.pointwise ? 0 : g.depth * position_blocks(g).size, g.depth);
}

template <class T>
void convolution_forward(const Convolution& c, const T* x, const T* w, const T* bias, T* y, int64_t begin, int64_t end,
                         void* scratch) {
  const Geometry g(c);
  const Blocks blocks = position_blocks(g), outputs = output_blocks(g);
  T* const columns = static_cast<T*>(scratch);
  int64_t gathered = -1;  // the columns are shared by the tasks of one block of positions
  for (int64_t task = begin; task < end; ++task) {
    const int64_t at = task / outputs.count, block = at % blocks.count;
    const int64_t group = at / blocks.count % c.groups, image = at / blocks.count / c.groups;
    const int64_t o0 = task % outputs.count * outputs.size;
    const int64_t channels = g.direct ? g.group_out : min(outputs.size, g.group_out - o0);
    const int64_t p0 = g.direct ? 0 : block * blocks.size, p1 = g.direct ? g.out_size : min(g.out_size, p0 + blocks.size);
    const int64_t first = group * g.group_out + o0;  // output channel of the whole
    const T* const xg = x + (image * c.in_channels + group * g.group_in) * g.in_size;
    const T* const wg = w + first * g.depth;
    T* const yg = y + (image * c.out_channels + first) * g.out_size;
    if (p0 >= p1) continue;
    if (bias != nullptr || g.direct) {
      for (int64_t o = 0; o < channels; ++o) {
        const T b = bias == nullptr ? T(0) : bias[first + o];
        for (int64_t p = p0; p < p1; ++p) yg[o * g.out_size + p] = b;
      }
    }
    if (g.direct) {
      for (int64_t o = 0; o < channels; ++o) direct_forward(g, xg, wg + o * g.taps, yg + o * g.out_size);
      continue;
    }
    const T* b = xg + p0;
    int64_t b_row = g.in_size, packed = 0;
    if (!g.pointwise) {
      if (gathered != at) gather(g, xg, g.group_in, p0, p1, columns);
      gathered = at;
      b = columns;
      b_row = p1 - p0;
      packed = g.depth * blocks.size;
    }
    gemm(Gemm<T>{channels, p1 - p0, g.depth, T(1), wg, g.depth, 1, b, b_row, 1, bias != nullptr ? T(1) : T(0), yg + p0,
                 g.out_size, 1},
         after_columns<T>(scratch, packed));
  }
}

// ---- gradient of the input: a task is (image, group, block of input channels) ----

int64_t convolution_backward_input_tasks(const Convolution& c) { return c.batch * c.groups * channel_blocks(Geometry(c)).count; }

template <class T>
int64_t convolution_backward_input_scratch_bytes(const Convolution& c) {
  const Geometry g(c);
  if (g.direct) return 0;
  return bytes_for_any<T>(g.pointwise ? 0 : channel_blocks(g).size * g.taps * g.out_size, g.group_out);
}

template <class T>
void convolution_backward_input(const Convolution& c, const T* gy, const T* w, const T* bias, T* gx, int64_t begin, int64_t end,
                                void* scratch) {
  const Geometry g(c);
  const Blocks blocks = channel_blocks(g);
  T* const columns = static_cast<T*>(scratch);
  for (int64_t task = begin; task < end; ++task) {
    const int64_t block = task % blocks.count, group = task / blocks.count % c.groups, image = task / blocks.count / c.groups;
    const int64_t c0 = block * blocks.size, channels = min(blocks.size, g.group_in - c0);
    const T* const gyg = gy + (image * c.out_channels + group * g.group_out) * g.out_size;
    const T* const wg = w + group * g.group_out * g.depth + c0 * g.taps;
    T* const gxg = gx + (image * c.in_channels + group * g.group_in + c0) * g.in_size;
    for (int64_t i = 0; i < channels; ++i) {
      const T b = bias == nullptr ? T(0) : bias[group * g.group_in + c0 + i];
      for (int64_t p = 0; p < g.in_size; ++p) gxg[i * g.in_size + p] = b;
    }
    if (g.direct) {
      for (int64_t o = 0; o < g.group_out; ++o) direct_backward_input(g, gyg + o * g.out_size, wg + o * g.taps, gxg);
      continue;
    }
    // columns [channels * taps, positions] = transposed weights times gy
    Gemm<T> product{channels * g.taps, g.out_size, g.group_out, T(1),    wg,         1, g.depth, gyg,
                    g.out_size,        1,          T(0),        columns, g.out_size, 1};
    if (g.pointwise) {
      product.c = gxg;
      product.beta = T(1);
    }
    gemm(product, after_columns<T>(scratch, g.pointwise ? 0 : blocks.size * g.taps * g.out_size));
    if (!g.pointwise) scatter(g, columns, channels, gxg);
  }
}

// ---- gradient of the weight: a task is (group, block of input channels) ----

int64_t convolution_backward_weight_tasks(const Convolution& c) { return c.groups * channel_blocks(Geometry(c)).count; }

template <class T>
int64_t convolution_backward_weight_scratch_bytes(const Convolution& c) {
  const Geometry g(c);
  if (g.direct) return 0;
  const int64_t positions = min(kWeightPositions, g.out_size);
  return bytes_for_any<T>(g.pointwise ? 0 : channel_blocks(g).size * g.taps * positions, positions);
}

template <class T>
void convolution_backward_weight(const Convolution& c, const T* gy, const T* x, T* gw, int64_t begin, int64_t end,
                                 void* scratch) {
  const Geometry g(c);
  const Blocks blocks = channel_blocks(g);
  T* const columns = static_cast<T*>(scratch);
  for (int64_t task = begin; task < end; ++task) {
    const int64_t block = task % blocks.count, group = task / blocks.count;
    const int64_t c0 = block * blocks.size, channels = min(blocks.size, g.group_in - c0), rows = channels * g.taps;
    T* const gwg = gw + group * g.group_out * g.depth + c0 * g.taps;
    for (int64_t o = 0; o < g.group_out; ++o)
      for (int64_t r = 0; r < rows; ++r) gwg[o * g.depth + r] = T(0);
    for (int64_t image = 0; image < c.batch; ++image) {
      const T* const gyg = gy + (image * c.out_channels + group * g.group_out) * g.out_size;
      const T* const xg = x + (image * c.in_channels + group * g.group_in + c0) * g.in_size;
      if (g.direct) {
        for (int64_t o = 0; o < g.group_out; ++o) direct_backward_weight(g, gyg + o * g.out_size, xg, gwg + o * g.taps);
        continue;
      }
      for (int64_t p0 = 0; p0 < g.out_size; p0 += kWeightPositions) {
        const int64_t p1 = min(g.out_size, p0 + kWeightPositions);
        const T* b = xg + p0;
        int64_t b_col = g.in_size;
        if (!g.pointwise) {
          gather(g, xg, channels, p0, p1, columns);
          b = columns;
          b_col = p1 - p0;
        }
        // gw [group_out, rows] += gy [group_out, positions] times transposed columns
        gemm(Gemm<T>{g.group_out, rows, p1 - p0, T(1), gyg + p0, g.out_size, 1, b, 1, b_col, T(1), gwg, g.depth, 1},
             after_columns<T>(scratch, g.pointwise ? 0 : blocks.size * g.taps * min(kWeightPositions, g.out_size)));
      }
    }
  }
}

#define INGOT_CONVOLUTION(T, name)                                                                                               \
  template void gather_columns<T>(const Convolution&, const T*, int64_t, int64_t, int64_t, T*);                                  \
  template void scatter_columns<T>(const Convolution&, const T*, int64_t, T*);                                                   \
  template int64_t convolution_forward_scratch_bytes<T>(const Convolution&);                                                     \
  template int64_t convolution_backward_input_scratch_bytes<T>(const Convolution&);                                              \
  template int64_t convolution_backward_weight_scratch_bytes<T>(const Convolution&);                                             \
  template void convolution_forward<T>(const Convolution&, const T*, const T*, const T*, T*, int64_t, int64_t, void*);           \
  template void convolution_backward_input<T>(const Convolution&, const T*, const T*, const T*, T*, int64_t, int64_t, void*);    \
  template void convolution_backward_weight<T>(const Convolution&, const T*, const T*, T*, int64_t, int64_t, void*);             \
  extern "C" int64_t ingot_k_convolution_forward_scratch_bytes_##name(const Convolution* c) {                                    \
    return convolution_forward_scratch_bytes<T>(*c);                                                                             \
  }                                                                                                                              \
  extern "C" int64_t ingot_k_convolution_backward_input_scratch_bytes_##name(const Convolution* c) {                             \
    return convolution_backward_input_scratch_bytes<T>(*c);                                                                      \
  }                                                                                                                              \
  extern "C" int64_t ingot_k_convolution_backward_weight_scratch_bytes_##name(const Convolution* c) {                            \
    return convolution_backward_weight_scratch_bytes<T>(*c);                                                                     \
  }                                                                                                                              \
  extern "C" void ingot_k_convolution_forward_##name(const Convolution* c, const T* x, const T* w, const T* bias, T* y,          \
                                                     int64_t begin, int64_t end, void* scratch) {                                \
    convolution_forward<T>(*c, x, w, bias, y, begin, end, scratch);                                                              \
  }                                                                                                                              \
  extern "C" void ingot_k_convolution_backward_input_##name(const Convolution* c, const T* gy, const T* w, const T* bias, T* gx, \
                                                            int64_t begin, int64_t end, void* scratch) {                         \
    convolution_backward_input<T>(*c, gy, w, bias, gx, begin, end, scratch);                                                     \
  }                                                                                                                              \
  extern "C" void ingot_k_convolution_backward_weight_##name(const Convolution* c, const T* gy, const T* x, T* gw,               \
                                                             int64_t begin, int64_t end, void* scratch) {                        \
    convolution_backward_weight<T>(*c, gy, x, gw, begin, end, scratch);                                                          \
  }
INGOT_CONVOLUTION(float, f32)
INGOT_CONVOLUTION(double, f64)
#undef INGOT_CONVOLUTION
template void scatter_columns(const Convolution&, const Rounded<BFloat16>*, int64_t, Rounded<BFloat16>*);
template void scatter_columns(const Convolution&, const Rounded<Half>*, int64_t, Rounded<Half>*);

}  // namespace ingot::kernels

extern "C" {
int64_t ingot_k_convolution_forward_tasks(const ingot::kernels::Convolution* c) {
  return ingot::kernels::convolution_forward_tasks(*c);
}
int64_t ingot_k_convolution_backward_input_tasks(const ingot::kernels::Convolution* c) {
  return ingot::kernels::convolution_backward_input_tasks(*c);
}
int64_t ingot_k_convolution_backward_weight_tasks(const ingot::kernels::Convolution* c) {
  return ingot::kernels::convolution_backward_weight_tasks(*c);
}
}
