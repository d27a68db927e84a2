// Folds a strided tensor over some of its dims: the one loop every eager reduction runs. What is
// folded is a small value F:
//
//   using In = float;                            element as it is loaded (a compute type)
//   using Acc = double;                          what is carried along
//   Acc start() const;
//   void add(Acc&, In x, int64_t at) const;      `at`: position of x among the reduced elements (see FoldSpace)
//   void row(Acc&, const In*, int64_t n) const;  optional: n elements at once
//   void merge(Acc&, const Acc& later) const;
//
// The work is cut into outputs and, along long reductions, into pieces of fixed length that are
// merged in order, so a result does not depend on the number of threads.
#pragma once
#include <algorithm>
#include <array>
#include <complex>
#include <memory>
#include <span>
#include <vector>

#include "base/parallel.hpp"
#include "ops/pointwise/pointwise.hpp"
#include "tensor/rows.hpp"

namespace ingot {

// The index space of one fold: dims of the input, kept or reduced, size-1 dims dropped and
// neighbours merged where strides allow. Positions of reduced elements are logical (row-major) ones
// if a single dim is reduced.
struct FoldSpace {
  static constexpr int kOutputs = 2;
  struct Axis {
    int64_t size, in;                         // strides in elements
    std::array<int64_t, kOutputs> out{};
  };
  std::vector<Axis> kept, reduced;            // outermost first
  const char* data = nullptr;
  DType dtype = DType::f32;
  int64_t outputs = 1, length = 1;            // products of the sizes
  bool by_columns = false;                    // a kept axis is the densest: fold many outputs side by side
  int out_count = 0;
  std::array<char*, kOutputs> out{};
  std::array<int64_t, kOutputs> out_itemsize{};
};

// Requires real tensors; each of `outs` has the input's rank less the reduced dims, or all of it
// with size 1 there.
FoldSpace fold_space(const Tensor& in, const std::vector<bool>& reduced, std::span<const Tensor> outs);

namespace detail {

// The offset of element `linear`, in row-major order, of these axes, which have a stride each.
template <class Stride>
int64_t offset_of(std::span<const FoldSpace::Axis> axes, int64_t linear, const Stride& stride) {
  if (axes.empty()) return 0;
  int64_t o = 0;
  for (std::size_t i = axes.size(); i-- > 1;) {
    o += linear % axes[i].size * stride(axes[i]);
    linear /= axes[i].size;
  }
  return o + linear * stride(axes[0]);
}
inline int64_t in_offset(std::span<const FoldSpace::Axis> axes, int64_t linear) {
  return offset_of(axes, linear, [](const FoldSpace::Axis& a) { return a.in; });
}
inline int64_t out_offset(std::span<const FoldSpace::Axis> axes, int64_t linear, std::size_t k) {
  return offset_of(axes, linear, [k](const FoldSpace::Axis& a) { return a.out[k]; });
}

template <class F>
concept FoldsRows = requires(const F& f, typename F::Acc& a, const typename F::In* x) { f.row(a, x, int64_t{}); };

// n elements `stride` apart as a dense row of compute type: in place where they are one already.
template <class In>
const In* dense_row(const FoldSpace& s, const char* from, int64_t stride, int64_t n, In* buffer) {
  if (stride == 1 && compute_type(s.dtype) == compute_of<In>() && size_of(s.dtype) == static_cast<int>(sizeof(In)))
    return reinterpret_cast<const In*>(from);
  load_row(s.dtype, from, stride, n, compute_of<In>(), buffer);
  return buffer;
}

// Outputs that are folded side by side, and so many rows of them before they are merged into what
// came before: doubles, which nothing wider carries, would lose digits with the length of a column.
constexpr int64_t kTile = 128, kRowsOfBlock = 256;

// Reduced elements [begin, end) of n outputs that start at `from`.
template <class F>
void fold_piece(const FoldSpace& s, const F& f, const char* from, int64_t n, int64_t begin, int64_t end, typename F::Acc* acc) {
  constexpr int64_t kChunk = 512;
  const std::span<const FoldSpace::Axis> reduced(s.reduced);
  const int64_t itemsize = size_of(s.dtype);
  typename F::In buffer[kChunk];
  if (s.by_columns) {
    typename F::Acc block[kTile];
    while (begin < end) {
      const int64_t stop = std::min(end, begin + kRowsOfBlock);
      std::fill_n(block, n, f.start());
      for (; begin < stop; begin++) {
        const auto* x = dense_row(s, from + in_offset(reduced, begin) * itemsize, s.kept.back().in, n, buffer);
        for (int64_t i = 0; i < n; i++) f.add(block[i], x[i], begin);
      }
      for (int64_t i = 0; i < n; i++) f.merge(acc[i], block[i]);
    }
    return;
  }
  const int64_t row = reduced.empty() ? 1 : reduced.back().size, stride = reduced.empty() ? 0 : reduced.back().in;
  const auto outer = reduced.empty() ? reduced : reduced.first(reduced.size() - 1);
  while (begin < end) {
    const int64_t at = begin % row, m = std::min({kChunk, row - at, end - begin});
    const char* p = from + (in_offset(outer, begin / row) + at * stride) * itemsize;
    const auto* x = dense_row(s, p, stride, m, buffer);
    if constexpr (FoldsRows<F>) f.row(*acc, x, m);
    else
      for (int64_t i = 0; i < m; i++) f.add(*acc, x[i], begin + i);
    begin += m;
  }
}

// What is done with accumulators that are complete.
template <class Acc>
struct Finished {
  const void* finish;
  void (*call)(const void* finish, const Acc* acc, int64_t n, char* const* to, const int64_t* strides);
};

// One function for a kind of fold, however it is finished.
template <class F>
void fold_all(const FoldSpace& s, const F& f, Finished<typename F::Acc> finished) {
  using Acc = typename F::Acc;
  constexpr int64_t kPiece = 1 << 15;
  if (s.outputs == 0) return;
  const std::span<const FoldSpace::Axis> kept(s.kept);
  const int64_t columns = s.by_columns ? kept.back().size : 1, width = std::min(columns, kTile);
  const int64_t tiles_a_row = (columns + width - 1) / width, tiles = s.outputs / columns * tiles_a_row;
  const int64_t piece = std::max<int64_t>(1, kPiece / width);
  const int64_t pieces = std::max<int64_t>(1, (s.length + piece - 1) / piece);
  const int64_t itemsize = size_of(s.dtype);

  auto tile_start = [&](int64_t tile, int64_t& n) {  // first output of a tile
    const int64_t c = tile % tiles_a_row * width;
    n = std::min(width, columns - c);
    return tile / tiles_a_row * columns + c;
  };
  auto input_of = [&](int64_t output) { return s.data + in_offset(kept, output) * itemsize; };
  auto emit = [&](const Acc* acc, int64_t output, int64_t n) {
    std::array<char*, FoldSpace::kOutputs> to{};
    std::array<int64_t, FoldSpace::kOutputs> strides{};
    for (std::size_t k = 0; k < static_cast<std::size_t>(s.out_count); k++) {
      to[k] = s.out[k] + out_offset(kept, output, k) * s.out_itemsize[k];
      strides[k] = s.by_columns ? kept.back().out[k] : 1;
    }
    finished.call(finished.finish, acc, n, to.data(), strides.data());
  };

  if (pieces == 1) {
    const int64_t grain = std::max<int64_t>(1, kPiece / std::max<int64_t>(1, s.length * width));
    return parallel_for(0, tiles, grain, [&](int64_t b, int64_t e) {
      Acc acc[kTile];
      for (int64_t tile = b; tile < e; tile++) {
        int64_t n;
        const int64_t output = tile_start(tile, n);
        std::fill_n(acc, n, f.start());
        fold_piece(s, f, input_of(output), n, 0, s.length, acc);
        emit(acc, output, n);
      }
    });
  }
  const auto parts = std::make_unique<Acc[]>(static_cast<std::size_t>(tiles * pieces * width));
  std::fill_n(parts.get(), tiles * pieces * width, f.start());
  parallel_for(0, tiles * pieces, 1, [&](int64_t b, int64_t e) {
    for (int64_t t = b; t < e; t++) {
      int64_t n;
      const int64_t output = tile_start(t / pieces, n), begin = t % pieces * piece;
      fold_piece(s, f, input_of(output), n, begin, std::min(begin + piece, s.length), parts.get() + t * width);
    }
  });
  for (int64_t tile = 0; tile < tiles; tile++) {
    int64_t n;
    const int64_t output = tile_start(tile, n);
    Acc* acc = parts.get() + tile * pieces * width;
    for (int64_t p = 1; p < pieces; p++)
      for (int64_t i = 0; i < n; i++) f.merge(acc[i], acc[p * width + i]);
    emit(acc, output, n);
  }
}

}  // namespace detail

// Calls finish(accumulators, n, addresses of the n outputs' first elements, their strides) for
// every run of outputs.
template <class F, class Finish>
void fold(const FoldSpace& s, const F& f, const Finish& finish) {
  using Acc = typename F::Acc;
  const auto call = [](const void* finish, const Acc* acc, int64_t n, char* const* to, const int64_t* strides) {
    (*static_cast<const Finish*>(finish))(acc, n, to, strides);
  };
  detail::fold_all(s, f, {&finish, call});
}

// Calls f(T{}) with the C++ type of a compute type.
template <class F>
void with_compute(Compute c, const F& f) {
  switch (c) {
    case Compute::f32: return f(float{});
    case Compute::f64: return f(double{});
    case Compute::i64: return f(int64_t{});
    case Compute::b8: return f(bool{});
    case Compute::c128: return f(std::complex<double>{});
  }
}
// The same for real floating types only: the caller has refused others.
template <class F>
void with_floating(DType t, const F& f) {
  if (t == DType::f64) f(double{});
  else f(float{});
}

// ---- accumulators

// Where sums of a compute type are carried: float in double, integers modulo 2^64.
template <class In>
using Wide = std::conditional_t<std::same_as<In, float>, double, std::conditional_t<std::integral<In>, uint64_t, In>>;

template <class T>
struct SumFold {
  using In = T;
  using Acc = Wide<T>;
  Acc start() const { return Acc(0); }
  void add(Acc& a, In x, int64_t) const { a += static_cast<Acc>(x); }
  void row(Acc& a, const In* x, int64_t n) const {
    Acc lane[8] = {};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
      for (int j = 0; j < 8; j++) lane[j] += static_cast<Acc>(x[i + j]);
    for (; i < n; i++) lane[i % 8] += static_cast<Acc>(x[i]);
    a += ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
  }
  void merge(Acc& a, const Acc& b) const { a += b; }
};
template <class T>
struct ProdFold {
  using In = T;
  using Acc = Wide<T>;
  Acc start() const { return Acc(1); }
  void add(Acc& a, In x, int64_t) const { a *= static_cast<Acc>(x); }
  void merge(Acc& a, const Acc& b) const { a *= b; }
};
// The first extreme element and where it stands; NaN beats everything.
template <class T, bool Max>
struct ExtremeFold {
  using In = T;
  struct Acc {
    T value;
    int64_t at;  // -1: none yet
  };
  Acc start() const { return {T(0), -1}; }
  static bool beats(T x, T best) {
    if constexpr (std::floating_point<T>) {
      if (x != x) return best == best;
    }
    return Max ? x > best : x < best;
  }
  void add(Acc& a, In x, int64_t at) const {
    if (a.at < 0 || beats(x, a.value)) a = {x, at};
  }
  void merge(Acc& a, const Acc& b) const {
    if (b.at >= 0 && (a.at < 0 || beats(b.value, a.value))) a = b;
  }
};
template <bool All>
struct LogicFold {
  using In = bool;
  using Acc = bool;
  bool start() const { return All; }
  void add(bool& a, bool x, int64_t) const { a = All ? a && x : a || x; }
  void merge(bool& a, bool b) const { a = All ? a && b : a || b; }
};

// A finish that stores value(acc), of compute type R, into output `k`.
template <class R, class Acc, class F>
void store_each(const Acc* acc, int64_t n, DType to, char* out, int64_t stride, const F& value) {
  R row[128];
  for (int64_t i = 0; i < n; i++) row[i] = static_cast<R>(value(acc[i]));
  store_row(detail::compute_of<R>(), row, n, to, out, stride);
}

}  // namespace ingot
